/**
 * Words and numbers beside the picture: outcome, sizes, and the point under the cursor.
 */

import { byId, colours, drawMarker, make, NAMES, ready } from "./dom.js";
import { Bits } from "./engine/bits.js";
import { answer, countOf } from "./engine/construct.js";
import { isOn } from "./engine/signs.js";
import { progressAt } from "./picture.js";

/** @typedef {import("./engine/construct.js").Construction} Construction */
/** @typedef {import("./picture.js").Place} Place */

/** Detectors that are listed for a point. */
const LISTED = 5;

/** A number in few digits. @param {number} value @returns {string} */
function short(value) {
  return Number.isFinite(value) ? String(Number(value.toPrecision(3))) : "–";
}

/** How a construction ended, in a sentence. @param {Construction} made @param {number} count @returns {string} */
export function outcomeText(made, count) {
  const { detectors, planes } = made;
  const sizes = `${plural(planes.b.length, "hyperplane")}, ${plural(detectors.length, "detector")}`;
  if (made.outcome === "interpolates") return `Interpolates: all ${count} points are right, with ${sizes}.`;
  if (made.outcome === "margin missed") {
    return `Interpolates, but ${plural(made.narrow.length, "point")} without the margin, with ${sizes}.`;
  }
  return `Misses ${made.uncovered.length} of ${count} points, with ${sizes}: raise the width, or choose adaptive.`;
}

/** @param {number} count @param {string} word @returns {string} */
function plural(count, word) {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

/** What is going on at a step, in a few words. @param {Construction} made @param {number} step @returns {string} */
export function stepText(made, step) {
  const { planes, detectors, isDone } = progressAt(made, step);
  if (isDone) return "The network";
  if (!planes && !detectors) return "The points";
  if (!detectors) return `Hyperplane ${planes} of ${made.planes.b.length}: ${plural(made.open[planes], "open pair")}`;
  const { label, claimed, limit } = made.detectors[detectors - 1];
  return `Detector ${detectors} of ${made.detectors.length}: class ${NAMES[label]}, limit ${limit}, claims ${claimed.length}`;
}

/** How to read the picture at a step. @param {Construction} made @param {number} step @returns {string} */
export function legendText(made, step) {
  const { planes, detectors, isDone } = progressAt(made, step);
  if (isDone) {
    const wrong = made.uncovered.length ? "Crossed: wrong. " : "";
    const narrow = made.narrow.length ? "Dashed ring: without the margin. " : "";
    const regions = made.targets.length > 1 ? "Striped: several classes claim it. Plain: none does." : "Colours: the network's answer.";
    return `${wrong}${narrow}${regions}`;
  }
  if (detectors) return "Strong: where this detector fires. Hollow: points that none claims yet.";
  if (planes) return "Coloured: cells with one label. Hollow points, striped cells: several labels in one cell.";
  return "Colour and shape are the label.";
}

/** @param {Construction} made @param {number} step @param {number} count @param {number} milliseconds */
export function showFacts(made, step, count, milliseconds) {
  const { planes, detectors } = progressAt(made, step);
  const claimed = made.detectors.slice(0, detectors).reduce((sum, one) => sum + one.claimed.length, 0);
  const outputs = made.targets.length === 1 ? 1 : made.classes;
  const all = made.detectors.reduce((sum, one) => sum + one.claimed.length, 0) + made.uncovered.length;
  const facts = {
    Hyperplanes: `${planes} of ${made.planes.b.length}`,
    Detectors: `${detectors} of ${made.detectors.length}`,
    Neurons: String(made.planes.b.length + made.detectors.length + outputs),
    "Open pairs": String(made.open[planes]),
    Uncovered: String(all - claimed),
    Wrong: `${made.uncovered.length} of ${count}`,
    "Radius of the data": short(made.radius),
    "Labels apart by": short(made.separation),
    Margin: made.margin ? short(made.margin) : "none",
    "Robust radius": short(Math.max(made.robustRadius, made.uncovered.length + made.narrow.length ? 0 : made.margin)),
    "Built in": `${milliseconds < 10 ? milliseconds.toFixed(1) : Math.round(milliseconds)} ms`,
  };
  const list = byId("facts", HTMLDListElement);
  if (!list.children.length) list.append(...Object.keys(facts).map(factOf));
  Object.values(facts).forEach((value, k) => write(list.children[k].children[1], value));
}

/** @param {string} name @returns {HTMLElement} */
function factOf(name) {
  const pair = make("div");
  pair.append(make("dt", name), make("dd"));
  return pair;
}

/** Set a text where it is another one: layout costs. @param {Element} element @param {string} text */
function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** The bits of one place, as a row of its own. @param {Construction} made @param {Place} place @returns {Bits} */
export function bitsAt(made, { x, y }) {
  const { wx, wy, b } = made.planes;
  const bits = new Bits(1, b.length);
  for (let i = 0; i < b.length; i++) if (isOn(wx[i], wy[i], b[i], x, y)) bits.set(0, i);
  return bits;
}

/** Tell about the point under the cursor. @param {Construction} made @param {number} step @param {Place} place */
export function showProbe(made, step, place) {
  const progress = progressAt(made, step);
  const bits = bitsAt(made, place);
  const used = made.detectors.slice(0, progress.detectors);
  const counts = used.map((one, number) => ({ number, one, count: countOf(one.weights, bits, 0) }));
  const on = Array.from({ length: progress.planes }, (_, i) => Number(bits.get(0, i))).reduce((a, b) => a + b, 0);
  const said = progress.isDone ? answer(made, bits, 0) : -2;
  const verdict = said === -2 ? "" : said < 0 ? " Answer: none, as not exactly one class claims it." : ` Answer: class ${NAMES[said]}.`;
  const at = `(${place.x.toFixed(3)}, ${place.y.toFixed(3)})`;
  byId("probe", HTMLParagraphElement).textContent = `${at}: ${on} of ${plural(progress.planes, "bit")} on.${verdict}`;
  drawBits(bits, progress.planes, used.at(-1)?.weights ?? null);
  counts.sort((a, b) => b.one.limit - b.count - (a.one.limit - a.count) || a.number - b.number);
  showCounts(counts.slice(0, LISTED));
}

/** @param {{number: number, one: import("./engine/cover.js").Detector, count: number}[]} counts */
function showCounts(counts) {
  const list = byId("counts", HTMLDivElement);
  while (list.children.length > counts.length) list.lastElementChild?.remove();
  while (list.children.length < counts.length) {
    const row = make("div");
    row.append(make("canvas"), make("span"), make("b"));
    list.append(row);
  }
  counts.forEach(({ number, one, count }, k) => {
    const [marker, text, verdict] = list.children[k].children;
    if (marker instanceof HTMLCanvasElement) drawMarker(ready(marker, 16, 16), one.label, 8, 8, 4.8, colours());
    write(text, `${number + 1}: count ${count}, limit ${one.limit}`);
    write(verdict, count < one.limit ? "fires" : "silent");
    verdict.classList.toggle("fires", count < one.limit);
  });
}

/**
 * Bits as squares: filled where on, framed where the last detector looks.
 * @param {Bits} bits @param {number} shown @param {Int8Array | null} weights
 */
function drawBits(bits, shown, weights) {
  const canvas = byId("bits", HTMLCanvasElement);
  const [width, height] = [canvas.clientWidth || 300, canvas.clientHeight || 56];
  const context = ready(canvas, width, height);
  const palette = colours();
  let side = 14;
  while (side > 2 && Math.floor(height / side) * Math.floor(width / side) < bits.width) side--;
  const perRow = Math.max(1, Math.floor(width / side));
  for (let i = 0; i < bits.width; i++) {
    const [x, y] = [(i % perRow) * side, Math.floor(i / perRow) * side];
    const isSeen = weights !== null && weights[i] !== 0;
    context.globalAlpha = i < shown ? 1 : 0.25;
    context.fillStyle = i < shown && bits.get(0, i) ? (isSeen ? palette.accent : palette.soft) : palette.paper;
    context.fillRect(x + 0.5, y + 0.5, side - 1, side - 1);
    context.strokeStyle = isSeen ? palette.accent : palette.soft;
    context.lineWidth = isSeen ? 1.4 : 0.4;
    if (side > 3) context.strokeRect(x + 1, y + 1, side - 2, side - 2);
  }
  canvas.setAttribute("aria-label", `Bits of the point under the cursor, ${shown} of them`);
}
