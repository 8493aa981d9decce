/**
 * What is drawn behind the points, pixel by pixel: cells of hyperplanes, and where detectors fire. No DOM here.
 */

import { Bits } from "./engine/bits.js";
import { Random } from "./engine/draws.js";

/** @typedef {import("./engine/cover.js").Detector} Detector */
/** @typedef {import("./engine/signs.js").Planes} Planes */

/** Half the side of the square that the page shows. */
export const VIEW = 1.25;
/** Where no detector of a class fires. */
export const NEVER = 65535;
/** Purpose of the random stream. */
const KEYS = 5;

/** The middle of pixel i of so many along an axis. @param {number} i @param {number} size @returns {number} */
export function pixelAt(i, size) {
  return VIEW * ((2 * i + 1) / size - 1);
}

/**
 * The bits of all pixels, row by row from the top.
 * @param {Planes} planes @param {number} size pixels along a side @returns {Bits}
 */
export function pixelBits(planes, size) {
  const bits = new Bits(size * size, planes.b.length);
  const { words, stride } = bits;
  for (let i = 0; i < planes.b.length; i++) {
    const step = (planes.wx[i] * 2 * VIEW) / size;
    const one = 1 << (i & 31);
    for (let row = 0, at = i >>> 5; row < size; row++) {
      let value = planes.wx[i] * pixelAt(0, size) - planes.wy[i] * pixelAt(row, size) + planes.b[i];
      for (let column = 0; column < size; column++, at += stride, value += step) if (value > 0) words[at] |= one;
    }
  }
  return bits;
}

/**
 * For each byte of a pattern and each of its values, what weights count: patterns are then weighed byte by byte.
 * @param {Int8Array} weights @returns {Int32Array}
 */
function byteTables(weights) {
  const bytes = Math.ceil(weights.length / 8);
  const tables = new Int32Array(256 * bytes);
  for (let byte = 0; byte < bytes; byte++) {
    for (let value = 1; value < 256; value++) {
      const lowest = 31 - Math.clz32(value & -value);
      tables[256 * byte + value] = tables[256 * byte + (value & (value - 1))] + (weights[8 * byte + lowest] ?? 0);
    }
  }
  return tables;
}

/**
 * What a detector counts at every pixel.
 * @param {Bits} bits @param {Int8Array} weights @param {(pixel: number, count: number) => void} tell
 * @param {(pixel: number) => boolean} [isOfInterest]
 */
export function weighPixels(bits, weights, tell, isOfInterest = () => true) {
  const tables = byteTables(weights);
  const octets = new Uint8Array(bits.words.buffer);
  const bytes = tables.length / 256;
  for (let pixel = 0, at = 0; pixel < bits.count; pixel++, at += 4 * bits.stride) {
    if (!isOfInterest(pixel)) continue;
    let count = 0;
    for (let byte = 0; byte < bytes; byte++) count += tables[256 * byte + octets[at + byte]];
    tell(pixel, count);
  }
}

/**
 * For every class, the number of its first detector that fires at a pixel, or NEVER.
 * @param {Bits} bits @param {Detector[]} detectors @param {number} classes @returns {Uint16Array[]}
 */
export function firstFiring(bits, detectors, classes) {
  const first = Array.from({ length: classes }, () => new Uint16Array(bits.count).fill(NEVER));
  detectors.forEach(({ weights, limit, label }, number) => {
    const own = first[label];
    weighPixels(bits, weights, (pixel, count) => count < limit && (own[pixel] = number), (pixel) => own[pixel] === NEVER);
  });
  return first;
}

/** Cells of the first hyperplanes: places with equal patterns share a number, which others have hardly ever. */
export class Cells {
  /** @param {Planes} planes @param {number} size */
  constructor(planes, size) {
    this.planes = planes;
    this.size = size;
    this.shown = 0;
    this.pixels = new Int32Array(size * size);
    const random = new Random(1, KEYS);
    this.keys = Int32Array.from(planes.b, () => random.word());
  }

  /** Let so many hyperplanes have fallen. @param {number} count */
  moveTo(count) {
    while (this.shown < count) this.flip(this.shown++);
    while (this.shown > count) this.flip(--this.shown);
  }

  /** Add or take away a hyperplane: both change the same pixels. @param {number} i */
  flip(i) {
    const { planes, size, pixels } = this;
    const step = (planes.wx[i] * 2 * VIEW) / size;
    const key = this.keys[i];
    for (let row = 0, at = 0; row < size; row++) {
      let value = planes.wx[i] * pixelAt(0, size) - planes.wy[i] * pixelAt(row, size) + planes.b[i];
      for (let column = 0; column < size; column++, at++, value += step) if (value > 0) pixels[at] ^= key;
    }
  }

  /** The number of the cell of a training point. @param {Bits} exact @param {number} row @returns {number} */
  cellOf(exact, row) {
    let cell = 0;
    for (let i = 0; i < this.shown; i++) if (exact.get(row, i)) cell ^= this.keys[i];
    return cell;
  }

  /**
   * For the cell of every training point the one label in it, or -1 where there are several.
   * @param {Bits} exact @param {Uint8Array} labels @returns {{cells: Map<number, number>, ofPoint: Int32Array}}
   */
  labels(exact, labels) {
    const ofPoint = Int32Array.from(labels, (_, row) => this.cellOf(exact, row));
    /** @type {Map<number, number>} */
    const cells = new Map();
    ofPoint.forEach((cell, row) => cells.set(cell, (cells.get(cell) ?? labels[row]) === labels[row] ? labels[row] : -1));
    return { cells, ofPoint };
  }
}
