/**
 * The side of a point, exactly: a floating-point filter, then big integers.
 *
 * A bit is on where <w, x> + b > 0 in exact arithmetic on the stored numbers; on the hyperplane it is off.
 */

/**
 * Hyperplanes {x : <w_i, x> + b_i = 0} of the plane.
 * @typedef {{wx: Float64Array, wy: Float64Array, b: Float64Array}} Planes
 */

/** Two products and two additions err by less than 4 units of 2^-53 of the sum of absolute terms. */
const RELATIVE = 2 ** -50;
/** What underflow may add: far more than three roundings of 2^-1075, far less than data of any use. */
const ABSOLUTE = 2 ** -1000;

const scratch = new DataView(new ArrayBuffer(8));

/**
 * A finite number as an integer times a power of two.
 * @param {number} value
 * @returns {[bigint, number]}
 */
export function parts(value) {
  scratch.setFloat64(0, value);
  const bits = scratch.getBigUint64(0);
  const exponent = Number((bits >> 52n) & 2047n);
  const fraction = bits & 0xfffffffffffffn;
  const size = exponent === 0 ? fraction : fraction | 0x10000000000000n;
  return [value < 0 ? -size : size, Math.max(exponent, 1) - 1075];
}

/**
 * The float64 number next to a finite one, on the side of an infinity.
 * @param {number} value @param {number} towards @returns {number}
 */
export function next(value, towards) {
  if (value === 0) return Math.sign(towards) * Number.MIN_VALUE;
  scratch.setFloat64(0, value);
  scratch.setBigInt64(0, scratch.getBigInt64(0) + (value > 0 === towards > 0 ? 1n : -1n));
  return scratch.getFloat64(0);
}

/**
 * The sign of wx * x + wy * y + b, in integers.
 * @param {number} wx @param {number} wy @param {number} b @param {number} x @param {number} y
 * @returns {number} -1, 0 or 1
 */
export function exactSign(wx, wy, b, x, y) {
  const terms = [product(wx, x), product(wy, y), parts(b)];
  const lowest = Math.min(...terms.map(([, exponent]) => exponent));
  const sum = terms.reduce((total, [size, exponent]) => total + (size << BigInt(exponent - lowest)), 0n);
  return sum > 0n ? 1 : sum < 0n ? -1 : 0;
}

/** @param {number} a @param {number} b @returns {[bigint, number]} */
function product(a, b) {
  const [sizeA, exponentA] = parts(a);
  const [sizeB, exponentB] = parts(b);
  return [sizeA * sizeB, exponentA + exponentB];
}

/**
 * Whether a point lies strictly on the positive side of a hyperplane.
 * @param {number} wx @param {number} wy @param {number} b @param {number} x @param {number} y
 * @returns {boolean}
 */
export function isOn(wx, wy, b, x, y) {
  const px = wx * x;
  const py = wy * y;
  const value = px + py + b;
  if (Math.abs(value) > RELATIVE * (Math.abs(px) + Math.abs(py) + Math.abs(b)) + ABSOLUTE) return value > 0;
  return exactSign(wx, wy, b, x, y) > 0;
}
