"""The checker on files made to deceive it: a verdict about what was checked, or exit code 2 and one line."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.attacks import FORGERIES, NETWORK_FORGERIES, PACKINGS, SPARSE_FORGERIES, Forge, forged, put, swap
from helpers.networks import NETWORKS, fitted_model, labels, points
from helpers.processes import CHECKER, FAILS, HOLDS, REFUSED, is_sound, loaded, parts_of_file, run_alone, run_here
from sklearn.linear_model import LogisticRegression

import exactfit
from exactfit.network import Decoder, Dense, Layer, Network
from exactfit.network.activations import THRESHOLD
from exactfit.persistence import container

X = points(30)
PROGRAM = loaded()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a model of three labels, and its data."""
    exactfit.save(fitted_model(X, labels("a", "b", "ö")[:30], hyperplanes="gaussian"), tmp_path / "m")
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", labels("a", "b", "ö")[:30])
    return tmp_path


def said(folder: Path, *options: str, model: str = "m", data: tuple[str, ...] = ("X.npy", "y.npy")) -> tuple[int, str]:
    """Exit code and what was printed, which have to fit each other."""
    code, out, err = run_alone(folder / model, *(folder / name for name in data), *options, seconds=10)
    assert is_sound(code, out, err), (code, out, err)
    return code, out + err


def is_refused(folder: Path) -> bool:
    """The same in this process, where many files are to be tried."""
    code, out, err = run_here(PROGRAM, folder / "m", folder / "X.npy", folder / "y.npy")
    return code == REFUSED and is_sound(code, out, err)


def save_with(folder: Path, model: Any, X: Any, y: Any) -> None:
    exactfit.save(model, folder / "m")
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)


def reseal(path: Path, change: Forge) -> None:
    """A file with other parts, whose digests are right."""
    header, tensors = container.read_container(path)
    change(header, tensors)
    tensors = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    header["tensors"] = {name: container.tensor_facts(tensor) for name, tensor in tensors.items()}
    container.write_container(path, header, tensors)


def rewrite(path: Path, change: Callable[[Any, Any], None]) -> None:
    """A file with another header and outer header, of which NumPy and safetensors know nothing."""
    header, outer = parts_of_file(path)
    octets = path.read_bytes()
    data = octets[8 + int.from_bytes(octets[:8], "little") :]
    header.pop("digest")
    change(header, outer)
    seal = container._digest(header) if "NaN" not in json.dumps(header) else "0" * 64
    outer["__metadata__"]["exactfit"] = json.dumps({**header, "digest": seal}, sort_keys=True, separators=(",", ":"))
    layout = json.dumps(outer, separators=(",", ":"), ensure_ascii=False).encode()
    layout += b" " * (-len(layout) % 8)
    path.write_bytes(len(layout).to_bytes(8, "little") + layout + data)


# ---- Labels are what they are ----------------------------------------------------------------------------------


def test_integers_beyond_2_to_the_53_are_told_apart(tmp_path: Path) -> None:
    low, high = 2**53, 2**53 + 1
    save_with(tmp_path, fitted_model(X, labels(low, high)[:30]), X, labels(low, high)[:30])
    assert said(tmp_path)[0] == HOLDS
    np.save(tmp_path / "y.npy", np.full(30, high))
    assert said(tmp_path)[0] == FAILS
    (tmp_path / "y.csv").write_text("".join(f"{label}\n" for label in labels(low, high)[:30].tolist()))
    assert said(tmp_path, data=("X.npy", "y.csv"))[0] == HOLDS


@pytest.mark.parametrize(
    ("names", "given"),
    [
        (("0", "1"), np.arange(30) % 2),
        ((0, 1), np.array(["0", "1"] * 15)),
        ((0, 1), np.array([-0.5, 1.0] * 15)),
        ((0, 1), np.array([0.0, 1.0] * 15)),
        ((0, 1), np.array([False, True] * 15)),
        ((True, False), np.arange(30) % 2),
        ((0.0, 1.0), np.arange(30) % 2),
        ((0.0, 1.0), np.full(30, np.nan)),
    ],
)
def test_labels_of_another_type_are_refused(names: Any, given: Any, tmp_path: Path) -> None:
    save_with(tmp_path, fitted_model(X, labels(*names)[:30]), X, given)
    assert said(tmp_path)[0] == REFUSED


@pytest.mark.parametrize("text", ["1.0", "1_0", "x", "", "٣"])
def test_a_text_that_is_no_integer_is_no_label_of_integers(text: str, tmp_path: Path) -> None:
    save_with(tmp_path, fitted_model(X, labels(0, 1)[:30]), X, [])
    (tmp_path / "y.csv").write_text(f'"{text}"\n' + "0\n" * 29, encoding="utf-8")
    assert said(tmp_path, data=("X.npy", "y.csv"))[0] == REFUSED


def test_class_indices_of_a_network_are_integers(tmp_path: Path) -> None:
    network = NETWORKS["dense"]()
    save_with(tmp_path, network, X, network.decide(X))
    assert said(tmp_path)[0] == HOLDS
    np.save(tmp_path / "y.npy", network.decide(X) - 0.5)
    assert said(tmp_path)[0] == REFUSED


def test_an_undecided_point_has_no_label(tmp_path: Path) -> None:
    """Neither a label that the model does not know."""
    units = Layer(Dense(np.ones((2, 3))), np.full(2, 100.0), THRESHOLD)
    both = Network((units, Layer(Dense(np.eye(2)), np.zeros(2), None)), Decoder("one_hot", (0, 1)))
    for label in (0, 1, -1, 7):
        save_with(tmp_path, both, X, np.full(30, label))
        assert said(tmp_path)[0] == FAILS


# ---- Margins ---------------------------------------------------------------------------------------------------


def test_a_margin_that_no_row_has_does_not_hold(tmp_path: Path) -> None:
    y = labels(0, 1)[:30]
    save_with(tmp_path, fitted_model(X, y, margin="30%", exact_in="float64"), X, y)
    assert said(tmp_path, "--margin")[0] == HOLDS
    save_with(tmp_path, fitted_model(X, y, margin="30%"), X, y)
    code, text = said(tmp_path, "--margin")
    assert (code, "margin: holds (30 rows checked)" in text) == (HOLDS, True)

    def except_rows(rows: Any) -> Forge:
        def change(header: Any, tensors: Any) -> None:
            header["certificate"]["margin"] = 1e6
            tensors["certificate.narrow"] = np.array(rows, dtype=np.int64)

        return change

    reseal(tmp_path / "m", except_rows(range(30)))
    code, text = said(tmp_path, "--margin")
    assert (code, "margin: holds" in text) == (REFUSED, False)
    reseal(tmp_path / "m", except_rows(range(29)))
    code, text = said(tmp_path, "--margin")
    assert (code, "margin: fails for rows 29 (1 rows checked), 29 rows are without it" in text) == (FAILS, True)


@pytest.mark.parametrize("label", [0, 1])
def test_a_bias_of_the_last_layer_counts(label: int, tmp_path: Path) -> None:
    """A bias that outweighs all detectors: one answer everywhere, at any distance."""
    y = labels(0, 1)[:30]
    save_with(tmp_path, fitted_model(X, y, margin="30%", target=0), X, np.full(30, label))
    reseal(tmp_path / "m", swap("network.layers.2.bias", lambda bias: bias + (1000 if label else -1000)))
    reseal(tmp_path / "m", put("certificate", "margin", 1e6))
    code, text = said(tmp_path, "--margin")
    assert (code, "margin: holds (30 rows checked)" in text) == (HOLDS, True)
    reseal(tmp_path / "m", swap("network.layers.2.bias", lambda bias: bias * 0))
    assert said(tmp_path, "--margin")[0] == FAILS


# ---- Models that are none --------------------------------------------------------------------------------------

# What load refuses for the sake of the rest of a file: the checker does not speak of it (docs/format.md).
REST = {
    "no network_digest", "network digest", "certified network", "other activation", "no activation", "other sign",
    "limit", "output bias", "claims", "claimed twice", "labels cut short", "large labels", "labels beyond their type",
    "labels rounded", "label dtype",
    *(f"no {name}" for name in ("trace", "seed", "holds", "draws", "version", "versions", "errors", "anchors")),
    *(f"no {name} either" for name in ("parameters", "outcome", "feature_names", "saved_with")),
    *(f"no {name}, empty" for name in ("anchors", "witnesses", "coverage")),
    *(f"{name} beyond the data" for name in ("anchors", "witnesses", "uncovered")),
    "unknown section", "unknown parameter", "more circumstances", "activations of no use", "outcome", "other outcome",
    "feature names", "feature names in a text", "feature name that is none", "width", "minimal width", "maximal width",
    "threads", "target", "own activation", "seed", "holds", "sample count", "more samples than numbers", "error count",
    "arithmetic", "proof", "slack", "note", "drawn", "drawn in part", "trace", "more of the trace", "anchors",
    "fewer anchors", "real anchors", "square anchors", "detector classes", "other detector classes", "empty trace",
    "errors", "negative errors", "short errors",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(FORGERIES.keys() - REST))
def test_what_load_refuses_is_refused(name: str, folder: Path) -> None:
    forged((folder / "m").read_bytes(), folder / "m", FORGERIES[name])
    assert is_refused(folder)


@pytest.mark.parametrize("name", [name for name in SPARSE_FORGERIES if "max_features" not in name])
def test_what_load_refuses_of_a_sparse_layer_is_refused(name: str, tmp_path: Path) -> None:
    y = labels(0, 1, 2)[:30]
    save_with(tmp_path, fitted_model(X, y, hyperplanes="sparse", detectors="weighted", width=70), X, y)
    forged((tmp_path / "m").read_bytes(), tmp_path / "m", SPARSE_FORGERIES[name])
    assert is_refused(tmp_path)


NO_PACKINGS = {"weights without a sign", "bias in one byte"}
NO_PACKINGS |= {name for name in PACKINGS if "feature" in name or "starts" in name} - {"features with more bytes"}


@pytest.mark.parametrize("name", PACKINGS)
def test_the_same_numbers_may_be_packed_in_another_way(name: str, tmp_path: Path) -> None:
    """Load has one way only; here numbers stand for themselves."""
    y = labels(0, 1, 2)[:30]
    save_with(tmp_path, fitted_model(X, y, hyperplanes="sparse", detectors="weighted", width=70), X, y)
    reseal(tmp_path / "m", PACKINGS[name])
    assert said(tmp_path)[0] == (REFUSED if name in NO_PACKINGS else HOLDS)


OWN = [("own", change) for name, change in NETWORK_FORGERIES if name == "own"]


@pytest.mark.parametrize(("name", "change"), [(name, change) for name, change in NETWORK_FORGERIES if name != "own"])
def test_what_load_refuses_of_a_network_is_refused(name: str, change: Forge, tmp_path: Path) -> None:
    save_with(tmp_path, NETWORKS[name](), X, np.arange(30) % 2)
    forged((tmp_path / "m").read_bytes(), tmp_path / "m", change)
    assert is_refused(tmp_path)


def fields(name: str, **changes: Any) -> Any:
    return lambda header, outer: outer[name].update(changes)


def facts(name: str, **changes: Any) -> Any:
    return lambda header, outer: header["tensors"][name].update(changes)


BIAS = "network.layers.0.bias"


@pytest.mark.parametrize(
    "change",
    [
        lambda header, outer: header.update(format=True),
        lambda header, outer: header.update(format=2.0),
        lambda header, outer: header.update(format="2"),
        lambda header, outer: header["certificate"].update(slack=float("nan")),
        lambda header, outer: header["classes"].update(values=["a", "b", 3]),
        lambda header, outer: outer["__metadata__"].update(more="x"),
        fields(BIAS, data_offsets=[-8, 0]),
        fields(BIAS, data_offsets=[0, 2**62]),
        fields(BIAS, data_offsets=[0.0, 8.0]),
        fields(BIAS, dtype="I64"),
        fields(BIAS, dtype=None),
        fields(BIAS, shape=[10**10, 0]),
        fields(BIAS, shape=[True]),
        fields(BIAS, shape=[]),
        fields(BIAS, more=1),
        facts(BIAS, dtype="<i8"),
        facts(BIAS, shape=[1]),
        facts(BIAS, shape=[1.0]),
        facts(BIAS, sha256=None),
        facts(BIAS, more=1),
    ],
)
def test_headers_that_lie_are_refused(change: Any, folder: Path) -> None:
    rewrite(folder / "m", lambda header, outer: None)
    assert said(folder)[0] == HOLDS
    rewrite(folder / "m", change)
    assert said(folder)[0] == REFUSED


@pytest.mark.parametrize("part", ["patches", "model"])
@pytest.mark.parametrize(
    "decoder", [{"classes": [1, 0, 2]}, {"kind": "sign"}, {"kind": "one_hot"}, {"kind": "argmax"}, {"kind": "nearest"}]
)
def test_repaired_models_decide_as_the_format_says(part: str, decoder: Any, tmp_path: Path) -> None:
    y = labels(0, 1, 2)[:30]
    linear = LogisticRegression().fit(X, y)
    save_with(tmp_path, exactfit.repair(linear, X, y, random_state=0), X, y)
    header, _ = parts_of_file(tmp_path / "m")
    same = decoder.items() <= header["network"][part]["decoder"].items()
    reseal(tmp_path / "m", lambda header, _: header["network"][part]["decoder"].update(decoder))
    assert said(tmp_path)[0] == (HOLDS if same else REFUSED)


@pytest.mark.parametrize("starts", [[0], [0, 0], [0, 5], [5, 0], [], [-1, 2]])
def test_networks_that_vote_are_there_and_whole(starts: list[int], folder: Path) -> None:
    reseal(folder / "m", lambda _, tensors: tensors.update({"trace.detector_starts": np.array(starts, dtype=np.int64)}))
    assert said(folder)[0] == REFUSED


# ---- Points, rows, arguments -----------------------------------------------------------------------------------


@pytest.mark.parametrize("points_given", [X[:, :2], np.hstack([X, X])[:, :5], X[:, :0], X[:0], X[0], X * np.nan])
def test_points_of_another_shape_are_refused(points_given: Any, folder: Path) -> None:
    np.save(folder / "X.npy", points_given)
    np.save(folder / "y.npy", labels("a", "b", "ö")[: len(points_given)])
    assert said(folder)[0] == REFUSED


def test_points_of_integers_are_exact(folder: Path) -> None:
    np.save(folder / "X.npy", np.full((30, 3), 2**53))
    assert said(folder)[0] == FAILS
    np.save(folder / "X.npy", np.full((30, 3), 2**53 + 1))
    assert said(folder)[0] == REFUSED


@pytest.mark.parametrize("rows", ["1000:2000", "0:31", "30", "5:5", "5:3", "-1", "", ",", "a", "0:99999999999", "1 "])
def test_rows_that_there_are_not_are_refused(rows: str, folder: Path) -> None:
    assert said(folder, f"--rows={rows}")[0] == (HOLDS if rows == "" else REFUSED)


@pytest.mark.parametrize("options", [["--help"], ["-h"], ["--more"], ["--marg"], ["--rows"], ["a", "b", "c"]])
def test_no_verdict_without_a_check(options: list[str], folder: Path) -> None:
    code, out, err = run_alone(folder / "m", folder / "X.npy", folder / "y.npy", *options)
    assert (code, is_sound(code, out, err)) == (REFUSED, True)
    assert run_alone(*options)[0] == REFUSED


def test_an_older_python_gives_no_verdict(folder: Path) -> None:
    """As an exception while it is loaded would: exit code 1."""
    ast.parse(CHECKER.read_text(encoding="utf-8"), feature_version=(3, 8))
    older = "import itertools, runpy, sys; del itertools.pairwise; sys.version_info = (3, 9); sys.argv = sys.argv[1:]"
    code = f"{older}; runpy.run_path(sys.argv[0], run_name='__main__')"
    given = [CHECKER, *(folder / name for name in ("m", "X.npy", "y.npy"))]
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, given)], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (REFUSED, "")
    assert done.stderr == "cannot check: Python 3.10 or newer is needed\n"


def npy(about: str, data: bytes = b"", version: int = 1) -> bytes:
    head = about.encode() + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + len(head).to_bytes(2 if version == 1 else 4, "little") + head + data


def described(descr: str, shape: str) -> str:
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"


HOSTILE = {
    "nothing": b"",
    "cut off": b"\x93NUMPY\1",
    "no header": b"\x93NUMPY\1\0\xff\xff",
    "huge header": b"\x93NUMPY\2\0\xff\xff\xff\xff{",
    "texts of no length": npy(described("'<U0'", "(100000000000,)")),
    "more texts than bytes": npy(described("'<U1'", "(100000000000,)")),
    "wide texts": npy(described("'<U999999999'", "(1,)")),
    "rows of nothing": npy(described("'<f8'", "(10000000000, 0)")),
    "negative": npy(described("'<f8'", "(-1, -3)"), bytes(24)),
    "objects": npy(described("'|O'", "(1, 3)"), bytes(24)),
    "records": npy(described("[('a', '<f8')]", "(3,)"), bytes(24)),
    "calls": npy("__import__('os').abort()"),
    "deep": npy("(" * 5000),
    "no text": npy(described("'<U1'", "(1,)"), b"\xff" * 4),
    "truth": npy(described("'|b1'", "(1, 3)"), b"\2\2\2"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_arrays_that_lie_are_refused(name: str, folder: Path) -> None:
    (folder / "bad.npy").write_bytes(HOSTILE[name])
    assert said(folder, data=("bad.npy", "y.npy"))[0] == REFUSED
    assert said(folder, data=("X.npy", "bad.npy"))[0] == REFUSED
    assert said(folder, model="bad.npy")[0] == REFUSED


@pytest.mark.parametrize("text", ['"', "\0", "1,2,a\n" + '"' + "x" * 200000, "1,2,x\n1,2\n", "nan,1,a\n", "é"])
def test_tables_that_are_none_are_refused(text: str, folder: Path) -> None:
    (folder / "bad.csv").write_bytes(text.encode("latin1"))
    assert said(folder, data=("bad.csv",))[0] == REFUSED
    assert said(folder, data=("bad.csv", "y.npy"))[0] == REFUSED


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
@pytest.mark.parametrize("place", ["model", "points", "labels"])
def test_pipes_devices_and_folders_are_not_read(place: str, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "device").symlink_to("/dev/zero")
    (folder / "folder").mkdir()
    for name in ("pipe", "device", "folder", "missing"):
        given = {"model": "m", "points": "X.npy", "labels": "y.npy"} | {place: name}
        assert said(folder, model=given["model"], data=(given["points"], given["labels"]))[0] == REFUSED


def test_a_file_that_is_larger_than_memory_is_not_read(folder: Path) -> None:
    with (folder / "large.npy").open("wb") as file:
        file.truncate(2**40)
    start = time.monotonic()
    assert said(folder, model="large.npy")[0] == REFUSED
    assert said(folder, data=("large.npy", "y.npy"))[0] == REFUSED
    assert time.monotonic() - start < 10


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device here")
def test_a_verdict_that_cannot_be_said_is_none(folder: Path) -> None:
    command = [sys.executable, "-I", "-S", str(CHECKER), *(str(folder / name) for name in ("m", "X.npy", "y.npy"))]
    with open("/dev/full", "w") as full:
        assert subprocess.run(command, stdout=full, stderr=subprocess.DEVNULL, check=False).returncode not in (0, 1)


def test_what_nobody_thought_of_is_no_verdict(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = loaded()
    for error in (MemoryError(), RecursionError(), ZeroDivisionError("x\ny\x1b[2J"), UnicodeError()):

        def fail(_: Any, error: Exception = error) -> None:
            raise error

        monkeypatch.setattr(program, "check", fail)
        assert program.main(["m", "X", "y"]) == REFUSED
