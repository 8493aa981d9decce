/**
 * The whole state as a link, and back: numbers and words of closed lists, nothing else.
 */

import { DATASETS, GRID, onGrid } from "./datasets.js";
import { LAWS } from "./engine/draws.js";

/** @typedef {import("./datasets.js").Point} Point */

/**
 * @typedef {{
 *   data: string, count: number, noise: number, classes: number, algorithm: number, width: number, law: string,
 *   features: number, bias: number, order: string, detectors: string, margin: number, seed: number, step: number,
 *   points: Point[],
 * }} State `step` counts hyperplanes and then detectors; -1 is the end
 */

/** Points that a link or a page may hold. */
export const MOST_POINTS = 2000;
/** Characters of a link: 2,000 points take 12 each. */
const LONGEST = 40_000;

/** Words of closed lists. */
const WORDS = {
  data: Object.keys(DATASETS),
  law: LAWS,
  order: ["random", "rows"],
  detectors: ["mask", "weighted"],
};

/** Words that pages once had: the default takes their place. @type {Partial<Record<string, string[]>>} */
const REMOVED = { law: ["near-bisector"], order: ["greedy"] };

/** The least and the greatest of each number, and its decimals. */
export const NUMBERS = {
  count: [4, 500, 0],
  noise: [0, 100, 0],
  classes: [2, 4, 0],
  algorithm: [1, 2, 0],
  width: [1, 600, 0],
  features: [1, 4, 0],
  bias: [0, 2, 2],
  margin: [0, 95, 0],
  seed: [0, 9999, 0],
  step: [-1, 9999, 0],
};

/** @type {State} */
export const DEFAULT = Object.freeze({
  data: "moons", count: 120, noise: 20, classes: 2, algorithm: 2, width: 100, law: "sparse", features: 4, bias: 1,
  order: "random", detectors: "mask", margin: 0, seed: 1, step: -1, points: [],
});

/** What is not as it is by default, as the part of a link after the #. @param {State} state @returns {string} */
export function format(state) {
  const changed = [...Object.keys(WORDS), ...Object.keys(NUMBERS)].filter(
    (name) => state[/** @type {keyof State} */ (name)] !== DEFAULT[/** @type {keyof State} */ (name)],
  );
  const parts = changed.map((name) => `${name}=${state[/** @type {keyof State} */ (name)]}`);
  if (state.data === "own") parts.push(`points=${state.points.map(formatPoint).join("_")}`);
  return parts.join("&");
}

/** @param {Point} point @returns {string} */
function formatPoint([x, y, label]) {
  return `${Math.round(x * GRID)},${Math.round(y * GRID)},${label}`;
}

/**
 * The state that a link holds; an error says what is wrong with it, in words of this page only.
 * @param {string} text without the #
 * @returns {State}
 */
export function parse(text) {
  if (text.length > LONGEST) throw new RangeError("it is too long");
  /** @type {Map<string, string>} */
  const given = new Map();
  for (const part of text.split("&").filter(Boolean)) {
    const [name, value, ...more] = part.split("=");
    if (value === undefined || more.length) throw new RangeError("a part of it is not a name and a value");
    if (given.has(name)) throw new RangeError("it says something twice");
    given.set(name, value);
  }
  /** @type {Record<string, unknown>} */
  const state = { ...DEFAULT };
  for (const [name, value] of given) state[known(name)] = name === "points" ? parsePoints(value) : parseValue(name, value);
  return checked(/** @type {State} */ (/** @type {unknown} */ (state)));
}

/** @param {string} name @returns {string} */
function known(name) {
  if (name === "points" || Object.hasOwn(WORDS, name) || Object.hasOwn(NUMBERS, name)) return name;
  throw new RangeError("it has a part that this page does not know");
}

/** @param {string} name @param {string} value @returns {string | number} */
function parseValue(name, value) {
  if (Object.hasOwn(WORDS, name)) {
    if (REMOVED[name]?.includes(value)) return String(DEFAULT[/** @type {keyof State} */ (name)]);
    const word = WORDS[/** @type {keyof typeof WORDS} */ (name)].find((allowed) => allowed === value);
    if (word === undefined) throw new RangeError(`${name} is none of those that there are`);
    return word;
  }
  const [least, most, decimals] = NUMBERS[/** @type {keyof typeof NUMBERS} */ (name)];
  const form = decimals ? /^-?\d{1,4}(\.\d{1,2})?$/ : /^-?\d{1,4}$/;
  const number = form.test(value) ? Number(value) : NaN;
  if (!(number >= least && number <= most)) throw new RangeError(`${name} is not a number from ${least} to ${most}`);
  return number;
}

/** @param {string} value @returns {Point[]} */
function parsePoints(value) {
  const texts = value === "" ? [] : value.split("_");
  if (texts.length > MOST_POINTS) throw new RangeError(`it has more than ${MOST_POINTS} points`);
  return texts.map((text, place) => {
    const match = /^(-?\d{1,4}),(-?\d{1,4}),([0-3])$/.exec(text);
    const point = match ? match.slice(1).map(Number) : [];
    const [x, y] = [point[0] / GRID, point[1] / GRID];
    if (!match || onGrid(x) !== x || onGrid(y) !== y) throw new RangeError(`point ${place} is not on the page`);
    return [x + 0, y + 0, point[2]];
  });
}

/** @param {State} state @returns {State} */
function checked(state) {
  if (state.data !== "own" && state.points.length) throw new RangeError("it has points, and a data set beside them");
  return state;
}
