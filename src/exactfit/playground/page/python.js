/**
 * "Open in Python": the points, hyperplanes and order as JSON, and the lines that build the same network from them.
 */

/** @typedef {import("./engine/construct.js").Construction} Construction */
/** @typedef {import("./engine/patterns.js").Points} Points */

export const FILE = "exactfit-playground.json";

/**
 * Everything that Python needs; numbers as JavaScript writes them, which is exact.
 * @param {Points} points @param {Construction} made @returns {string}
 */
export function asJson(points, made) {
  const { wx, wy, b } = made.planes;
  return JSON.stringify({
    points: Array.from(points.x, (x, row) => [x, points.y[row]]),
    labels: Array.from(points.label),
    hyperplanes: Array.from(b, (bias, i) => [wx[i], wy[i], bias]),
    order: made.order,
  });
}

/**
 * The lines of Python.
 * @param {Construction} made @param {{detectors: string}} state @returns {string}
 */
export function asPython(made, { detectors }) {
  const options = [
    ...(detectors === "weighted" ? ['detectors="weighted"'] : []),
    ...(made.margin > 0 ? [`margin=${made.margin}`] : []),
  ];
  return `import json
import numpy as np
from exactfit import Options, certify, fixed_width

with open("${FILE}") as file:
    page = json.load(file)
X, y = np.array(page["points"]), np.array(page["labels"])
planes = np.array(page["hyperplanes"])
made = fixed_width(
    X, y, options=Options(${options.join(", ")}),
    hyperplanes=(planes[:, :2], planes[:, 2]), order=page["order"],
)
print(made.outcome.value, made.network.widths)
print(certify(made, X, y))
`;
}
