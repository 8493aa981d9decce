"""Pipelines and tables as one graph."""

from __future__ import annotations

import json

import numpy as np
import pytest
from constructors import PROBLEMS
from onnx_runs import DTYPES, about, run, session
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import exactfit
from exactfit import InterpolatingClassifier, to_onnx


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("labels", [np.array(["no", "yes", "maybe"]), np.array([3, 5, 8]), np.array([False, True])])
def test_pipelines(labels, dtype):
    X, y = PROBLEMS["three classes"]()
    y = labels[y % len(labels)]
    pipeline = make_pipeline(StandardScaler(), InterpolatingClassifier(random_state=0)).fit(X, y)
    proto = to_onnx(pipeline, dtype)
    assert 18 <= next(opset.version for opset in proto.opset_import if opset.domain == "") <= 21
    assert proto.ir_version <= 10
    label, scores = run(proto, X.astype(dtype))
    assert label.tolist() == y.tolist()
    assert scores == pytest.approx(pipeline.decision_function(X), abs=0.1)
    assert about(proto)["exactfit.dtype"] == dtype


def test_skl2onnx_by_itself():
    from skl2onnx import to_onnx as convert

    X, y = PROBLEMS["two moons"]()
    model = InterpolatingClassifier(random_state=0).fit(X, y)
    exactfit.register_onnx_converter()
    exactfit.register_onnx_converter()  # again is fine
    proto = convert(model, X[:1], target_opset=18)
    label, scores = session(proto.SerializeToString()).run(["label", "scores"], {"X": X})
    assert label.tolist() == y.tolist()
    assert scores.tolist() == model.decision_function(X).tolist()


def test_tables(tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        f"{a!r},{c},{b},{'left' if b % 2 else 'right'}"
        for a, b, c in zip(
            rng.normal(5e6, 1e-3, 40).tolist(),
            rng.integers(-9, 9, 40).tolist(),
            rng.choice(["x", "y", "z"], 40),
            strict=True,
        )
    ]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["size,kind,count,side", *rows]))
    for exact_in in (None, *DTYPES):
        model = exactfit.TableModel(InterpolatingClassifier(exact_in=exact_in, random_state=0)).fit(path, label="side")
        for dtype in DTYPES:
            proto = to_onnx(model, dtype)
            label, _ = run(proto, model.encoding_.raw(model.read(path)))
            if exact_in in ("float32", dtype):
                assert label.tolist() == model.predict(path).tolist() == [row.rsplit(",")[-1] for row in rows]
        facts = about(proto)
        assert json.loads(facts["exactfit.feature_names"]) == ["size", "kind=x", "kind=y", "kind=z", "count"]
        assert [column["name"] for column in json.loads(facts["exactfit.columns"])["columns"]] == [
            "size",
            "kind",
            "count",
        ]
        assert json.loads(facts["exactfit.columns"])["columns"][1]["categories"] == ["x", "y", "z"]
