"""Comparisons: real processes, with contenders that sleep, allocate, raise and die; and what the rows say."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from helpers.problems import PROBLEMS, WIDTH, Base, Good, X, Y
from helpers.processes import started
from hypothesis import given
from hypothesis import strategies as st

import exactfit
from exactfit import AssumptionError, Comparison, ConflictWarning, ContradictoryLabelsError, DataError, ParameterError
from exactfit.certificate.radius import Probes
from exactfit.cli import main
from exactfit.construct import fixed_width
from exactfit.lab import Row, compare
from exactfit.lab.comparison import Split, accuracy, hold_out, prepare


@dataclass(frozen=True)
class Narrow(Base):
    """One hyperplane: most points are missed."""

    name: ClassVar[str] = "narrow"

    def construct(self, X, y, random_state=None):
        return fixed_width(X, y, 1, random_state=random_state)


@dataclass(frozen=True)
class Sleeper(Base):
    """Tells who sleeps, and sleeps."""

    folder: str = ""
    name: ClassVar[str] = "sleeper"

    def construct(self, X, y, random_state=None):
        if self.folder:
            fresh = Path(self.folder) / "new"
            fresh.write_text(str(os.getpid()))
            fresh.rename(Path(self.folder) / "asleep")
        time.sleep(600)


@dataclass(frozen=True)
class LongProof(Base):
    """Builds at once; its proof never ends."""

    name: ClassVar[str] = "long-proof"

    def construct(self, X, y, random_state=None):
        from exactfit.lab import harness

        harness.certify = lambda *_, **__: time.sleep(600)  # in this process only, which is about to be ended
        return super().construct(X, y, random_state)


@dataclass(frozen=True)
class Hungry(Base):
    """Takes a gigabyte, 16 MiB at a time, then sleeps."""

    name: ClassVar[str] = "hungry"

    def construct(self, X, y, random_state=None):
        kept = []
        for _ in range(64):
            kept.append(np.ones(2**21))
            time.sleep(0.01)
        time.sleep(600)


@dataclass(frozen=True)
class Raises(Base):
    name: ClassVar[str] = "raises"

    def construct(self, X, y, random_state=None):
        raise ZeroDivisionError("one\nover nothing")


@dataclass(frozen=True)
class Assumes(Base):
    """Says of the first point that it is not as it should be."""

    name: ClassVar[str] = "assumes"

    def construct(self, X, y, random_state=None):
        raise AssumptionError("distinct projections", [0], "Move it.")


@dataclass(frozen=True)
class Dies(Base):
    name: ClassVar[str] = "dies"

    def construct(self, X, y, random_state=None):
        os.kill(os.getpid(), signal.SIGSEGV)


@dataclass(frozen=True)
class Exits(Base):
    name: ClassVar[str] = "exits"

    def construct(self, X, y, random_state=None):
        print("out of paper", file=sys.stderr)
        os._exit(7)


@dataclass(frozen=True)
class Spy(Base):
    """Keeps what it was given."""

    path: str = ""
    name: ClassVar[str] = "spy"

    def construct(self, X, y, random_state=None):
        np.savez(self.path, X=X, y=y, random_state=random_state)
        X[:] = 0.0  # what one does to its points is nobody else's business
        raise DataError("seen enough")


@pytest.fixture(scope="module")
def in_trouble() -> Comparison:
    """Whatever can go wrong, in one table; time enough for what ends by itself."""
    contenders = [Hungry(), Raises(), Assumes(), Dies(), Exits(), Sleeper(), LongProof()]
    return compare(X, Y, contenders, time_limit=10, memory_limit=2**29, n_jobs=2)


def test_rows_stand_in_the_order_asked_for(in_trouble: Comparison) -> None:
    names = ["hungry", "raises", "assumes", "dies", "exits", "sleeper", "long-proof"]
    assert [row.name for row in in_trouble.rows] == names
    assert in_trouble.missing == ()
    assert not any(row.certified for row in in_trouble.rows)


def test_a_construction_is_ended_when_its_time_is_out(in_trouble: Comparison) -> None:
    row = in_trouble["sleeper"]
    assert row == Row(name="sleeper", kind="construction", reason="time limit of 10 s, while building")


def test_what_was_built_is_kept_when_time_is_out_during_the_proof(in_trouble: Comparison) -> None:
    row = in_trouble["long-proof"]
    assert row.reason == "built, but not certified: time limit of 10 s, while certifying"
    assert row.neurons is not None
    assert row.build_seconds is not None
    assert row.accuracy is not None
    assert row.radius_upper is not None
    assert row.robust_radius is None


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not tell how much memory a process uses")
def test_a_construction_is_ended_when_its_memory_is_out(in_trouble: Comparison) -> None:
    assert in_trouble["hungry"].reason == "memory limit of 512 MiB, while building"


def test_an_error_becomes_a_reason_in_one_line(in_trouble: Comparison) -> None:
    assert in_trouble["raises"].reason == "ZeroDivisionError: one over nothing"


def test_reasons_name_rows_of_the_data_as_given(in_trouble: Comparison) -> None:
    first = int(prepare(X, Y, "raise", 0)[0].rows[0])
    expected = AssumptionError("distinct projections", [first], "Move it.")
    assert in_trouble["assumes"].reason == str(expected)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")
def test_a_process_that_dies_says_by_which_signal(in_trouble: Comparison) -> None:
    assert in_trouble["dies"].reason == "ended by SIGSEGV, while building"


def test_a_process_that_exits_says_its_last_words(in_trouble: Comparison) -> None:
    assert in_trouble["exits"].reason == "ended with exit code 7 (out of paper), while building"


def test_reasons_are_in_the_text(in_trouble: Comparison) -> None:
    text = in_trouble.to_text(200)
    assert "dies: ended by SIGSEGV, while building" in text
    assert "smallest certified" not in text


@pytest.fixture(scope="module")
def spied(tmp_path_factory) -> tuple[Comparison, list[Any]]:
    """Strings as labels; two spies, and others beside them."""
    folder = tmp_path_factory.mktemp("spies")
    labels = np.array(["up", "down"])[Y]
    spies = {f"spy {k}": Spy(str(folder / f"{k}.npz")) for k in range(2)}
    contenders = {**spies, "good": Good(), "narrow": Narrow(), "neighbour": "1-nn", "tree": "decision-tree"}
    comparison = compare(X.astype(np.float32), list(labels), contenders, time_limit=60, random_state=3)
    return comparison, [np.load(folder / f"{k}.npz") for k in range(2)]


def test_all_are_given_the_same_points_and_seed(spied: tuple[Comparison, list[Any]]) -> None:
    comparison, (one, two) = spied
    np.testing.assert_array_equal(one["X"], two["X"])
    np.testing.assert_array_equal(one["y"], two["y"])
    assert one["random_state"] == two["random_state"] == 3
    assert one["X"].shape == (48, 2) == (comparison.n_samples, comparison.n_features)
    assert comparison.n_held_out == 12
    assert comparison["spy 0"].reason == comparison["spy 1"].reason == "seen enough"


def test_points_to_build_on_are_four_fifths_of_each_class(spied: tuple[Comparison, list[Any]]) -> None:
    given = spied[1][0]
    rows = [np.flatnonzero((X.astype(np.float32) == x).all(axis=1))[0] for x in given["X"]]
    assert len(set(rows)) == 48
    np.testing.assert_array_equal(given["y"], 1 - Y[rows])  # "down" comes first
    np.testing.assert_array_equal(np.bincount(given["y"]), [24, 24])


def test_a_row_tells_what_one_finds_without_it(spied: tuple[Comparison, list[Any]]) -> None:
    comparison, (given, _) = spied
    network = fixed_width(given["X"], given["y"], WIDTH, random_state=3).network
    certificate = exactfit.certify(network, given["X"], given["y"], radii=True)
    row = comparison["good"]
    assert row.certified == certificate.holds is True
    assert (row.proof, row.radius_method) == (certificate.method, certificate.radius_method)
    assert row.robust_radius == certificate.robust_radius == certificate.radii.min() > 0
    assert row.median_radius == np.median(certificate.radii)
    assert (row.neurons, row.parameters, row.depth) == (network.n_neurons, network.n_parameters, 2)
    points = X.astype(np.float32).astype(np.float64)
    held_out = np.array([tuple(x) not in {tuple(kept) for kept in given["X"]} for x in points])
    truth = 1 - Y[held_out]  # "down" comes first
    assert row.accuracy == pytest.approx(np.mean(network.decide(points[held_out]) == truth))


def test_a_network_that_misses_points_is_not_certified(spied: tuple[Comparison, list[Any]]) -> None:
    row = spied[0]["narrow"]
    assert not row.certified
    assert row.reason.startswith("the certificate fails for ")
    assert row.neurons is not None


def test_the_radius_of_the_nearest_neighbour_is_half_the_separation(spied: tuple[Comparison, list[Any]]) -> None:
    comparison, (given, _) = spied
    row = comparison["1-nn"]
    half = float(exactfit.geometry.separation(given["X"], given["y"])) / 2
    distances = np.linalg.norm(given["X"][:, None] - given["X"][None], axis=2)
    distances[given["y"][:, None] == given["y"][None]] = np.inf
    assert row.median_radius == pytest.approx(np.median(distances.min(axis=1)) / 2, rel=1e-12)
    assert row.robust_radius == pytest.approx(half, rel=1e-15)
    assert row.robust_radius <= half <= row.radius_upper == pytest.approx(half, rel=1e-5)
    assert (row.kind, row.certified, row.neurons) == ("not a network", False, None)


def test_a_baseline_keeps_its_name(spied: tuple[Comparison, list[Any]]) -> None:
    assert spied[0]["decision-tree"].kind == "not a network"
    with pytest.raises(KeyError):
        spied[0]["tree"]


def test_the_same_seed_gives_the_same_table_however_many_run_at_once() -> None:
    names = ["adaptive-width", "decision-tree"]
    one, two = (compare(X, Y, names, random_state=1, n_jobs=jobs) for jobs in (1, 2))
    for left, right in zip(one.rows, two.rows, strict=True):
        assert {**left.to_dict(), "build_seconds": 0} == {**right.to_dict(), "build_seconds": 0}
    assert one["adaptive-width"].certified


INTERRUPTED = """
import json, os, sys
from sklearn.datasets import make_moons
from exactfit import compare
sys.path[:0] = [sys.argv[1], os.path.dirname(sys.argv[1])]
from test_lab_comparing import Good, Raises, Sleeper
X, y = make_moons(60, noise=0.05, random_state=0)
print(json.dumps(compare(X, y, [Good(), Sleeper(sys.argv[2]), Raises()], time_limit=300).to_dict()))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot send Ctrl-C to one process")
def test_interrupting_keeps_the_rows_so_far_and_ends_what_runs(tmp_path: Path) -> None:
    """A script without a main guard, interrupted while the second of three builds."""
    script = tmp_path / "script.py"
    script.write_text(INTERRUPTED, encoding="utf-8")
    command = [sys.executable, script, str(Path(__file__).parent), str(tmp_path)]
    with started(command, stdout=subprocess.PIPE) as running:
        end = time.monotonic() + 120
        while not (tmp_path / "asleep").exists():
            assert running.poll() is None, "it ended before it could be interrupted"
            assert time.monotonic() < end, "nobody fell asleep"
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        told = json.loads(running.communicate(timeout=60)[0])
    assert running.returncode == 0
    assert [row["name"] for row in told["rows"]] == ["good"]
    assert told["rows"][0]["certified"]
    assert told["missing"] == ["sleeper", "raises"]
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "asleep").read_text()), 0)


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "moons.csv"
    lines = [f"{x[0]:.17g},{x[1]:.17g},{['up', 'down'][k]}" for x, k in zip(X, Y, strict=True)]
    path.write_text("\n".join(["a,b,side", *lines]), encoding="utf-8")
    return str(path)


def test_the_command_prints_what_the_function_returns(table: str, capsys) -> None:
    assert main(["compare", table, "--label", "side", "--construction", "huang", "--scale", "none", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(row["name"], row["certified"]) for row in told["rows"]] == [("huang", True)]
    assert (told["n_samples"], told["n_classes"]) == (48, 2)


def test_the_command_says_when_it_was_interrupted(table: str, capsys, monkeypatch) -> None:
    facts = {"n_samples": 48, "n_held_out": 12, "n_features": 2, "n_classes": 2, "time_limit": 60.0}
    so_far = Comparison((), **facts, memory_limit=2**30, random_state=0, missing=("huang",))
    monkeypatch.setattr("exactfit.lab.compare", lambda *_, **__: so_far)
    assert main(["compare", table, "--label", "side"]) == 130
    assert "interrupted, so not run: huang" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options",
    [{"time_limit": 0}, {"memory_limit": 0}, {"random_state": -1}, {"random_state": None}, {"conflicts": "x"}],
)
def test_options_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        compare(X, Y, [], **options)


def test_contradictory_labels_are_refused_with_rows_or_overruled() -> None:
    points, labels = np.concatenate([X, X[:1], X[:1]]), np.concatenate([Y, 1 - Y[:1], Y[:1]])
    with pytest.raises(ContradictoryLabelsError) as caught:
        compare(points, labels, [])
    assert caught.value.pairs == ((0, 60),)
    with pytest.warns(ConflictWarning, match="overrules 1 row") as warned:
        comparison = compare(points, labels, [], conflicts="majority")
    assert warned[0].filename == __file__
    assert (len(comparison), comparison.n_samples + comparison.n_held_out) == (0, 62)


def test_nothing_may_be_left_to_hold_out() -> None:
    comparison = compare([[0.0], [1.0]], ["a", "b"], ["huang"])
    assert (comparison.n_samples, comparison.n_held_out) == (2, 0)
    assert comparison["huang"].certified
    assert comparison["huang"].accuracy is None
    assert "none held out" in str(comparison)


@given(st.lists(st.integers(1, 23), min_size=2, max_size=5), st.integers(0, 2**32))
def test_a_split_holds_out_a_fifth_of_every_class_and_never_all_of_it(counts: list[int], seed: int) -> None:
    codes = np.random.default_rng(0).permutation(np.repeat(np.arange(len(counts)), counts))
    kept, held_out = hold_out(codes, np.random.default_rng(seed))
    assert sorted([*kept, *held_out]) == list(range(len(codes)))
    found = np.bincount(codes[held_out], minlength=len(counts))
    for count, out in zip(counts, found, strict=True):
        assert abs(out - count / 5) <= 0.5
        assert out < count
    assert (np.diff(kept) > 0).all()


def test_data_are_split_as_they_are() -> None:
    X, y = PROBLEMS["three classes"]()
    data, n_classes = prepare(X, y, "raise", 5)
    assert n_classes == 3
    np.testing.assert_array_equal(data.X, X[data.rows])
    np.testing.assert_array_equal(data.y, np.unique(y, return_inverse=True)[1][data.rows])


def test_accuracy_is_left_out_when_evaluation_is_too_slow() -> None:
    X, y = np.zeros((600, 1)), np.arange(600) % 2
    data = Split(X, y, y, X, y, Probes(X[:1], X[:1]))

    def ones(points: Any) -> Any:
        return np.ones(len(points))

    assert accuracy(ones, data, time_limit=60.0) == 0.5
    assert accuracy(ones, data, time_limit=-1.0) is None
