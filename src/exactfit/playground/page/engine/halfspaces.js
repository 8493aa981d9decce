/**
 * Half-spaces of the cube {0, 1}^n that hold none of the rest and many of the target, in integers only.
 *
 * Step by step what `exactfit/construct/halfspaces.py` does, with the same numbers: shares move by dual coordinate
 * descent, weights are rounded to int8, the limit is the exact minimum over the rest. Sums stay below 2^53, so that
 * JavaScript's numbers hold them exactly (see `refuseTooLarge`); the one product that may not is a BigInt.
 */

import { popcount } from "./bits.js";
import { lowestOutside, maskWeights, range, UNIT } from "./cover.js";

/** @typedef {import("./bits.js").Bits} Bits */

/** What int8 holds on both sides. */
const LARGEST_WEIGHT = 127;
/** Of sum |v| + |m|: float32 adds so much exactly, in any order. */
const LARGEST_SUM = 2 ** 24;
/** Units that a point of the rest may have. */
const HARD_REST = 2 ** 14;
/** Units that a point of the target may have where one detector is to claim them all. */
export const HARD_TARGET = 2 ** 12;
/** Visits in a round of such an attempt, at least. */
const PATIENCE = 2 ** 17;
/** The upper and lower half of 2^64 over the golden ratio: multiples of it are spread evenly. */
const GOLDEN_HIGH = 0x9e3779b9;
const GOLDEN_LOW = 0x7f4a7c15;

/**
 * How detectors are looked for; the defaults of `Effort` in Python, where each is explained. Its `most` has no part here:
 * the page has fewer points.
 */
export const EFFORT = {
  neighbours: 300, fewest: 10, soft: 5, firm: 20, enough: 80, clean: 98, fresh: 2000, freshEach: 10, rounds: 20, stale: 4,
  epochs: 20, tolerance: 20,
};

/**
 * Distinct patterns, and the set bits of each; the target are the columns start..stop, the rest all others. Exact: no
 * bit is open.
 * @typedef {{on: Bits, maybe: Bits, ones: Uint16Array[], isExact: boolean, start: number, stop: number}} Cube
 */

/** @typedef {{columns: number[], shares: number[]}} Support */

/**
 * What weights are worth: their limit, the first column of the rest to attain it, and whom they claim.
 * @typedef {{
 *   weights: Int8Array, scores: Int32Array, limit: number, witness: number, claimed: Uint8Array, coverage: number,
 * }} Judged
 */

/** @typedef {{judged: Judged, support: Support}} Found */

/**
 * Refuse what numbers below 2^53 might not hold. Where bits are open, a point may take part once a round, and twice before.
 * @param {number} columns @param {number} width @param {boolean} isExact
 */
export function refuseTooLarge(columns, width, isExact) {
  const times = isExact ? 1 : EFFORT.rounds + 2;
  if (4 * columns * times * width * HARD_REST * UNIT > Number.MAX_SAFE_INTEGER) {
    throw new RangeError(`weights for ${columns} points and ${width} hyperplanes are too large here: use fewer`);
  }
}

/** @param {Bits} bits @param {Int8Array} weights @param {number} column @returns {number} */
function weigh(bits, weights, column) {
  const { words, stride } = bits;
  let sum = 0;
  for (let w = 0, at = column * stride; w < stride; w++, at++) {
    for (let word = words[at]; word; word &= word - 1) sum += weights[32 * w + 31 - Math.clz32(word & -word)];
  }
  return sum;
}

/**
 * <v, bits> of every column: the least that it can be in the rest, the most in the target.
 * @param {Cube} cube @param {Int8Array} weights @returns {Int32Array}
 */
function weighAll(cube, weights) {
  const { on, maybe, start, stop } = cube;
  if (cube.isExact) return Int32Array.from({ length: on.count }, (_, c) => weigh(on, weights, c));
  const up = weights.map((v) => Math.max(v, 0));
  const down = weights.map((v) => Math.min(v, 0));
  return Int32Array.from({ length: on.count }, (_, c) => {
    const inside = c >= start && c < stop;
    return weigh(inside ? maybe : on, up, c) + weigh(inside ? on : maybe, down, c);
  });
}

/**
 * The limit of weights, exactly, and the points below it; `worth` of target points is zero once claimed.
 * @param {Cube} cube @param {Int8Array} weights @param {Int32Array} worth @returns {Judged}
 */
export function judge(cube, weights, worth) {
  const scores = weighAll(cube, weights);
  const { limit, witness } = lowestOutside(scores.length, cube.start, cube.stop, (column) => scores[column]);
  const claimed = Uint8Array.from(worth, (value, k) => (value > 0 && scores[cube.start + k] < limit ? 1 : 0));
  const coverage = worth.reduce((sum, value, k) => sum + value * claimed[k], 0);
  return { weights, scores, limit, witness, claimed, coverage };
}

/** The greatest whole number below a / n, for whole numbers up to 2^53. @param {number} a @param {number} n */
function floorDivide(a, n) {
  const near = Math.floor(a / n);
  const left = a - near * n;
  return left < 0 ? near - 1 : left >= n ? near + 1 : near;
}

/** The same for BigInt and n > 0. @param {bigint} a @param {bigint} n @returns {bigint} */
function floorDivideBig(a, n) {
  const near = a / n;
  return a % n < 0n ? near - 1n : near;
}

/** @param {bigint} value @returns {number} */
function withinInt32(value) {
  const low = -(2n ** 31n);
  const high = 2n ** 31n - 1n;
  return Number(value < low ? low : value > high ? high : value);
}

/**
 * The points that a fit looks at, target first, with their shares and the half-space that they make. Where bits are
 * open, a point is a box of patterns: it begins with one corner, and those that are worst for the weights join.
 */
export class Machine {
  /** @param {Cube} cube @param {number[]} pool @param {number} softness */
  constructor(cube, pool, softness) {
    this.cube = cube;
    this.width = cube.on.width;
    this.pool = pool;
    this.goal = UNIT * this.width;
    /** @type {number[]} */
    this.columns = [];
    /** The set bits of each. @type {Uint16Array[]} */
    this.rows = [];
    /** Which corners take part, where there are several. @type {string[]} */
    this.corners = [];
    /** @type {number[]} */
    this.caps = [];
    /** @type {number[]} */
    this.shares = [];
    this.sums = new Float64Array(this.width);
    this.total = 0;
    this.spread = 0;
    this.turn = 0;
    this.patience = 0;
    this.soft = 0;
    this.setSoftness(softness);
    for (const column of pool) this.join(column, this.soft);
  }

  /** How much a point of the target may count. @param {number} units */
  setSoftness(units) {
    this.soft = units * UNIT;
    this.caps = this.caps.map((cap) => (cap > 0 ? this.soft : cap));
    this.patience = units >= HARD_TARGET ? PATIENCE : 0;
  }

  /** Let points of the rest take part; they may count as much as it takes. @param {number[]} columns */
  joinRest(columns) {
    for (const column of columns) this.join(column, -HARD_REST * UNIT);
  }

  /**
   * @param {number} column @param {number} cap
   * @param {Uint16Array} [row] its set bits, if they are not those that are surely on @param {string} [corner]
   */
  join(column, cap, row = this.cube.ones[column], corner = this.cornerOf(column, this.cube.on.row(column))) {
    this.columns.push(column);
    this.rows.push(row);
    this.corners.push(corner);
    this.caps.push(cap);
    this.shares.push(0);
  }

  /** @param {number} column @param {Uint32Array} words @returns {string} */
  cornerOf(column, words) {
    return this.cube.isExact ? "" : `${column}:${words.join(" ")}`;
  }

  /**
   * Let points, all target or all rest, take part as they are worst for the weights; how many did not so already.
   * @param {number[]} columns @param {Int8Array} weights @param {number} cap @returns {number}
   */
  joinWorst(columns, weights, cap) {
    const known = new Set(this.corners);
    const rows = worst(this.cube, columns, weights);
    let joined = 0;
    columns.forEach((column, k) => {
      const corner = this.cornerOf(column, rows.row(k));
      if (known.has(corner)) return;
      this.join(column, cap, rows.indices(k), corner);
      joined += 1;
    });
    return joined;
  }

  /** A round of coordinate descent, in an order shuffled by hashing; whether it came to rest. @returns {boolean} */
  descend() {
    this.turn += 1;
    const visit = shuffled(this.columns.length, this.turn);
    const epochs = Math.max(EFFORT.epochs, Math.floor(this.patience / this.columns.length));
    let left = visit.length;
    let largest = 0;
    for (let epoch = 0; epoch < epochs; epoch++) {
      [left, largest] = this.pass(visit, left);
      if (largest <= EFFORT.tolerance) break;
    }
    return largest <= EFFORT.tolerance;
  }

  /**
   * One epoch over the first `left` of the visited: how many are visited again, and the largest step.
   * @param {Int32Array} visit @param {number} left @returns {[number, number]}
   */
  pass(visit, left) {
    const { sums, shares, caps, rows, goal, width } = this;
    let largest = 0;
    let kept = 0;
    for (let t = 0; t < left; t++) {
      const i = visit[t];
      const set = rows[i];
      const old = shares[i];
      let inner = 0;
      for (let k = 0; k < set.length; k++) inner += sums[set[k]];
      const f = 2 * inner - this.total * set.length - this.spread + width * this.total;
      const wanted = caps[i] > 0 ? floorDivide(goal - f, width) : -floorDivide(goal + f, width);
      const next = caps[i] > 0
        ? Math.min(Math.max(old + wanted, 0), caps[i])
        : Math.max(Math.min(old + wanted, 0), caps[i]);
      if (next === old && Math.abs(wanted) > 2 * EFFORT.tolerance) continue;
      visit[kept++] = i;
      if (next === old) continue;
      const step = next - old;
      shares[i] = next;
      for (let k = 0; k < set.length; k++) sums[set[k]] += step;
      this.total += step;
      this.spread += step * set.length;
      largest = Math.max(largest, Math.abs(step));
    }
    return [kept, largest];
  }

  /** The half-space, low on the target, its weights rounded to multiples of largest / top; and these two. */
  weights() {
    const exact = this.sums.map((sum) => this.total - 2 * sum);
    const top = Math.min(LARGEST_WEIGHT, Math.floor(LARGEST_SUM / (2 * this.width)));
    const largest = exact.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    const size = Math.max(largest, 1);
    const rounded = exact.map((value) => Math.sign(value) * floorDivide(2 * top * Math.abs(value) + size, 2 * size));
    return { weights: Int8Array.from(rounded), top, largest };
  }

  /**
   * Let go of the rest that lies far off, take in what lies within the margin; whether there was any.
   * @param {Judged} found @param {number} top @param {number} largest @returns {boolean}
   */
  widen({ scores, weights }, top, largest) {
    const constant = BigInt(this.width * this.total - this.spread);
    const goal = BigInt(this.goal);
    const size = BigInt(Math.max(largest, 1));
    const near = withinInt32(floorDivideBig((constant + goal) * BigInt(top), size));
    const far = withinInt32(floorDivideBig((2n * constant + 3n * goal) * BigInt(top), 2n * size));
    this.leave((k) => this.caps[k] > 0 || this.shares[k] !== 0 || scores[this.columns[k]] <= far);
    const { start, stop, isExact } = this.cube;
    const taken = new Set(isExact ? this.columns : []);
    const inside = range(0, scores.length).filter((c) => scores[c] < near && (c < start || c >= stop) && !taken.has(c));
    const found = lowest(scores, inside, Math.min(EFFORT.fresh, EFFORT.freshEach * this.pool.length));
    if (isExact) {
      this.joinRest(found);
      return found.length > 0;
    }
    const low = withinInt32(floorDivideBig((constant - goal) * BigInt(top), size));
    const more = this.joinWorst(found, weights, -HARD_REST * UNIT);
    return more + this.joinWorst(this.pool.filter((c) => scores[c] > low), weights, this.soft) > 0;
  }

  /** Keep some of those that take part. @param {(k: number) => boolean} isKept */
  leave(isKept) {
    const kept = range(0, this.columns.length).filter(isKept);
    /** @template T @param {T[]} list */
    const some = (list) => kept.map((k) => list[k]);
    this.columns = some(this.columns);
    this.rows = some(this.rows);
    this.corners = some(this.corners);
    this.caps = some(this.caps);
    this.shares = some(this.shares);
  }

  /** The columns that have a share: that of all their corners. @returns {Support} */
  support() {
    const has = range(0, this.shares.length).filter((k) => this.shares[k] !== 0);
    if (this.cube.isExact) return { columns: has.map((k) => this.columns[k]), shares: has.map((k) => this.shares[k]) };
    /** @type {Map<number, number>} */
    const sums = new Map();
    for (const k of has) sums.set(this.columns[k], (sums.get(this.columns[k]) ?? 0) + this.shares[k]);
    const columns = [...sums.keys()].sort((a, b) => a - b);
    return { columns, shares: columns.map((column) => sums.get(column) ?? 0) };
  }
}

/**
 * Some columns, all target or all rest, their open bits as bad as they can be for the weights.
 * @param {Cube} cube @param {number[]} columns @param {Int8Array} weights @returns {Bits}
 */
function worst({ on, maybe, start, stop }, columns, weights) {
  const rows = on.take(columns);
  const isTarget = columns.length > 0 && columns[0] >= start && columns[0] < stop;
  const bad = new Uint32Array(on.stride);
  weights.forEach((v, i) => (isTarget ? v > 0 : v < 0) && (bad[i >>> 5] |= 1 << (i & 31)));
  columns.forEach((column, k) => {
    const row = rows.row(k);
    maybe.row(column).forEach((word, w) => (row[w] |= word & bad[w]));
  });
  return rows;
}

/**
 * 0..count - 1 in the order of (k + turn) * GOLDEN modulo 2^64; the upper half decides, since multiples of the golden
 * ratio lie evenly.
 * @param {number} count @param {number} turn @returns {Int32Array}
 */
function shuffled(count, turn) {
  const keys = Float64Array.from({ length: count }, (_, k) => {
    const carry = Math.floor(((k + turn) * GOLDEN_LOW) / 2 ** 32);
    return ((k + turn) * GOLDEN_HIGH + carry) % 2 ** 32;
  });
  return Int32Array.from(keys.keys()).sort((a, b) => keys[a] - keys[b]);
}

/**
 * The `count` of some places with the lowest values, the first ones on a tie; in the order given.
 * @param {ArrayLike<number>} values @param {number[]} places @param {number} count @returns {number[]}
 */
function lowest(values, places, count) {
  if (places.length <= count) return places;
  const bound = places.map((place) => values[place]).sort((a, b) => a - b)[count - 1];
  let ties = count - places.filter((place) => values[place] < bound).length;
  return places.filter((place) => values[place] < bound || (values[place] === bound && ties-- > 0));
}

/**
 * The weights of the round that claims most (the last such), with their support.
 * @param {Machine} machine @param {Int32Array} worth @param {number} everything @returns {Found}
 */
export function fit(machine, worth, everything) {
  /** @type {Found | null} */
  let best = null;
  let stale = 0;
  for (let round = 0; round < EFFORT.rounds; round++) {
    const atRest = machine.descend();
    const { weights, top, largest } = machine.weights();
    const judged = judge(machine.cube, weights, worth);
    const record = best === null ? -1 : best.judged.coverage;
    stale = judged.coverage > record ? 0 : stale + 1;
    if (best === null || judged.coverage >= record) best = { judged, support: machine.support() };
    const widened = machine.widen(judged, top, largest);
    if (atRest && !widened) break;
    if (stale >= (best.judged.coverage === everything ? 1 : EFFORT.stale)) break;
  }
  if (best === null) throw new Error("a fit has at least one round");
  return best;
}

/**
 * The paper's mask of a seed, 1 - Phi, and the signed one, 1 - 2 Phi, which fits whenever patterns differ.
 * @param {Cube} cube @param {number} seed @returns {[Int8Array, Int8Array]}
 */
export function masks(cube, seed) {
  const off = maskWeights(cube.maybe, seed);
  return [off, off.map((value, i) => value - (cube.on.get(seed, i) ? 1 : 0))];
}

/**
 * The `count` of some target columns that differ least from the seed, the first on a tie.
 * @param {Cube} cube @param {number} seed @param {number[]} columns @param {number} count @returns {number[]}
 */
export function nearest(cube, seed, columns, count) {
  if (columns.length <= count) return columns;
  const own = cube.on.row(seed);
  const distances = new Int32Array(cube.on.count);
  for (const column of columns) {
    distances[column] = cube.on.row(column).reduce((sum, word, w) => sum + popcount(word ^ own[w]), 0);
  }
  return lowest(distances, columns, count);
}
