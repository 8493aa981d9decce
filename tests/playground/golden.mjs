// What the playground's engine makes of cases: node golden.mjs ENGINE_FOLDER < cases.json > networks.json
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const engine = pathToFileURL(process.argv[2]).href;
const { answer, chooseTargets, construct2 } = await import(`${engine}/construct.js`);
const { planeSource } = await import(`${engine}/draws.js`);
const { separate } = await import(`${engine}/adaptive.js`);

function planesOf(rows) {
  const column = (k) => Float64Array.from(rows, (row) => row[k]);
  return { wx: column(0), wy: column(1), b: column(2) };
}

function sourceOf(rows) {
  let from = 0;
  return (count) => planesOf(rows.slice(from, (from += count)));
}

function run(given) {
  const points = {
    x: Float64Array.from(given.points, (point) => point[0]),
    y: Float64Array.from(given.points, (point) => point[1]),
    label: Uint8Array.from(given.labels),
  };
  const targets = chooseTargets(points);
  const source = given.planes ? sourceOf(given.planes) : planeSource(points, targets, { ...given, law: "sparse" });
  const planes = given.adaptive
    ? separate(points, targets, source, 0, null).planes
    : source(given.width ?? given.planes.length);
  const made = construct2(points, planes, given.order, given);
  const all = (name) => made.detectors.map((one) => one[name]);
  const bit = (row) => Array.from({ length: planes.b.length }, (_, i) => (made.exact.get(row, i) ? "1" : "0")).join("");
  const rows = given.labels.map((_, row) => row);
  const weighted = given.detectors === "weighted";
  return {
    bits: rows.map(bit),
    weights: made.detectors.map((one) => Array.from(one.weights)),
    limits: all("limit"), anchors: all("anchor"), witnesses: all("witness"), labels: all("label"),
    coverage: made.detectors.map((one) => one.claimed.length),
    support: weighted ? all("support") : [], shares: weighted ? all("shares") : [],
    uncovered: made.uncovered, narrow: made.narrow, outcome: made.outcome,
    answers: rows.map((row) => answer(made, made.exact, row)),
    ...(given.expected.planes ? { planes: Array.from(planes.b, (b, i) => [planes.wx[i], planes.wy[i], b]) } : {}),
  };
}

console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(run)));
