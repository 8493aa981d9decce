/**
 * Play and pause: first hyperplanes fall, then detectors come one by one.
 */

import { byId } from "./dom.js";

/** Milliseconds that all hyperplanes take to fall at most, and that a detector is shown at most and at least. */
const FALL = 5000;
const PAUSE = 700;
const SHORT_PAUSE = 250;
/** Milliseconds between two pictures, about. */
const FRAME = 16;
/** In how many strokes hyperplanes fall where motion is to be reduced. */
const STROKES = 5;

/**
 * What is played: where it stands, where it ends, its sizes, and how to move it.
 * @typedef {{
 *   current: () => number, last: () => number, width: () => number, detectors: () => number,
 *   goTo: (step: number) => void,
 * }} Play
 */

export class Player {
  /** @param {Play} play */
  constructor(play) {
    this.play = play;
    this.isStill = matchMedia("(prefers-reduced-motion: reduce)");
    /** @type {number | undefined} */
    this.frame = undefined;
  }

  toggle() {
    if (this.frame !== undefined) return this.pause();
    const { current, last, goTo } = this.play;
    if (current() === last()) goTo(0);
    this.label("Pause");
    let since = performance.now();
    /** @param {number} now */
    const advance = (now) => {
      if (current() >= last()) return this.pause();
      const { delay, stride, end } = this.pace();
      if (now - since >= delay) {
        since = now;
        goTo(Math.min(current() + stride, end));
      }
      this.frame = requestAnimationFrame(advance);
    };
    this.frame = requestAnimationFrame(advance);
  }

  pause() {
    if (this.frame !== undefined) cancelAnimationFrame(this.frame);
    this.frame = undefined;
    this.label("Play");
  }

  /** How long to wait, how far to go, and where to halt. */
  pace() {
    const [width, count] = [this.play.width(), this.play.detectors()];
    if (this.play.current() >= width) return { delay: Math.max(SHORT_PAUSE, PAUSE - 10 * count), stride: 1, end: this.play.last() };
    if (this.isStill.matches) return { delay: PAUSE, stride: Math.ceil(width / STROKES), end: width };
    return { delay: Math.min(PAUSE, FALL / width), stride: Math.max(1, Math.round((width * FRAME) / FALL)), end: width };
  }

  /** What the button does next. @param {"Play" | "Pause"} text */
  label(text) {
    const button = byId("play", HTMLButtonElement);
    button.classList.toggle("playing", text === "Pause");
    button.title = text;
    button.setAttribute("aria-label", text);
  }
}
