/**
 * Algorithm 1, lines 1-8: hyperplanes until every pair of different labels is separated.
 *
 * A hyperplane separates a point a of a target class from a point b of another if its bit is surely off at a and
 * surely on at b. When draws stall, coordinate cuts finish (with a margin: bisectors of pairs that are still open).
 */

import { firstMasked, popcount, WORD } from "./bits.js";
import { bisectors } from "./draws.js";
import { norm, patternsOf } from "./patterns.js";

/** @typedef {import("./patterns.js").Patterns} Patterns */
/** @typedef {import("./patterns.js").Points} Points */
/** @typedef {import("./signs.js").Planes} Planes */
/** @typedef {import("./draws.js").Random} Random */

/** Hyperplanes drawn at a time, as in Python. */
export const BLOCK = 64;
/** After so many draws a stall is looked for, and from when on; with a margin earlier. */
const STALL = { step: 512, from: 1024 };
const MARGIN_STALL = { step: 128, from: 128 };
/** Wider first layers are refused: a page should answer. */
export const MAX_WIDTH = 4096;

/** Which pairs (target point, point of another label) no hyperplane has separated yet. */
export class OpenPairs {
  /** @param {Uint8Array} labels @param {number[]} targets */
  constructor(labels, targets) {
    this.size = labels.length;
    this.stride = Math.ceil(this.size / WORD);
    this.active = Array.from(labels.keys()).filter((row) => targets.includes(labels[row]));
    this.open = new Map(this.active.map((row) => [row, this.pack((other) => labels[other] !== labels[row])]));
    this.count = this.recount();
  }

  /** @param {(row: number) => boolean} test @returns {Uint32Array} */
  pack(test) {
    const words = new Uint32Array(this.stride);
    for (let row = 0; row < this.size; row++) if (test(row)) words[row >>> 5] |= 1 << (row & 31);
    return words;
  }

  recount() {
    let found = 0;
    for (const words of this.open.values()) for (const word of words) found += popcount(word);
    return found;
  }

  /** Take a hyperplane: bit i of patterns. @param {Patterns} patterns @param {number} i */
  add(patterns, i) {
    if (!this.open.size) return;
    const on = this.pack((row) => patterns.on.get(row, i));
    for (const [row, words] of this.open) {
      if (patterns.maybe.get(row, i)) continue;
      let any = 0;
      for (let w = 0; w < this.stride; w++) {
        const closed = words[w] & on[w];
        if (closed) this.count -= popcount(closed);
        any |= words[w] &= ~on[w];
      }
      if (!any) this.open.delete(row);
    }
  }

  /** The pairs that are open, sorted. @returns {[number, number][]} */
  list() {
    /** @type {[number, number][]} */
    const pairs = [];
    for (const [a, words] of [...this.open].sort((one, other) => one[0] - other[0])) {
      for (let b = 0; b < this.size; b++) if ((words[b >>> 5] >>> (b & 31)) & 1) pairs.push([a, b]);
    }
    return pairs;
  }
}

/**
 * How many pairs are open after 0, 1, 2, ... hyperplanes: every pair is closed by the first one that separates it.
 * @param {Uint8Array} labels @param {number[]} targets @param {Patterns} patterns @returns {Float64Array}
 */
export function openCounts(labels, targets, { on, maybe }) {
  const closed = new Float64Array(on.width + 1);
  for (let a = 0; a < labels.length; a++) {
    if (!targets.includes(labels[a])) continue;
    const off = maybe.complement(a);
    for (let b = 0; b < labels.length; b++) if (labels[a] !== labels[b]) closed[firstMasked(off, on, b)] += 1;
  }
  for (let i = on.width; i > 0; i--) closed[i - 1] += closed[i];
  return closed;
}

/** Tells when drawing on is no use: a step more of hyperplanes did not halve the open pairs. */
class Stall {
  /** @param {{step: number, from: number}} patience */
  constructor({ step, from }) {
    this.step = step;
    this.from = from;
    this.seen = 0;
    this.open = 0;
  }

  /** @param {number} width @param {number} open @returns {boolean} */
  isReached(width, open) {
    if (width % this.step || width + this.step < this.from) return false;
    const before = this.open;
    const known = width === this.seen + this.step && this.seen > 0;
    this.seen = width;
    this.open = open;
    return known && width >= this.from && 2 * open > before;
  }
}

/**
 * The hyperplanes of Algorithm 1, from a source that gives any number of further ones.
 * @param {Points} points @param {number[]} targets @param {(count: number) => Planes} source
 * @param {number} margin @param {Random} random for the order of bisectors
 * @returns {{planes: Planes, rescued: number}}
 */
export function separate(points, targets, source, margin, random) {
  const pairs = new OpenPairs(points.label, targets);
  const stall = new Stall(margin > 0 ? MARGIN_STALL : STALL);
  /** @type {Planes[]} */
  const blocks = [];
  let width = 0;
  let drawn = 0;
  /** @param {Planes} block */
  const take = (block) => {
    const patterns = patternsOf(points, block, margin);
    blocks.push(block);
    for (let i = 0; i < block.b.length && pairs.count; i++, width++) pairs.add(patterns, i);
  };
  while (pairs.count && !stall.isReached(drawn, pairs.count)) {
    refuseTooWide(drawn + BLOCK, pairs.count);
    take(source(BLOCK));
    drawn += BLOCK;
  }
  const atRandom = Math.min(width, drawn);
  while (margin > 0 && pairs.count) {
    const before = pairs.count;
    refuseTooWide(width + BLOCK, before);
    take(openBisectors(points, pairs, random));
    if (pairs.count === before) throw new RangeError("rounding leaves no room for this margin: use a smaller one");
  }
  if (pairs.count) take(coordinateCuts(points, pairs.list()));
  return { planes: head(joined(blocks), width), rescued: width - atRandom };
}

/** @param {number} width @param {number} open */
function refuseTooWide(width, open) {
  if (width > MAX_WIDTH) {
    throw new RangeError(
      `after ${MAX_WIDTH} hyperplanes ${open} pairs are still open: use a smaller margin, fewer points, or another law`,
    );
  }
}

/** @param {Planes[]} blocks @returns {Planes} */
function joined(blocks) {
  /** @param {"wx" | "wy" | "b"} name */
  const all = (name) => Float64Array.from(blocks.flatMap((block) => Array.from(block[name])));
  return { wx: all("wx"), wy: all("wy"), b: all("b") };
}

/** The first so many hyperplanes. @param {Planes} planes @param {number} width @returns {Planes} */
export function head({ wx, wy, b }, width) {
  return { wx: wx.slice(0, width), wy: wy.slice(0, width), b: b.slice(0, width) };
}

/**
 * Cuts that separate all the given pairs: for every pair in turn that no earlier cut separates, one through its first
 * point, along the coordinate in which the two differ most (x on a tie), on at the second.
 * @param {Points} points @param {[number, number][]} pairs @returns {Planes}
 */
export function coordinateCuts(points, pairs) {
  const along = [points.x, points.y];
  /** @type {{feature: number, sign: number, at: number}[]} */
  const cuts = [];
  for (const [a, b] of pairs) {
    const parted = cuts.some(({ feature, sign, at }) => {
      const values = along[feature];
      return !(sign * values[a] > sign * at) && sign * values[b] > sign * at;
    });
    if (parted) continue;
    const feature = Math.abs(points.x[a] - points.x[b]) >= Math.abs(points.y[a] - points.y[b]) ? 0 : 1;
    const at = along[feature][a];
    cuts.push({ feature, sign: along[feature][b] > at ? 1 : -1, at });
  }
  return {
    wx: Float64Array.from(cuts, ({ feature, sign }) => (feature === 0 ? sign : 0)),
    wy: Float64Array.from(cuts, ({ feature, sign }) => (feature === 1 ? sign : 0)),
    b: Float64Array.from(cuts, ({ sign, at }) => -sign * at),
  };
}

/**
 * Bisectors of open pairs: from points in random order, each to the nearest that it is open with.
 * @param {Points} points @param {OpenPairs} pairs @param {Random} random @returns {Planes}
 */
function openBisectors(points, pairs, random) {
  /** @type {Map<number, {b: number, distance: number}[]>} */
  const open = new Map();
  for (const [a, b] of pairs.list()) {
    if (!open.has(a)) open.set(a, []);
    open.get(a)?.push({ b, distance: norm(points.x[a] - points.x[b], points.y[a] - points.y[b]) });
  }
  const rows = random.shuffle([...open.keys()]);
  open.forEach((others) => others.sort((one, other) => one.distance - other.distance || one.b - other.b));
  /** @type {[number, number][]} */
  const chosen = [];
  const deepest = Math.max(...[...open.values()].map((others) => others.length));
  for (let rank = 0; rank < deepest && chosen.length < BLOCK; rank++) {
    for (const a of rows) {
      const other = open.get(a)?.[rank];
      if (other && chosen.length < BLOCK) chosen.push([a, other.b]);
    }
  }
  return bisectors(points, chosen);
}
