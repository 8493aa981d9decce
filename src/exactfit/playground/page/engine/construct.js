/**
 * From labelled points to a network: Algorithm 1, Algorithm 2, masks or weights. No DOM here.
 */

import { openCounts, separate } from "./adaptive.js";
import { claimWithoutMargin, ClassOrder, coverInTurn } from "./cover.js";
import { planeSource, Random, radius } from "./draws.js";
import { norm, patternsOf, separation } from "./patterns.js";
import { weightedCovers } from "./weighted.js";

/** @typedef {import("./bits.js").Bits} Bits */
/** @typedef {import("./cover.js").Cover} Cover */
/** @typedef {import("./cover.js").Detector} Detector */
/** @typedef {import("./patterns.js").Patterns} Patterns */
/** @typedef {import("./patterns.js").Points} Points */
/** @typedef {import("./signs.js").Planes} Planes */

/**
 * How a network is to be built. `margin` is in per cent of half the separation.
 * @typedef {import("./draws.js").Drawing & {
 *   algorithm: 1 | 2, width: number, order: "random" | "rows", detectors: "mask" | "weighted", margin: number,
 * }} Recipe
 */

/** @typedef {"interpolates" | "points missed" | "margin missed"} Outcome */

/**
 * A network and how it came about; detectors speak of rows. `exact` are the bits of all points, in row order.
 * @typedef {{
 *   planes: Planes, detectors: Detector[], targets: number[], classes: number, order: number[], margin: number,
 *   uncovered: number[], narrow: number[], outcome: Outcome, exact: Bits, open: Float64Array, rescued: number,
 *   radius: number, separation: number, robustRadius: number,
 * }} Construction
 */

/** Purposes of random streams, beside that of hyperplanes. */
const ORDER = 2;
const BISECTORS = 3;

/** How many classes there are: labels are 0..K-1. @param {Points} points @returns {number} */
export function classCount({ label }) {
  return label.reduce((most, k) => Math.max(most, k + 1), 0);
}

/** The classes that get detectors: of two the rarer one (the last on a tie), else all. @param {Points} points */
export function chooseTargets(points) {
  const sizes = Array.from({ length: classCount(points) }, () => 0);
  for (const k of points.label) sizes[k] += 1;
  if (sizes.length > 2) return sizes.map((_, k) => k);
  return [sizes[0] < sizes[1] ? 0 : 1];
}

/** Refuse what has no network: one class, a class without points, equal points with different labels. */
/** @param {Points} points */
export function refuseContradictions(points) {
  const sizes = Array.from({ length: classCount(points) }, (_, k) => points.label.filter((own) => own === k).length);
  if (sizes.length < 2 || sizes.includes(0)) throw new RangeError("every class needs a point, and two classes at least");
  const known = new Map();
  points.x.forEach((x, row) => {
    const key = `${x + 0} ${points.y[row] + 0}`;
    const other = known.get(key) ?? row;
    if (points.label[other] !== points.label[row]) {
      throw new RangeError(`points ${other} and ${row} are equal and have different labels: no network tells them apart`);
    }
    known.set(key, other);
  });
}

/**
 * Build the network that a recipe asks for.
 * @param {Points} points @param {Recipe} recipe @returns {Construction}
 */
export function construct(points, recipe) {
  refuseContradictions(points);
  const targets = chooseTargets(points);
  const margin = recipe.margin && (separation(points).distance / 2) * (recipe.margin / 100);
  const source = planeSource(points, targets, recipe);
  const { planes, rescued } = recipe.algorithm === 1
    ? separate(points, targets, source, margin, new Random(recipe.seed, BISECTORS))
    : { planes: source(recipe.width), rescued: 0 };
  const rows = Array.from(points.label.keys());
  const order = recipe.order === "random" ? new Random(recipe.seed, ORDER).shuffle(rows) : rows;
  const options = { detectors: recipe.detectors, margin };
  return { ...construct2(points, planes, order, options), rescued };
}

/**
 * Algorithm 2, lines 2-12, with given hyperplanes and order: what `exactfit.fixed_width` does with them.
 * @param {Points} points @param {Planes} planes @param {number[]} order all rows
 * @param {{detectors: "mask" | "weighted", margin: number}} options margin as a distance
 * @returns {Construction}
 */
export function construct2(points, planes, order, { detectors: kind, margin }) {
  refuseContradictions(points);
  const gap = separation(points).distance;
  if (2 * margin >= gap) throw new RangeError(`points of different labels are only ${gap} apart: use a margin below half`);
  const targets = chooseTargets(points);
  const classes = new ClassOrder(points.label, classCount(points));
  const rowPatterns = patternsOf(points, planes, margin);
  const patterns = inOrder(rowPatterns, classes.rows);
  const weighted = kind === "weighted" ? weightedCovers(patterns, classes) : null;
  const covers = targets.map((k) => {
    const candidates = classes.candidates(k, order);
    return weighted ? weighted(k, candidates) : coverInTurn(patterns, classes.target(k), k, candidates);
  });
  const exact = margin > 0 ? patternsOf(points, planes).on : rowPatterns.on;
  const left = covers.flatMap((cover) => cover.uncovered.map((column) => classes.rows[column])).sort((a, b) => a - b);
  if (margin > 0 && left.length) {
    const still = exact.take(classes.rows);
    covers.forEach((cover, t) => {
      const target = classes.target(targets[t]);
      cover.detectors.push(...claimWithoutMargin(patterns.on, still, target, targets[t], cover.uncovered));
    });
  }
  const detectors = covers.flatMap((cover) => cover.detectors.map((one) => inRows(one, classes.rows)));
  const network = { detectors, targets, classes: classes.starts.length - 1 };
  const wrong = margin > 0 ? left.filter((row) => answer(network, exact, row) !== points.label[row]) : left;
  const narrow = left.filter((row) => !wrong.includes(row));
  return {
    ...network, planes, order, margin, exact, narrow, uncovered: wrong, rescued: 0,
    outcome: wrong.length ? "points missed" : narrow.length ? "margin missed" : "interpolates",
    open: openCounts(points.label, targets, rowPatterns),
    radius: radius(points), separation: gap, robustRadius: robustRadius(points, planes),
  };
}

/** @param {Patterns} patterns @param {number[]} rows @returns {Patterns} */
function inOrder({ on, maybe }, rows) {
  const taken = on.take(rows);
  return { on: taken, maybe: maybe === on ? taken : maybe.take(rows) };
}

/** A detector of columns as one of rows. @param {Detector} detector @param {number[]} rows @returns {Detector} */
function inRows(detector, rows) {
  /** @param {number} column */
  const row = (column) => rows[column];
  return {
    ...detector,
    anchor: row(detector.anchor),
    witness: row(detector.witness),
    claimed: detector.claimed.map(row),
    support: detector.support.map(row),
  };
}

/** What a detector counts at a pattern. @param {Int8Array} weights @param {Bits} bits @param {number} row */
export function countOf(weights, bits, row) {
  let sum = 0;
  for (let i = 0; i < weights.length; i++) if (bits.get(row, i)) sum += weights[i];
  return sum;
}

/**
 * The class that the first so many detectors answer with at a pattern; -1 where none or several classes claim it.
 * With two classes the one without detectors is the answer where none fires.
 * @param {{detectors: Detector[], targets: number[]}} network @param {Bits} bits @param {number} row
 * @returns {number}
 */
export function answer({ detectors, targets }, bits, row) {
  const fired = new Set(detectors.filter((one) => countOf(one.weights, bits, row) < one.limit).map((one) => one.label));
  if (targets.length === 1) return fired.size ? targets[0] : 1 - targets[0];
  return fired.size === 1 ? [...fired][0] : -1;
}

/** The distance of the nearest hyperplane to any point. @param {Points} points @param {Planes} planes */
function robustRadius(points, planes) {
  let least = Infinity;
  for (let i = 0; i < planes.b.length; i++) {
    const size = norm(planes.wx[i], planes.wy[i]);
    for (let row = 0; row < points.x.length; row++) {
      const value = Math.abs(planes.wx[i] * points.x[row] + planes.wy[i] * points.y[row] + planes.b[i]);
      if (value < least * size) least = value / size;
    }
  }
  return least;
}
