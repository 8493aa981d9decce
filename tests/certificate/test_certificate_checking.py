"""``certify`` takes whatever was fitted, proves it from the numbers alone, and finds what is wrong."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import naive_certificate as naive
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from constructors import CONSTRUCTORS, PROBLEMS
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from exactfit import InterpolatingClassifier, TableModel, adaptive_width
from exactfit.certificate import Certificate, certify, data_digest
from exactfit.constructions import Huang
from exactfit.exceptions import DataError, ParameterError
from exactfit.network import Decoder, Dense, Masks, Network
from exactfit.network.activations import Activation
from exactfit.network.bits import BitMatrix

HALF = Fraction(1, 2)
ALL = ("exact", "float64", "float32")


def small_problem(rng: np.random.Generator, d: int = 2, n: int = 9, points: int = 10, classes: int = 3, law="gauss"):
    """Points on a grid or in general position, and hyperplanes of which some touch points."""
    y = np.concatenate([np.arange(classes), rng.integers(0, classes, points - classes)])
    if law == "grid":
        X, W = rng.integers(-2, 3, (points, d)).astype(float), rng.integers(-2, 3, (n, d)).astype(float)
        return X, y, W, rng.integers(-3, 4, n).astype(float)
    X, W = rng.normal(size=(points, d)), rng.normal(size=(n, d)).astype(np.float32)
    b = rng.normal(size=n)
    if law == "mixed":
        X *= 10.0 ** rng.integers(-300, 300, (points, d))
        W = W.astype(np.float64) * 10.0 ** rng.integers(-300, 300, (n, d))
        b *= 10.0 ** rng.integers(-300, 300, n)
    if law == "cuts":
        axes, signs = rng.integers(0, d, n), rng.choice([-1.0, 1.0], n)
        W = np.zeros((n, d))
        W[np.arange(n), axes] = signs
        b = -signs * X[rng.integers(0, points, n), axes]
    if law == "touching":
        W = W.astype(np.float64)
        b = np.array([-np.dot(w, X[k]) for w, k in zip(W, rng.integers(0, points, n), strict=True)])
    return X, y, W, b


LAWS = ["gauss", "grid", "mixed", "cuts", "touching"]
problems = st.tuples(st.integers(0, 2**32 - 1), st.sampled_from(LAWS), st.integers(1, 4), st.booleans())


def problem_of(drawn) -> tuple[Network, np.ndarray, np.ndarray]:
    seed, law, d, one_sided = drawn
    X, y, W, b = small_problem(np.random.default_rng(seed), d=d, classes=2 if one_sided else 3, law=law)
    return naive.built(X, y, W, b, one_sided=one_sided), X, y


def changed(network: Network, index: int, **parts) -> Network:
    layers = list(network.layers)
    layers[index] = replace(layers[index], **parts)
    return replace(network, layers=tuple(layers))


def flipped(network: Network, index: int, unit: int, bit: int) -> Network:
    bits = network.layers[index].weights.bits.to_bool()
    bits[unit, bit] ^= True
    return changed(network, index, weights=Masks(BitMatrix.from_bool(bits), network.layers[index].weights.sign))


@given(problems)
def test_errors_slack_and_radius_are_those_of_the_naive_twin(drawn) -> None:
    network, X, y = problem_of(drawn)
    certificate = certify(network, X, y)
    wrong = naive.wrong_rows(network, X, y)
    assert certificate.errors.tolist() == wrong
    assert certificate.holds == (not wrong)
    assert (certificate.n_samples, certificate.n_errors) == (len(X), len(wrong))
    assert certificate.slack == naive.slack(network, X, y, HALF)
    assert certificate.note == ""
    square = naive.squared_radius(network, X)
    assert Fraction(certificate.robust_radius) ** 2 <= square
    if drawn[1] != "mixed":
        assert certificate.robust_radius >= math.sqrt(square) * (1 - 1e-9) - 1e-15


@given(problems)
def test_what_is_safe_is_right_and_float32_implies_nothing_less(drawn) -> None:
    network, X, y = problem_of(drawn)
    exact, in64, in32 = (certify(network, X, y, arithmetic=arithmetic) for arithmetic in ALL)
    assert set(exact.errors) <= set(in64.errors)
    assert set(exact.errors) <= set(in32.errors)
    assert (in64.holds, in32.holds) == (exact.float64_safe, exact.float32_safe)
    assert (exact.arithmetic, in64.arithmetic, in32.arithmetic) == ALL
    for other in (in64, in32):
        assert (other.float64_safe, other.float32_safe) == (exact.float64_safe, exact.float32_safe)
        assert (other.slack, other.robust_radius) == (exact.slack, exact.robust_radius)


@given(problems, st.sampled_from([np.float32, np.float64]))
def test_no_evaluation_contradicts_a_row_called_safe(drawn, form) -> None:
    network, X, y = problem_of(drawn)
    rng = np.random.default_rng(drawn[0])
    unsafe = set(certify(network, X, y, arithmetic=form.__name__).errors)
    with np.errstate(all="ignore"):
        for row in set(range(len(X))) - unsafe:
            for order in naive.ORDERS:
                assert naive.runtime(network, X[row], form, order, rng) == y[row]
            assert naive.runtime(network, X[row], form, naive.in_turn, rng, fused=True) == y[row]


@pytest.mark.parametrize(("form", "unit"), [(np.float32, 2.0**-24), (np.float64, 2.0**-53)])
@pytest.mark.parametrize("d", [2, 17, 784])
def test_bits_near_a_hyperplane_are_open_only_as_near_as_rounding_reaches(d, form, unit) -> None:
    rng = np.random.default_rng(d)
    w = rng.normal(size=d)
    x = rng.normal(size=(40, d)).astype(np.float32)
    direction = w / np.dot(w, w)
    steps = np.repeat(np.array([1e-2, 1.0, 10.0, 1e3 * d]), 10) * unit * (np.abs(x) @ np.abs(w))
    X = np.array([point + direction * (step - np.dot(w, point)) for point, step in zip(x, steps, strict=True)])
    network = naive.network_of([w], [0.0], [[True]], [1], [[True]], Decoder("sign", (0, 1)))
    y = np.array([0 if naive.affine(w, point, 0.0) <= 0 else 1 for point in X])
    unsafe = set(certify(network, X, y, arithmetic=form.__name__).errors)
    assert certify(network, X, y).holds
    assert unsafe >= set(range(10)) or form is np.float64  # where the points' own rounding is as large as the step
    assert not unsafe & set(range(30, 40))
    for row in set(range(40)) - unsafe:
        for order in naive.ORDERS:
            assert naive.runtime(network, X[row], form, order, rng) == y[row]


@pytest.mark.parametrize("law", ["gauss", "grid", "cuts"])
@pytest.mark.parametrize("one_sided", [False, True])
def test_a_raised_limit_lets_its_witnesses_be_claimed(law, one_sided) -> None:
    X, y, W, b = small_problem(np.random.default_rng(5), n=14, classes=2 if one_sided else 3, law=law)
    network = naive.built(X, y, W, b, one_sided=one_sided)
    for detector in range(network.layers[1].n_units):
        limits = network.layers[1].bias.copy()
        limits[detector] += 1
        raised = changed(network, 1, bias=limits)
        errors = certify(raised, X, y).errors.tolist()
        assert errors == naive.wrong_rows(raised, X, y)
        touched = [row for row in range(len(X)) if naive.gaps(network, X[row])[detector] == 0]
        witnesses = [row for row in touched if not speaks_for(network, detector, y[row])]
        assert witnesses
        assert set(errors) >= set(witnesses)


def speaks_for(network: Network, detector: int, code: int) -> bool:
    if network.decoder.kind == "sign":
        return code == network.decoder.classes[0]
    return bool(network.layers[2].weights.bits.to_bool()[network.decoder.classes.index(code), detector])


@pytest.mark.parametrize("one_sided", [False, True])
def test_a_swapped_label_is_an_error_in_its_row(one_sided) -> None:
    X, y, W, b = small_problem(np.random.default_rng(3), n=80, classes=2 if one_sided else 3)
    network = naive.built(X, y, W, b, one_sided=one_sided)
    assert certify(network, X, y).holds
    for row in range(len(X)):
        swapped = y.copy()
        swapped[row] = (y[row] + 1) % (y.max() + 1)
        assert certify(network, X, swapped).errors.tolist() == [row]


@pytest.mark.parametrize("law", ["gauss", "grid"])
def test_every_flipped_mask_bit_is_seen_as_the_naive_twin_sees_it(law) -> None:
    X, y, W, b = small_problem(np.random.default_rng(2), n=7, points=7, law=law)
    network = naive.built(X, y, W, b)
    for index in (1, 2):
        units, bits = network.layers[index].weights.shape
        for unit in range(units):
            for bit in range(bits):
                other = flipped(network, index, unit, bit)
                certificate = certify(other, X, y)
                assert certificate.errors.tolist() == naive.wrong_rows(other, X, y)
                assert certificate.network_digest == other.digest != network.digest


@pytest.mark.parametrize("d", [1, 2, 17, 784])
@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e150, 1e-306, 1e300])
def test_points_on_a_hyperplane_are_off_and_the_next_float_decides(d, scale) -> None:
    rng = np.random.default_rng(d)
    w = rng.integers(1, 5, d).astype(float)
    x = rng.integers(1, 5, d).astype(float) * scale
    b = -np.dot(w, x / scale) * scale
    X = np.array([x, x, x])
    X[1, 0], X[2, 0] = np.nextafter(x[0], np.inf), np.nextafter(x[0], 0.0)
    y = np.array([0 if naive.affine(w, point, b) <= 0 else 1 for point in X])
    assert naive.affine(w, X[1], b) > naive.affine(w, X[0], b) > naive.affine(w, X[2], b)
    network = naive.network_of([w], [b], [[True]], [1], [[True]], Decoder("sign", (0, 1)))
    certificate = certify(network, X, y)
    assert certificate.holds
    assert certify(network, X, 1 - y).n_errors == 3
    assert Fraction(certificate.robust_radius) ** 2 <= naive.squared_radius(network, X)


def test_ties_on_a_grid_are_safe_where_sums_are_exact() -> None:
    X, y, W, b = small_problem(np.random.default_rng(4), d=3, n=60, points=20, law="grid")
    X, first = np.unique(X, axis=0, return_index=True)
    network = naive.built(X, y[first], W, b)
    certificate = certify(network, X, y[first])
    assert certificate.robust_radius == 0.0
    assert (certificate.holds, certificate.float64_safe, certificate.float32_safe) == (True, True, True)


@pytest.mark.parametrize(("step", "safe"), [(1, True), (4096, False)])
def test_ties_on_a_grid_are_open_where_products_have_too_many_digits(step, safe) -> None:
    low, high = float(step + 1), float(step + 3)
    network = naive.network_of([[low, -high]], [0.0], [[True]], [1], [[True]], Decoder("sign", (0, 1)))
    certificate = certify(network, np.array([[high, low]]), [0])
    assert (certificate.holds, certificate.float64_safe, certificate.float32_safe) == (True, True, safe)
    scaled = certify(network, np.array([[high, low]]) * 2.0**-1070, [0])
    assert (scaled.holds, scaled.float64_safe, scaled.float32_safe) == (True, False, False)


def test_cuts_through_points_are_safe_where_the_points_are_float32_numbers() -> None:
    X = np.array([[0.1], [0.3], [0.7]])
    y = np.array([0, 1, 0])

    def certificate(points):
        W, b = np.array([[1.0], [-1.0]] * 3), np.repeat(points[:, 0], 2) * np.array([-1.0, 1.0] * 3)
        return certify(naive.built(points, y, W, b), points, y)

    narrow = certificate(X.astype(np.float32).astype(np.float64))
    assert (narrow.holds, narrow.float64_safe, narrow.float32_safe) == (True, True, True)
    assert certificate(X).float64_safe
    close = certificate(np.array([[0.1], [np.nextafter(0.1, 1)], [0.7]]))
    assert (close.holds, close.float64_safe, close.float32_safe) == (True, True, False)


def test_an_open_bit_matters_only_where_it_counts() -> None:
    x = np.array([-0.7, 0.9])
    W, b = np.array([[0.1, 0.3], [1.0, 1e-3]]), np.array([-(0.1 * -0.7 + 0.3 * 0.9), 0.0])

    def certificate(mask, label):
        network = naive.network_of(W, b, [mask], [1], [[True]], Decoder("sign", (0, 1)))
        return certify(network, [x], [label], arithmetic="float64")

    assert certificate([False, True], 0).holds
    counted = [certificate([True, True], label).holds for label in (0, 1)]
    assert counted == [False, False]


@pytest.mark.parametrize(
    ("x", "b", "safe64", "safe32"),
    [
        ([1.5 * 2.0**-126, 0.0], -(2.0**-126), True, False),  # the difference is below the normal numbers
        ([2.0**-130, 0.0], 0.0, True, False),
        ([2.0, 0.0], -(2.0**-130), True, False),
        ([2.0, 1e39], -1.0, True, False),  # zero times infinity
        ([2.0, 0.0], -1e39, True, False),
        ([1.5 * 2.0**-1022, 0.0], -(2.0**-1022), False, False),
        ([2.0**-1030, 0.0], 0.0, False, False),
        ([2.0, 1.0], -2.0, True, True),
    ],
)
def test_cuts_are_open_where_a_format_ends(x, b, safe64, safe32) -> None:
    network = naive.network_of([[1.0, 0.0]], [b], [[True]], [1], [[True]], Decoder("sign", (0, 1)))
    certificate = certify(network, [x], [int(x[0] + b > 0)])
    assert (certificate.holds, certificate.float64_safe, certificate.float32_safe) == (True, safe64, safe32)


@pytest.mark.parametrize("scale", [1e-42, 1e39])
def test_numbers_that_float32_cannot_hold_are_open(scale) -> None:
    W, b, X = np.array([[1.0, 1.0]]), np.array([0.0]), np.array([[1.0, 2.0], [-1.0, -2.0]]) * scale
    network = naive.network_of(W, b, [[True]], [1], [[True]], Decoder("sign", (0, 1)))
    certificate = certify(network, X, [1, 0])
    assert (certificate.holds, certificate.float64_safe, certificate.float32_safe) == (True, True, False)


def test_counts_that_float32_cannot_hold_are_not_safe() -> None:
    network = naive.network_of([[1.0]], [0.0], [[True]], [2**25], [[True]], Decoder("sign", (0, 1)))
    certificate = certify(network, np.array([[1.0]]), [0])
    assert (certificate.holds, certificate.float64_safe, certificate.float32_safe) == (True, True, False)


@pytest.mark.parametrize("wide", [np.float32, np.float64])
def test_threads_tiles_and_layout_change_nothing(wide) -> None:
    rng = np.random.default_rng(7)
    X = (rng.normal(size=(1500, 20)) * (rng.random((1500, 20)) < 0.3)).astype(wide)
    W, b = rng.normal(size=(130, 20)).astype(np.float32), rng.normal(size=130)
    y = rng.integers(0, 3, 1500)
    on = X.astype(np.float64) @ W.T.astype(np.float64) + b > 0
    masks, limits, owners = ~on[:40], rng.integers(1, 25, 40), y[:40]
    claims = np.arange(3)[:, None] == owners[None, :]
    network = naive.network_of(W, b, masks, limits, claims, Decoder("one_hot", (0, 1, 2)))
    expected = certify(network, X, y, n_jobs=1)
    assert 0 < expected.n_errors < 1500
    assert expected.errors.tolist() == np.flatnonzero(network.decide(X) != y).tolist()
    for same in (X, np.asfortranarray(X), sp.csr_array(X), sp.csc_matrix(X), pd.DataFrame(X)):
        assert certify(network, same, y, n_jobs=2).to_dict() == expected.to_dict()
    for arithmetic in ("float64", "float32"):
        one, two = (certify(network, X, y, arithmetic=arithmetic, n_jobs=jobs) for jobs in (1, 2))
        assert one.to_dict() == two.to_dict()


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_every_construction_is_confirmed(name, problem) -> None:
    X, y = PROBLEMS[problem]()
    made = CONSTRUCTORS[name](X, y, 0)
    certificate = certify(made.network, X, y)
    assert certificate.holds == made.outcome.interpolates
    assert certificate.errors.tolist() == made.trace.uncovered.tolist()
    assert certificate.errors.tolist() == np.flatnonzero(made.network.decide(X) != y).tolist()
    assert (certificate.note == "") == (not made.network.layers[0].activation.is_own)


def fitted(labels) -> tuple[SimpleNamespace, np.ndarray, np.ndarray]:
    X, y, W, b = small_problem(np.random.default_rng(3), n=80)
    return SimpleNamespace(network_=naive.built(X, y, W, b), classes_=np.asarray(labels)), X, y


@pytest.mark.parametrize("labels", [["ant", "bee", "cat"], [10, 20, 30], [-1.5, 0.0, 2.5]])
def test_an_estimator_is_judged_by_its_labels(labels) -> None:
    model, X, y = fitted(labels)
    given = np.asarray(labels)[y]
    for same in (given, given.tolist(), given.astype(object), pd.Series(given)):
        certificate = certify(model, X, same)
        assert certificate.holds
        assert certificate.data_digest == data_digest(X, given)
        assert certificate.network_digest == model.network_.digest


def test_an_unknown_label_is_an_error_in_its_row() -> None:
    model, X, y = fitted(["ant", "bee", "cat"])
    given = model.classes_[y].astype(object)
    given[[2, 5]] = "dog", 7
    assert certify(model, X, given).errors.tolist() == [2, 5]
    codes = y.copy()
    codes[3] = 8
    assert certify(model.network_, X, codes).errors.tolist() == [3]
    codes[3] = -1
    assert certify(model.network_, X, codes).errors.tolist() == [3]


def test_activations_of_ones_own_are_judged_by_evaluation_only() -> None:
    own = Activation("squared", lambda t: np.maximum(t, 0.0) ** 2)
    network = naive.network_of([[1.0]], [-0.5], [[True]], [1], [[True]], Decoder("sign", (0, 1)))
    network = changed(changed(network, 0, activation=own), 1, activation=own)
    X = np.array([[0.25], [5.0], [6.0]])
    certificate = certify(network, X, [0, 1, 0])
    assert certificate.errors.tolist() == [2]
    assert (certificate.float64_safe, certificate.float32_safe, certificate.robust_radius) == (None, None, None)
    assert (certificate.note, certificate.method) == ("by evaluation only", "evaluation")
    assert math.isnan(certificate.slack)
    assert "(proof: recomputed, by evaluation only)" in str(certificate)
    assert Certificate.from_dict(json.loads(json.dumps(certificate.to_dict(), allow_nan=False))).holds is False
    with pytest.raises(ParameterError, match="no proof in float32"):
        certify(network, X, [0, 1, 0], arithmetic="float32")


def test_no_points_and_no_detectors() -> None:
    model, X, y = fitted("abc")
    nothing = certify(model.network_, X[:0], y[:0])
    assert (nothing.holds, nothing.n_samples, nothing.slack, nothing.robust_radius) == (True, 0, math.inf, math.inf)
    bare = naive.network_of(np.zeros((0, 2)), [], np.zeros((0, 0)), [], np.zeros((1, 0)), Decoder("sign", (0, 1)))
    alone = certify(bare, X, np.ones(len(X), dtype=int))
    assert (alone.holds, alone.float32_safe, alone.slack, alone.robust_radius) == (True, True, math.inf, math.inf)
    assert certify(bare, X, np.zeros(len(X), dtype=int)).n_errors == len(X)
    mute = naive.network_of(np.zeros((0, 2)), [], np.zeros((0, 0)), [], np.zeros((2, 0)), Decoder("one_hot", (0, 1)))
    for code in (-2, -1, 0, 1, 2):
        assert certify(mute, X, np.full(len(X), code)).n_errors == len(X)


def test_what_cannot_be_certified_is_refused() -> None:
    model, X, y = fitted("abc")
    network = model.network_
    hole, odd = X.copy(), X.copy()
    hole[4, 1], odd[2, 0] = np.nan, np.inf
    for bad_X, bad_y, says in [
        (hole, y, "row 4"),
        (odd, y, "row 2"),
        (X[:, :1], y, "1 features, the network takes 2"),
        (X, y[1:], "one label for each"),
        (X, y.astype(float), "class indices"),
        (X[0], y, "rows and columns"),
    ]:
        with pytest.raises(DataError, match=says):
            certify(network, bad_X, bad_y)
    with pytest.raises(ParameterError, match="arithmetic must be one of"):
        certify(network, X, y, arithmetic="float16")
    with pytest.raises(ParameterError, match="takes a Network"):
        certify("network", X, y)
    with pytest.raises(NotFittedError, match="not fitted"):
        certify(SimpleNamespace(fit=None), X, y)
    weights = network.layers[0].weights.values.copy()
    weights[0, 0] = np.nan
    with pytest.raises(DataError, match="first layer"):
        certify(changed(network, 0, weights=Dense(weights)), X, y)


def test_it_reads_well_and_survives_json() -> None:
    model, X, y = fitted("abc")
    good = certify(model.network_, X, y)
    lines = str(good).splitlines()
    assert lines[0] == "certificate: holds for all 10 points (proof: recomputed, exact arithmetic)"
    assert len({len(line) - len(line[17:]) for line in lines[1:]}) == 1
    assert f"  data           sha256 {good.data_digest}" in lines
    bad = certify(model.network_, np.repeat(X, 2, axis=0), (np.repeat(y, 2) + 1) % 3, arithmetic="float32")
    assert str(bad).startswith("certificate: fails for 20 of 20 points (proof: recomputed, float32 arithmetic)")
    assert "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 10 more" in str(bad)
    for certificate in (good, bad, replace(good, robust_radius=None, slack=math.inf)):
        again = Certificate.from_dict(json.loads(json.dumps(certificate.to_dict(), allow_nan=False)))
        assert again.to_dict() == certificate.to_dict()
        assert again.errors.dtype == np.int64
        assert str(again) == str(certificate)


NAMES = np.array(["cat", "dog", "owl"])


def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, np.argmax(X + rng.normal(scale=0.3, size=X.shape), axis=1)


def test_a_construction_is_its_network():
    X, y = problem()
    for made in (adaptive_width(X, y), Huang().construct(X, y)):
        assert certify(made, X, y).to_dict() == certify(made.network, X, y).to_dict()
        assert certify(made, X, (y + 1) % 3).n_errors == len(y)


@pytest.mark.parametrize("steps", [[], [StandardScaler()], [StandardScaler(), "passthrough", MinMaxScaler()]])
def test_a_pipeline_is_its_last_step_with_the_points_that_this_sees(steps):
    X, y = problem()
    model = Pipeline([*((f"step{k}", step) for k, step in enumerate(steps)), ("last", InterpolatingClassifier())])
    model.fit(X, NAMES[y])
    seen = model[:-1].transform(X) if steps else X
    found = certify(model, X, NAMES[y])
    assert found.to_dict() == certify(model[-1], seen, NAMES[y]).to_dict()
    assert found.holds
    assert found.data_digest == data_digest(seen, NAMES[y]) == model[-1].certificate_.data_digest


def test_a_pipeline_in_a_pipeline_of_frames():
    X, y = problem()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    inner = make_pipeline(MinMaxScaler(), InterpolatingClassifier(exact_in="float32"))
    model = make_pipeline(StandardScaler().set_output(transform="pandas"), inner).fit(frame, NAMES[y])
    found = certify(model, frame, NAMES[y], arithmetic="float32")
    assert found.holds
    assert found.float32_safe
    assert certify(model, frame[::-1], NAMES[y]).n_errors > 0


def test_a_table_with_its_labels_or_beside_them():
    X, y = problem()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(animal=NAMES[y])
    model = TableModel(InterpolatingClassifier(random_state=0)).fit(frame, label="animal")
    inside, beside = certify(model, frame), certify(model, frame[["a", "b", "c"]], NAMES[y])
    assert inside.to_dict() == beside.to_dict() == model.certify(frame).to_dict()
    assert inside.holds
    swapped = certify(model, frame, np.roll(NAMES, 1)[y])  # labels beside the table come first
    assert swapped.n_errors == len(y)
    with pytest.raises(ParameterError, match="without labels"):
        certify(model, model.read(frame))


def test_what_is_not_fitted_or_no_network_is_refused():
    X, y = problem()
    for model in (InterpolatingClassifier(), TableModel(), make_pipeline(StandardScaler(), InterpolatingClassifier())):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            certify(model, X, y)
    with pytest.raises(ParameterError, match="got int"):
        certify(7, X, y)
    with pytest.raises(ParameterError, match="needs y"):
        certify(adaptive_width(X, y), X)


def test_a_pipeline_that_ends_otherwise_is_refused():
    X, y = problem()
    with pytest.raises(ParameterError, match="ends in one, got LogisticRegression"):
        certify(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y), X, y)
