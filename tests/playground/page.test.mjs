// Links, data sets and random draws of the page: PAGE=folder node --test page.test.mjs
import assert from "node:assert/strict";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const page = pathToFileURL(process.env.PAGE).href;
const { DEFAULT, format, parse, NUMBERS, MOST_POINTS } = await import(`${page}/link.js`);
const { asArrays, DATASETS, pointsOf } = await import(`${page}/datasets.js`);
const { Random, planeSource } = await import(`${page}/engine/draws.js`);
const { exactSign, isOn, parts } = await import(`${page}/engine/signs.js`);
const { Bits, firstMasked, popcount } = await import(`${page}/engine/bits.js`);
const { Cells, firstFiring, NEVER, pixelAt, pixelBits } = await import(`${page}/raster.js`);
const { construct, answer, countOf } = await import(`${page}/engine/construct.js`);
const { coordinateCuts, OpenPairs } = await import(`${page}/engine/adaptive.js`);

const random = new Random(7);
const pick = (items) => items[random.below(items.length)];

function anyState() {
  const number = ([least, most, decimals]) => Number((least + random.uniform() * (most - least)).toFixed(decimals));
  const state = { ...DEFAULT };
  for (const name of Object.keys(NUMBERS)) state[name] = number(NUMBERS[name]);
  state.data = pick(Object.keys(DATASETS));
  state.law = pick(["sparse", "gaussian", "bisector"]);
  state.detectors = pick(["mask", "weighted"]);
  state.order = pick(["random", "rows"]);
  const place = () => Math.round(2400 * random.uniform() - 1200) / 1000;
  state.points = state.data === "own" ? Array.from({ length: random.below(30) }, () => [place() + 0, place() + 0, random.below(4)]) : [];
  return state;
}

test("a link holds the whole state", () => {
  for (let k = 0; k < 500; k++) {
    const state = anyState();
    assert.deepEqual(parse(format(state)), state);
  }
  assert.deepEqual(parse(""), DEFAULT);
  const most = { ...DEFAULT, data: "own", points: Array.from({ length: MOST_POINTS }, () => [-1.2, -1.2, 3]) };
  assert.deepEqual(parse(format(most)), most);
});

test("words that pages once had mean the default", () => {
  const old = parse("law=near-bisector&order=greedy&width=77");
  assert.deepEqual(old, { ...DEFAULT, width: 77 });
  assert.equal(format(old), "width=77");
  assert.throws(() => parse("law=far-bisector"), /law is none of those/);
});

test("a damaged link is refused, in words of the page", () => {
  const good = format({ ...DEFAULT, data: "own", points: [[0.1, 0.2, 1], [0.5, -0.2, 0]], width: 17, bias: 0.35 });
  const alphabet = "0123456789-_.,=&<>\"'%#eE+xnaNIy \u0000\u202e";
  for (let k = 0; k < 3000; k++) {
    const at = random.below(good.length);
    const text = good.slice(0, at) + pick([...alphabet]) + good.slice(at + random.below(3));
    try {
      const state = parse(text);
      for (const [name, [least, most]] of Object.entries(NUMBERS)) assert.ok(state[name] >= least && state[name] <= most);
      for (const point of state.points) assert.ok(point.every(Number.isFinite) && Math.abs(point[0]) <= 1.2 && Math.abs(point[1]) <= 1.2);
    } catch (error) {
      assert.equal(error.name, "RangeError");
      assert.match(error.message, /^[a-zA-Z0-9 ,:.-]+$/);
    }
  }
});

test("data sets lie on the page, have every class, and no contradictions", () => {
  for (const data of Object.keys(DATASETS).filter((name) => name !== "own")) {
    for (const classes of [2, 3, 4]) {
      for (const count of [4, 37, 500]) {
        const points = pointsOf({ ...DEFAULT, data, classes, count, noise: 100, seed: count });
        assert.equal(points.length, count);
        assert.equal(new Set(points.map((point) => point[2])).size, classes);
        const labels = new Map();
        for (const [x, y, label] of points) {
          assert.ok(Math.abs(x) <= 1.2 && Math.abs(y) <= 1.2);
          assert.equal(labels.get(`${x} ${y}`) ?? label, label);
          labels.set(`${x} ${y}`, label);
        }
      }
    }
  }
});

test("signs are exact", () => {
  const rational = (value) => {
    const [size, exponent] = parts(value);
    return size * 2n ** BigInt(exponent + 1200);
  };
  for (let k = 0; k < 2000; k++) {
    const [wx, wy, x, y] = Array.from({ length: 4 }, () => random.normal() * 2 ** (random.below(9) - 4));
    const b = pick([random.normal(), -(wx * x + wy * y), 0, -(wx * x + wy * y) * (1 + 2 ** -52)]);
    const exact = rational(wx) * rational(x) + rational(wy) * rational(y) + rational(b) * 2n ** 1200n;
    assert.equal(exactSign(wx, wy, b, x, y), exact > 0n ? 1 : exact < 0n ? -1 : 0);
    assert.equal(isOn(wx, wy, b, x, y), exact > 0n);
  }
  assert.equal(isOn(1e308, 1e308, -1e308, 1e308, -1e308), false);
  assert.equal(isOn(5e-324, 0, 0, 0.5, 0), true);
});

test("bits count as they should", () => {
  for (const word of [0, 1, 0xffffffff, 0x80000000, 0x12345678]) {
    assert.equal(popcount(word), word.toString(2).replaceAll("0", "").length);
  }
  const bits = new Bits(2, 70);
  [0, 31, 32, 69].forEach((bit) => bits.set(1, bit));
  assert.deepEqual(Array.from(bits.indices(1)), [0, 31, 32, 69]);
  assert.equal(bits.complement(1).reduce((sum, word) => sum + popcount(word), 0), 66);
  for (const bit of [0, 31, 32, 69]) {
    const mask = new Bits(1, 70);
    for (let i = bit; i < 70; i++) mask.set(0, i);
    assert.equal(firstMasked(mask.row(0), bits, 1), bit);
    assert.equal(firstMasked(mask.row(0), bits, 0), 70);
  }
});

test("pixels answer as the network does at their middles", () => {
  const state = { ...DEFAULT, classes: 3, count: 60, width: 70 };
  for (const detectors of ["mask", "weighted"]) {
    const points = asArrays(pointsOf(state));
    const made = construct(points, { ...state, detectors, maxBias: 1, maxFeatures: 4 });
    const size = 24;
    const bits = pixelBits(made.planes, size);
    const first = firstFiring(bits, made.detectors, made.classes);
    const cells = new Cells(made.planes, size);
    cells.moveTo(70);
    const texts = new Map();
    for (let pixel = 0; pixel < size * size; pixel++) {
      const [x, y] = [pixelAt(pixel % size, size), -pixelAt(Math.floor(pixel / size), size)];
      const here = new Bits(1, 70);
      for (let i = 0; i < 70; i++) if (made.planes.wx[i] * x + made.planes.wy[i] * y + made.planes.b[i] > 0) here.set(0, i);
      assert.equal(bits.key(pixel), here.key(0));
      assert.equal(texts.get(cells.pixels[pixel]) ?? here.key(0), here.key(0));
      texts.set(cells.pixels[pixel], here.key(0));
      const fired = made.targets.filter((k) => first[k][pixel] !== NEVER);
      assert.equal(fired.length === 1 ? fired[0] : -1, answer(made, here, 0));
      made.targets.forEach((k) => {
        const number = made.detectors.findIndex((one) => one.label === k && countOf(one.weights, here, 0) < one.limit);
        assert.equal(first[k][pixel], number < 0 ? NEVER : number);
      });
    }
  }
});

test("adaptive networks interpolate, with every law, class count and margin", () => {
  for (const data of ["moons", "spirals", "line", "chessboard"]) {
    for (const [classes, law, margin] of [[2, "gaussian", 0], [3, "bisector", 30], [4, "bisector", 80], [2, "sparse", 0], [3, "sparse", 60]]) {
      const state = { ...DEFAULT, data, classes, law, margin, count: 40, algorithm: 1 };
      const made = construct(asArrays(pointsOf(state)), { ...state, maxBias: 1, maxFeatures: 4 });
      assert.equal(made.outcome, "interpolates");
      assert.equal(made.open.at(-1), 0);
      if (made.planes.b.length > 1) assert.ok(made.open.at(-2) > 0, "no hyperplane more than needed");
      assert.ok(margin === 0 || made.margin > 0);
    }
  }
});

test("open pairs are those that a plain double loop finds", () => {
  const state = { ...DEFAULT, classes: 3, count: 30, width: 40 };
  const points = asArrays(pointsOf(state));
  const made = construct(points, { ...state, maxBias: 1, maxFeatures: 4 });
  for (let count = 0; count <= 40; count++) {
    let open = 0;
    for (let a = 0; a < 30; a++) {
      for (let b = 0; b < 30; b++) {
        const parted = Array.from({ length: count }, (_, i) => !made.exact.get(a, i) && made.exact.get(b, i)).some(Boolean);
        if (points.label[a] !== points.label[b] && !parted) open += 1;
      }
    }
    assert.equal(made.open[count], open);
  }
});

test("cuts separate all pairs", () => {
  const points = asArrays(pointsOf({ ...DEFAULT, data: "chessboard", count: 60 }));
  const cuts = coordinateCuts(points, new OpenPairs(points.label, [1]).list());
  for (const [a, b] of new OpenPairs(points.label, [1]).list()) {
    const on = (row, i) => isOn(cuts.wx[i], cuts.wy[i], cuts.b[i], points.x[row], points.y[row]);
    assert.ok(Array.from(cuts.b.keys()).some((i) => !on(a, i) && on(b, i)));
  }
});

test("draws have the law that they claim", () => {
  const points = asArrays(pointsOf({ ...DEFAULT, count: 100 }));
  const drawing = { maxBias: 2, maxFeatures: 4, seed: 3 };
  const planes = planeSource(points, [1], { ...drawing, law: "gaussian" })(20000);
  const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;
  assert.ok(Math.abs(mean(planes.wx)) < 0.03);
  assert.ok(Math.abs(mean(planes.wx.map((w) => w * w)) - 1) < 0.05);
  assert.ok(planes.wx.every((w) => Math.fround(w) === w));
  for (const [law, maxFeatures] of [["bisector", 1], ["sparse", 1], ["sparse", 4]]) {
    const { wx, wy, b } = planeSource(points, [1], { ...drawing, law, maxFeatures })(200);
    for (let i = 0; i < 200; i++) {
      const on = Array.from(points.x, (x, row) => isOn(wx[i], wy[i], b[i], x, points.y[row]));
      const seen = new Set(on.map((is, row) => `${points.label[row]} ${is}`));
      assert.ok((seen.has("0 true") && seen.has("1 false")) || (law === "sparse" && seen.has("0 false") && seen.has("1 true")));
    }
    const looked = new Set(Array.from(wx, (w, i) => Number(w !== 0) + Number(wy[i] !== 0)));
    if (law === "sparse") assert.deepEqual([...looked].sort(), maxFeatures === 1 ? [1] : [1, 2]);
  }
  const source = () => planeSource(points, [1], { ...drawing, law: "sparse" });
  const [all, twice] = [source()(100), source()];
  assert.deepEqual(Array.from(all.b.slice(0, 64)), Array.from(twice(64).b));
  assert.deepEqual(Array.from(all.b.slice(64)), Array.from(twice(36).b));
});

test("what has no network is refused with a reason", () => {
  const build = (points) => construct(asArrays(points), { ...DEFAULT, maxBias: 1, maxFeatures: 4 });
  assert.throws(() => build([]), /two classes/);
  assert.throws(() => build([[0, 0, 0], [1, 1, 0]]), /two classes/);
  assert.throws(() => build([[0, 0, 0], [1, 1, 2]]), /every class/);
  assert.throws(() => build([[0, 0, 0], [1, 1, 1], [0, 0, 1]]), /points 0 and 2 are equal/);
});
