/**
 * Random hyperplanes from a seed: the paper's law and bisectors here, sparse ones in a module of their own.
 *
 * Weights are rounded to numbers that float32 holds, biases are float64, as in Python; the random numbers of the first
 * two laws are this page's own.
 */

import { norm, exponentOf } from "./patterns.js";
import { sparseSource } from "./sparse.js";

/** @typedef {import("./patterns.js").Points} Points */
/** @typedef {import("./signs.js").Planes} Planes */

export const LAWS = /** @type {const} */ (["sparse", "gaussian", "bisector"]);
/** @typedef {typeof LAWS[number]} Law */

/** Purpose of the random numbers that hyperplanes are made of. */
const HYPERPLANES = 1;

/** Random numbers from a seed and a purpose: the 32-bit generator sfc32. */
export class Random {
  /** @param {number} seed @param {number} purpose keeps streams of one seed apart */
  constructor(seed, purpose = 0) {
    this.a = seed >>> 0;
    this.b = Math.floor(seed / 2 ** 32) >>> 0;
    this.c = purpose >>> 0;
    this.d = 1;
    for (let k = 0; k < 16; k++) this.word();
  }

  /** @returns {number} a whole number below 2^32 */
  word() {
    const sum = (((this.a + this.b) | 0) + this.d) | 0;
    this.d = (this.d + 1) | 0;
    this.a = this.b ^ (this.b >>> 9);
    this.b = (this.c + (this.c << 3)) | 0;
    this.c = (this.c << 21) | (this.c >>> 11);
    this.c = (this.c + sum) | 0;
    return sum >>> 0;
  }

  /** @returns {number} between 0 and 1, never 1 */
  uniform() {
    return (this.word() * 2 ** 21 + (this.word() >>> 11)) * 2 ** -53;
  }

  /** @param {number} count @returns {number} a whole number below count */
  below(count) {
    return Math.floor(this.uniform() * count);
  }

  /** @returns {number} of the standard normal law */
  normal() {
    return Math.sqrt(-2 * Math.log(1 - this.uniform())) * Math.cos(2 * Math.PI * this.uniform());
  }

  /** @template T @param {T[]} items @returns {T[]} the items, shuffled in place */
  shuffle(items) {
    for (let k = items.length - 1; k > 0; k--) {
      const other = this.below(k + 1);
      [items[k], items[other]] = [items[other], items[k]];
    }
    return items;
  }
}

/** The middle of all points. @param {Points} points @returns {[number, number]} */
export function mean({ x, y }) {
  /** @param {Float64Array} values */
  const average = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  return [average(x), average(y)];
}

/** The largest distance of a point from the middle. @param {Points} points @returns {number} */
export function radius(points) {
  const [cx, cy] = mean(points);
  return points.x.reduce((most, x, row) => Math.max(most, norm(x - cx, points.y[row] - cy)), 0);
}

/**
 * How hyperplanes are drawn: `maxBias`, in radii of the data, is for Gaussian ones, `maxFeatures` for sparse ones.
 * @typedef {{law: Law, maxBias: number, maxFeatures: number, seed: number}} Drawing
 */

/**
 * An endless supply of hyperplanes.
 * @param {Points} points @param {number[]} targets @param {Drawing} drawing
 * @returns {(count: number) => Planes}
 */
export function planeSource(points, targets, { law, maxBias, maxFeatures, seed }) {
  if (law === "sparse") return sparseSource(points, targets, maxFeatures, seed);
  const random = new Random(seed, HYPERPLANES);
  if (law === "gaussian") return (count) => gaussian(points, maxBias * radius(points), random, count);
  const draw = pairDraw(points, targets, random);
  return (count) => bisectors(points, Array.from({ length: count }, draw));
}

/** w ~ N(0, I), b ~ Unif[-lambda, lambda], around the mean. */
/** @param {Points} points @param {number} maxBias @param {Random} random @param {number} count @returns {Planes} */
function gaussian(points, maxBias, random, count) {
  const [cx, cy] = mean(points);
  const planes = { wx: new Float64Array(count), wy: new Float64Array(count), b: new Float64Array(count) };
  for (let i = 0; i < count; i++) {
    planes.wx[i] = Math.fround(random.normal());
    planes.wy[i] = Math.fround(random.normal());
    planes.b[i] = maxBias * (2 * random.uniform() - 1) - (planes.wx[i] * cx + planes.wy[i] * cy);
  }
  return planes;
}

/**
 * Draws a point of a target class and one of another.
 * @param {Points} points @param {number[]} targets @param {Random} random
 * @returns {() => [number, number]}
 */
function pairDraw(points, targets, random) {
  const rows = Array.from(points.label.keys());
  const others = new Map(targets.map((k) => [k, rows.filter((row) => points.label[row] !== k)]));
  const firsts = rows.filter((row) => targets.includes(points.label[row]));
  const weights = firsts.map((row) => others.get(points.label[row])?.length ?? 0);
  const heaviest = Math.max(...weights);
  return () => {
    let place = random.below(firsts.length);
    while (random.uniform() * heaviest >= weights[place]) place = random.below(firsts.length);
    const here = firsts[place];
    const from = others.get(points.label[here]) ?? [];
    return [here, from[random.below(from.length)]];
  };
}

/**
 * The perpendicular bisector of each pair, on at the second point.
 * @param {Points} points @param {[number, number][]} pairs @returns {Planes}
 */
export function bisectors({ x, y }, pairs) {
  const planes = {
    wx: new Float64Array(pairs.length), wy: new Float64Array(pairs.length), b: new Float64Array(pairs.length),
  };
  pairs.forEach(([a, b], i) => {
    const dx = x[b] - x[a];
    const dy = y[b] - y[a];
    const size = 2 ** -exponentOf(Math.max(Math.abs(dx), Math.abs(dy)));
    planes.wx[i] = Math.fround(dx * size);
    planes.wy[i] = Math.fround(dy * size);
    planes.b[i] = -(planes.wx[i] * (x[a] + dx / 2) + planes.wy[i] * (y[a] + dy / 2));
  });
  return planes;
}
