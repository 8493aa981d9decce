"""Slow, obvious twins of certificates, claims and geometry."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations

import numpy as np

from exactfit.network import Decoder, Dense, Layer, Masks, Network, Sparse, WeightedMasks
from exactfit.network.activations import THRESHOLD, Activation
from exactfit.network.bits import BitMatrix

# ---- Slow, obvious twins of the certificate: fractions, loops, and one float32 evaluation at a time ----------------


Sum = Callable[[list[np.floating], np.random.Generator], np.floating]


def affine(w, x, b) -> Fraction:
    """<w, x> + b, exactly."""
    return sum((Fraction(float(a)) * Fraction(float(c)) for a, c in zip(w, x, strict=True)), Fraction(float(b)))


def heights(network: Network, x) -> list[Fraction]:
    """Outputs of the first layer: bits as 0 or 1, or max(., 0)."""
    first = network.layers[0]
    sums = [affine(w, x, b) for w, b in zip(first.weights.values, first.bias, strict=True)]
    if first.activation is THRESHOLD:
        return [Fraction(total > 0) for total in sums]
    return [max(total, Fraction(0)) for total in sums]


def gaps(network: Network, x) -> list[Fraction]:
    """limit - masked sum, for every detector."""
    values, second = heights(network, x), network.layers[1]
    limits = [Fraction(limit.item()) for limit in second.bias]
    return [
        limit - sum((value * count for value, count in zip(values, counts, strict=True)), Fraction(0))
        for limit, counts in zip(limits, counters(second), strict=True)
    ]


def counters(layer: Layer) -> list[list[int]]:
    """What each detector counts a bit for: 0 or 1, or a weight."""
    if isinstance(layer.weights, WeightedMasks):
        return layer.weights.values.astype(int).tolist()
    return layer.weights.bits.to_bool().astype(int).tolist()


def decided(network: Network, fires: Sequence[bool]) -> int:
    """Class index for detectors that fire or do not, -1 if none or several classes claim."""
    claims = [
        any(one and fire for one, fire in zip(row, fires, strict=True))
        for row in network.layers[2].weights.bits.to_bool()
    ]
    decoder = network.decoder
    if decoder.kind == "sign":
        return decoder.classes[0] if claims[0] else decoder.classes[1]
    return decoder.classes[claims.index(True)] if sum(claims) == 1 else -1


def wrong_rows(network: Network, X, y) -> list[int]:
    """Rows that exact arithmetic does not give their class."""
    return [
        row
        for row, (x, code) in enumerate(zip(X, y, strict=True))
        if decided(network, [gap > 0 for gap in gaps(network, x)]) != code
    ]


def slack(network: Network, X, y, half: Fraction) -> Fraction | float:
    """Smallest |greatest limit - half - sum|, of a point's own class and of all others together."""
    smallest: Fraction | float = float("inf")
    claims = network.layers[2].weights.bits.to_bool()
    for x, code in zip(X, y, strict=True):
        found = gaps(network, x)
        own = [gap for k, gap in _claimed(claims, found) if network.decoder.classes[k] == code]
        other = [gap for k, gap in _claimed(claims, found) if network.decoder.classes[k] != code]
        smallest = min([smallest, *(abs(max(group) - half) for group in (own, other) if group)])
    return smallest


def _claimed(claims, found) -> list[tuple[int, Fraction]]:
    return [(k, found[m]) for k, row in enumerate(claims) for m in np.flatnonzero(row)]


def squared_radius(network: Network, X) -> Fraction | float:
    """Smallest squared distance of a point to a hyperplane."""
    first = network.layers[0]
    smallest: Fraction | float = float("inf")
    for w, b in zip(first.weights.values, first.bias, strict=True):
        square = sum(Fraction(float(a)) ** 2 for a in w)
        if square:
            smallest = min([smallest, *(affine(w, x, b) ** 2 / square for x in X)])
    return smallest


def network_of(weights, bias, masks, limits, claims, decoder: Decoder, activation: Activation = THRESHOLD) -> Network:
    """Three layers from plain arrays."""
    dtype = np.int64 if activation is THRESHOLD else np.float64
    sign = -1 if decoder.kind == "sign" else 1
    return Network(
        (
            Layer(Dense(np.asarray(weights)), np.asarray(bias, dtype=np.float64), activation),
            Layer(Masks(BitMatrix.from_bool(np.asarray(masks, dtype=bool)), -1), np.asarray(limits, dtype), activation),
            Layer(
                Masks(BitMatrix.from_bool(np.asarray(claims, dtype=bool)), sign),
                np.zeros(len(claims), dtype=np.int64),
                None,
            ),
        ),
        decoder,
    )


def built(X, y, weights, bias, activation: Activation = THRESHOLD, one_sided: bool = False) -> Network:
    """A detector on every point (of class 0 only, if one-sided) that has a limit above zero.

    For the threshold, limits are the exact minimum over the rest; for ReLU, half the float64 minimum.
    """
    n_classes = int(max(y)) + 1
    blank = network_of(
        weights, bias, np.zeros((0, len(bias))), [], np.zeros((1, 0)), Decoder("sign", (0, 1)), activation
    )
    values = [heights(blank, x) for x in X]
    masks, limits, owners = [], [], []
    for row in range(len(X)):
        if one_sided and y[row] != 0:
            continue
        mask = [affine(w, X[row], b) <= 0 for w, b in zip(weights, bias, strict=True)]
        sums = [sum(v for v, on in zip(values[k], mask, strict=True) if on) for k in range(len(X)) if y[k] != y[row]]
        limit = min(sums, default=Fraction(1))
        if limit > 0:
            masks.append(mask)
            limits.append(int(limit) if activation is THRESHOLD else float(limit) / 2)
            owners.append(int(y[row]))
    masks = np.array(masks, dtype=bool).reshape(len(limits), len(bias))
    if one_sided:
        return network_of(weights, bias, masks, limits, np.ones((1, len(limits))), Decoder("sign", (0, 1)), activation)
    claims = np.arange(n_classes)[:, None] == np.array(owners, dtype=int)[None, :]
    return network_of(weights, bias, masks, limits, claims, Decoder("one_hot", tuple(range(n_classes))), activation)


def in_turn(terms, rng):
    """Add from first to last."""
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def shuffled(terms, rng):
    """Add in random order."""
    return in_turn([terms[k] for k in rng.permutation(len(terms))], rng)


def growing(terms, rng):
    """Add from small to large."""
    return in_turn(sorted(terms, key=abs), rng)


def signs_apart(terms, rng):
    """Add the positive ones, then the others."""
    return in_turn(sorted(terms, reverse=True), rng)


def in_pairs(terms, rng):
    """Add by halves."""
    if len(terms) == 1:
        return terms[0]
    return in_pairs(terms[: len(terms) // 2], rng) + in_pairs(terms[len(terms) // 2 :], rng)


ORDERS = (in_turn, shuffled, growing, signs_apart, in_pairs)


def runtime(network: Network, x, form: type, order, rng, fused: bool = False) -> int:
    """Class index as a runtime in the format would find it, with sums in the given order."""
    first, second, _ = network.layers
    x = [form(entry) for entry in x]
    out = []
    for w, b in zip(first.weights.values, first.bias, strict=True):
        if fused:
            total = form(b)
            for j in rng.permutation(len(x)):
                total = _fused(form(w[j]), x[j], total, form)
        else:
            total = order([form(a) * c for a, c in zip(w, x, strict=True)] + [form(b)], rng)
        out.append(form(total > 0) if first.activation is THRESHOLD else max(total, form(0)))
    half = form(0.5) if first.activation is THRESHOLD else form(0)
    fires = []
    for counts, limit in zip(counters(second), second.bias, strict=True):
        terms = [-value * form(count) for value, count in zip(out, counts, strict=True) if count]
        fires.append(bool(order([*terms, form(limit) - half], rng) > 0))
    return decided(network, fires)


def _fused(a, b, c, form):
    if not np.isfinite([a, b, c]).all():
        return a * b + c
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    try:
        near = form(float(exact))
    except OverflowError:
        return form(np.inf) if exact > 0 else form(-np.inf)
    return near if form is np.float64 or not np.isfinite(near) else _nearest32(exact, near)


def _nearest32(exact: Fraction, near: np.float32) -> np.float32:
    """Correctly rounded to float32, ties to even; ``near`` is rounded twice."""
    choices = [np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.float32(np.inf))]
    finite = [choice for choice in choices if np.isfinite(choice)]
    return min(finite, key=lambda choice: (abs(Fraction(float(choice)) - exact), int(choice.view(np.uint32)) & 1))


def weight_rows(layer: Layer) -> list[list]:
    """The weights of every unit as plain numbers."""
    weights = layer.weights
    match weights:
        case Masks():
            return [[weights.sign * int(bit) for bit in row] for row in weights.bits.to_bool()]
        case Sparse():
            return weights.matrix.toarray().tolist()
        case WeightedMasks():
            return (weights.sign * weights.values.astype(int)).tolist()
        case _:
            return weights.values.tolist()


def fraction(number) -> Fraction:
    """A number of any kind, exactly."""
    return Fraction(number if isinstance(number, int | Fraction) else float(number))


def chain_input(network: Network, x) -> list[Fraction]:
    """A point as the first layer receives it."""
    point = [fraction(entry) for entry in x]
    squared = [sum((entry * entry for entry in point), Fraction(0))]
    return point + squared if network.input_map == "append_squared_norm" else point


def chain_layer(layer: Layer, signal: list[Fraction]) -> list[Fraction]:
    """What a layer makes of a signal, exactly."""
    sums = [
        sum((fraction(w) * a for w, a in zip(row, signal, strict=True)), fraction(b))
        for row, b in zip(weight_rows(layer), layer.bias.tolist(), strict=True)
    ]
    return [_answer(layer.activation, total) for total in sums]


def chain_outputs(network: Network, x) -> list[Fraction]:
    """Outputs of a chain of any depth, exactly."""
    signal = chain_input(network, x)
    for layer in network.layers:
        signal = chain_layer(layer, signal)
    return signal


def _answer(activation: Activation | None, total):
    if activation is None:
        return total
    return type(total)(total > 0) if activation.is_threshold else max(total, type(total)(0))


def decode(decoder: Decoder, outputs, number=fraction) -> int:
    """Class index for the outputs of one point; ``number`` is how levels are held."""
    if decoder.kind == "sign":
        return decoder.classes[0] if outputs[0] < 0 else decoder.classes[1]
    if decoder.kind == "one_hot":
        on = [k for k, output in enumerate(outputs) if output > 0]
        return decoder.classes[on[0]] if len(on) == 1 else -1
    if decoder.kind == "argmax":
        return decoder.classes[list(outputs).index(max(outputs))]
    gaps = [abs(outputs[0] - number(level)) for level in decoder.levels]
    return decoder.classes[gaps.index(min(gaps))]


def chain_answer(network: Network, x) -> int:
    """Class index in exact arithmetic."""
    return decode(network.decoder, chain_outputs(network, x))


def _rounded(number, form: type):
    try:
        return form(number)
    except OverflowError:
        return form(np.inf if number > 0 else -np.inf)


def chain_runtime(network: Network, x, form: type, order, rng, fused: bool = False) -> int:
    """Class index as a runtime in the format would find it, with sums in the given order."""
    signal = [form(entry) for entry in x]
    if network.input_map == "append_squared_norm":
        signal.append(_dot(signal, signal, form(0), form, order, rng, fused))
    for layer in network.layers:
        rows, bias = weight_rows(layer), layer.bias.tolist()
        sums = [
            _dot([_rounded(w, form) for w in row], signal, _rounded(b, form), form, order, rng, fused)
            for row, b in zip(rows, bias, strict=True)
        ]
        signal = [_answer(layer.activation, total) for total in sums]
    return decode(network.decoder, signal, form)


def _dot(w, x, b, form: type, order, rng, fused: bool):
    if not fused:
        return order([*(a * c for a, c in zip(w, x, strict=True)), b], rng)
    total = b
    for j in rng.permutation(len(x)):
        total = _fused(w[j], x[j], total, form)
    return total


# ---- Slow, obvious twins: who claims whom, which points to give up, who is suspicious ------------------------------


def claims_and_support(bits, y):
    """Every point as an anchor, one pair at a time."""
    n = len(y)
    claims, support = [0] * n, [0] * n
    for a in range(n):
        mask = ~bits[a]
        limit = min(int((bits[r] & mask).sum()) for r in range(n) if y[r] != y[a])
        for p in range(n):
            if p != a and y[p] == y[a] and int((bits[p] & mask).sum()) < limit:
                claims[p] += 1
                support[a] += 1
    return claims, support


def points_to_give_up(X, bits, y, budget, rounds):
    """Contradictory rows, then in rounds the least claimed, the least supporting, the first."""
    gone = [row for row in range(len(y)) if _loses(X, y, row)][:budget]
    most = {k: int((y == k).sum()) // 2 for k in set(y.tolist())}
    before = len(gone)
    for number in range(1, rounds + 1):
        if before == budget:
            break
        goal = before + (budget - before) * number // rounds
        kept = [row for row in range(len(y)) if row not in gone]
        claims, support = claims_and_support(bits[kept], y[kept])
        for _, _, row in sorted(zip(claims, support, kept, strict=True)):
            of_class = sum(y[other] == y[row] for other in gone)
            if len(gone) < goal and of_class < most[int(y[row])]:
                gone.append(row)
    return sorted(gone)


def _loses(X, y, row):
    """Whether most of a row's equals have another label (on a tie the lowest label stands)."""
    equal = [int(y[other]) for other in range(len(y)) if (X[other] == X[row]).all()]
    return min(equal, key=lambda label: (-equal.count(label), label)) != y[row]


def suspects(X, y, k):
    """Ratio of distances, the nearest of other labels, and how many of the k nearest are such."""
    n = len(y)
    away = np.array([[float(((X[a] - X[b]) ** 2).sum()) ** 0.5 for b in range(n)] for a in range(n)])
    to_other = [min(away[a][b] for b in range(n) if y[b] != y[a]) for a in range(n)]
    ratios, conflicts, strangers = [], [], []
    for a in range(n):
        by_distance = sorted((b for b in range(n) if b != a), key=lambda b: (away[a][b], b))
        own = [b for b in by_distance if y[b] == y[a]][:k]
        others = [b for b in by_distance if y[b] != y[a]][:k]
        middle = float(np.median([to_other[b] for b in own])) if own else 0.0
        ratios.append(0.0 if not own or to_other[a] == 0 else to_other[a] / middle if middle else float("inf"))
        conflicts.append(others + [-1] * (k - len(others)))
        strangers.append(sum(y[b] != y[a] for b in by_distance[:k]))
    return ratios, conflicts, strangers


def neighbours_say(X, y, k, reach, n_classes):
    """Logarithms of votes, and closeness, of every label at every row, as docs/suspects.md defines them."""
    n = len(y)
    votes, closeness = np.empty((n, n_classes)), np.empty((n, n_classes))
    for a in range(n):
        away = {b: float(((X[a] - X[b]) ** 2).sum()) ** 0.5 for b in range(n) if b != a}
        near = sorted(away, key=lambda b: (away[b], b))[:reach]
        last = max(away[b] for b in near)
        share = {b: away[b] / last if last > 0 else 0.0 for b in near}
        total = sum(np.exp(-(share[b] ** 2)) for b in near)
        for label in range(n_classes):
            own = [share[b] for b in near if y[b] == label]
            for_it = sum(np.exp(-(t**2)) for t in own)
            votes[a, label] = np.log((for_it + np.mean(y == label)) / (total + 1))
            first = own[:k]
            closeness[a, label] = -4 * (sum(first) + (k - len(first))) / k
    return votes, closeness


# ---- Slow, obvious twins of the geometry: exact numbers, all pairs -------------------------------------------------


def square(x, y):
    """Squared distance, exactly."""
    return sum((Fraction(float(a)) - Fraction(float(b))) ** 2 for a, b in zip(x, y, strict=True))


def signed_cosine(x, y):
    """Cosine times its absolute value, exactly; None without a direction."""
    a, b = [Fraction(float(v)) for v in x], [Fraction(float(v)) for v in y]
    dot = sum(p * q for p, q in zip(a, b, strict=True))
    norms = sum(p * p for p in a) * sum(q * q for q in b)
    return dot * abs(dot) / norms if norms else None


def angle(x, y):
    """Angle of two points, from their exact cosine."""
    cosine = signed_cosine(x, y)
    return math.atan2(math.sqrt(1 - abs(cosine)), math.copysign(math.sqrt(abs(cosine)), cosine))


def pairs(n, y):
    return [(i, j) for i, j in combinations(range(n), 2) if y is None or y[i] != y[j]]


def closest(X, y=None):
    """The closest pair, the lowest rows on a tie."""
    return min(pairs(len(X), y), key=lambda pair: (square(X[pair[0]], X[pair[1]]), pair))


def narrowest(X, y=None):
    """The pair with the smallest angle, the lowest rows on a tie; None if there is none."""
    angles = {pair: signed_cosine(X[pair[0]], X[pair[1]]) for pair in pairs(len(X), y)}
    return min((-value, pair) for pair, value in angles.items() if value is not None)[1]


def nearest_rows(X, y):
    """For every point the nearest one of another label, the lowest row on a tie."""
    n = len(X)
    return [min((square(X[i], X[j]), j) for j in range(n) if y[i] != y[j])[1] for i in range(n)]


def limit_cover(X, y, k, order):
    """Anchors of class k in the limit: rows in the given order, open balls up to the nearest other point."""
    waiting, anchors = {row for row in range(len(X)) if y[row] == k}, []
    nearest = nearest_rows(X, y)
    for row in order:
        if row in waiting:
            reach = square(X[row], X[nearest[row]])
            waiting -= {other for other in waiting if square(X[row], X[other]) < reach}
            anchors.append(row)
    return anchors


def greedy_limit_cover(X, y, k, order, at_once):
    """The same by greed: of a pool of candidates always the one that holds most, the lowest row on a tie."""
    waiting, anchors, untried = {row for row in range(len(X)) if y[row] == k}, [], list(order)
    nearest = nearest_rows(X, y)
    while waiting:
        pool, untried = sorted(untried[:at_once]), untried[at_once:]
        held = {
            row: {x for x in range(len(X)) if y[x] == k and square(X[row], X[x]) < square(X[row], X[nearest[row]])}
            for row in pool
        }
        while held[best := max(pool, key=lambda row: len(held[row] & waiting))] & waiting:
            waiting -= held[best]
            anchors.append(best)
        untried = [row for row in untried if row in waiting]
    return anchors


def admissible(radius, gap_square, max_bias, constant):
    """r <= constant t / sqrt(log(e max_bias / t)), with fifty digits."""
    with localcontext() as context:
        context.prec = 50
        t = (Decimal(gap_square.numerator) / Decimal(gap_square.denominator)).sqrt()
        if t == 0 or t >= Decimal(1).exp() * Decimal(max_bias):
            return False
        bound = Decimal(constant) * t / (1 + (Decimal(max_bias) / t).ln()).sqrt()
        return Decimal(radius) <= bound * (1 + Decimal(10) ** -40)


def broken_conditions(X, y, target, balls, max_bias, constant):
    """The conditions of a mutual covering that fail, as (condition, side, row); balls[side] = centres and radii."""
    broken = set()
    if max_bias < max(np.sqrt((np.asarray(X, dtype=float) ** 2).sum(axis=1))):
        broken.add(("max_bias", "both", -1))
    for side, other in (("target", "rest"), ("rest", "target")):
        members = [row for row in range(len(X)) if (y[row] == target) == (side == "target")]
        centers, radii = balls[side]
        broken |= {("class", side, row) for row in centers if row not in members}
        for row in members:
            if not any(square(X[row], X[c]) <= Fraction(float(r)) ** 2 for c, r in zip(centers, radii, strict=True)):
                broken.add(("cover", side, row))
        for c, r in zip(centers, radii, strict=True):
            gap = min(square(X[c], X[other_center]) for other_center in balls[other][0])
            if not admissible(float(r), gap, max_bias, constant):
                broken.add(("radius", side, c))
    return broken
