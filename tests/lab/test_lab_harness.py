"""Contenders: who takes part in a comparison, and a baseline that runs out of time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.problems import PROBLEMS, Good, X, Y

from exactfit import InterpolatingClassifier, ParameterError
from exactfit.constructions import CONSTRUCTORS
from exactfit.lab import compare
from exactfit.lab.harness import BASELINES, by_largest_output, choose_contenders
from exactfit.network.detector_network import DetectorNetwork


def test_a_network_that_cannot_be_trained_in_time_says_so() -> None:
    rng = np.random.default_rng(0)
    noise, labels = rng.standard_normal((400, 1)), rng.integers(0, 2, 400)
    row = compare(noise, labels, "mlp", time_limit=2)["mlp"]
    assert row.kind == "trained network"
    assert "training points wrong after" in row.reason
    assert (row.depth, row.neurons, row.parameters) == (1, 101, 301)
    assert not row.certified


def test_names_of_constructions_and_baselines_are_known() -> None:
    usual = ["1-nn", "decision-tree", "logistic-regression", "random-forest", "gradient-boosting", "mlp"]
    assert [contender.name for contender in choose_contenders("all")] == [*CONSTRUCTORS, *usual]
    assert [contender.name for contender in choose_contenders("baum")] == ["baum"]
    assert [contender.name for contender in choose_contenders(Good())] == ["good"]


@pytest.mark.parametrize("name", [name for name in BASELINES if name != "mlp"])
def test_baselines_answer_and_say_how_many_training_points_they_miss(name: str) -> None:
    rng = np.random.default_rng(0)
    noise, labels = rng.standard_normal((60, 2)), np.arange(60) % 3
    built = BASELINES[name].build(noise, labels, 0, 1.0)
    wrong = int((built.decide(noise) != labels).sum())
    assert built.reason == (f"{wrong} of 60 training points wrong" if wrong else "")
    assert wrong == 0 or name in ("logistic-regression", "gradient-boosting")


@pytest.mark.parametrize(
    ("constructions", "message"),
    [
        (["bam"], "no construction is called 'bam': choose from .*baum.*mlp"),
        ([Good(), Good()], "different names, got good more than once"),
        (3, "got int"),
        ([Good], "got type"),
    ],
)
def test_a_choice_that_cannot_be_meant_is_refused(constructions: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        compare(X, Y, constructions)


@pytest.mark.parametrize("problem", ["two moons", "three classes"])
@pytest.mark.parametrize("options", [{}, {"target": None}, {"detectors": "weighted"}, {"activation": "relu"}], ids=str)
def test_points_are_judged_by_slack_as_predict_judges_them(problem: str, options: dict[str, Any]) -> None:
    X, y = PROBLEMS[problem]()
    model = InterpolatingClassifier(min_width=64, random_state=0, **options).fit(X, y)
    new = np.random.default_rng(3).normal(scale=2.0, size=(200, X.shape[1]))
    np.testing.assert_array_equal(DetectorNetwork.of(model.network_).predict_codes(new), model.predict(new))


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_every_construction_decides_every_point_one_way_or_the_other(name: str) -> None:
    X, y = PROBLEMS["three classes"]()
    built = choose_contenders(name)[0].build(X, y, 0, 10.0)
    new = np.random.default_rng(3).normal(scale=2.0, size=(200, X.shape[1]))
    bare, judged = built.decide(new), (built.predict or built.decide)(new)
    assert (judged[bare >= 0] == bare[bare >= 0]).all()
    assert set(judged.tolist()) <= {0, 1, 2}
    network = CONSTRUCTORS[name].construct(X, y, random_state=0).network
    assert (built.predict is None) == (network.decoder.kind != "one_hot")


def test_where_outputs_are_equal_the_clearest_unit_decides() -> None:
    three = np.array([[0.0], [10.0], [20.0]])
    network = CONSTRUCTORS["ball-cover"].construct(three, np.arange(3), random_state=0).network
    points = np.array([[-30.0], [-1e3], [50.0], [0.0], [10.0]])
    sums = network.layers[0].sums(np.column_stack([points, points**2]))
    owners = network.layers[1].weights.bits.to_bool().argmax(axis=0)
    assert network.decide(points[:3]).tolist() == [-1, -1, -1]
    assert by_largest_output(network, points).tolist() == owners[sums.argmax(axis=1)].tolist()
