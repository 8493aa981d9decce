"""Pipelines and tables as one graph."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from helpers.problems import PROBLEMS
from helpers.runtimes import DTYPES, about, onnx, run_onnx, session
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

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
    assert not any(part.dim_value for part in proto.graph.output[0].type.tensor_type.shape.dim)  # any number of rows
    label, scores = run_onnx(proto, X.astype(dtype))
    assert label.tolist() == y.tolist()
    assert scores == pytest.approx(pipeline.decision_function(X), abs=0.1)
    assert about(proto)["exactfit.dtype"] == dtype


def mixed_frame():
    rng = np.random.default_rng(0)
    columns = {"size": rng.normal(size=60), "colour": rng.choice(["red", "green"], 60), "count": rng.integers(0, 5, 60)}
    return pd.DataFrame({**columns, "note": rng.choice(["x", "y"], 60), "shape": rng.choice(["o", "u"], 60)})


def by_names():
    encoders = [("text", OneHotEncoder(), ["colour", "count"]), ("order", make_pipeline(OrdinalEncoder()), ["shape"])]
    return ColumnTransformer([("numbers", StandardScaler(), ["size"]), *encoders])


def by_positions():
    return ColumnTransformer([("text", OneHotEncoder(), slice(1, 2)), ("numbers", StandardScaler(), [0, 2])])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [by_names, by_positions])
def test_columns_of_a_frame_are_inputs(columns, dtype):
    frame = mixed_frame()
    y = np.random.default_rng(1).integers(0, 3, 60)
    last = InterpolatingClassifier(conflicts="majority", exact_in="float32", random_state=0)
    pipeline = make_pipeline(make_pipeline(columns(), StandardScaler(with_mean=False)), last).fit(frame, y)
    proto = to_onnx(pipeline, dtype)
    onnx.checker.check_model(proto, full_check=True)
    used = ["size", "colour", "count", *(["shape"] if columns is by_names else [])]
    assert [part.name for part in proto.graph.input] == used
    text = ("colour", "shape")
    points = {name: frame[[name]].to_numpy().astype(str if name in text else dtype) for name in used}
    label, _ = session(proto.SerializeToString()).run(["label", "scores"], points)
    wrong = np.count_nonzero(label != pipeline.predict(frame))
    assert wrong <= (3 if dtype == "float32" else 0)  # the scaler's steps round in float32, outside our promise


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
            label, _ = run_onnx(proto, model.encoding_.raw(model.read(path)))
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
