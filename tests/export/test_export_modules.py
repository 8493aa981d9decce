"""Steps of a plan as PyTorch modules: networks of every kind, buffers and nothing to train, and torch.export."""

from __future__ import annotations

import io
import warnings

import pytest
from saved_models import CLASSIFIERS, NETWORKS, points

from exactfit import to_torch
from exactfit.exceptions import ParameterError

torch_runs = pytest.importorskip("torch_runs", reason="torch is not installed", exc_type=ImportError)
run, torch = torch_runs.run, torch_runs.torch


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_of_every_kind(name):
    network = NETWORKS[name]()
    if name in ("integers", "own"):
        with pytest.raises(ParameterError, match="no runtime"):
            to_torch(network)
        return
    X = points(20, network.n_features, seed=3)
    label, _ = run(to_torch(network), X)
    assert label.tolist() == network.decide(X).tolist()


@pytest.mark.parametrize("name", ["many classes", "relu one-sided", "both classes", "class without points"])
def test_under_torch_export(name):
    model = CLASSIFIERS[name]()
    module = to_torch(model)
    assert list(module.parameters()) == []
    X = torch.from_numpy(points(200, seed=7))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, about its own
        program = torch.export.export(module, (X[:5],), dynamic_shapes=({0: torch.export.Dim("rows")},))
        file = io.BytesIO()
        torch.export.save(program, file)
        file.seek(0)
        again = torch.export.load(file).module()
    for rows in (X, X[:1], X[:7]):
        for found, expected in zip(again(rows), module(rows), strict=True):
            assert torch.equal(found, expected)


def test_state_is_kept_in_buffers():
    model = CLASSIFIERS["many classes"]()
    module = to_torch(model)
    other = to_torch(model)
    other.steps[0].weights.zero_()
    other.load_state_dict(module.state_dict())
    X = torch.from_numpy(points())
    assert torch.equal(other(X)[1], module(X)[1])
    masks = [buffer for name, buffer in module.named_buffers() if name.endswith("masks")]
    assert [buffer.dtype for buffer in masks] == [torch.int8]
