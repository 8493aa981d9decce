"""What :mod:`fuzz` changes: bases of every kind of file, how a seed changes one, and what is then done with it."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import safetensors.numpy
from helpers.attacks import model_file, network_digest, table_file
from helpers.networks import NETWORKS, fitted_model, labels, points, two_layers
from helpers.problems import OWN
from helpers.processes import REFUSED, is_sound, loaded, run_alone, run_here
from sklearn.linear_model import LogisticRegression

import exactfit
import experiments
from exactfit.construct import adaptive_width
from exactfit.lab import load_dataset
from exactfit.persistence import container
from exactfit.persistence.container import packed, unpacked
from exactfit.repairs.graphs import Graph
from experiments.experiment import load_experiment, paper_experiment
from experiments.store import Store, read_trials
from experiments.sweep import SweepOptions, add_trials

WILD: list[Any] = [
    None, True, 0, 1, -1, 2**31, 2**33, 2**63 - 1, 2**63, 2**70, 10**30, 0.5, -0.0, 1e308, "", "a", "0x1p0", "inf",
    "relu", "float32", [], [0], [[]], [0, 1, 2], {}, {"a": 1}, "\x1b[2J", "ö" * 100,
]  # fmt: skip
WHOLE = [0, 1, -1, 10**8, 2**31, 2**62, -(2**63), 2**63 - 1]
REAL = [np.nan, np.inf, 1e308, -1e308, 5e-324]
BROKEN = [
    b'"', b",", b"\n", b"\r", b"\0", b"\xff", b"1e999", b"0" * 4400, b"\x1b[31m", b"nan", b"[", b"=",
]  # fmt: skip
Rng = np.random.Generator
Files = list[tuple[str, bytes]]


def changed_octets(octets: bytes, rng: Rng) -> bytes:
    """Some octets changed, taken away, doubled, or put in."""
    changed = bytearray(octets)
    for _ in range(rng.integers(1, 6)):
        place = int(rng.integers(len(changed) + 1))
        kind = rng.integers(4)
        if kind == 0 and place < len(changed):
            changed[place] = rng.integers(256)
        elif kind == 1:
            del changed[place : place + int(rng.integers(1, 20))]
        elif kind == 2:
            changed[place:place] = changed[place : place + int(rng.integers(1, 40))]
        else:
            changed[place:place] = BROKEN[rng.integers(len(BROKEN))]
    return bytes(changed)


# ---- Model files ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ModelBase:
    """A model file, taken apart once: what a case leaves alone is not computed anew."""

    header: str
    tensors: dict[str, Any]
    facts: dict[str, Any]
    network: Any

    @classmethod
    def of(cls, path: Path) -> ModelBase:
        header, tensors = container.read_container(path)
        return cls(json.dumps(header), tensors, header["tensors"], header["network"])

    def sealed(self, header: Any, tensors: dict[str, Any]) -> bytes:
        """A file of changed parts, every digest right."""
        tensors = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
        same = {name for name, tensor in tensors.items() if tensor is self.tensors.get(name)}
        header["tensors"] = {
            name: self.facts[name] if name in same else container.tensor_facts(tensor)
            for name, tensor in tensors.items()
        }
        touched = any(name.startswith("network.") for name in tensors.keys() ^ same)
        if touched or header.get("network") != self.network:
            digest = network_digest(header, tensors)
            if digest is not None:
                header["network_digest"] = digest
                if isinstance(header.get("certificate"), dict):
                    header["certificate"]["network_digest"] = digest
        text = container.canonical({**header, "digest": container._digest(header)})
        return bytes(safetensors.numpy.save(tensors, {container.KEY: text}))


def models(folder: Path) -> list[ModelBase]:
    """Files of every kind of model, to be changed."""
    path = folder / "m"
    made = []
    for octets in (model_file(path), table_file(path)):
        path.write_bytes(octets)
        made.append(ModelBase.of(path))
    fits: dict[str, Any] = {
        "weighted": {"detectors": "weighted"},
        "sparse": {"hyperplanes": "sparse", "detectors": "weighted", "max_features": (1, 2)},
        "sparse masks": {"hyperplanes": "sparse", "exact_in": "float32"},
        "relu": {"activation": "relu"},
        "noise": {"noise": 0.2},
    }
    kept: list[Any] = [fitted_model(points(), labels(0, 1, 2), width=70, **options) for options in fits.values()]
    kept += [make() for make in NETWORKS.values()]
    kept += [adaptive_width(points(), labels(0, 1), random_state=0)]
    linear = LogisticRegression().fit(points(), labels(0, 1, 2))
    for kind in ("ball", "mask", "weighted"):
        kept.append(exactfit.repair(linear, points(), labels(0, 1, 2), patches=kind, random_state=0))
    for model in kept:
        use(model, folder)  # loads compiled code once, for all children
        exactfit.save(model, path)
        made.append(ModelBase.of(path))
    return made


def fuzz_model(bases: list[ModelBase], rng: Rng, folder: Path) -> None:
    """A change of a header or of tensors, with all digests made anew; then every method of what was loaded."""
    base = bases[rng.integers(len(bases))]
    header, tensors = json.loads(base.header), dict(base.tensors)
    for _ in range(rng.integers(1, 4)):
        if rng.random() < 0.5:
            change_header(header, rng)
        else:
            change_tensors(tensors, rng)
    try:
        octets = base.sealed(header, tensors)
    except Exception:  # nothing that a file could hold
        return
    path = folder / "changed"
    path.write_bytes(octets)
    use(exactfit.load(path, activations=[OWN]), folder)


def change_header(plain: Any, rng: Rng) -> None:
    """Put something else anywhere, or take something away; what lists tensors is made anew, so nothing there."""
    outermost = True
    while isinstance(plain, dict | list) and len(plain):
        keys: Any = [key for key in plain if not (outermost and key == "tensors")] if isinstance(plain, dict) else None
        key = int(rng.integers(len(plain))) if keys is None else keys[rng.integers(len(keys))]
        outermost = False
        if isinstance(plain[key], dict | list) and len(plain[key]) and rng.random() < 0.8:
            plain = plain[key]
        elif rng.random() < 0.1:
            del plain[key]
            return
        else:
            plain[key] = WILD[rng.integers(len(WILD))]
            return


def change_tensors(tensors: dict[str, Any], rng: Rng) -> None:
    """Other numbers, another shape or another type."""
    name = sorted(tensors)[rng.integers(len(tensors))]
    tensor = tensors[name].copy()
    changes: list[Callable[[], Any]] = [
        lambda: tensor[:0],
        lambda: tensor[:-1],
        lambda: np.concatenate([tensor, tensor]),
        lambda: tensor[None],
        lambda: tensor.T,
        lambda: tensor.astype(["f8", "f4", "i8", "i4", "i2", "i1", "u8", "u2", "u1"][rng.integers(9)]),
        lambda: np.empty((0, 2 ** int(rng.integers(1, 60))), dtype=tensor.dtype),
        lambda: np.full(tensor.shape, WHOLE[rng.integers(len(WHOLE))]).astype(tensor.dtype),
        lambda: rng.permutation(tensor),
    ]
    if tensor.size and rng.random() < 0.5:
        pool = WHOLE if tensor.dtype.kind in "iu" else REAL
        with np.errstate(all="ignore"):
            tensor.reshape(-1)[rng.integers(tensor.size)] = np.array(pool[rng.integers(len(pool))]).astype(tensor.dtype)
        tensors[name] = tensor
    else:
        tensors[name] = changes[rng.integers(len(changes))]()


def use(model: Any, folder: Path) -> None:
    """Everything that somebody might do with a loaded model."""
    repr(model), str(model)
    exactfit.save(model, folder / "again")
    network = getattr(model, "network_", getattr(model, "network", model))
    if isinstance(model, exactfit.TableModel):
        frame = pd.DataFrame({"x": [1.0, 2.0, 4.0], "c": ["u", "v", "u"]})
        for method in (model.predict, model.explain):
            str(method(frame))
        return
    if network.n_features > 1000:
        return
    X = np.arange(3.0 * network.n_features).reshape(3, -1) / 7
    if not isinstance(model, exactfit.Network | exactfit.Construction):
        for method in (model.predict, model.decision_function, model.explain):
            str(method(X))
    if isinstance(model, exactfit.RepairedClassifier):
        str(model.report(X, model.predict(X)))
    else:
        exactfit.certify(network, X, network.decide(X).clip(0))


# ---- Tables, sweeps, stores -----------------------------------------------------------------------------------


def table_frame() -> pd.DataFrame:
    """Numbers, categories, and a label."""
    return pd.DataFrame(
        {"x": np.arange(30.0), "c": list("uvw") * 10, "größe": points(30)[:, 0], "y": np.arange(30) % 3}
    )


def tables(folder: Path) -> Files:
    """Files of every kind of table."""
    frame = table_frame()
    numbers = frame[["x", "größe"]].to_numpy()
    frame.to_csv(folder / "t.csv", index=False)
    frame[["x", "größe", "y"]].to_csv(folder / "n.csv", index=False)
    frame.to_parquet(folder / "t.parquet")
    np.savez(folder / "t.npz", X=numbers, y=frame["y"].to_numpy())
    np.savez_compressed(folder / "p.npz", X=numbers, y=frame["c"].to_numpy().astype(str))
    names = ("t.csv", "n.csv", "t.parquet", "t.npz", "p.npz")
    for name in names:
        fit_table(folder / name, "error")  # loads compiled code once, for all children
    return [(name, (folder / name).read_bytes()) for name in names]


def fuzz_table(bases: Files, rng: Rng, folder: Path) -> None:
    """A table with damaged octets, or a whole one of what a table should not hold; read and fitted to."""
    name, octets = bases[rng.integers(len(bases))]
    path = folder / name
    if rng.random() < 0.5:
        path.write_bytes(changed_octets(octets, rng))
    else:
        frame = table_frame()
        for _ in range(rng.integers(1, 4)):
            frame = changed_frame(frame, rng)
        try:
            write_frame(frame, path)
        except Exception:  # nothing that a file could hold
            return
    fit_table(path, "drop-rows" if rng.random() < 0.5 else "error")


def changed_frame(frame: pd.DataFrame, rng: Rng) -> pd.DataFrame:
    """Another cell, another type, another name, rows or columns taken away or doubled."""
    place = int(rng.integers(frame.shape[1]))
    kind = rng.integers(5)
    if kind == 0 and len(frame):
        column = frame.iloc[:, place].astype(object)
        column.iloc[rng.integers(len(frame))] = WILD[rng.integers(len(WILD))]
        others = [frame.iloc[:, k] for k in range(frame.shape[1])]
        others[place] = column
        return pd.concat(others, axis=1)
    if kind == 1:
        types = ["bool", "float32", "Int64", "string", "category", "datetime64[ns]", "timedelta64[ns]", "complex", "O"]
        with contextlib.suppress(ArithmeticError, TypeError, ValueError):  # no such conversion
            return frame.astype({frame.columns[place]: types[rng.integers(len(types))]})
        return frame
    if kind == 2:
        names = ["", "y", "x", "y.1", "\x1b[2J", "0", "a,b", 'quo"te', "ö" * 100, "nan"]
        renamed = [names[rng.integers(len(names))] if k == place else name for k, name in enumerate(frame.columns)]
        return frame.set_axis(renamed, axis=1)
    if kind == 3:
        return frame.iloc[rng.integers(0, max(1, len(frame)), int(rng.integers(0, 40))) if len(frame) else []]
    return frame.iloc[:, rng.integers(0, frame.shape[1], int(rng.integers(1, 6)))]


def write_frame(frame: pd.DataFrame, path: Path) -> None:
    """In the format that the name asks for."""
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        labels = frame.pop("y").to_numpy()
        np.savez(path, X=frame.to_numpy(), y=labels.astype(str) if labels.dtype == object else labels)


def fit_table(path: Path, missing: str) -> None:
    """Read a table, and build a network for it if it is a small one."""
    table = exactfit.read_table(path, label="y", missing=missing)
    if table.n_columns < 50:
        exactfit.TableModel(exactfit.InterpolatingClassifier.paper(max_width=500, random_state=0)).fit(table)


def sweeps(_: Path) -> Files:
    """The paper's own experiments."""
    folder = Path(experiments.__file__).parent / "paper"
    return [(path.name, path.read_bytes()) for path in sorted(folder.glob("*.toml"))]


def fuzz_sweep(bases: Files, rng: Rng, folder: Path) -> None:
    """A damaged description of a sweep."""
    path = folder / "s.toml"
    path.write_bytes(changed_octets(bases[rng.integers(len(bases))][1], rng))
    load_experiment(path)


def stores(folder: Path) -> Files:
    """A store of a few trials."""
    path, experiment = folder / "base.jsonl", paper_experiment("parallel-lines")
    with Store(path, print) as store:
        add_trials(replace(experiment, runs=6), [load_dataset("parallel-lines")], store, SweepOptions())
    return [("store", path.read_bytes())]


def fuzz_store(bases: Files, rng: Rng, folder: Path) -> None:
    """A damaged store of trials."""
    path = folder / "s.jsonl"
    path.write_bytes(changed_octets(bases[rng.integers(len(bases))][1], rng))
    read_trials(path)


# ---- ONNX models ----------------------------------------------------------------------------------------------


def graphs(folder: Path) -> Files:
    """Graphs that are chains, and some that are none; and what this package exports."""
    protos = [
        two_layers(3, 3),
        two_layers(3, 2, gemm=False, last="Softmax"),
        two_layers(3, 3, last="ArgMax", middle="Sign"),
        two_layers(4, 3, shape=(2, 2), last="ArgMax", labels=["a", "b", "c"], dtype=np.float64),
        two_layers(3, 3, middle="Tanh"),
        exactfit.to_onnx(fitted_model(points(), labels(0, 1, 2), width=70)),
    ]
    for proto in protos:
        repair_graph(proto.SerializeToString(), folder)
    return [(str(k), proto.SerializeToString()) for k, proto in enumerate(protos)]


def fuzz_graph(bases: Files, rng: Rng, folder: Path) -> None:
    """A graph with other parts, or with damaged octets; then a repair of it."""
    import onnx

    octets = bases[rng.integers(len(bases))][1]
    if rng.random() < 0.1:
        octets = changed_octets(octets, rng)
    else:
        proto = onnx.ModelProto.FromString(octets)
        for _ in range(rng.integers(1, 4)):
            change_message(proto, rng)
        octets = proto.SerializeToString()
    repair_graph(octets, folder)


def change_message(message: Any, rng: Rng) -> None:
    """Another value in any field of a message or of one within it: taken away, doubled, moved, or wild."""
    while True:
        set_fields = [field for field, _ in message.ListFields()]
        anywhere = set_fields if set_fields and rng.random() < 0.9 else list(message.DESCRIPTOR.fields)
        field = anywhere[rng.integers(len(anywhere))]
        values = getattr(message, field.name)
        inner = field.message_type is not None
        if field.is_repeated:
            if inner and len(values) and rng.random() < 0.8:
                message = values[rng.integers(len(values))]
                continue
            _change_repeated(values, inner, field, rng)
        elif inner and message.HasField(field.name) and rng.random() < 0.9:
            message = values
            continue
        elif inner or rng.random() < 0.1:
            message.ClearField(field.name)
        else:
            setattr(message, field.name, _wild_scalar(field, values, rng))
        return


def _change_repeated(values: Any, inner: bool, field: Any, rng: Rng) -> None:
    kept = list(values)
    kind = rng.integers(4)
    if kind == 0 and kept:
        del values[rng.integers(len(kept))]
    elif kind == 1 and kept:
        values.extend([kept[rng.integers(len(kept))]])
    elif kind == 2 and kept:
        order = rng.permutation(len(kept))
        copies = [type(kept[k]).FromString(kept[k].SerializeToString()) if inner else kept[k] for k in order]
        del values[:]
        values.extend(copies)
    elif inner:
        values.add()
    else:
        values.append(_wild_scalar(field, kept[0] if kept else None, rng))


def _wild_scalar(field: Any, old: Any, rng: Rng) -> Any:
    """A value that the field's type can hold."""
    kind = field.cpp_type
    if field.type == field.TYPE_BYTES:
        return changed_octets(old, rng) if old else b"\xff" * int(rng.integers(0, 70))
    if kind in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        return float([np.nan, np.inf, 3e38, 1e-45, 0.0, 1.0, -1.0][rng.integers(7)])
    if kind == field.CPPTYPE_STRING:
        words = ["", "points", "z", "W", "V", "Relu", "Sign", "MatMul", "Gemm", "Loop", "axis", "\x1b[2J", "ö" * 100]
        return words[rng.integers(len(words))]
    if kind == field.CPPTYPE_ENUM:
        choices = field.enum_type.values
        return choices[rng.integers(len(choices))].number
    whole = [0, 1, -1, 2, 3, 7, 10, 16, 100, 2**20, 2**31 - 1, -(2**31)]
    if kind == field.CPPTYPE_INT64:
        whole += [2**31, 2**62, 2**63 - 1, -(2**63)]
    value = whole[rng.integers(len(whole))]
    return abs(value) if kind in (field.CPPTYPE_UINT32, field.CPPTYPE_UINT64) else value


def repair_graph(octets: bytes, folder: Path) -> None:
    """Read it, repair it on a few points, save, load and export what came out."""
    path = folder / "g.onnx"
    path.write_bytes(octets)
    graph = Graph.of(path)
    if graph.n_features > 1000:
        return
    X = np.arange(4.0 * graph.n_features).reshape(4, -1) / 7
    named = graph.label is not None and graph.answers(X).dtype.kind == "U"
    repaired = exactfit.repair(path, X, list("abba") if named else [0, 1, 1, 0], random_state=0)
    str(repaired.predict(X))
    exactfit.save(repaired, folder / "g")
    exactfit.load(folder / "g")
    exactfit.to_onnx(repaired)


# ---- The stand-alone checker ----------------------------------------------------------------------------------

ALONE = 64  # of so many cases one runs as a program of its own
CHECKS = [[], [], [], ["--margin"], ["--rows", "0:3"], ["--rows", "3,5,0:100"], ["--rows", "1000:2000"], ["--more"]]
WORDS = [b"True", b"False", b"|O", b">f8", b"<f2", b"<U0", b"<U999999999", b"(0, 4)", b"(99999999999,)", b"(10, 0)"]
# Of other parts of a file the checker does not say whether they fit.
JUDGED = ("format", "kind", "network")


@dataclass(frozen=True)
class CheckBase:
    """A model file, and points that it answers as they are labelled."""

    model: ModelBase
    X: Any
    y: Any
    octets: bytes
    is_network: bool


def checks(folder: Path) -> tuple[Any, list[CheckBase]]:
    """Files of every kind of model, with data."""
    path, X = folder / "m", points(12)
    kept: list[tuple[Any, Any]] = [(make(), None) for name, make in NETWORKS.items() if name != "own"]
    kept += [(adaptive_width(points(), labels(0, 1), random_state=0), None)]
    options: tuple[dict[str, Any], ...] = (
        {},
        {"detectors": "weighted"},
        {"activation": "relu"},
        {"margin": "30%"},
        {"hyperplanes": "sparse", "detectors": "weighted"},
        {"hyperplanes": "sparse", "margin": "30%"},
        {"noise": 0.2},
    )
    for some in options:  # narrow where no margin needs more: the checker takes its time for every hyperplane
        narrow: dict[str, Any] = {} if "margin" in some else {"width": 70}
        kept += [(fitted_model(points(), labels("a", "b", "ö"), **narrow, **some), None)]
    # Of the points checked, and of no others: certificates are about them, with their rows given up and narrow ones.
    options += (
        {"noise": 0.4},
        {"margin": "60%", "noise": 0.2},
        {"margin": "90%", "width": 80},
        {"margin": "30%", "exact_in": "float64"},
    )
    for names in (("a", "b", "ö"), (0, 1), (2**53, 2**53 + 1)):
        kept += [(fitted_model(X, labels(*names)[:12], **some), labels(*names)[:12]) for some in options]
    kept += [(fitted_model(points(), labels(0, 1), exact_in="float32", width=70), None)]
    linear = LogisticRegression().fit(points(), labels(0, 1, 2))
    kept += [
        (exactfit.repair(linear, points(), labels(0, 1, 2), patches=kind, random_state=0), None)
        for kind in ("ball", "mask")
    ]
    bases = []
    for model, y in kept:
        exactfit.save(model, path)
        network = getattr(model, "network", model)
        own = X if hasattr(model, "predict") else X[:, : network.n_features]
        answers = model.predict(own) if hasattr(model, "predict") else network.decide(own)
        named = answers if y is None else y
        exactfit.certify(model, own, named)  # loads compiled code once, for all children
        bases.append(CheckBase(ModelBase.of(path), own, named, path.read_bytes(), not hasattr(model, "predict")))
    return loaded(), bases


def fuzz_check(given: tuple[Any, list[CheckBase]], rng: Rng, folder: Path) -> None:
    """A changed model, points, labels or arguments; what the checker says of them, beside what exactfit does."""
    program, bases = given
    base = bases[rng.integers(len(bases))]
    octets, judged, what = base.octets, True, rng.integers(8)
    arguments = [*CHECKS[rng.integers(len(CHECKS))]] if what > 3 else [["--margin"], [], []][rng.integers(3)]
    if what < 4:
        header, tensors = json.loads(base.model.header), dict(base.model.tensors)
        claimed = header.get("certificate", {}).get("margin") if arguments and rng.random() < 0.5 else None
        if claimed is not None:
            header["certificate"]["margin"] = claimed * 2 ** rng.uniform(-1, 4)
        for _ in range(rng.integers(1, 4) if claimed is None else 0):
            if rng.random() < 0.4:
                change_header(header, rng)
            else:
                change_tensors(tensors, rng)
        before = json.loads(base.model.header)
        touched = {key for key in before.keys() | header.keys() if before.get(key) != header.get(key)}
        judged = base.is_network and touched <= {*JUDGED} and "format" in header
        judged = judged and all(name.startswith("network.") for name in tensors)
        # Nor does it ask for the one way of packing that a format has.
        judged = judged and header["format"] == before["format"]
        with contextlib.suppress(exactfit.ModelFileError):  # which neither of them reads
            again = {name: packed(name, unpacked(name, tensor)) for name, tensor in tensors.items()}
            kinds = [(part.dtype, part.tobytes()) for numbers in (again, tensors) for part in numbers.values()]
            judged = judged and kinds[: len(again)] == kinds[len(again) :]
        try:
            octets = base.model.sealed(header, tensors)
        except Exception:  # nothing that a file could hold
            return
    elif what == 4:
        octets = changed_octets(octets, rng)
    files = data_files(base, rng, folder)
    if what in (5, 6):
        path = files[rng.integers(len(files))]
        path.write_bytes(changed_data(path.read_bytes(), rng))
    (folder / "m").write_bytes(octets)
    code, out, err = run_here(program, folder / "m", *files, *arguments)
    assert is_sound(code, out, err), (code, out, err)
    if rng.integers(ALONE) == 0:
        alone = run_alone(folder / "m", *files, *arguments, seconds=10)
        alone = (*alone[:2], alone[2].replace("__main__", program.__name__))  # where Python names what it refuses
        assert alone == (code, out, err), alone
    if what < 5 and not arguments:
        compare(base, code, out, judged, folder)
    if what not in (5, 6) and arguments == ["--margin"] and "margin: holds" in out:
        move(base, out, folder)


def data_files(base: CheckBase, rng: Rng, folder: Path) -> list[Path]:
    """The points and labels in one of the ways that files hold them."""
    points_file, labels_file = folder / "X.npy", folder / "y.npy"
    X = [base.X, np.asfortranarray(base.X), base.X.astype(">f8")][rng.integers(3)]
    np.save(points_file, X)
    np.save(labels_file, base.y)
    way = rng.integers(4)
    if way == 0:
        both = folder / "both.csv"
        rows = zip(base.X.tolist(), base.y.tolist(), strict=True)
        both.write_text("".join(",".join(map(repr, row)) + f",{label}\n" for row, label in rows), encoding="utf-8")
        return [both]
    if way == 1:
        labels_file = folder / "y.csv"
        labels_file.write_text("".join(f"{label}\n" for label in base.y.tolist()), encoding="utf-8")
    return [points_file, labels_file]


def changed_data(octets: bytes, rng: Rng) -> bytes:
    """Damaged, or a file that says of itself what is not so."""
    if rng.random() < 0.5:
        return changed_octets(octets, rng)
    found = [word for word in (b"False", b"<f8", b"<i8", b"(12, 3)", b"(12,)", b"(12, 1)", b"<U1") if word in octets]
    word = found[rng.integers(len(found))] if found else octets[:3]
    return octets.replace(word, WORDS[rng.integers(len(WORDS))], 1)


def compare(base: CheckBase, code: int, out: str, judged: bool, folder: Path) -> None:
    """Whether a verdict is the one that the package proves, and none is given on what the package refuses."""
    model = None
    with contextlib.suppress(exactfit.ModelFileError):
        model = exactfit.load(folder / "m")
    assert model is not None or code == REFUSED or not judged, "a verdict on what load refuses"
    if model is None or code == REFUSED:
        return
    certificate = getattr(model, "certificate_", None)
    given_up = [] if certificate is None or "not those" in out else certificate.given_up.tolist()
    try:
        proved = exactfit.certify(model, base.X, base.y, given_up=given_up)
    except (exactfit.ExactfitError, ValueError):  # other data than it takes, or layers that would round
        return
    if "evaluation" not in (proved.method or "") and not proved.note.startswith("not"):
        # The checker speaks of exact arithmetic. Rows that are right there, and that float64 answers otherwise, are in
        # error for the package: it counts them.
        told = re.search("([0-9]+) rows? proved right, but answered otherwise", proved.note)
        listed = set(map(int, re.findall("[0-9]+", out.partition("fails for rows ")[2].partition(" (")[0])))
        errors = set(proved.errors.tolist())
        assert listed <= errors, f"rows {errors} are wrong, not {listed}"
        assert len(errors - listed) == (int(told[1]) if told else 0), f"rows {errors} are wrong, not only {listed}"


def move(base: CheckBase, out: str, folder: Path) -> None:
    """Whether points that move by less than a margin that holds keep their answers."""
    try:
        model = exactfit.load(folder / "m")
    except exactfit.ModelFileError:  # of a part that the checker does not speak of
        return
    certificate = getattr(model, "certificate_", None)
    if certificate is None or certificate.margin is None:
        return
    excepted = [] if "not those" in out else [*certificate.given_up, *certificate.narrow]
    rows = np.setdiff1d(np.arange(len(base.X)), excepted)
    anywhere = np.random.default_rng(0).normal(size=(20, len(rows), base.X.shape[1]))
    ways = np.concatenate([base.X[:, None] - base.X[rows], anywhere])
    lengths = np.linalg.norm(ways, axis=2, keepdims=True)
    steps = 0.999 * certificate.margin * ways / np.where(lengths > 0, lengths, 1)
    moved = (base.X[rows] + steps).reshape(-1, base.X.shape[1])
    if np.isfinite(moved).all():
        answers = model.predict(moved).reshape(-1, len(rows))
        assert (answers == base.y[rows]).all(), f"answers change within the margin {certificate.margin}"


KINDS: dict[str, tuple[Callable[[Path], Any], Callable[[Any, Rng, Path], None]]] = {
    "model": (models, fuzz_model),
    "table": (tables, fuzz_table),
    "sweep": (sweeps, fuzz_sweep),
    "store": (stores, fuzz_store),
    "graph": (graphs, fuzz_graph),
    "check": (checks, fuzz_check),
}
