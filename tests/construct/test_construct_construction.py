"""A construction: its network is what its trace says, and its certificate is what certify finds."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.problems import problems, seeds, some_options
from hypothesis import given
from hypothesis import strategies as st

from exactfit import certify
from exactfit.construct import Options, fixed_width
from exactfit.network import Decoder
from exactfit.network.detector_network import output_layer
from exactfit.network.sides import sides


@given(problems(), st.integers(1, 100), seeds)
def test_each_detector_is_the_mask_of_its_anchor_with_the_limit_of_its_witness(problem, width, seed):
    X, y = problem
    made = fixed_width(X, y, width, Options(conflicts="majority"), seed)
    first, detectors, _ = made.network.layers
    bits = sides(np.asarray(X, dtype=np.float64), first.weights.values, first.bias).to_bool()
    masks, trace = detectors.weights.bits.to_bool(), made.trace
    assert len(masks) == len(trace.anchors) == len(detectors.bias)
    for mask, limit, anchor, witness, code in zip(
        masks, detectors.bias, trace.anchors, trace.witnesses, trace.detector_classes, strict=True
    ):
        assert mask.tolist() == (~bits[anchor]).tolist()
        assert limit == bits[witness][mask].sum() > 0
        assert y[anchor] == code or anchor in made.given_up


@given(problems(), some_options(), st.integers(1, 100), seeds)
def test_the_certificate_by_construction_is_what_certify_finds(problem, options, width, seed):
    X, y = problem
    made = fixed_width(X, y, width, options, seed)
    claimed = made.certificate(len(y), "", options.exact_in)
    proved = certify(made, X, y)
    wrong = np.union1d(claimed.errors, claimed.given_up)
    if options.exact_in is None:
        assert proved.errors.tolist() == wrong.tolist()
    assert set(proved.errors) <= set(wrong)
    assert claimed.network_digest == made.network.digest
    assert claimed.holds == (len(made.errors) == 0)


@pytest.mark.parametrize("target", [0, 1])
def test_one_target_answers_its_class_where_any_detector_fires(target):
    layer, decoder = output_layer(np.array([target, target]), (target,), 2)
    assert decoder == Decoder("sign", (target, 1 - target))
    assert layer.weights.bits.to_bool().tolist() == [[True, True]]
    assert (layer.weights.sign, layer.bias.tolist()) == (-1, [0])


def test_every_class_hears_its_own_detectors():
    layer, decoder = output_layer(np.array([2, 0, 2]), (0, 1, 2), 3)
    assert decoder == Decoder("one_hot", (0, 1, 2))
    assert layer.weights.bits.to_bool().tolist() == [[False, True, False], [False] * 3, [True, False, True]]
    assert (layer.weights.sign, layer.bias.tolist()) == (1, [0, 0, 0])
