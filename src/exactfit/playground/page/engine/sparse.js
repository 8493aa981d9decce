/**
 * Sparse hyperplanes: each looks at one or both features, with weights that are powers of two.
 *
 * As `exactfit/construct/sparse_hyperplanes.py`, from the same random numbers: a hyperplane comes from two random points
 * of different labels, and its bias is uniform between its own sums at the two.
 */

import { Generator } from "./numpy.js";
import { exponentOf } from "./patterns.js";
import { next } from "./signs.js";

/** @typedef {import("./patterns.js").Points} Points */
/** @typedef {import("./signs.js").Planes} Planes */
/** @typedef {[number, number, number]} Plane two weights and a bias */
/** @typedef {{feature: number, here: number, there: number}} Difference a feature in which two points differ */

/** Hyperplanes of one stream. */
const BLOCK = 64;
/** First number of the key of their streams. */
const HYPERPLANES = 0;
/** Points that the spread of features is taken from. */
const SPREAD_ROWS = 1024;
/** Of a weight. */
const LARGEST_EXPONENT = 60;

/**
 * An endless supply of sparse hyperplanes, the same as Python's for the same seed.
 * @param {Points} points @param {number[]} targets @param {number} maxFeatures @param {number} seed
 * @returns {(count: number) => Planes}
 */
export function sparseSource(points, targets, maxFeatures, seed) {
  const draw = pairDraw(points, targets);
  const exponents = spreadExponents(points);
  let blocks = 0;
  return (count) => {
    const planes = Array.from({ length: Math.ceil(count / BLOCK) }, () =>
      drawBlock(points, draw, exponents, maxFeatures, new Generator(seed, HYPERPLANES, blocks++)),
    ).flat();
    /** @param {number} k */
    const column = (k) => Float64Array.from(planes.slice(0, count), (plane) => plane[k]);
    return { wx: column(0), wy: column(1), b: column(2) };
  };
}

/**
 * @param {Points} points @param {(random: Generator) => [number, number][]} draw @param {number[]} exponents
 * @param {number} most @param {Generator} random @returns {Plane[]}
 */
function drawBlock(points, draw, exponents, most, random) {
  const found = draw(random).map(([a, b]) => differences(points, a, b));
  const counts = found.map(() => 1 + random.below(most));
  const keyed = found.map((ones) => ones.map((one) => ({ one, key: random.random() })));
  const signs = found.map(() => Array.from({ length: most }, () => 2 * random.below(2) - 1));
  return keyed.map((ones, k) => {
    ones.sort((one, other) => one.key - other.key);
    const chosen = ones.slice(0, counts[k]).map(({ one }) => one);
    return hyperplane(chosen, exponents, signs[k], random.random());
  });
}

/**
 * Draws 64 pairs, uniform over those of a point of a target class and one of another.
 * @param {Points} points @param {number[]} targets @returns {(random: Generator) => [number, number][]}
 */
function pairDraw({ label }, targets) {
  const rows = Array.from(label.keys()).sort((a, b) => label[a] - label[b] || a - b);
  const classes = targets.map((k) => {
    const size = label.reduce((sum, own) => sum + Number(own === k), 0);
    return { start: rows.findIndex((row) => label[row] === k), size, pairs: size * (rows.length - size) };
  });
  const total = classes.reduce((sum, { pairs }) => sum + pairs, 0);
  let reached = 0;
  const steps = classes.map(({ pairs }) => (reached += pairs / total));
  return (random) => {
    const places = Array.from({ length: BLOCK }, () => random.random());
    const chosen = places.map((at) => classes[steps.filter((step) => step / reached <= at).length]);
    const here = chosen.map(({ start, size }) => start + random.below(size));
    const there = chosen.map(({ start, size }) => {
      const place = random.below(rows.length - size);
      return place >= start ? place + size : place;
    });
    return here.map((place, k) => [rows[place], rows[there[k]]]);
  };
}

/** The features in which two points differ. @param {Points} points @param {number} a @param {number} b */
function differences({ x, y }, a, b) {
  return [x, y]
    .map((values, feature) => ({ feature, here: values[a], there: values[b] }))
    .filter(({ here, there }) => here !== there);
}

/**
 * For each feature the power of two that brings its typical difference between points near 1.
 * @param {Points} points @returns {number[]}
 */
function spreadExponents(points) {
  const last = points.x.length - 1;
  const count = Math.min(SPREAD_ROWS, last + 1);
  const rows = Array.from({ length: count }, (_, k) => (k === count - 1 ? last : Math.floor(k * (last / (count - 1)))));
  let step = Math.ceil((3 * count) / 8);
  while (divisor(step, count) !== 1) step++;
  const found = rows.flatMap((row, k) => differences(points, row, rows[(k - step + 2 * count) % count]));
  return [0, 1].map((feature) => {
    const sizes = found.filter((one) => one.feature === feature).map(({ here, there }) => Math.abs(here - there));
    sizes.sort((a, b) => a - b);
    return 1 - exponentOf(Math.min(sizes[sizes.length >> 1] ?? 1, Number.MAX_VALUE));
  });
}

/** The greatest common divisor. @param {number} a @param {number} b @returns {number} */
function divisor(a, b) {
  return b === 0 ? a : divisor(b, a % b);
}

/**
 * @param {Difference[]} chosen @param {number[]} exponents @param {number[]} signs @param {number} place
 * @returns {Plane}
 */
function hyperplane(chosen, exponents, signs, place) {
  const own = chosen.map(({ feature }) => exponents[feature]);
  const least = Math.min(...own);
  const weights = own.map((exponent, k) => signs[k] * 2 ** Math.min(exponent - least, LARGEST_EXPONENT));
  const flipped = weights.map((weight, k) => (k === weights.length - 1 ? -weight : weight));
  // Where both points have the same sum, they differ in it once the last sign is turned; rounding may still leave no
  // number between them, but never between two values of one feature.
  for (const used of [weights, flipped, signs.slice(0, 1)]) {
    const features = chosen.slice(0, used.length);
    const here = features.map((one, k) => used[k] * one.here);
    const there = features.map((one, k) => used[k] * one.there);
    const bias = biasBetween(here, there, place);
    if (bias === null) continue;
    /** @type {Plane} */
    const plane = [0, 0, bias];
    features.forEach(({ feature }, k) => (plane[feature] = used[k]));
    return plane;
  }
  throw new RangeError("no number lies between two values of a feature");
}

/**
 * A bias at `place` of the way between two sums, the larger of which it leaves on; null without room.
 * @param {number[]} here @param {number[]} there @param {number} place @returns {number | null}
 */
function biasBetween(here, there, place) {
  const [low, high] = [exactSum(here), exactSum(there)].sort((one, other) => one.total - other.total);
  if (!Number.isFinite(low.total) || !Number.isFinite(high.total)) return null;
  const first = low.rest > 0 ? next(low.total, Infinity) : low.total;
  const last = high.rest > 0 ? high.total : next(high.total, -Infinity);
  if (!(-Infinity < first && first <= last && last < Infinity)) return null;
  return -Math.min(Math.max((1 - place) * first + place * last, first), last);
}

/** At most two numbers as their rounded sum and what that leaves, exactly. @param {number[]} terms */
function exactSum([a, b = 0]) {
  const total = a + b;
  const added = total - a;
  return { total, rest: a - (total - added) + (b - added) };
}
