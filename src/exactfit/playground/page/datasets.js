/**
 * Points to start from: every data set for two to four classes, within the square from -1 to 1.
 */

import { Random } from "./engine/draws.js";

/** @typedef {import("./engine/patterns.js").Points} Points */
/** @typedef {[number, number, number]} Point x, y, label */

/** What can be chosen, and how it is called; long words say where they may be broken. */
export const DATASETS = /** @type {const} */ ({
  moons: "Two moons",
  circles: "Circles",
  spirals: "Spirals",
  lines: "Parallel lines",
  line: "Alter\u00adnating line",
  chessboard: "Chess\u00adboard",
  own: "My own points",
});

/** Coordinates are whole multiples of this: short in a link, and the same after it. */
export const GRID = 1000;
/** Purpose of the random stream. */
const DATA = 4;
/** Squares of the chessboard on a side. */
const SQUARES = 6;

/**
 * A place in (0, 1) along a shape, of class k of so many, and how far it may be off.
 * @typedef {(t: number, k: number, classes: number, random: Random) => [number, number]} Shape
 */

/** @type {Record<string, {shape: Shape, noise: number, isRandom: boolean}>} */
const SHAPES = {
  moons: {
    noise: 0.12, isRandom: true,
    shape: (t, k, classes) => {
      const up = k % 2 === 0 ? 1 : -1;
      const size = 1.32 / (classes + 0.2);
      const at = (k - (classes - 1) / 2) * size;
      return [at + size * Math.cos(Math.PI * t), up * size * (Math.sin(Math.PI * t) - 0.25)];
    },
  },
  circles: {
    noise: 0.1, isRandom: true,
    shape: (t, k, classes) => {
      const size = 0.3 + (0.62 * k) / (classes - 1);
      return [size * Math.cos(2 * Math.PI * t), size * Math.sin(2 * Math.PI * t)];
    },
  },
  spirals: {
    noise: 0.06, isRandom: true,
    shape: (t, k, classes) => {
      const turn = 2 * Math.PI * (1.4 * t + k / classes);
      const size = 0.08 + 0.88 * t;
      return [size * Math.cos(turn), size * Math.sin(turn)];
    },
  },
  lines: {
    noise: 0.03, isRandom: false,
    shape: (t, k, classes) => [1.9 * t - 0.95, 0.12 * (k - (classes - 1) / 2)],
  },
  chessboard: {
    noise: 0, isRandom: true,
    shape: (_, k, classes, random) => {
      for (;;) {
        const [i, j] = [random.below(SQUARES), random.below(SQUARES)];
        if ((classes === 4 ? 2 * (i % 2) + (j % 2) : (i + j) % classes) !== k) continue;
        /** @param {number} square within it, clear of its border */
        const within = (square) => (2 * (square + 0.08 + 0.84 * random.uniform())) / SQUARES - 1;
        return [0.95 * within(i), 0.95 * within(j)];
      }
    },
  },
};

/**
 * The points of a data set; equal points of different labels are moved apart.
 * @param {{data: string, count: number, noise: number, classes: number, seed: number, points: Point[]}} state
 * @returns {Point[]}
 */
export function pointsOf(state) {
  if (state.data === "own") return state.points;
  const random = new Random(state.seed, DATA);
  /** @type {Map<string, number>} */
  const taken = new Map();
  return Array.from({ length: Math.max(state.count, state.classes) }, (_, i) => {
    const [x, y, label] = state.data === "line" ? onLine(state, i) : onShape(state, i, random);
    return apart(onGrid(x), onGrid(y), label, taken);
  });
}

/** @param {{count: number, classes: number}} state @param {number} i @returns {Point} */
function onLine({ count, classes }, i) {
  return [count < 2 ? 0 : (1.9 * i) / (Math.max(count, classes) - 1) - 0.95, 0, i % classes];
}

/** @param {{data: string, count: number, noise: number, classes: number}} state @param {number} i @param {Random} random */
function onShape(state, i, random) {
  const { shape, noise, isRandom } = SHAPES[state.data];
  const label = i % state.classes;
  const size = Math.ceil(state.count / state.classes);
  const rank = Math.floor(i / state.classes);
  const t = isRandom ? (rank + random.uniform()) / size : rank / Math.max(1, size - 1);
  const [x, y] = shape(t, label, state.classes, random);
  const spread = noise * (state.noise / 50) * (2 / state.classes);
  return /** @type {Point} */ ([x + spread * random.normal(), y + spread * random.normal(), label]);
}

/** The nearest place that a link can hold. @param {number} value @returns {number} */
export function onGrid(value) {
  return Math.round(Math.max(-1.2, Math.min(1.2, value)) * GRID) / GRID;
}

/** @param {number} x @param {number} y @param {number} label @param {Map<string, number>} taken @returns {Point} */
function apart(x, y, label, taken) {
  while ((taken.get(`${x} ${y}`) ?? label) !== label) y = onGrid(y < 1.2 ? y + 1 / GRID : -1.2);
  taken.set(`${x} ${y}`, label);
  return [x, y, label];
}

/** Points as the engine takes them. @param {Point[]} points @returns {Points} */
export function asArrays(points) {
  return {
    x: Float64Array.from(points, (point) => point[0]),
    y: Float64Array.from(points, (point) => point[1]),
    label: Uint8Array.from(points, (point) => point[2]),
  };
}
