/**
 * NumPy's random numbers: a child of `SeedSequence`, the generator PCG64, and what `Generator` makes of its words.
 */

const MULTIPLIER = 0x2360ed051fc65da44385df649fccf645n;

/**
 * The 32-bit words that begin a generator: those of `SeedSequence(seed, spawn_key=key).generate_state(4, uint64)`.
 * @param {number} seed below 2^32 @param {number[]} key @returns {Uint32Array}
 */
function seedWords(seed, key) {
  const entropy = [seed, 0, 0, 0, ...key];
  let constant = 0x43b0d7e5;
  let factor = 0x931e8875;
  /** @param {number} value */
  const hash = (value) => {
    const mixed = value ^ constant;
    constant = Math.imul(constant, factor);
    const product = Math.imul(mixed, constant);
    return product ^ (product >>> 16);
  };
  /** @param {number} a @param {number} b */
  const mix = (a, b) => {
    const sum = (Math.imul(0xca01f9dd, a) - Math.imul(0x4973f715, b)) | 0;
    return sum ^ (sum >>> 16);
  };
  const pool = entropy.slice(0, 4).map(hash);
  for (let from = 0; from < 4; from++) {
    for (let to = 0; to < 4; to++) if (from !== to) pool[to] = mix(pool[to], hash(pool[from]));
  }
  for (const word of entropy.slice(4)) for (let to = 0; to < 4; to++) pool[to] = mix(pool[to], hash(word));
  [constant, factor] = [0x8b51f9dd, 0x58f38ded];
  return Uint32Array.from({ length: 8 }, (_, k) => hash(pool[k % 4]));
}

/** `numpy.random.Generator(PCG64(SeedSequence(seed, spawn_key=key)))`. */
export class Generator {
  /** @param {number} seed @param {number[]} key */
  constructor(seed, ...key) {
    const words = seedWords(seed, key);
    const [high, low, streamHigh, streamLow] = Array.from({ length: 4 }, (_, k) => wide(words[2 * k + 1], words[2 * k]));
    this.step = BigInt.asUintN(128, (((streamHigh << 64n) | streamLow) << 1n) | 1n);
    this.state = this.step + ((high << 64n) | low);
    this.advance();
    /** The upper half of a word whose lower half was used. @type {number | null} */
    this.half = null;
  }

  advance() {
    this.state = BigInt.asUintN(128, this.state * MULTIPLIER + this.step);
  }

  /** @returns {bigint} a whole number below 2^64 */
  word() {
    this.advance();
    const mixed = BigInt.asUintN(64, (this.state >> 64n) ^ this.state);
    const turn = this.state >> 122n;
    return BigInt.asUintN(64, (mixed >> turn) | (mixed << (64n - turn)));
  }

  /** @returns {number} a whole number below 2^32 */
  halfWord() {
    if (this.half !== null) {
      const kept = this.half;
      this.half = null;
      return kept;
    }
    const word = this.word();
    this.half = Number(word >> 32n);
    return Number(word & 0xffffffffn);
  }

  /** @returns {number} from 0 to 1, never 1: one of `random()` */
  random() {
    return Number(this.word() >> 11n) * 2 ** -53;
  }

  /** @param {number} count below 2^21 @returns {number} a whole number below count: one of `integers(0, count)` */
  below(count) {
    if (count === 1) return 0;
    const unfair = 2 ** 32 % count;
    for (;;) {
      const product = this.halfWord() * count;
      if (product % 2 ** 32 >= unfair) return Math.floor(product / 2 ** 32);
    }
  }
}

/** @param {number} high @param {number} low @returns {bigint} */
function wide(high, low) {
  return (BigInt(high) << 32n) | BigInt(low);
}
