"""Responses of detectors say of every detector and point what a loop over all of them would."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.problems import problems, seeds
from hypothesis import given
from hypothesis import strategies as st

from exactfit.construct import Options, fixed_width
from exactfit.network import detector_network
from exactfit.network.detector_network import LOWEST, NEAREST, NO_DETECTOR, DetectorNetwork


def slow(network, X):
    """Point by point: best and clearest of every output, who fires, and who came closest."""
    detectors = DetectorNetwork.of(network)
    slack = detectors.slack(np.asarray(X, dtype=np.float64))
    for point in range(len(X)):
        own = {d: float(slack[d, point]) for d in range(len(slack))}
        by_slack = sorted(own, key=lambda d: (-own[d], d))
        outputs = [[d for d in by_slack if detectors.outputs[d] == k] for k in range(len(detectors.classes))]
        fired = [d for d in by_slack if own[d] > 0]
        nearest = [] if fired else by_slack[:NEAREST]
        yield (
            [(own[first[0]], first[0]) if first else (LOWEST, NO_DETECTOR) for first in outputs],
            [(d, own[d]) for d in fired],
            [(d, own[d]) for d in nearest] + [(NO_DETECTOR, LOWEST)] * (NEAREST - len(nearest)),
        )


def told(found):
    for point in range(len(found.best)):
        part = slice(found.starts[point], found.starts[point + 1])
        yield (
            list(zip(found.best[point].tolist(), found.clearest[point].tolist(), strict=True)),
            list(zip(found.fired[part].tolist(), found.slack[part].tolist(), strict=True)),
            list(zip(found.nearest[point].tolist(), found.nearest_slack[point].tolist(), strict=True)),
        )


@pytest.mark.parametrize("options", [{}, {"target": "all"}, {"detectors": "weighted"}, {"activation": "relu"}])
@given(problems(), st.integers(1, 70), seeds)
def test_it_is_what_a_loop_finds(options, problem, width, seed):
    X, y = problem
    recipe = Options(conflicts="majority", **options)
    network = fixed_width(X, y, width, recipe, seed).network
    points = np.concatenate([np.asarray(X, dtype=np.float64), np.asarray(X, dtype=np.float64)[::-1] / 3])
    assert list(told(DetectorNetwork.of(network).responses(points))) == list(slow(network, points))


def test_tiles_and_threads_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 3, 40)
    network = fixed_width(X, y, 40, random_state=0).network
    whole = list(told(DetectorNetwork.of(network).responses(X)))
    monkeypatch.setattr(detector_network, "TILE_ROWS", 7)
    assert list(told(DetectorNetwork.of(network).responses(X, n_jobs=2))) == whole
