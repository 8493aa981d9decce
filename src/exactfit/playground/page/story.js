/**
 * The story beside the picture: scrolling it, or pressing a button in it, moves the picture along.
 */

import { byId } from "./dom.js";

/** Milliseconds after a scroll during which further ones count as the same. */
const CALM = 120;
/** Milliseconds after a button during which a scroll is the browser's, not the reader's. */
const AFTER_BUTTON = 500;

/** @returns {HTMLElement[]} */
function chapters() {
  return [...byId("story", HTMLElement).querySelectorAll("article")];
}

/** @param {(chapter: string) => void} show */
export function followStory(show) {
  const story = byId("story", HTMLElement);
  /** @type {number | undefined} */
  let calm;
  let last = "";
  let pressed = -Infinity;
  for (const chapter of chapters()) {
    chapter.querySelector("button")?.addEventListener("click", () => {
      clearTimeout(calm);
      pressed = performance.now();
      show((last = chapter.dataset.show ?? ""));
    });
  }
  story.addEventListener("scroll", () => {
    clearTimeout(calm);
    if (performance.now() - pressed < AFTER_BUTTON) return;
    calm = setTimeout(() => {
      const name = nearestChapter(story)?.dataset.show ?? "";
      if (name !== last) show((last = name));
    }, CALM);
  });
}

/** The chapter that is being read: the last that begins in the upper half. @param {HTMLElement} story */
function nearestChapter(story) {
  const box = story.getBoundingClientRect();
  const isEnd = story.scrollTop + story.clientHeight >= story.scrollHeight - 2;
  const begun = chapters().filter((chapter) => chapter.getBoundingClientRect().top < box.top + box.height / 2);
  return isEnd ? chapters().at(-1) : begun.at(-1);
}

/** Mark the chapter that a step belongs to. @param {number} step @param {number} width @param {number} last */
export function markStory(step, width, last) {
  const name = step === 0 ? "points" : step === last ? "network" : step < width ? "planes" : step === width ? "cells" : "detector";
  for (const chapter of chapters()) chapter.classList.toggle("current", chapter.dataset.show === name);
}
