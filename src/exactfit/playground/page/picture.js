/**
 * The picture: cells or regions, hyperplanes, points, anchor and witness, the cursor.
 */

import { channels, colours, drawMarker, ready } from "./dom.js";
import { Cells, NEVER, VIEW, weighPixels } from "./raster.js";

/** @typedef {import("./engine/construct.js").Construction} Construction */
/** @typedef {import("./datasets.js").Point} Point */
/** @typedef {{x: number, y: number}} Place */

/**
 * What is there to be drawn: the points, and the network once it is built.
 * @typedef {{points: Point[], made: Construction, bits: import("./engine/bits.js").Bits, first: Uint16Array[], size: number}} Scene
 */

/** The step of a construction: so many hyperplanes, so many detectors, and whether the network stands. */
/** @typedef {{planes: number, detectors: number, isDone: boolean}} Progress */

/** How strongly colours of classes tint the paper. */
const TINT = { cell: 0.34, claimed: 0.26, current: 0.52, rest: 0.16 };
/** How strongly ink shades what has no single answer. */
const SHADE = 0.2;
/** Hyperplanes up to which those that a detector looks at are drawn stronger. */
const FEW = 90;

/** Where a step stands. @param {Construction} made @param {number} step @returns {Progress} */
export function progressAt(made, step) {
  const [width, count] = [made.planes.b.length, made.detectors.length];
  return {
    planes: Math.min(step, width),
    detectors: Math.max(0, Math.min(step - width, count)),
    isDone: step > width + count,
  };
}

export class Picture {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.side = 1;
    this.palette = colours();
    this.layer = document.createElement("canvas");
    /** @type {{made: Construction, cells: Cells} | null} */
    this.known = null;
    /** @type {{scene: Scene, number: number, inside: Uint8Array} | null} */
    this.region = null;
  }

  /** Colours may have changed. */
  recolour() {
    this.palette = colours();
  }

  /** From a place to pixels. @param {number} x @param {number} y @returns {[number, number]} */
  toPixels(x, y) {
    return [((x / VIEW + 1) * this.side) / 2, ((1 - y / VIEW) * this.side) / 2];
  }

  /** From a pointer to a place. @param {{clientX: number, clientY: number}} event @returns {Place} */
  toPlace(event) {
    const box = this.canvas.getBoundingClientRect();
    return {
      x: VIEW * ((2 * (event.clientX - box.left)) / box.width - 1),
      y: VIEW * (1 - (2 * (event.clientY - box.top)) / box.height),
    };
  }

  /** Points alone, before there is a network. @param {Point[]} points */
  drawPoints(points) {
    const context = this.begin();
    points.forEach(([x, y, label]) => drawMarker(context, label, ...this.toPixels(x, y), this.markerSize(points), this.palette));
  }

  /** @param {Scene} scene @param {Progress} progress @param {Place | null} cursor */
  draw(scene, progress, cursor) {
    const context = this.begin();
    const isCells = !progress.detectors && !progress.isDone;
    const cells = this.cellsOf(scene, progress.planes);
    const { cells: labels, ofPoint } = cells.labels(scene.made.exact, Uint8Array.from(scene.points, (point) => point[2]));
    if (isCells) this.paintCells(scene, cells, labels);
    else this.paintRegions(scene, progress);
    this.drawPlanes(context, scene.made, progress, isCells);
    this.drawMargins(context, scene);
    const hollow = isCells
      ? scene.points.map((_, row) => progress.planes > 0 && labels.get(ofPoint[row]) === -1)
      : unclaimed(scene, progress);
    this.drawAll(context, scene, hollow);
    if (progress.isDone) this.drawMissed(context, scene);
    else if (progress.detectors) this.drawDetector(context, scene, progress.detectors - 1);
    if (cursor) this.drawCursor(context, cursor);
  }

  begin() {
    this.side = Math.max(1, this.canvas.clientWidth);
    return ready(this.canvas, this.side, this.side);
  }

  /** @param {Point[]} points @returns {number} */
  markerSize(points) {
    return Math.max(2.6, Math.min(6, this.side / 90) * (points.length > 250 ? 0.7 : points.length > 120 ? 0.85 : 1));
  }

  /** @param {Scene} scene @param {number} count @returns {Cells} */
  cellsOf(scene, count) {
    if (this.known?.made !== scene.made || this.known.cells.size !== scene.size) {
      this.known = { made: scene.made, cells: new Cells(scene.made.planes, scene.size) };
    }
    this.known.cells.moveTo(count);
    return this.known.cells;
  }

  /**
   * Fill the picture, pixel by pixel, from a choice of colour: [class or -1 for none of them, strength].
   * @param {number} size @param {(pixel: number) => readonly [number, number]} choose
   */
  paint(size, choose) {
    const image = new ImageData(size, size);
    const inks = [...this.palette.classes, this.palette.ink].map(channels);
    for (let pixel = 0, at = 0; pixel < size * size; pixel++, at += 4) {
      const [label, strength] = choose(pixel);
      if (!strength) continue;
      const [red, green, blue] = inks[label < 0 ? inks.length - 1 : label];
      image.data[at] = red;
      image.data[at + 1] = green;
      image.data[at + 2] = blue;
      image.data[at + 3] = 255 * strength;
    }
    [this.layer.width, this.layer.height] = [size, size];
    this.layer.getContext("2d")?.putImageData(image, 0, 0);
    const context = this.canvas.getContext("2d");
    if (context) context.imageSmoothingQuality = "high";
    context?.drawImage(this.layer, 0, 0, this.side, this.side);
  }

  /** @param {Scene} scene @param {Cells} cells @param {Map<number, number>} labels */
  paintCells(scene, cells, labels) {
    if (!cells.shown) return;
    this.paint(scene.size, (pixel) => {
      const label = labels.get(cells.pixels[pixel]);
      if (label === undefined) return [0, 0];
      return label < 0 ? [-1, hatched(pixel, scene.size)] : [label, TINT.cell];
    });
  }

  /** @param {Scene} scene @param {Progress} progress */
  paintRegions(scene, progress) {
    const { made, first, size } = scene;
    const current = progress.isDone ? null : this.regionOf(scene, progress.detectors - 1);
    const other = made.targets.length === 1 && progress.isDone ? 1 - made.targets[0] : -1;
    const own = progress.isDone ? -1 : made.detectors[progress.detectors - 1].label;
    this.paint(size, (pixel) => {
      if (current?.[pixel]) return [own, TINT.current];
      const fired = made.targets.filter((k) => first[k][pixel] !== NEVER && first[k][pixel] < progress.detectors);
      if (fired.length > 1) return [-1, hatched(pixel, size)];
      if (fired.length === 1) return [fired[0], progress.isDone ? TINT.cell : TINT.claimed];
      return other < 0 ? [0, 0] : [other, TINT.rest];
    });
  }

  /** Where one detector fires. @param {Scene} scene @param {number} number @returns {Uint8Array} */
  regionOf(scene, number) {
    if (this.region?.scene !== scene || this.region.number !== number) {
      const inside = new Uint8Array(scene.bits.count);
      const { weights, limit } = scene.made.detectors[number];
      weighPixels(scene.bits, weights, (pixel, count) => (inside[pixel] = count < limit ? 1 : 0));
      this.region = { scene, number, inside };
    }
    return this.region.inside;
  }

  /**
   * @param {CanvasRenderingContext2D} context @param {Construction} made @param {Progress} progress
   * @param {boolean} isCells
   */
  drawPlanes(context, made, progress, isCells) {
    const count = progress.planes;
    const weights = isCells || progress.isDone || count > FEW ? null : made.detectors[progress.detectors - 1].weights;
    const faint = Math.max(0.05, Math.min(0.5, (isCells ? 16 : 7) / Math.max(1, count)));
    for (let i = 0; i < count; i++) {
      const isNew = isCells && i === count - 1 && i + 1 < made.planes.b.length;
      const isUsed = weights !== null && weights[i] !== 0;
      context.globalAlpha = isNew ? 1 : isUsed ? 0.4 : faint;
      context.strokeStyle = isNew || isUsed ? this.palette.accent : this.palette.ink;
      context.lineWidth = isNew ? 2.5 : 1;
      this.drawPlane(context, made.planes.wx[i], made.planes.wy[i], made.planes.b[i]);
    }
    context.globalAlpha = 1;
  }

  /** @param {CanvasRenderingContext2D} context @param {number} wx @param {number} wy @param {number} b */
  drawPlane(context, wx, wy, b) {
    const square = wx * wx + wy * wy;
    if (!square) return;
    const size = Math.sqrt(square);
    const [x, y] = [(-wx * b) / square, (-wy * b) / square];
    const [dx, dy] = [(4 * VIEW * -wy) / size, (4 * VIEW * wx) / size];
    if (Math.abs(x) > 4 * VIEW || Math.abs(y) > 4 * VIEW) return;
    context.beginPath();
    context.moveTo(...this.toPixels(x - dx, y - dy));
    context.lineTo(...this.toPixels(x + dx, y + dy));
    context.stroke();
  }

  /** @param {CanvasRenderingContext2D} context @param {Scene} scene */
  drawMargins(context, scene) {
    const size = (scene.made.margin * this.side) / (2 * VIEW);
    if (size < 1) return;
    context.globalAlpha = 0.45;
    context.lineWidth = 1;
    scene.points.forEach(([x, y, label]) => {
      context.strokeStyle = this.palette.classes[label];
      context.beginPath();
      context.arc(...this.toPixels(x, y), size, 0, 2 * Math.PI);
      context.stroke();
    });
    context.globalAlpha = 1;
  }

  /** @param {CanvasRenderingContext2D} context @param {Scene} scene @param {boolean[]} hollow */
  drawAll(context, scene, hollow) {
    const size = this.markerSize(scene.points);
    scene.points.forEach(([x, y, label], row) => {
      drawMarker(context, label, ...this.toPixels(x, y), hollow[row] ? size + 0.6 : size, this.palette, hollow[row]);
    });
  }

  /** @param {CanvasRenderingContext2D} context @param {Scene} scene @param {number} number */
  drawDetector(context, scene, number) {
    const { anchor, witness, label } = scene.made.detectors[number];
    const [ax, ay] = scene.points[anchor];
    const [wx, wy] = scene.points[witness];
    this.ring(context, wx, wy, "witness", [4, 3], wy > ay ? -1 : 1);
    this.ring(context, ax, ay, "anchor", [], wy > ay ? 1 : -1);
    drawMarker(context, label, ...this.toPixels(ax, ay), this.markerSize(scene.points) + 2, this.palette);
  }

  /**
   * @param {CanvasRenderingContext2D} context @param {number} x @param {number} y @param {string} text
   * @param {number[]} dashes @param {1 | -1} side whether the text stands below or above
   */
  ring(context, x, y, text, dashes, side) {
    const [px, py] = this.toPixels(x, y);
    context.setLineDash(dashes);
    context.lineWidth = 2.2;
    context.strokeStyle = this.palette.ink;
    context.beginPath();
    context.arc(px, py, 11, 0, 2 * Math.PI);
    context.stroke();
    context.setLineDash([]);
    context.font = "600 13px system-ui, sans-serif";
    const isRight = px > this.side - 80;
    context.textAlign = isRight ? "right" : "left";
    const at = /** @type {const} */ ([px + (isRight ? -16 : 16), Math.max(14, Math.min(this.side - 6, py + (side > 0 ? 16 : -8)))]);
    context.strokeStyle = this.palette.paper;
    context.lineWidth = 4;
    context.lineJoin = "round";
    context.strokeText(text, ...at);
    context.fillStyle = this.palette.ink;
    context.fillText(text, ...at);
  }

  /** Points that the network gets wrong, crossed; those without the margin, ringed. */
  /** @param {CanvasRenderingContext2D} context @param {Scene} scene */
  drawMissed(context, scene) {
    context.strokeStyle = this.palette.bad;
    context.lineWidth = 2.2;
    for (const row of scene.made.uncovered) {
      const [px, py] = this.toPixels(scene.points[row][0], scene.points[row][1]);
      context.beginPath();
      for (const [dx, dy] of [[7, 7], [7, -7]]) {
        context.moveTo(px - dx, py - dy);
        context.lineTo(px + dx, py + dy);
      }
      context.stroke();
    }
    context.setLineDash([3, 2]);
    for (const row of scene.made.narrow) {
      context.beginPath();
      context.arc(...this.toPixels(scene.points[row][0], scene.points[row][1]), 9, 0, 2 * Math.PI);
      context.stroke();
    }
    context.setLineDash([]);
  }

  /** @param {CanvasRenderingContext2D} context @param {Place} cursor */
  drawCursor(context, cursor) {
    const [px, py] = this.toPixels(cursor.x, cursor.y);
    context.strokeStyle = this.palette.ink;
    context.lineWidth = 1.5;
    context.beginPath();
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      context.moveTo(px + 5 * dx, py + 5 * dy);
      context.lineTo(px + 13 * dx, py + 13 * dy);
    }
    context.stroke();
  }
}

/** Stripes, so that it does not rest on colour alone. @param {number} pixel @param {number} size @returns {number} */
function hatched(pixel, size) {
  const stripe = Math.max(2, Math.round(size / 64));
  return Math.floor(((pixel % size) + Math.floor(pixel / size)) / stripe) % 2 ? SHADE : SHADE / 4;
}

/** Which points of target classes no detector has claimed so far. @param {Scene} scene @param {Progress} progress */
function unclaimed({ points, made }, progress) {
  const claimed = new Set(made.detectors.slice(0, progress.detectors).flatMap((one) => one.claimed));
  return points.map((point, row) => made.targets.includes(point[2]) && !claimed.has(row));
}
