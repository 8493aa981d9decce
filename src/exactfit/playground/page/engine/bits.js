/**
 * Patterns of points: one bit for every hyperplane, packed 32 to a word.
 */

/** Bits of a word. */
export const WORD = 32;

/** The bits of many points, row by row. */
export class Bits {
  /** @param {number} count @param {number} width */
  constructor(count, width) {
    this.count = count;
    this.width = width;
    this.stride = Math.max(1, Math.ceil(width / WORD));
    this.words = new Uint32Array(count * this.stride);
  }

  /** Bits that came from a worker, which hands over numbers but no methods. @param {Bits} plain @returns {Bits} */
  static revived(plain) {
    return Object.assign(Object.create(Bits.prototype), plain);
  }

  /** @param {number} row @param {number} bit @returns {boolean} */
  get(row, bit) {
    return ((this.words[row * this.stride + (bit >>> 5)] >>> (bit & 31)) & 1) === 1;
  }

  /** Turn a bit on. @param {number} row @param {number} bit */
  set(row, bit) {
    this.words[row * this.stride + (bit >>> 5)] |= 1 << (bit & 31);
  }

  /** A row's words. @param {number} row @returns {Uint32Array} */
  row(row) {
    return this.words.subarray(row * this.stride, (row + 1) * this.stride);
  }

  /** The set bits of a row, ascending. @param {number} row @returns {Uint16Array} */
  indices(row) {
    const found = [];
    for (let bit = 0; bit < this.width; bit++) if (this.get(row, bit)) found.push(bit);
    return Uint16Array.from(found);
  }

  /** A text that equal rows share. @param {number} row @returns {string} */
  key(row) {
    return this.row(row).join(" ");
  }

  /** Some rows, in the given order. @param {ArrayLike<number>} rows @returns {Bits} */
  take(rows) {
    const taken = new Bits(rows.length, this.width);
    for (let k = 0; k < rows.length; k++) taken.row(k).set(this.row(rows[k]));
    return taken;
  }

  /** What is off in a row, within the width: the mask of an anchor. @param {number} row @returns {Uint32Array} */
  complement(row) {
    const mask = this.row(row).map((word) => ~word >>> 0);
    const spare = this.stride * WORD - this.width;
    if (spare) mask[this.stride - 1] &= 0xffffffff >>> spare;
    if (!this.width) mask.fill(0);
    return mask;
  }
}

/** How many bits of a word are set. @param {number} word @returns {number} */
export function popcount(word) {
  let v = word - ((word >>> 1) & 0x55555555);
  v = (v & 0x33333333) + ((v >>> 2) & 0x33333333);
  return Math.imul((v + (v >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/**
 * How many masked bits of a row are on.
 * @param {Uint32Array} mask @param {Bits} bits @param {number} row
 * @returns {number}
 */
export function countMasked(mask, bits, row) {
  const { words, stride } = bits;
  let found = 0;
  for (let w = 0, at = row * stride; w < stride; w++, at++) found += popcount(mask[w] & words[at]);
  return found;
}

/**
 * The first masked bit of a row that is on; the width where none is.
 * @param {Uint32Array} mask @param {Bits} bits @param {number} row
 * @returns {number}
 */
export function firstMasked(mask, bits, row) {
  const { words, stride, width } = bits;
  for (let w = 0, at = row * stride; w < stride; w++, at++) {
    const both = mask[w] & words[at];
    if (both) return WORD * w + 31 - Math.clz32(both & -both);
  }
  return width;
}
