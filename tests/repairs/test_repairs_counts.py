"""Masks and weights as patches: counted bit by bit they claim their targets, and no given point of another label."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactfit._support.threads import SERIAL
from exactfit.network import WeightedMasks
from exactfit.repairs.counts import count_patches, lowered_counts
from exactfit.repairs.patches import Targets


def counted(network, X):
    """Pairs (row, patch) that fire, and every count: bits by exact arithmetic, added up one at a time."""
    first, units = network.layers[:2]
    weights = units.weights.values if isinstance(units.weights, WeightedMasks) else units.weights.bits.to_bool()
    planes = [
        ([Fraction(float(w)) for w in row], Fraction(float(b)))
        for row, b in zip(first.weights.values, first.bias, strict=True)
    ]
    fired, counts = set(), np.empty((len(X), len(weights)), dtype=np.int64)
    for row, x in enumerate(X):
        on = [sum(w * Fraction(float(v)) for w, v in zip(line, x, strict=True)) + b > 0 for line, b in planes]
        for place, own in enumerate(weights):
            counts[row, place] = sum(int(weight) for weight, bit in zip(own, on, strict=True) if bit)
            if counts[row, place] < units.bias[place]:
                fired.add((row, place))
    return fired, counts


def problem(seed, n=12):
    rng = np.random.default_rng(seed)
    X = rng.permutation(np.stack(np.meshgrid(*[np.arange(-3.0, 3.0)] * 2), axis=-1).reshape(-1, 2))[:n]
    codes = np.concatenate([[0, 1], rng.integers(0, 3, n - 2)])
    rows = np.sort(rng.choice(n, rng.integers(1, n), replace=False))
    return Targets(X, codes, rows, 3, None)


@pytest.mark.parametrize("kind", ["mask", "weighted"])
@pytest.mark.parametrize("share", [0.0, 1.0])
@settings(max_examples=10)
@given(st.integers(0, 2**32))
def test_patches_claim_their_targets_and_nobody_else(kind, share, seed):
    targets = problem(seed)
    patches = count_patches(targets, share, kind, np.random.SeedSequence(seed), SERIAL)
    fired, _ = counted(patches.network, targets.X)
    assert {(int(row), int(place)) for row, place in zip(*patches.fired(targets.X), strict=True)} == fired
    assert {int(row) for row in targets.rows} <= {row for row, _ in fired}
    assert all(targets.codes[row] == patches.codes[place] for row, place in fired)
    assert all((int(anchor), place) in fired for place, anchor in enumerate(patches.anchors))


@pytest.mark.parametrize("kind", ["mask", "weighted"])
def test_further_points_lower_limits_to_their_counts(kind):
    targets = problem(5)
    patches = count_patches(targets, 1.0, kind, np.random.SeedSequence(5), SERIAL)
    further = np.array([[0.4, 0.6], [-2.5, 1.5], [1.1, -0.9]])
    codes = np.array([2, 0, 1])
    lowered, kept = lowered_counts(patches, targets, further, codes, SERIAL)
    _, counts = counted(patches.network, further)
    limits = patches.network.layers[1].bias.tolist()
    for place, code in enumerate(patches.codes):
        limits[place] = min([limits[place], *counts[codes != code, place]])
    assert lowered.network.layers[1].bias.tolist() == [limits[place] for place in kept]
    assert not any(codes[row] != lowered.codes[place] for row, place in zip(*lowered.fired(further), strict=True))
