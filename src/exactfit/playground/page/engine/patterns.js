/**
 * From points and hyperplanes to bits: exact ones, or with a margin those that stay wherever a point moves.
 *
 * With a margin r a bit is open when the point is nearer than r to its hyperplane. `on` are the bits that are surely
 * on, `maybe` those that are on or open; without a margin the two are one. The bounds are those of
 * `exactfit/_kernels/rounding.py`, operation by operation, so that the same bits are open.
 */

import { Bits } from "./bits.js";
import { isOn } from "./signs.js";

/** @typedef {import("./signs.js").Planes} Planes */
/** @typedef {{x: Float64Array, y: Float64Array, label: Uint8Array}} Points */
/** @typedef {{on: Bits, maybe: Bits}} Patterns */

/** What a certificate's own, coarser bounds can take away from a margin. */
const ROOMY = 1 + 2 ** -20;
/** More than the few roundings that a bound itself suffers. */
const ENLARGE = 1 + 2 ** -40;
/** The smallest positive number: norms are rounded up by it. */
const TINY = 5e-324;
/** Sums below this do not overflow. */
const HUGE = 2 ** 1022;
/** Pays for underflow. */
const PAD = 2 ** -967;
/** Products in <w, x>. */
const TERMS = 2;

/**
 * The bits of all points.
 * @param {Points} points @param {Planes} planes @param {number} [margin]
 * @returns {Patterns}
 */
export function patternsOf(points, planes, margin = 0) {
  return margin > 0 ? roomyBits(points, planes, margin) : exactBits(points, planes);
}

/** @param {Points} points @param {Planes} planes @returns {Patterns} */
function exactBits(points, planes) {
  const { wx, wy, b } = planes;
  const on = new Bits(points.x.length, b.length);
  for (let row = 0; row < on.count; row++) {
    for (let i = 0; i < on.width; i++) {
      if (isOn(wx[i], wy[i], b[i], points.x[row], points.y[row])) on.set(row, i);
    }
  }
  return { on, maybe: on };
}

/** @param {Points} points @param {Planes} planes @param {number} margin @returns {Patterns} */
function roomyBits(points, planes, margin) {
  const { wx, wy, b } = planes;
  const on = new Bits(points.x.length, b.length);
  const maybe = new Bits(on.count, on.width);
  const norms = wx.map((value, i) => normAbove(value, wy[i]));
  for (let row = 0; row < on.count; row++) {
    const x = points.x[row];
    const y = points.y[row];
    const norm = normAbove(x, y);
    for (let i = 0; i < on.width; i++) {
      const value = wx[i] * x + wy[i] * y + b[i];
      const slack = 4 * errorBound(norm * norms[i] + Math.abs(b[i]), norm, norms[i]) + margin * norms[i] * ROOMY;
      if (!(Math.abs(value) > slack)) maybe.set(row, i);
      else if (value > 0) {
        on.set(row, i);
        maybe.set(row, i);
      }
    }
  }
  return { on, maybe };
}

/** A Euclidean norm, rounded up. @param {number} x @param {number} y @returns {number} */
function normAbove(x, y) {
  return norm(x, y) * (1 + (TERMS + 8) * 2 ** -52) + TINY;
}

/**
 * A Euclidean norm, scaled by a power of two first.
 * @param {number} x @param {number} y @returns {number}
 */
export function norm(x, y) {
  const largest = Math.max(Math.abs(x), Math.abs(y));
  if (largest === 0 || largest === Infinity) return largest;
  const half = 2 ** -Math.floor(exponentOf(largest) / 2);
  const other = 2 ** -(exponentOf(largest) - Math.floor(exponentOf(largest) / 2));
  const u = x * half * other;
  const v = y * half * other;
  return Math.sqrt(u * u + v * v) / half / other;
}

/** The e with 2^(e - 1) <= value < 2^e. @param {number} value @returns {number} */
export function exponentOf(value) {
  let exponent = Math.max(-1074, Math.floor(Math.log2(value)));
  while (2 ** exponent > value) exponent--;
  while (exponent < 1023 && 2 ** (exponent + 1) <= value) exponent++;
  return exponent + 1;
}

/** What float64 may err by in <w, x> + b. @param {number} size @param {number} point @param {number} plane */
function errorBound(size, point, plane) {
  if (!(size < HUGE && point < HUGE && plane < HUGE)) return Infinity;
  const unit = (TERMS + 5) * 2 ** -53;
  return (unit / (1 - unit)) * ENLARGE * (size + PAD * (point + plane + 1));
}

/**
 * The least distance of points of different labels, and the first two that have it.
 * @param {Points} points
 * @returns {{distance: number, pair: [number, number]}}
 */
export function separation(points) {
  const { x, y, label } = points;
  /** @type {{distance: number, pair: [number, number]}} */
  let best = { distance: Infinity, pair: [-1, -1] };
  for (let i = 0; i < x.length; i++) {
    for (let j = i + 1; j < x.length; j++) {
      if (label[i] === label[j]) continue;
      const dx = x[i] - x[j];
      const dy = y[i] - y[j];
      if (Math.abs(dx) > best.distance || Math.abs(dy) > best.distance) continue;
      const distance = norm(dx, dy);
      if (distance < best.distance) best = { distance, pair: [i, j] };
    }
  }
  return best;
}
