// What the page builds from states, and what it hands to Python: node networks.mjs PAGE_FOLDER < states.json
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const page = pathToFileURL(process.argv[2]).href;
const { construct } = await import(`${page}/engine/construct.js`);
const { asArrays, pointsOf } = await import(`${page}/datasets.js`);
const { DEFAULT } = await import(`${page}/link.js`);
const { asJson, asPython } = await import(`${page}/python.js`);

function run(given) {
  const state = { ...DEFAULT, ...given };
  const points = asArrays(pointsOf(state));
  const made = construct(points, { ...state, maxBias: state.bias, maxFeatures: state.features });
  return {
    json: asJson(points, made),
    lines: asPython(made, state),
    weights: made.detectors.map((one) => Array.from(one.weights)),
    limits: made.detectors.map((one) => one.limit),
    anchors: made.detectors.map((one) => one.anchor),
    witnesses: made.detectors.map((one) => one.witness),
    uncovered: made.uncovered,
    narrow: made.narrow,
    outcome: made.outcome,
    robustRadius: made.robustRadius,
    open: Array.from(made.open),
  };
}

console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(run)));
