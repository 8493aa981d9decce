/**
 * The picture: cells or regions, hyperplanes, points, anchor and witness, the cursor.
 */

import { channels, colours, drawMarker, ready } from "./dom.js";
import { Cells, VIEW, weighPixels } from "./raster.js";

/** @typedef {import("./engine/construct.js").Construction} Construction */
/** @typedef {import("./datasets.js").Point} Point */
/** @typedef {{x: number, y: number}} Place */

/**
 * What is there to be drawn: the points, the network, and what it was built for.
 * @typedef {{
 *   points: Point[], builtFor: import("./link.js").State, made: Construction, bits: import("./engine/bits.js").Bits,
 *   first: Uint16Array[], size: number,
 * }} Scene
 */

/** The step of a construction: so many hyperplanes, so many detectors, and whether the network stands. */
/** @typedef {{planes: number, detectors: number, isDone: boolean}} Progress */

/** How strongly colours of classes tint the paper: cells, claimed, the detector at hand, what is left to the other. */
const TINTS = [0.34, 0.26, 0.52, 0.16];
const [CELL, CLAIMED, CURRENT, REST] = TINTS.keys();
/** How strongly ink shades what has no single answer: stripes, and the ground between them. */
const SHADES = [0.2, 0.05];
const STRIPES = 1 + 4 * TINTS.length;
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
    /** All but the cursor, and what it shows. */
    this.still = document.createElement("canvas");
    /** @type {{scene: Scene, progress: Progress, palette: import("./dom.js").Colours, side: number} | null} */
    this.stillOf = null;
    /** @type {{made: Construction, cells: Cells} | null} */
    this.known = null;
    /** @type {{bits: Scene["bits"], number: number, inside: Uint8Array} | null} */
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
    if (!this.isStill(scene, progress)) this.drawStill(scene, progress);
    context.drawImage(this.still, 0, 0, this.side, this.side);
    if (cursor) this.drawCursor(context, cursor);
  }

  /** Whether what was drawn last is still right. @param {Scene} scene @param {Progress} progress @returns {boolean} */
  isStill(scene, progress) {
    const last = this.stillOf;
    return last !== null && last.scene === scene && last.palette === this.palette && last.side === this.side
      && last.progress.planes === progress.planes && last.progress.detectors === progress.detectors
      && last.progress.isDone === progress.isDone;
  }

  /** Everything but the cursor. @param {Scene} scene @param {Progress} progress */
  drawStill(scene, progress) {
    const context = ready(this.still, this.side, this.side);
    const isCells = !progress.detectors && !progress.isDone;
    const hollow = isCells ? this.paintCells(context, scene, progress) : unclaimed(scene, progress);
    if (!isCells) this.paintRegions(context, scene, progress);
    this.drawPlanes(context, scene.made, progress, isCells);
    this.drawMargins(context, scene);
    this.drawAll(context, scene, hollow);
    if (progress.isDone) this.drawMissed(context, scene);
    else if (progress.detectors) this.drawDetector(context, scene, progress.detectors - 1);
    this.stillOf = { scene, progress, palette: this.palette, side: this.side };
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
   * Fill the picture, pixel by pixel, from a choice of ink: 0 for none, see `inks`.
   * @param {CanvasRenderingContext2D} context @param {number} size @param {(pixel: number) => number} choose
   */
  paint(context, size, choose) {
    const image = new ImageData(size, size);
    const pixels = new Uint32Array(image.data.buffer);
    const inks = this.inks();
    for (let pixel = 0; pixel < size * size; pixel++) pixels[pixel] = inks[choose(pixel)];
    [this.layer.width, this.layer.height] = [size, size];
    this.layer.getContext("2d")?.putImageData(image, 0, 0);
    context.imageSmoothingQuality = "high";
    context.drawImage(this.layer, 0, 0, this.side, this.side);
  }

  /** Red, green, blue and strength of every ink, as a picture holds them: classes in all tints, then stripes. */
  inks() {
    const { classes, ink } = this.palette;
    const all = classes.flatMap((colour) => TINTS.map((tint) => [...channels(colour), 255 * tint]));
    all.push(...SHADES.map((shade) => [...channels(ink), 255 * shade]));
    return new Uint32Array(Uint8ClampedArray.from([0, 0, 0, 0, ...all.flat()]).buffer);
  }

  /**
   * Colour the cells that hold points, and tell which points lie in a cell of several labels.
   * @param {CanvasRenderingContext2D} context @param {Scene} scene @param {Progress} progress @returns {boolean[]}
   */
  paintCells(context, scene, progress) {
    const cells = this.cellsOf(scene, progress.planes);
    const { cells: labels, ofPoint } = cells.labels(scene.made.exact, Uint8Array.from(scene.points, (point) => point[2]));
    if (!cells.shown) return scene.points.map(() => false);
    this.paint(context, scene.size, (pixel) => {
      const label = labels.get(cells.pixels[pixel]);
      if (label === undefined) return 0;
      return label < 0 ? striped(pixel, scene.size) : inkOf(label, CELL);
    });
    return scene.points.map((_, row) => labels.get(ofPoint[row]) === -1);
  }

  /** @param {CanvasRenderingContext2D} context @param {Scene} scene @param {Progress} progress */
  paintRegions(context, scene, progress) {
    const { made, first, size } = scene;
    const { isDone, detectors: count } = progress;
    const current = isDone ? null : this.regionOf(scene, count - 1);
    const rest = made.targets.length === 1 && isDone ? inkOf(1 - made.targets[0], REST) : 0;
    const strong = isDone ? 0 : inkOf(made.detectors[count - 1].label, CURRENT);
    const tint = isDone ? CELL : CLAIMED;
    this.paint(context, size, (pixel) => {
      if (current?.[pixel]) return strong;
      let chosen = rest;
      let claims = 0;
      for (const k of made.targets) {
        if (first[k][pixel] >= count) continue;
        claims += 1;
        chosen = inkOf(k, tint);
      }
      return claims > 1 ? striped(pixel, size) : chosen;
    });
  }

  /** Where one detector fires. @param {Scene} scene @param {number} number @returns {Uint8Array} */
  regionOf(scene, number) {
    if (this.region?.bits !== scene.bits || this.region.number !== number) {
      const inside = new Uint8Array(scene.bits.count);
      const { weights, limit } = scene.made.detectors[number];
      weighPixels(scene.bits, weights, (pixel, count) => (inside[pixel] = count < limit ? 1 : 0));
      this.region = { bits: scene.bits, number, inside };
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
    const newest = isCells && count < made.planes.b.length ? count - 1 : -1;
    /** @type {[(i: number) => boolean, string, number, number][]} */
    const kinds = [
      [(i) => i !== newest && !weights?.[i], this.palette.ink, Math.max(0.05, Math.min(0.5, (isCells ? 16 : 7) / count)), 1],
      [(i) => Boolean(weights?.[i]), this.palette.accent, 0.4, 1],
      [(i) => i === newest, this.palette.accent, 1, 2.5],
    ];
    for (const [isMeant, colour, alpha, width] of kinds) {
      context.beginPath();
      for (let i = 0; i < count; i++) if (isMeant(i)) this.tracePlane(context, made.planes, i);
      Object.assign(context, { strokeStyle: colour, globalAlpha: alpha, lineWidth: width });
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  /** @param {CanvasRenderingContext2D} context @param {import("./engine/signs.js").Planes} planes @param {number} i */
  tracePlane(context, { wx, wy, b }, i) {
    const square = wx[i] ** 2 + wy[i] ** 2;
    if (!square) return;
    const size = Math.sqrt(square);
    const [x, y] = [(-wx[i] * b[i]) / square, (-wy[i] * b[i]) / square];
    if (Math.abs(x) > 4 * VIEW || Math.abs(y) > 4 * VIEW) return;
    const [dx, dy] = [(2 * VIEW * -wy[i]) / size, (2 * VIEW * wx[i]) / size];
    context.moveTo(...this.toPixels(x - dx, y - dy));
    context.lineTo(...this.toPixels(x + dx, y + dy));
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

/** The number of the ink for a class and a tint. @param {number} label @param {number} tint @returns {number} */
function inkOf(label, tint) {
  return 1 + TINTS.length * label + tint;
}

/** Stripes, so that it does not rest on colour alone. @param {number} pixel @param {number} size @returns {number} */
function striped(pixel, size) {
  const stripe = Math.max(2, Math.round(size / 64));
  return STRIPES + (Math.floor(((pixel % size) + Math.floor(pixel / size)) / stripe) % 2 ? 0 : 1);
}

/** Which points of target classes no detector has claimed so far. @param {Scene} scene @param {Progress} progress */
function unclaimed({ points, made }, progress) {
  const claimed = new Set(made.detectors.slice(0, progress.detectors).flatMap((one) => one.claimed));
  return points.map((point, row) => made.targets.includes(point[2]) && !claimed.has(row));
}
