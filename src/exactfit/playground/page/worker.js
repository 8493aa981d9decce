/**
 * Builds networks beside the page, so that it stays responsive.
 */

import { asArrays, pointsOf } from "./datasets.js";
import { construct } from "./engine/construct.js";
import { DEFAULT } from "./link.js";
import { firstFiring, pixelBits } from "./raster.js";

/** @typedef {import("./engine/construct.js").Construction} Construction */
/** @typedef {import("./datasets.js").Point} Point */

/** @typedef {{id: number, points: Point[], recipe: import("./engine/construct.js").Recipe, size: number}} Request */
/**
 * @typedef {{
 *   id: number, error?: string, milliseconds: number, size: number, made?: Construction,
 *   bits?: import("./engine/bits.js").Bits, first?: Uint16Array[],
 * }} Reply
 */

/** Points, hyperplanes and pixels along a side of a network that nobody asked for: enough that loops are compiled. */
const WARM = 60;

/** @param {Request} request @returns {Reply} */
export function work({ id, points, recipe, size }) {
  const began = performance.now();
  try {
    const made = construct(asArrays(points), recipe);
    const milliseconds = performance.now() - began;
    const bits = pixelBits(made.planes, size);
    return { id, milliseconds, size, made, bits, first: firstFiring(bits, made.detectors, made.classes) };
  } catch (error) {
    return { id, milliseconds: performance.now() - began, size, error: error instanceof Error ? error.message : "failed" };
  }
}

self.addEventListener("message", (event) => {
  if (event.data.id === undefined) return;
  const reply = work(event.data);
  const large = [reply.bits?.words.buffer, ...(reply.first ?? []).map((one) => one.buffer)].filter((one) => one !== undefined);
  self.postMessage(reply, { transfer: large });
});

/** Build a small network for nobody, so that the browser has compiled the engine when the first wish is read. */
function warmUp() {
  const points = pointsOf({ ...DEFAULT, count: WARM });
  const recipe = /** @type {const} */ ({
    algorithm: 2, width: WARM, law: "sparse", maxFeatures: 4, maxBias: 1, order: "random", detectors: "mask", margin: 0,
    seed: 1,
  });
  work({ id: 0, points, recipe, size: WARM });
}

warmUp();
