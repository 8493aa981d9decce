/**
 * Small helpers for the page's elements.
 */

/**
 * The element of an id, of the kind that it must be.
 * @template {Element} T
 * @param {string} id @param {new () => T} kind @returns {T}
 */
export function byId(id, kind) {
  const element = document.getElementById(id);
  if (!(element instanceof kind)) throw new TypeError(`the page has no ${kind.name} called ${id}`);
  return element;
}

/**
 * A new element with text, never with markup.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name @param {string} [text] @returns {HTMLElementTagNameMap[K]}
 */
export function make(name, text = "") {
  const element = document.createElement(name);
  element.textContent = text;
  return element;
}

/**
 * A canvas made ready to be drawn on in units of CSS pixels, cleared.
 * @param {HTMLCanvasElement} canvas @param {number} width @param {number} height
 * @returns {CanvasRenderingContext2D}
 */
export function ready(canvas, width, height) {
  const scale = Math.min(2, window.devicePixelRatio || 1);
  const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
  const context = canvas.getContext("2d");
  if (!context) throw new TypeError("this browser draws no pictures");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

/** Names of classes, as people say them. */
export const NAMES = ["A", "B", "C", "D"];
/** What each class looks like, for those who do not see it. */
export const SHAPES = ["circle", "triangle", "square", "diamond"];

/** @typedef {{paper: string, ink: string, soft: string, accent: string, bad: string, classes: string[]}} Colours */

/** @type {Colours | null} */
let known = null;

/** Look colours up again: they have changed. */
export function forgetColours() {
  known = null;
}

/** The colours of the style sheet, as they are now. @returns {Colours} */
export function colours() {
  known ??= lookedUp();
  return known;
}

/** @returns {Colours} */
function lookedUp() {
  const style = getComputedStyle(document.documentElement);
  /** @param {string} name */
  const value = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    paper: value("paper"), ink: value("ink"), soft: value("soft"), accent: value("accent"), bad: value("bad"),
    classes: SHAPES.map((_, k) => value(`class-${k}`)),
  };
}

/** Red, green and blue of #rrggbb. @param {string} colour @returns {[number, number, number]} */
export function channels(colour) {
  const number = Number.parseInt(colour.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

/**
 * The marker of a class: its colour and its shape.
 * @param {CanvasRenderingContext2D} context @param {number} label @param {number} x @param {number} y
 * @param {number} size @param {Colours} palette @param {boolean} [isHollow]
 */
export function drawMarker(context, label, x, y, size, palette, isHollow = false) {
  context.beginPath();
  if (label === 0) context.arc(x, y, size, 0, 2 * Math.PI);
  else polygon(context, label, x, y, size);
  context.closePath();
  context.fillStyle = isHollow ? palette.paper : palette.classes[label];
  context.strokeStyle = isHollow ? palette.classes[label] : palette.paper;
  context.lineWidth = isHollow ? Math.max(1.5, size * 0.36) : 1;
  context.fill();
  context.stroke();
}

/** Corners of each shape, around 0. */
const CORNERS = [
  [],
  [[0, -1.25], [1.18, 0.85], [-1.18, 0.85]],
  [[-0.92, -0.92], [0.92, -0.92], [0.92, 0.92], [-0.92, 0.92]],
  [[0, -1.35], [1.15, 0], [0, 1.35], [-1.15, 0]],
];

/** @param {CanvasRenderingContext2D} context @param {number} label @param {number} x @param {number} y @param {number} size */
function polygon(context, label, x, y, size) {
  for (const [dx, dy] of CORNERS[label]) context.lineTo(x + dx * size, y + dy * size);
}
