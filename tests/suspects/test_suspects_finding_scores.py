"""Evidence of neighbours is the twin's, and weights of a pool are those by which labels are likeliest."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import certificate_twins as naive_claims
from hypothesis import given, settings
from hypothesis import strategies as st

from exactfit._support.threads import SERIAL
from exactfit.geometry.neighbours import nearest_rows
from exactfit.suspects import finding
from exactfit.suspects.finding import AT_RANDOM, RIDGE, LabelEvidence, merged, pool_weights, random_share


def evidence_of(X, y, k):
    own, others, to_own, to_other = nearest_rows(X, y, 4 * k, SERIAL)
    return LabelEvidence(*merged(own, to_own, others, to_other), y, int(y.max()) + 1, k)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 30), st.integers(1, 6), st.booleans())
def test_votes_and_closeness_are_the_twins(seed, n, k, on_a_grid):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, 2)).astype(float) if on_a_grid else rng.normal(size=(n, 3))
    y = np.r_[0, 1, rng.integers(0, 3, n - 2)]
    expected = naive_claims.neighbours_say(X, y, k, 4 * k, int(y.max()) + 1)
    np.testing.assert_allclose(evidence_of(X, y, k).logs(np.arange(n)), expected, rtol=1e-9, atol=1e-12)


def surprise(said, y, weights):
    joint = sum(weight * each for weight, each in zip(weights, said, strict=True))
    joint = np.exp(joint) / np.exp(joint).sum(axis=1, keepdims=True)
    return -np.log(joint[np.arange(len(y)), y]).mean() + RIDGE * sum(weight**2 for weight in weights)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_no_other_weights_make_the_labels_likelier(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 60)
    said = [np.log(rng.dirichlet([1, 1, 1], 60)) for _ in range(2)]
    said[0][np.arange(60), y] += rng.random(60)
    found = pool_weights(said, y)
    assert (found >= 0).all()
    best = surprise(said, y, found)
    for other in np.ndindex(7, 7):
        assert best <= surprise(said, y, np.array(other) / 3) + 1e-6


def test_tiles_and_samples_do_not_matter_much(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    X = rng.normal(size=(300, 4)) + 2 * y[:, None]
    evidence = evidence_of(X, y, 5)
    weights = evidence.weights()
    whole, _, likeliest = evidence.probabilities(weights)
    rates = evidence.mistake_rates(weights)
    monkeypatch.setattr(finding, "TILE_ENTRIES", 100)
    np.testing.assert_array_equal(evidence.probabilities(weights)[0], whole)
    np.testing.assert_allclose(evidence.mistake_rates(weights), rates)
    monkeypatch.setattr(finding, "FIT_ENTRIES", 300)
    part, _, labels = evidence.probabilities(evidence.weights())
    assert np.abs(part - whole).max() < 0.2
    assert np.mean(labels == likeliest) > 0.95


def drawn(kind: str, seed: int):
    """Probabilities of four labels, and labels of which 5 % are wrong: at random, or the second likeliest ones."""
    rng = np.random.default_rng(seed)
    said = np.sort(rng.dirichlet([8.0, 1.0, 0.3, 0.05], size=2000), axis=1)[:, ::-1]
    codes = np.array([rng.choice(4, p=row) for row in said])
    wrong = rng.choice(2000, 100, replace=False)
    codes[wrong] = rng.integers(0, 4, 100) if kind == "any" else 1
    return said, codes


@pytest.mark.parametrize("seed", range(3))
def test_labels_at_random_differ_from_labels_that_are_confused(seed):
    shares = {}
    for kind in ("any", "confused"):
        said, codes = drawn(kind, seed)
        own = said[np.arange(len(codes)), codes]
        other = np.where(np.eye(4, dtype=bool)[codes], 0.0, said).max(axis=1)
        shares[kind] = random_share(own, other, 4)
    assert shares["confused"] < AT_RANDOM < shares["any"]
    assert random_share(np.array([0.9]), np.array([0.1]), 4) == 0.0


def counted_rates(joint, codes, n_classes):
    """Rates of mistakes as a reader of docs/suspects.md would count them, and the probabilities that follow."""
    rates = [[0.95 if a == b else 0.05 / (n_classes - 1) for b in range(n_classes)] for a in range(n_classes)]
    for last in (False, False, True):
        after = []
        for row, code in zip(joint, codes, strict=True):
            each = [row[true] * rates[code][true] for true in range(n_classes)]
            after.append([one / sum(each) for one in each])
        if last:
            return np.array(rates), np.array(after)
        counts = [[1.1 if a == b else 0.1 for b in range(n_classes)] for a in range(n_classes)]
        for row, code in zip(after, codes, strict=True):
            for true in range(n_classes):
                counts[code][true] += row[true]
        totals = [sum(line[true] for line in counts) for true in range(n_classes)]
        rates = [[line[true] / totals[true] for true in range(n_classes)] for line in counts]


def test_rates_of_mistakes_are_those_of_the_twin() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    X = rng.normal(size=(200, 2)) + 1.5 * y[:, None]
    y[rng.choice(np.flatnonzero(y == 1), 20, replace=False)] = 2
    evidence = evidence_of(X, y, 5)
    weights = evidence.weights()
    ((_, joint),) = evidence.tiles(weights, None)
    rates, after = counted_rates(joint, y, 3)
    np.testing.assert_allclose(evidence.mistake_rates(weights), rates)
    np.testing.assert_allclose(evidence.probabilities(weights, rates)[0], after[np.arange(200), y])
    assert rates[2, 1] > max(rates[1, 2], rates[1, 0], rates[0, 1], rates[0, 2], rates[2, 0])


def test_the_margin_counts_where_a_model_sees_no_labels_at_random(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    (own, other), best = rng.random((2, 50)) / 2, np.zeros(50, dtype=np.int64)
    near, distances = np.zeros((50, 1), np.int64), np.zeros((50, 1))
    monkeypatch.setattr(LabelEvidence, "weights", lambda self: np.ones(3))
    monkeypatch.setattr(LabelEvidence, "mistake_rates", lambda self, weights: np.eye(3))
    monkeypatch.setattr(
        LabelEvidence,
        "probabilities",
        lambda self, weights, rates=None: (own, other if rates is None else other / 2, best),
    )
    doubtful = int((own < other).sum())
    for share, given_probs, n_classes, enough, expected in (
        (0.0, own, 3, doubtful // 3, (1 - own + other / 2) / 2),
        (0.0, own, 3, doubtful // 3 + 1, (1 - own + other) / 2),
        (0.5, own, 3, 0, 1 - own),
        (0.0, own, 2, 0, 1 - own),
        (0.0, None, 3, 0, 1 - own),
    ):
        monkeypatch.setattr(finding, "ENOUGH", enough)
        monkeypatch.setattr(finding, "random_share", lambda *_, share=share: share)
        score, _ = LabelEvidence(near, distances, best, n_classes, 1, given_probs).suspicion()
        np.testing.assert_array_equal(score, expected)
