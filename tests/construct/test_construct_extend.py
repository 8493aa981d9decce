"""Limits lowered over a stream: what comes out is what an evaluation of the new network says."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from helpers.problems import batches, disc_moons, problems
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import exactfit
from exactfit import (
    Activation,
    Construction,
    DataError,
    InterpolatingClassifier,
    InterpolationWarning,
    Options,
    Outcome,
    ParameterError,
    TableModel,
    adaptive_width,
    certify,
    extend,
    fixed_width,
)
from exactfit.construct import extend as streams
from exactfit.data import data_digest
from exactfit.network import Masks, WeightedMasks
from exactfit.network.sides import sides


def joined(*parts: tuple[Any, Any]) -> tuple[Any, Any]:
    return np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts])


def counters(weights: Any) -> Any:
    """What each detector counts with, as a matrix of integers."""
    return (weights.values if isinstance(weights, WeightedMasks) else weights.bits.to_bool()).astype(int)


def naive_limits(network: Any, X: Any, y: Any) -> Any:
    """Each detector's limit, lowered to the smallest count over points of other classes."""
    first, detectors, output = network.layers
    bits = sides(X, first.weights.values, first.bias).to_bool()
    masks = counters(detectors.weights)
    classes = network.decoder.classes
    owners = [classes[k] for k in output.weights.bits.to_bool().argmax(axis=0)]
    return np.array([
        min([limit, *((bits[row] * mask).sum() for row in range(len(y)) if y[row] != own)])
        for mask, limit, own in zip(masks, detectors.bias, owners, strict=True)
    ])  # fmt: skip


def supports(trace: Any) -> list[Any]:
    """The rows and shares of every detector; none for masks."""
    if not len(trace.support_starts):
        return [None] * len(trace.anchors)
    parts = [slice(*trace.support_starts[k : k + 2]) for k in range(len(trace.anchors))]
    return [(trace.support[part].tolist(), trace.dual_coef[part].tolist()) for part in parts]


@pytest.mark.parametrize("detectors", ["mask", "weighted"])
@given(problem=problems(), seed=st.integers(0, 3), width=st.sampled_from([5, 40, 200]), cut=st.integers(1, 8))
def test_limits_and_claims_are_those_of_all_points_at_once(
    detectors: str, problem: Any, seed: int, width: int, cut: int
) -> None:
    X, y = problem
    start = next(k for k in range(2, len(y) + 1) if set(y[:k]) == set(y))
    made = fixed_width(X[:start], y[:start], width, Options(detectors=detectors), seed)
    stream = [(X[k : k + cut], y[k : k + cut]) for k in range(start, len(y), cut)]
    extended = extend(made, stream, training=(X[:start], y[:start]))
    limits = naive_limits(made.network, X, y)
    floors = np.minimum(counters(made.network.layers[1].weights), 0).sum(axis=1)
    kept = np.flatnonzero(limits > floors)
    assert extended.construction.network.layers[1].bias.tolist() == limits[kept].tolist()
    assert extended.dropped.tolist() == np.flatnonzero(limits <= floors).tolist()
    assert supports(extended.construction.trace) == [supports(made.trace)[k] for k in kept]
    assert extended.lowered.tolist() == np.flatnonzero(limits < made.network.layers[1].bias).tolist()
    wrong = np.flatnonzero(extended.construction.network.decide(X) != y)
    assert extended.uncovered.tolist() == wrong.tolist()
    assert extended.n_uncovered == len(wrong)
    assert extended.construction.trace.coverage.sum() == extended.n_to_claim - len(wrong)
    certificate = certify(extended.construction.network, X, y)
    assert certificate.data_digest == extended.certificate.data_digest == data_digest(X, y)
    assert certificate.network_digest == extended.certificate.network_digest
    assert certificate.errors.tolist() == extended.certificate.errors.tolist()
    assert certificate.slack == extended.certificate.slack
    assert extended.certificate.holds == extended.construction.outcome.interpolates == (len(wrong) == 0)


@pytest.mark.parametrize("activation", ["threshold", "relu", Activation("squares", lambda t: np.maximum(t, 0.0) ** 2)])
@pytest.mark.parametrize("width", [100, 500])
def test_what_is_reported_is_what_the_network_decides(activation: Any, width: int) -> None:
    training = disc_moons(300, 0)
    made = fixed_width(*training, width, Options(activation=activation), 0)
    extended = extend(made, batches(), training=training)
    X, y = joined(training, *batches())
    network = extended.construction.network
    assert extended.uncovered.tolist() == np.flatnonzero(network.decide(X) != y).tolist()
    assert (network.digest != made.network.digest) == (len(extended.lowered) > 0)
    assert extended.certificate.n_samples == len(y)
    assert (extended.certificate.note == "by evaluation only") == (not isinstance(activation, str))
    assert extended.n_streamed == 1200
    assert f"{extended.n_uncovered:,} of" in str(extended)


def test_no_point_of_the_rest_is_ever_claimed() -> None:
    training = disc_moons(100, 0)
    made = fixed_width(*training, 60, Options(target=1), 0)
    extended = extend(made, batches(), training=training)
    X, y = joined(training, *batches())
    assert (extended.construction.network.decide(X)[y == 0] == 0).all()
    assert (y[extended.uncovered] == 1).all()
    assert extended.claimed_share == 1 - extended.n_uncovered / (y == 1).sum()


def test_witnesses_set_the_limits() -> None:
    training = disc_moons(200, 0)
    made = adaptive_width(*training, Options(min_width=128), 0)
    extended = extend(made, batches(), training=training)
    X, _ = joined(training, *batches())
    network = extended.construction.network
    first, detectors = network.layers[:2]
    assert isinstance(detectors.weights, Masks)
    bits, masks = sides(X, first.weights.values, first.bias).to_bool(), detectors.weights.bits.to_bool()  # type: ignore[union-attr]
    for mask, limit, row in zip(masks, detectors.bias, extended.construction.trace.witnesses, strict=True):
        assert (bits[row] & mask).sum() == limit
    assert (extended.construction.trace.witnesses >= 200).sum() == len(np.setdiff1d(extended.lowered, extended.dropped))


def test_without_training_data_the_report_is_about_the_stream() -> None:
    training = disc_moons(200, 0)
    made = fixed_width(*training, 200, Options(), 0)
    extended = extend(made, batches())
    assert (extended.n_training, extended.n_streamed, extended.certificate.n_samples) == (0, 1200, 1200)
    X, y = joined(*batches())
    assert extended.uncovered.tolist() == np.flatnonzero(extended.construction.network.decide(X) != y).tolist()
    assert np.isnan(extended.certificate.slack)
    untouched = np.setdiff1d(np.arange(len(made.trace.witnesses)), extended.lowered)
    np.testing.assert_array_equal(extended.construction.trace.witnesses[untouched], made.trace.witnesses[untouched])


def test_an_empty_stream_changes_nothing() -> None:
    training = disc_moons(200, 0)
    made = fixed_width(*training, 500, Options(), 0)
    extended = extend(made, [], training=training)
    assert extended.construction.network.digest == made.network.digest
    assert extended.construction.outcome is Outcome.INTERPOLATES
    np.testing.assert_array_equal(extended.construction.trace.coverage, made.trace.coverage)
    assert extended.certificate.holds


def test_a_detector_whose_limit_falls_to_zero_is_dropped() -> None:
    X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    made = fixed_width(X, y, 50, Options(target=1), 0)
    extended = extend(made, [(np.array([[1.0]]), np.array([0]))], training=(X, y))
    assert extended.construction.network.widths == (50, 0, 1)
    assert extended.dropped.tolist() == [0]
    assert extended.uncovered.tolist() == [1]
    assert extended.construction.outcome is Outcome.POINTS_MISSED


def test_threads_tiles_and_batches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    training = disc_moons(300, 0)
    made = fixed_width(*training, 100, Options(target="all"), 0)
    whole = extend(made, [joined(*batches())], training=training)
    monkeypatch.setattr(streams, "TILE_ROWS", 37)
    for jobs in (1, 3):
        cut = extend(made, batches(), training=training, n_jobs=jobs)
        assert cut.construction.network.digest == whole.construction.network.digest
        assert cut.certificate.data_digest == whole.certificate.data_digest
        np.testing.assert_array_equal(cut.uncovered, whole.uncovered)
        np.testing.assert_array_equal(cut.construction.trace.witnesses, whole.construction.trace.witnesses)


def test_rows_beyond_what_is_listed_are_counted() -> None:
    training = disc_moons(50, 0)
    made = fixed_width(*training, 20, Options(target=1), 0)
    extended = extend(made, batches(), training=training, most_reported=3)
    assert extended.n_uncovered > 3 == len(extended.uncovered)
    assert extended.certificate.n_errors == extended.n_uncovered
    assert "only the first 3" in extended.certificate.note


def test_other_networks_are_refused() -> None:
    from exactfit import Network, Trace
    from exactfit.network import Decoder, Dense, Layer
    from exactfit.network.activations import THRESHOLD

    layers = (
        Layer(Dense(np.eye(1)), np.zeros(1), THRESHOLD),
        Layer(Dense(np.eye(1)), np.zeros(1), None),
    )
    foreign = Construction(Network(layers, Decoder("sign", (0, 1))), Outcome.INTERPOLATES, Trace())
    with pytest.raises(ParameterError, match="fixed_width"):
        extend(foreign, [])


@pytest.mark.parametrize("options", [{}, {"target": "all"}, {"activation": "relu"}, {"exact_in": "float32"}])
def test_a_classifier_is_extended_as_its_construction(options, tmp_path) -> None:
    names = np.array(["inner", "outer"])
    X, y = disc_moons(200, 0)
    X = X.astype(np.float32).astype(np.float64)
    model = InterpolatingClassifier(width=300, random_state=0, **options).fit(X, names[y])
    made = Construction(model.network_, model.outcome_, model.trace_)
    stream = [(part.astype(np.float32).astype(np.float64), codes) for part, codes in batches()]
    plain = extend(made, stream, training=(X, y))
    before = model.network_.digest
    with catch_missed(plain.n_uncovered):
        extended = extend(model, [(part, names[codes]) for part, codes in stream], training=(X, names[y]))
    assert plain.classifier is None
    assert model.network_.digest == before
    assert extended.construction.network.digest == plain.construction.network.digest
    everything = joined((X, y), *stream)
    assert extended.certificate.data_digest == data_digest(everything[0], names[everything[1]])
    fitted = extended.classifier
    assert fitted.network_.digest == fitted.certificate_.network_digest == plain.construction.network.digest
    assert fitted.interpolates_ == extended.certificate.holds == (plain.n_uncovered == 0)
    wrong = np.flatnonzero(fitted.predict(everything[0]) != names[everything[1]])
    again = certify(fitted, everything[0], names[everything[1]])
    assert extended.uncovered.tolist() == again.errors.tolist()
    assert set(wrong) <= set(extended.uncovered)  # predict answers also where no class claims
    exactfit.save(fitted, tmp_path / "model")
    np.testing.assert_array_equal(exactfit.load(tmp_path / "model").predict(X), fitted.predict(X))
    assert len(repr(extended)) < 250


def test_without_training_data_a_classifier_can_be_saved_and_says_what_set_its_limits(tmp_path) -> None:
    X, y = disc_moons(200, 0)
    model = InterpolatingClassifier(width=300, hyperplanes="gaussian", target=None, random_state=0).fit(X, y)
    claimed = model.trace_.detector_classes[0]
    near = X[y == claimed][:40] + 1e-3  # fewer points than were fitted, so that limits fall
    fitted = extend(model, [(near, np.full(len(near), 1 - claimed))]).classifier
    assert (fitted.trace_.witnesses == -1).any()
    assert "streamed points alone" in fitted.certificate_.note
    exactfit.save(fitted, tmp_path / "model")
    again = exactfit.load(tmp_path / "model")
    np.testing.assert_array_equal(again.trace_.witnesses, fitted.trace_.witnesses)
    told = "\n".join(str(at) for one in again.explain(X) for at in one.nearest)
    assert "limit set by a point of a stream" in told


def catch_missed(n_missed):
    return pytest.warns(InterpolationWarning, match=f"{n_missed} of") if n_missed else nullcontext()


def test_points_are_rounded_as_the_classifier_rounds_them() -> None:
    X, y = disc_moons(200, 0)
    model = InterpolatingClassifier(exact_in="float32", random_state=0).fit(X, y)
    further = disc_moons(100, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InterpolationWarning)
        extended = extend(model, [further], training=(X, y))
    whole = joined((X, y), further)
    assert extended.certificate.data_digest == data_digest(*whole)
    assert extended.uncovered.tolist() == certify(extended.classifier, *whole).errors.tolist()


def test_labels_of_other_models_are_refused() -> None:
    X, y = disc_moons(50, 0)
    model = InterpolatingClassifier(random_state=0).fit(X, np.array(["a", "b"])[y])
    with pytest.raises(DataError, match="labels that the network does not know: c in row 1"):
        extend(model, [(X[:2], ["a", "c"])])
    with pytest.raises(ParameterError, match="a Construction or a fitted InterpolatingClassifier, got int"):
        extend(7, [])
    for fitted in (TableModel(model).fit(X, y), make_pipeline(model).fit(X, y)):
        with pytest.raises(ParameterError, match=r"got (TableModel|Pipeline): .*take its classifier"):
            extend(fitted, [])
    with pytest.raises(NotFittedError, match="call fit before extend"):
        extend(InterpolatingClassifier(), [])
