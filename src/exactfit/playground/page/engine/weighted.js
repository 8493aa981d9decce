/**
 * Weighted detectors: a class is claimed by half-spaces of the cube instead of masks.
 *
 * As `exactfit/construct/weighted.py`: first one detector is tried for the whole class; then seeds, in the given order,
 * get one for the patterns around them; where weights claim nobody, the paper's mask or the signed mask is taken.
 */

import { range, UNIT } from "./cover.js";
import { EFFORT, fit, HARD_TARGET, judge, Machine, masks, nearest, refuseTooLarge } from "./halfspaces.js";

/** @typedef {import("./cover.js").ClassOrder} ClassOrder */
/** @typedef {import("./cover.js").Cover} Cover */
/** @typedef {import("./cover.js").Detector} Detector */
/** @typedef {import("./halfspaces.js").Cube} Cube */
/** @typedef {import("./halfspaces.js").Found} Found */
/** @typedef {import("./patterns.js").Patterns} Patterns */

/** Tenths of its neighbours: below and above, the next detector gets fewer and more of them. */
const MISFIT = 4;
const GOOD_FIT = 8;

/** Every pattern of a class once; columns are numbered class by class. */
class Distinct {
  /** @param {Patterns} patterns @param {ClassOrder} order */
  constructor(patterns, order) {
    const { on, maybe } = patterns;
    /** @type {number[]} */
    this.firsts = [];
    this.places = new Int32Array(on.count);
    this.starts = [0];
    for (let k = 0; k + 1 < order.starts.length; k++) {
      const known = new Map();
      for (const column of range(...order.target(k))) {
        const key = maybe === on ? on.key(column) : `${on.key(column)}|${maybe.key(column)}`;
        if (!known.has(key)) {
          known.set(key, this.firsts.length);
          this.firsts.push(column);
        }
        this.places[column] = known.get(key);
      }
      this.starts.push(this.firsts.length);
    }
  }

  /** How many columns have each pattern of a class. @param {number} k @returns {Int32Array} */
  counts(k) {
    const found = new Int32Array(this.starts[k + 1] - this.starts[k]);
    for (const place of this.places) if (place >= this.starts[k] && place < this.starts[k + 1]) found[place - this.starts[k]]++;
    return found;
  }
}

/** A cover in the making. `counts` says how many points a target pattern stands for, `worth` while unclaimed. */
class Making {
  /** @param {Cube} cube @param {Int32Array} counts */
  constructor(cube, counts) {
    this.cube = cube;
    this.worth = counts.slice();
    this.hopeless = new Uint8Array(counts.length);
    for (const column of lost(cube)) this.hopeless[column - cube.start] = 1;
    this.neighbours = EFFORT.neighbours;
    /** @type {{found: Found, anchor: number}[]} */
    this.made = [];
    /** What of the rest the last detector rests on, to start the next from. @type {number[]} */
    this.hot = [];
  }

  /** @param {number} column @returns {boolean} */
  isOpen(column) {
    const place = column - this.cube.start;
    return this.worth[place] > 0 && !this.hopeless[place];
  }

  openColumns() {
    return range(this.cube.start, this.cube.stop).filter((column) => this.isOpen(column));
  }

  left() {
    return this.worth.reduce((sum, value, k) => sum + (this.hopeless[k] ? 0 : value), 0);
  }

  /** @param {number[]} pool @param {number} softness @returns {Machine} */
  machine(pool, softness) {
    const machine = new Machine(this.cube, pool, softness);
    machine.joinRest(this.hot);
    return machine;
  }

  /** @param {Machine} machine @returns {Found} */
  fit(machine) {
    return fit(machine, this.worth, this.left());
  }

  /** Algorithm 2, line 8: add the detector; its anchor is what it claims with the most slack. @param {Found} found */
  accept(found) {
    const { claimed, scores, limit } = found.judged;
    let anchor = 0;
    let least = Infinity;
    claimed.forEach((is, k) => {
      const value = is ? scores[this.cube.start + k] : limit;
      if (value < least) [least, anchor] = [value, this.cube.start + k];
    });
    this.made.push({ found, anchor });
    claimed.forEach((is, k) => is && (this.worth[k] = 0));
    this.hot = found.support.columns.filter((_, k) => found.support.shares[k] < 0);
  }

  /** Claim as much of the class with one detector as it can without being hard on anyone. */
  atOnce() {
    const pool = this.openColumns();
    if (!pool.length) return;
    const { on } = this.cube;
    const machine = this.machine(pool, EFFORT.soft);
    let found = this.fit(machine);
    const left = this.left();
    const claimed = 100 * found.judged.coverage;
    if (claimed >= EFFORT.clean * left && claimed < 100 * left) {
      machine.setSoftness(EFFORT.firm);
      const firmer = this.fit(machine);
      if (firmer.judged.coverage === left) found = firmer;
    } else if (claimed < EFFORT.enough * left && on.count <= 2 * on.width) {
      const harder = this.fit(this.machine(pool, HARD_TARGET));
      if (harder.judged.coverage === left) found = harder;
    }
    if (100 * found.judged.coverage >= EFFORT.enough * left) this.accept(found);
  }

  /** A detector from the neighbours of a seed, or else from its mask; or the seed is given up. @param {number} seed */
  around(seed) {
    const pool = nearest(this.cube, seed, this.openColumns(), this.neighbours);
    let found = this.fit(this.machine(pool, EFFORT.soft));
    this.learn(found.judged.claimed.reduce((sum, is) => sum + is, 0), pool.length);
    if (!found.judged.coverage) found = this.masked(seed);
    if (found.judged.coverage) this.accept(found);
    else this.hopeless[seed - this.cube.start] = 1;
  }

  /** How many neighbours the next detector is fitted to: those that one can claim, or somewhat more. */
  /** @param {number} claimed @param {number} fitted */
  learn(claimed, fitted) {
    if (10 * claimed < MISFIT * fitted) this.neighbours = Math.max(Math.floor(this.neighbours / 2), EFFORT.fewest);
    else if (10 * claimed > GOOD_FIT * fitted) {
      this.neighbours = Math.min(this.neighbours + Math.floor(this.neighbours / 2), EFFORT.neighbours);
    }
  }

  /** The better of the two masks, the paper's on a tie. @param {number} seed @returns {Found} */
  masked(seed) {
    const [paper, signed] = masks(this.cube, seed).map((weights) => judge(this.cube, weights, this.worth));
    const judged = signed.coverage > paper.coverage ? signed : paper;
    return { judged, support: { columns: [seed, judged.witness], shares: [UNIT, -UNIT] } };
  }
}

/** The target columns whose pattern occurs in the rest as well: nothing tells them apart. @param {Cube} cube */
function lost(cube) {
  const { on, start, stop } = cube;
  const rest = new Set([...range(0, start), ...range(stop, on.count)].map((column) => on.key(column)));
  const worth = new Int32Array(stop - start).fill(1);
  return range(start, stop)
    .filter((column) => rest.has(on.key(column)))
    .filter((column) => !judge(cube, masks(cube, column)[1], worth).claimed[column - start]);
}

/**
 * From a class and its candidates to its cover with weighted detectors.
 * @param {Patterns} patterns @param {ClassOrder} order
 * @returns {(k: number, candidates: number[]) => Cover}
 */
export function weightedCovers(patterns, order) {
  const distinct = new Distinct(patterns, order);
  const on = patterns.on.take(distinct.firsts);
  const maybe = patterns.maybe === patterns.on ? on : patterns.maybe.take(distinct.firsts);
  const ones = range(0, on.count).map((column) => on.indices(column));
  const isExact = maybe === on || maybe.words.every((word, w) => word === on.words[w]);
  refuseTooLarge(on.count, on.width, isExact);
  return (k, candidates) => {
    const cube = { on, maybe, ones, isExact, start: distinct.starts[k], stop: distinct.starts[k + 1] };
    if (cube.start === cube.stop) return { detectors: [], uncovered: [] };
    const making = new Making(cube, distinct.counts(k));
    making.atOnce();
    for (const seed of candidates.map((column) => distinct.places[column])) {
      while (making.isOpen(seed)) making.around(seed);
    }
    return inColumns(making, distinct, k);
  };
}

/** The cover of patterns as one of columns. @param {Making} making @param {Distinct} distinct @param {number} label */
function inColumns(making, distinct, label) {
  const { firsts, places } = distinct;
  const { start } = making.cube;
  const own = range(0, places.length).filter((c) => places[c] >= start && places[c] < making.cube.stop);
  /** @type {Detector[]} */
  const detectors = making.made.map(({ found: { judged, support }, anchor }) => ({
    label,
    weights: judged.weights,
    limit: judged.limit,
    anchor: firsts[anchor],
    witness: firsts[judged.witness],
    claimed: own.filter((column) => judged.claimed[places[column] - start]),
    support: support.columns.map((column) => firsts[column]),
    shares: support.shares,
  }));
  return { detectors, uncovered: own.filter((column) => making.worth[places[column] - start] > 0) };
}
