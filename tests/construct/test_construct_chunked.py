"""Points in chunks make the network that they make in one place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.problems import InChunks, problems, seeds
from hypothesis import given
from hypothesis import strategies as st

from exactfit.construct import Options
from exactfit.construct.build import build
from exactfit.data import Labelled
from exactfit.exceptions import WidthLimitError


def facts(made):
    trace = made.trace
    return (
        made.network.digest,
        made.outcome,
        *(getattr(trace, name).tolist() for name in ("anchors", "witnesses", "coverage", "uncovered", "support")),
        *(trace.n_rejected, trace.n_drawn, trace.n_fallback_cuts),
    )


SECOND_LAYERS = [{}, {"detectors": "weighted"}]
RECIPES = st.builds(
    lambda second, **others: Options(conflicts="majority", **second, **others),
    st.sampled_from(SECOND_LAYERS),
    width=st.sampled_from(["adaptive", "adaptive", 40, 130]),
    min_width=st.sampled_from([0, 0, 65, 300]),
    hyperplanes=st.sampled_from(["gaussian", "bisector"]),
)


@given(problems(), RECIPES, seeds)
def test_the_network_is_that_of_points_in_one_place(problem, options, seed):
    X, y = problem
    whole = Labelled.of_codes(X, y)
    chunked = replace(whole, X=InChunks(np.asarray(whole.X, dtype=np.float64)))
    assert facts(build(chunked, options, seed)) == facts(build(whole, options, seed))


def test_what_memory_cannot_hold_ends_with_a_remedy():
    rng = np.random.default_rng(0)
    data = Labelled.of_codes(rng.normal(size=(200, 3)), rng.integers(0, 2, 200))
    with pytest.raises(WidthLimitError, match=r"patterns of 256 hyperplanes exceed.*Use a smaller fixed width"):
        build(replace(data, X=InChunks(data.X, memory=4000)), Options(), 0)
