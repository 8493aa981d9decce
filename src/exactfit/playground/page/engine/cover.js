/**
 * The second layer with masks: candidates become detectors until every point of a class is claimed
 * (Algorithm 1 lines 9-14, Algorithm 2 lines 2-10).
 *
 * Points are columns, sorted by class, rows of a class ascending; a class is a range of columns.
 */

import { countMasked } from "./bits.js";

/** @typedef {import("./bits.js").Bits} Bits */
/** @typedef {import("./patterns.js").Patterns} Patterns */

/**
 * Fires where <weights, bits> < limit. Anchor, witness, claimed and support are columns, or rows once assembled.
 * @typedef {{
 *   label: number, weights: Int8Array, limit: number, anchor: number, witness: number,
 *   claimed: number[], support: number[], shares: number[],
 * }} Detector
 */

/** @typedef {{detectors: Detector[], uncovered: number[]}} Cover */

/** The share with which one point alone reaches the margin of a weighted detector. */
export const UNIT = 2048;

/** Rows sorted by class, and where each class begins. */
export class ClassOrder {
  /** @param {Uint8Array} labels @param {number} classes */
  constructor(labels, classes) {
    this.rows = Array.from(labels.keys()).sort((a, b) => labels[a] - labels[b] || a - b);
    this.starts = Array.from({ length: classes + 1 }, (_, k) => this.rows.filter((row) => labels[row] < k).length);
    this.columns = new Int32Array(labels.length);
    this.rows.forEach((row, column) => (this.columns[row] = column));
  }

  /** The columns of class k, as first and stop. @param {number} k @returns {[number, number]} */
  target(k) {
    return [this.starts[k], this.starts[k + 1]];
  }

  /** Some rows of a class as columns, in their order. @param {number} k @param {ArrayLike<number>} rows */
  candidates(k, rows) {
    const [start, stop] = this.target(k);
    return Array.from(rows, (row) => this.columns[row]).filter((column) => column >= start && column < stop);
  }
}

/**
 * The smallest value over the columns outside start..stop, and the first column that has it.
 * @param {number} count @param {number} start @param {number} stop @param {(column: number) => number} value
 * @returns {{limit: number, witness: number}}
 */
export function lowestOutside(count, start, stop, value) {
  let limit = Infinity;
  let witness = -1;
  for (let column = 0; column < count; column++) {
    if (column === start) column = stop;
    if (column >= count) break;
    const here = value(column);
    if (here < limit) {
      limit = here;
      witness = column;
    }
  }
  return { limit, witness };
}

/** Masks over one class: limits over the rest, counts within the class. */
class Evidence {
  /** @param {Patterns} patterns @param {[number, number]} target @param {number} label */
  constructor(patterns, target, label) {
    this.on = patterns.on;
    this.maybe = patterns.maybe;
    this.start = target[0];
    this.stop = target[1];
    this.label = label;
  }

  /** An anchor's mask, u = 1[bit is surely off], with the limit that the rest allows. @param {number} anchor */
  examine(anchor) {
    const mask = this.maybe.complement(anchor);
    const { on, start, stop } = this;
    return { mask, ...lowestOutside(on.count, start, stop, (column) => countMasked(mask, on, column)) };
  }

  /** @param {Uint32Array} mask @param {number} limit @param {number} column @returns {boolean} */
  claims(mask, limit, column) {
    return countMasked(mask, this.maybe, column) < limit;
  }

  /** @param {number} anchor @param {number} limit @param {number} witness @param {number[]} claimed @returns {Detector} */
  detector(anchor, limit, witness, claimed) {
    const weights = maskWeights(this.maybe, anchor);
    return { label: this.label, weights, limit, anchor, witness, claimed, support: [], shares: [] };
  }
}

/** 1 where a column's bit is off, else 0. @param {Bits} bits @param {number} column @returns {Int8Array} */
export function maskWeights(bits, column) {
  return Int8Array.from({ length: bits.width }, (_, i) => (bits.get(column, i) ? 0 : 1));
}

/**
 * Candidates in the given order.
 * @param {Patterns} patterns @param {[number, number]} target @param {number} label @param {number[]} order
 * @returns {Cover}
 */
export function coverInTurn(patterns, target, label, order) {
  const evidence = new Evidence(patterns, target, label);
  const waiting = new Set(range(...target));
  const detectors = [];
  for (const anchor of order) {
    if (!waiting.has(anchor)) continue;
    const { mask, limit, witness } = evidence.examine(anchor);
    if (limit <= 0) continue;
    const claimed = [...waiting].filter((column) => evidence.claims(mask, limit, column));
    claimed.forEach((column) => waiting.delete(column));
    detectors.push(evidence.detector(anchor, limit, witness, claimed));
  }
  return { detectors, uncovered: [...waiting] };
}

/**
 * Detectors for points that none claims with the margin: right where they stand, and the rest keeps its margin.
 * @param {Bits} on what is surely on within the margin @param {Bits} still the bits where points stand
 * @param {[number, number]} target @param {number} label @param {number[]} uncovered
 * @returns {Detector[]}
 */
export function claimWithoutMargin(on, still, target, label, uncovered) {
  const evidence = new Evidence({ on, maybe: still }, target, label);
  const detectors = [];
  let waiting = uncovered;
  while (waiting.length) {
    const anchor = waiting[0];
    const { mask, limit, witness } = evidence.examine(anchor);
    const claimed = waiting.filter((column) => evidence.claims(mask, limit, column));
    if (limit > 0) {
      const detector = evidence.detector(anchor, limit, witness, claimed);
      detectors.push({ ...detector, support: [anchor, witness], shares: [UNIT, -UNIT] });
    }
    waiting = waiting.filter((column) => column !== anchor && !claimed.includes(column));
  }
  return detectors;
}

/** start..stop - 1. @param {number} start @param {number} stop @returns {number[]} */
export function range(start, stop) {
  return Array.from({ length: stop - start }, (_, k) => start + k);
}
