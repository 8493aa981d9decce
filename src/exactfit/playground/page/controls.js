/**
 * The form: every control has the name of what it sets.
 */

import { DATASETS, pointsOf } from "./datasets.js";
import { byId, colours, drawMarker, make, NAMES, ready, SHAPES } from "./dom.js";
import { DEFAULT, NUMBERS } from "./link.js";

/** @typedef {import("./link.js").State} State */

const form = /** @type {HTMLFormElement} */ (document.querySelector("form.controls"));
const HINTS = {
  1: "Algorithm 1: hyperplanes fall until every pair of different labels is separated.",
  2: "Algorithm 2: so many hyperplanes, which may miss points.",
};

/** The kind of a click on the picture: a class, or -1 to take points away. */
export const brush = { label: 0 };

/** Make the choices that are drawn, data sets and brushes; `drawChoices` gives them their faces. */
export function makeChoices() {
  const datasets = Object.entries(DATASETS).map(([data, name]) => {
    const face = make("span", name);
    face.prepend(faceCanvas());
    return choice("data", data, face);
  });
  byId("datasets", HTMLDivElement).replaceChildren(...datasets);
  const brushes = NAMES.map((name, k) => {
    const face = make("span", name);
    face.prepend(faceCanvas());
    return choice("brush", String(k), face, `Class ${name}, ${SHAPES[k]}`);
  });
  const eraser = choice("brush", "-1", make("span", "⌫"), "Take points away");
  byId("brushes", HTMLSpanElement).replaceChildren(...brushes, eraser);
  brushes[0].querySelector("input")?.click();
}

/** @returns {HTMLCanvasElement} */
function faceCanvas() {
  const canvas = make("canvas");
  canvas.setAttribute("aria-hidden", "true");
  return canvas;
}

/** @param {string} name @param {string} value @param {HTMLElement} face @param {string} [title] */
function choice(name, value, face, title) {
  const label = make("label");
  const input = make("input");
  Object.assign(input, { type: "radio", name, value });
  if (title) {
    input.title = title;
    input.setAttribute("aria-label", title);
  }
  label.append(input, face);
  return label;
}

/** Draw small pictures of data sets and markers, as they look with this state. @param {State} state */
export function drawChoices(state) {
  const palette = colours();
  for (const label of document.querySelectorAll("#datasets label, #brushes label")) {
    const [input, canvas] = [label.querySelector("input"), label.querySelector("canvas")];
    if (!input || !canvas) continue;
    if (input.name === "brush") drawMarker(ready(canvas, 18, 18), Number(input.value), 9, 9, 5.4, palette);
    else drawDataset(ready(canvas, 44, 44), input.value, state, palette);
  }
}

/**
 * @param {CanvasRenderingContext2D} context @param {string} data @param {State} state
 * @param {import("./dom.js").Colours} palette
 */
function drawDataset(context, data, state, palette) {
  const sample = { ...DEFAULT, data, count: data === "line" ? 9 : 44, classes: state.classes };
  const points = data === "own" ? state.points.slice(0, 60) : pointsOf(sample);
  points.forEach(([x, y, k]) => drawMarker(context, k, 22 + 18 * x, 22 - 18 * y, 2.1, palette));
  if (points.length) return;
  context.font = "24px system-ui, sans-serif";
  context.textAlign = "center";
  context.fillStyle = palette.soft;
  context.fillText("+", 22, 30);
}

/** Let the form show a state. @param {State} state */
export function showState(state) {
  for (const input of form.querySelectorAll("input, select")) {
    if (!(input instanceof HTMLInputElement || input instanceof HTMLSelectElement)) continue;
    const value = String(state[/** @type {keyof State} */ (input.name)]);
    if (input.type === "radio" && input instanceof HTMLInputElement) input.checked = input.value === value;
    else if (input.value !== value) input.value = value;
  }
  for (const output of form.querySelectorAll("output")) {
    output.textContent = `${state[/** @type {keyof State} */ (output.htmlFor.value)]}${output.dataset.unit ?? ""}`;
  }
  for (const part of form.querySelectorAll("[data-only]")) {
    const [name, value] = (part.getAttribute("data-only") ?? "").split("=");
    /** @type {HTMLElement} */ (part).hidden = String(state[/** @type {keyof State} */ (name)]) !== value;
  }
  byId("algorithm-hint", HTMLParagraphElement).textContent = state.algorithm === 1 ? HINTS[1] : HINTS[2];
  const isOwn = state.data === "own";
  for (const name of ["count", "noise"]) byId(name, HTMLInputElement).disabled = isOwn;
  for (const input of form.querySelectorAll('input[name="classes"]')) /** @type {HTMLInputElement} */ (input).disabled = isOwn;
}

/**
 * Tell of every change: the new values, and whether more are likely to follow at once.
 * @param {(change: Partial<State>, isMoving: boolean) => void} tell
 */
export function listen(tell) {
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const kind of ["input", "change"]) {
    form.addEventListener(kind, (event) => {
      const { target } = event;
      if (!(target instanceof HTMLInputElement || target instanceof HTMLSelectElement)) return;
      const value = read(target);
      if (value !== null) tell({ [target.name]: value }, kind === "input" && target.type === "range");
    });
  }
  byId("brushes", HTMLSpanElement).addEventListener("change", (event) => {
    if (event.target instanceof HTMLInputElement) brush.label = Number(event.target.value);
  });
}

/** What a control says, null if it says nothing of use. @param {HTMLInputElement | HTMLSelectElement} control */
function read(control) {
  if (!Object.hasOwn(NUMBERS, control.name)) return control.value;
  const [least, most, decimals] = NUMBERS[/** @type {keyof typeof NUMBERS} */ (control.name)];
  const number = Number(control.value);
  if (control.value === "" || !Number.isFinite(number)) return null;
  return Number(Math.min(most, Math.max(least, number)).toFixed(decimals));
}
