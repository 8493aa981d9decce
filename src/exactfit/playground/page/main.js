/**
 * The page: its state, the worker that builds, and what happens when someone touches something.
 */

import { brush, drawChoices, listen, makeChoices, showState } from "./controls.js";
import { asArrays, onGrid, pointsOf } from "./datasets.js";
import { byId, forgetColours } from "./dom.js";
import { Bits } from "./engine/bits.js";
import { DEFAULT, format, MOST_POINTS, parse } from "./link.js";
import { legendText, outcomeText, showFacts, showProbe, stepText } from "./panels.js";
import { Picture, progressAt } from "./picture.js";
import { Player } from "./player.js";
import { asJson, asPython, FILE } from "./python.js";
import { VIEW } from "./raster.js";
import { followStory, markStory } from "./story.js";

/** @typedef {import("./link.js").State} State */
/** @typedef {import("./picture.js").Place} Place */
/** @typedef {import("./picture.js").Scene} Scene */

/** Pixels along a side that regions are computed for: while something moves, and at rest. */
const COARSE = 90;
const FINE = 200;
/** Milliseconds after which what moved counts as at rest. */
const REST = 180;
/** How near a click must be to a point to mean it, as a share of the view. */
const REACH = 0.035;
/** How far an arrow key moves the cursor; with Shift ten times as far. */
const NUDGE = 0.01;

const picture = new Picture(byId("picture", HTMLCanvasElement));
const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
const stepper = byId("step", HTMLInputElement);
const outcome = byId("outcome", HTMLParagraphElement);
const player = new Player({
  current: currentStep, last: lastStep, goTo,
  width: () => scene?.made.planes.b.length ?? 0,
  detectors: () => scene?.made.detectors.length ?? 0,
});

/** @type {State} */
let state = { ...DEFAULT };
/** @type {Scene | null} */
let scene = null;
/** What the network is being built for, while the page goes on. @type {State} */
let askedFor = state;
/** @type {Place | null} */
let cursor = null;
let milliseconds = 0;
let [asked, answered, isDrawing] = [0, 0, false];
/** The size of the next wish, 0 for none. */
let waiting = 0;
/** @type {number | undefined} */
let resting;

// ---- Building ---------------------------------------------------------------------------------------------

/** @param {Partial<State>} change @param {boolean} [isMoving] */
function update(change, isMoving = false) {
  const before = state;
  state = { ...state, ...change };
  if (change.data === "own" && before.data !== "own" && !change.points) state.points = pointsOf(before);
  if (state.data !== "own") state.points = DEFAULT.points;
  const isOther = state.data !== before.data || state.classes !== before.classes;
  if (isOther || (state.points !== before.points && !isMoving)) drawChoices(state);
  say("");
  if (!change.points || isOther) showState(state);
  build(isMoving ? COARSE : FINE);
  clearTimeout(resting);
  resting = undefined;
  if (isMoving) {
    resting = setTimeout(() => {
      resting = undefined;
      build(FINE);
    }, REST);
  }
  saveLink();
}

/** Ask for a network; while the worker is at work only the last wish counts. @param {number} size */
function build(size) {
  if (asked > answered) {
    waiting = size;
    return;
  }
  waiting = 0;
  asked += 1;
  askedFor = state;
  document.body.dataset.busy = "yes";
  const { algorithm, width, law, features, bias, order, detectors, margin, seed } = state;
  const recipe = { algorithm, width, law, maxFeatures: features, maxBias: bias, order, detectors, margin, seed };
  worker.postMessage({ id: asked, points: pointsOf(state), recipe, size });
  setTimeout(() => (byId("busy", HTMLParagraphElement).hidden = asked === answered), 150);
}

worker.addEventListener("message", ({ data }) => {
  answered = data.id;
  byId("busy", HTMLParagraphElement).hidden = true;
  milliseconds = data.milliseconds;
  if (data.error) showError(data.error);
  else showNetwork(data);
  if (waiting) build(waiting);
  else if (!resting) document.body.dataset.busy = "no";
});

/** @param {string} error */
function showError(error) {
  scene = null;
  player.pause();
  document.body.dataset.outcome = "none";
  outcome.className = "bad";
  outcome.textContent = `No network: ${error}.`;
  byId("facts", HTMLDListElement).replaceChildren();
  for (const id of ["stage-name", "legend"]) byId(id, HTMLParagraphElement).textContent = "";
  enableSteps();
  picture.drawPoints(pointsOf(state));
}

/** @param {import("./worker.js").Reply} reply */
function showNetwork({ made, bits, first, size }) {
  if (!made || !bits || !first) return;
  made.exact = Bits.revived(made.exact);
  scene = { points: pointsOf(askedFor), builtFor: askedFor, made, bits: Bits.revived(bits), first, size };
  outcome.className = made.outcome === "points missed" ? "bad" : "good";
  const text = outcomeText(made, scene.points.length);
  if (outcome.textContent !== text) outcome.textContent = text;
  document.body.dataset.outcome = made.outcome;
  enableSteps();
  redraw();
}

// ---- Steps ------------------------------------------------------------------------------------------------

function lastStep() {
  return scene ? scene.made.planes.b.length + scene.made.detectors.length + 1 : 0;
}

function currentStep() {
  return state.step < 0 ? lastStep() : Math.min(state.step, lastStep());
}

/** @param {number} step */
function goTo(step) {
  const last = lastStep();
  state = { ...state, step: step >= last ? -1 : Math.max(0, step) };
  enableSteps();
  redraw();
  saveLink();
}

function enableSteps() {
  const [step, last] = [currentStep(), lastStep()];
  stepper.max = String(last);
  stepper.value = String(step);
  stepper.disabled = !scene;
  if (scene) stepper.setAttribute("aria-valuetext", stepText(scene.made, step));
  for (const [id, isOff] of /** @type {[string, boolean][]} */ ([["first", step === 0], ["back", step === 0], ["next", step === last], ["last", step === last]])) {
    byId(id, HTMLButtonElement).disabled = !scene || isOff;
  }
  byId("play", HTMLButtonElement).disabled = !scene;
}

/** @param {(step: number) => number} change */
function stepBy(change) {
  player.pause();
  goTo(change(currentStep()));
}

// ---- Drawing ----------------------------------------------------------------------------------------------

function redraw() {
  if (isDrawing) return;
  isDrawing = true;
  requestAnimationFrame(() => {
    isDrawing = false;
    if (!scene) return picture.drawPoints(pointsOf(state));
    const step = currentStep();
    picture.draw(scene, progressAt(scene.made, step), cursor);
    byId("legend", HTMLParagraphElement).textContent = legendText(scene.made, step);
    byId("stage-name", HTMLParagraphElement).textContent = stepText(scene.made, step);
    byId("picture", HTMLCanvasElement).setAttribute("aria-label", `${stepText(scene.made, step)}. ${outcome.textContent}`);
    showFacts(scene.made, step, scene.points.length, milliseconds);
    if (cursor) showProbe(scene.made, step, cursor);
    markStory(step, scene.made.planes.b.length, lastStep());
    return undefined;
  });
}

// ---- Points of one's own ------------------------------------------------------------------------------------

/** @param {Place} place @returns {number} */
function nearestPoint(place) {
  const distances = pointsOf(state).map(([x, y]) => Math.hypot(x - place.x, y - place.y));
  const best = distances.indexOf(Math.min(...distances));
  return best >= 0 && distances[best] < REACH * VIEW ? best : -1;
}

/** @param {Place} place @returns {number} the point that can be dragged on, or -1 */
function touch(place) {
  const points = pointsOf(state).slice();
  const near = nearestPoint(place);
  if (brush.label < 0) {
    if (near >= 0) update({ data: "own", points: points.filter((_, row) => row !== near) });
    return -1;
  }
  if (near >= 0) return near;
  if (points.length >= MOST_POINTS) {
    say(`There are ${MOST_POINTS} points, and no room for more.`);
    return -1;
  }
  points.push([onGrid(place.x), onGrid(place.y), brush.label]);
  update({ data: "own", points });
  return points.length - 1;
}

/** Move a point: at once in the picture, and in the network as soon as it is built. @param {number} row @param {Place} to */
function move(row, to) {
  const points = pointsOf(state).slice();
  points[row] = [onGrid(to.x), onGrid(to.y), points[row][2]];
  update({ data: "own", points }, true);
  if (scene && scene.points.length === points.length) scene = { ...scene, points };
}

function watchPicture() {
  const canvas = picture.canvas;
  let dragged = -1;
  let hasMoved = false;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    hasMoved = false;
    canvas.setPointerCapture(event.pointerId);
    cursor = picture.toPlace(event);
    dragged = touch(cursor);
  });
  canvas.addEventListener("pointermove", (event) => {
    cursor = picture.toPlace(event);
    if (dragged >= 0 && !isDrawing) move(dragged, cursor);
    hasMoved = true;
    redraw();
  });
  canvas.addEventListener("pointerup", (event) => {
    if (dragged >= 0 && hasMoved) move(dragged, picture.toPlace(event));
  });
  for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, () => (dragged = -1));
  canvas.addEventListener("pointerleave", () => {
    cursor = null;
    redraw();
  });
  canvas.addEventListener("keydown", onKey);
  canvas.addEventListener("blur", () => {
    cursor = null;
    redraw();
  });
  new ResizeObserver(redraw).observe(canvas);
}

/** @param {KeyboardEvent} event */
function onKey(event) {
  const far = event.shiftKey ? 10 * NUDGE : NUDGE;
  const moves = { ArrowLeft: [-far, 0], ArrowRight: [far, 0], ArrowUp: [0, far], ArrowDown: [0, -far] };
  const place = cursor ?? { x: 0, y: 0 };
  if (Object.hasOwn(moves, event.key)) {
    const [dx, dy] = moves[/** @type {keyof typeof moves} */ (event.key)];
    cursor = { x: onGrid(place.x + dx), y: onGrid(place.y + dy) };
    redraw();
  } else if (event.key === "Enter") {
    cursor = place;
    touch(place);
  } else if (event.key === "Delete" || event.key === "Backspace") {
    const near = nearestPoint(place);
    if (near >= 0) update({ data: "own", points: pointsOf(state).filter((_, row) => row !== near) });
  } else return;
  event.preventDefault();
}

// ---- Links, Python, messages --------------------------------------------------------------------------------

/** @type {number | undefined} */
let saving;
function saveLink() {
  clearTimeout(saving);
  saving = setTimeout(() => history.replaceState(null, "", `${location.pathname}${location.search}#${format(state)}`), 200);
}

/** A message of this page's own words. @param {string} text */
function say(text) {
  const message = byId("message", HTMLParagraphElement);
  message.textContent = text;
  message.hidden = !text;
}

function openLink() {
  let wrong = "";
  try {
    state = parse(location.hash.slice(1));
  } catch (error) {
    state = { ...DEFAULT };
    wrong = `The link cannot be opened: ${error instanceof RangeError ? error.message : "it is damaged"}. Here is the page as it begins.`;
  }
  update({});
  drawChoices(state);
  say(wrong);
}

async function copy(/** @type {string} */ text, /** @type {string} */ done) {
  try {
    await navigator.clipboard.writeText(text);
    say(done);
  } catch {
    say("The browser does not let this page copy: take the link from the address bar.");
  }
}

function download() {
  if (!scene) return;
  const points = asArrays(pointsOf(scene.builtFor));
  const url = URL.createObjectURL(new Blob([asJson(points, scene.made)], { type: "application/json" }));
  const link = document.createElement("a");
  Object.assign(link, { href: url, download: FILE });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** @param {string} id @param {() => void} action */
function onClick(id, action) {
  byId(id, HTMLButtonElement).addEventListener("click", action);
}

function start() {
  onClick("first", () => stepBy(() => 0));
  onClick("back", () => stepBy((step) => step - 1));
  onClick("play", () => player.toggle());
  onClick("next", () => stepBy((step) => step + 1));
  onClick("last", () => stepBy(lastStep));
  stepper.addEventListener("input", () => stepBy(() => Number(stepper.value)));
  onClick("reseed", () => update({ seed: (state.seed * 7 + 1) % 9973 }));
  onClick("clear", () => update({ data: "own", points: [] }));
  onClick("copy", () => {
    history.replaceState(null, "", `${location.pathname}${location.search}#${format(state)}`);
    copy(location.href, "The link is copied: it holds all that you see.");
  });
  const dialog = byId("code", HTMLDialogElement);
  onClick("python", () => {
    if (!scene) return;
    byId("lines", HTMLElement).textContent = asPython(scene.made, scene.builtFor);
    dialog.showModal();
  });
  onClick("close", () => dialog.close());
  onClick("download", download);
  onClick("copy-lines", () => copy(byId("lines", HTMLElement).textContent ?? "", "The lines are copied."));
  listen((change, isMoving) => update(change, isMoving));
  followStory((share) => {
    const width = scene ? scene.made.planes.b.length : 0;
    stepBy(() => ({ points: 0, planes: Math.min(6, width), cells: width, detector: width + 1, network: lastStep() })[share] ?? 0);
  });
  watchPicture();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    forgetColours();
    picture.recolour();
    drawChoices(state);
    redraw();
  });
  window.addEventListener("hashchange", openLink);
  document.documentElement.classList.add("ready");
  makeChoices();
  openLink();
}

start();
