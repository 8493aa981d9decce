"""Changed model files, tables, sweeps and stores until the time is up: ``make fuzz SECONDS=600``.

Cases run in processes of their own, :data:`BATCH` in each, with limits on the time of a case and on memory. A case
may be answered, or refused with an error that exactfit documents; a crash, a hang or any other exception is a finding,
and is printed with the kind and the seed that make it again: ``python tests/fuzz.py --kind model --seed 123``.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from constructors import OWN
from forgeries import model_file, network_digest, table_file
from saved_models import NETWORKS, fitted, labels, points
from sklearn.linear_model import LogisticRegression
from toy_trials import fill

import exactfit
from exactfit.construct import adaptive_width
from exactfit.lab import read_trials
from exactfit.lab.experiment import load_experiment
from exactfit.persistence import container

SECONDS = 10  # of a processor, for a case
WAITING = 10  # times as long on the clock: the machine may have other work
BATCH = 64  # cases in a process: a fork costs more than most cases
ROOM = 2**31  # bytes that a case may take beside what is there already
MEMORY = "/dev/shm"  # where Linux keeps files in memory
FINE = (exactfit.ExactfitError, OSError)
WILD: list[Any] = [
    None, True, 0, 1, -1, 2**31, 2**33, 2**63 - 1, 2**63, 2**70, 10**30, 0.5, -0.0, 1e308, "", "a", "0x1p0", "inf",
    "relu", "float32", [], [0], [[]], [0, 1, 2], {}, {"a": 1}, "\x1b[2J", "ö" * 100,
]  # fmt: skip
Bases = list[tuple[str, bytes]]


def models(folder: Path) -> Bases:
    """Files of every kind of model, to be changed."""
    path, made = folder / "m", []
    made += [("classifier", model_file(path)), ("table", table_file(path))]
    fits = {"weighted": {"detectors": "weighted"}, "relu": {"activation": "relu"}, "noise": {"noise": 0.2}}
    kept = {name: fitted(points(), labels(0, 1, 2), **options) for name, options in fits.items()}
    kept |= {f"network {name}": make() for name, make in NETWORKS.items()}
    kept |= {"construction": adaptive_width(points(), labels(0, 1), random_state=0)}
    linear = LogisticRegression().fit(points(), labels(0, 1, 2))
    for kind in ("ball", "mask", "weighted"):
        kept[f"repaired {kind}"] = exactfit.repair(linear, points(), labels(0, 1, 2), patches=kind, random_state=0)
    for name, model in kept.items():
        use(model, folder)  # loads compiled code once, for all children
        exactfit.save(model, path)
        made.append((name, path.read_bytes()))
    return made


def tables(folder: Path) -> Bases:
    """Files of every kind of table."""
    frame = pd.DataFrame(
        {"x": np.arange(30.0), "c": list("uvw") * 10, "größe": points(30)[:, 0], "y": np.arange(30) % 3}
    )
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


def fuzz_model(bases: Bases, rng: np.random.Generator, folder: Path) -> None:
    """A change of a header or of tensors, with all digests made anew; then every method of what was loaded."""
    path = folder / "changed"
    path.write_bytes(bases[rng.integers(len(bases))][1])
    header, tensors = container.read_model(path)
    for _ in range(rng.integers(1, 4)):
        if rng.random() < 0.5:
            change_header(header, rng)
        else:
            change_tensors(tensors, rng)
    try:
        tensors = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
        header["tensors"] = {name: container.facts(tensor) for name, tensor in tensors.items()}
        digest = network_digest(header, tensors)
        if digest is not None:
            header["network_digest"] = digest
            if isinstance(header.get("certificate"), dict):
                header["certificate"]["network_digest"] = digest
        container.write_model(path, header, tensors)
    except Exception:  # nothing that a file could hold
        return
    use(exactfit.load(path, activations=[OWN]), folder)


def change_header(plain: Any, rng: np.random.Generator) -> None:
    """Put something else anywhere, or take something away."""
    while isinstance(plain, dict | list) and len(plain):
        key: Any = list(plain)[rng.integers(len(plain))] if isinstance(plain, dict) else int(rng.integers(len(plain)))
        if isinstance(plain[key], dict | list) and len(plain[key]) and rng.random() < 0.8:
            plain = plain[key]
        elif rng.random() < 0.1:
            del plain[key]
            return
        else:
            plain[key] = WILD[rng.integers(len(WILD))]
            return


def change_tensors(tensors: dict[str, Any], rng: np.random.Generator) -> None:
    """Other numbers, another shape or another type."""
    name = sorted(tensors)[rng.integers(len(tensors))]
    tensor = tensors[name].copy()
    wild = [0, 1, -1, 10**8, 2**31, 2**62, -(2**63), 2**63 - 1]
    changes: list[Callable[[], Any]] = [
        lambda: tensor[:0],
        lambda: tensor[:-1],
        lambda: np.concatenate([tensor, tensor]),
        lambda: tensor[None],
        lambda: tensor.T,
        lambda: tensor.astype([np.float64, np.float32, np.int64, np.int8, np.uint64][rng.integers(5)]),
        lambda: np.empty((0, 2 ** int(rng.integers(1, 60))), dtype=tensor.dtype),
        lambda: np.full(tensor.shape, wild[rng.integers(len(wild))]).astype(tensor.dtype),
        lambda: rng.permutation(tensor),
    ]
    if tensor.size and rng.random() < 0.5:
        kind = tensor.dtype.kind
        value = (
            wild[rng.integers(len(wild))] if kind in "iu" else [np.nan, np.inf, 1e308, -1e308, 5e-324][rng.integers(5)]
        )
        with np.errstate(all="ignore"):
            tensor.reshape(-1)[rng.integers(tensor.size)] = np.array(value).astype(tensor.dtype)
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
    if isinstance(model, exactfit.RepairedClassifier) and network.n_features <= 1000:
        X = np.arange(3.0 * network.n_features).reshape(3, -1) / 7
        for method in (model.predict, model.decision_function, model.explain):
            str(method(X))
        str(model.report(X, model.predict(X)))
    if not isinstance(network, exactfit.Network) or network.n_features > 1000:
        return
    X = np.arange(3.0 * network.n_features).reshape(3, -1) / 7
    network.decide(X)
    exactfit.certify(network, X, network.decide(X).clip(0))
    if isinstance(model, exactfit.InterpolatingClassifier):
        for method in (model.predict, model.decision_function, model.explain):
            str(method(X))


def changed_octets(octets: bytes, rng: np.random.Generator) -> bytes:
    """Some octets changed, taken away, doubled, or put in."""
    changed = bytearray(octets)
    for _ in range(rng.integers(1, 6)):
        place = int(rng.integers(len(changed) + 1))
        extra = [b'"', b",", b"\n", b"\r", b"\0", b"\xff", b"1e999", b"0" * 4400, b"\x1b[31m", b"nan", b"[", b"="]
        kind = rng.integers(4)
        if kind == 0 and place < len(changed):
            changed[place] = rng.integers(256)
        elif kind == 1:
            del changed[place : place + int(rng.integers(1, 20))]
        elif kind == 2:
            changed[place:place] = changed[place : place + int(rng.integers(1, 40))]
        else:
            changed[place:place] = extra[rng.integers(len(extra))]
    return bytes(changed)


def fuzz_table(bases: Bases, rng: np.random.Generator, folder: Path) -> None:
    """A damaged table, read and fitted to."""
    name, octets = bases[rng.integers(len(bases))]
    path = folder / name
    path.write_bytes(changed_octets(octets, rng))
    fit_table(path, "drop-rows" if rng.random() < 0.5 else "error")


def fit_table(path: Path, missing: str) -> None:
    """Read a table, and build a network for it if it is a small one."""
    table = exactfit.read_table(path, label="y", missing=missing)
    if table.n_columns < 50:
        exactfit.TableModel(exactfit.InterpolatingClassifier(max_width=500, random_state=0)).fit(table)


def fuzz_sweep(bases: Bases, rng: np.random.Generator, folder: Path) -> None:
    """A damaged description of a sweep."""
    path = folder / "s.toml"
    path.write_bytes(changed_octets(bases[rng.integers(len(bases))][1], rng))
    load_experiment(path)


def fuzz_store(bases: Bases, rng: np.random.Generator, folder: Path) -> None:
    """A damaged store of trials."""
    path = folder / "s.jsonl"
    path.write_bytes(changed_octets(bases[rng.integers(len(bases))][1], rng))
    read_trials(path)


def sweeps(_: Path) -> Bases:
    """The paper's own experiments."""
    folder = Path(exactfit.__file__).parent / "lab" / "paper"
    return [(path.name, path.read_bytes()) for path in sorted(folder.glob("*.toml"))]


def stores(folder: Path) -> Bases:
    """A store of a few trials."""
    return [("store", fill(folder / "base.jsonl", range(6)).read_bytes())]


KINDS = {
    "model": (models, fuzz_model),
    "table": (tables, fuzz_table),
    "sweep": (sweeps, fuzz_sweep),
    "store": (stores, fuzz_store),
}


def run_cases(kind: str, bases: Bases, seeds: range, folder: Path) -> Iterator[tuple[int, str]]:
    """Seeds, and how their cases end: "fine", or what is wrong.

    Cases run in a child that shares what is loaded already; after one that ends the child, the others get a new child.
    """
    while seeds:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            in_child(kind, bases, seeds, folder, writing)
        os.close(writing)
        with os.fdopen(reading, encoding="utf-8") as pipe:
            for line in pipe:
                yield seeds[0], json.loads(line)
                seeds = seeds[1:]
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if seeds:
            late = code in {-signal.SIGPROF, -signal.SIGALRM}
            yield seeds[0], f"took longer than {SECONDS} seconds" if late else f"ended with code {code}"
            seeds = seeds[1:]


def in_child(kind: str, bases: Bases, seeds: range, folder: Path, writing: int) -> NoReturn:
    """Say how each case ended as soon as it has."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, used + ROOM))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    for seed in seeds:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.alarm(WAITING * SECONDS)
        os.write(writing, (json.dumps(outcome(kind, bases, seed, folder)[:4000]) + "\n").encode())
    os._exit(0)


def outcome(kind: str, bases: Bases, seed: int, folder: Path) -> str:
    try:
        KINDS[kind][1](bases, np.random.default_rng(seed), folder)
    except FINE as error:
        return "fine" if error.__class__ is not OSError or error.errno is not None else f"foreign: {error!r}"
    except BaseException:
        return "foreign: " + "".join(traceback.format_exc().splitlines(keepends=True)[-7:])
    return "fine"


def main() -> int:
    """Run batches of cases of all kinds in turn; 1 if anything was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--seed", type=int, help="one case only")
    given = parser.parse_args()
    kinds = [given.kind] if given.kind else list(KINDS)
    counts, found = Counter[str](), Counter[str]()
    os.fsync = lambda _: None  # nobody needs these files after a power cut
    with tempfile.TemporaryDirectory(dir=MEMORY if os.path.isdir(MEMORY) else None) as name:
        folder = Path(name)
        bases = {kind: KINDS[kind][0](folder) for kind in kinds}
        first, size = (int(time.time()) * 10**6, BATCH) if given.seed is None else (given.seed, 1)
        end, turns = time.monotonic() + given.seconds, itertools.count()
        while time.monotonic() < end and (given.seed is None or not counts):
            turn = next(turns)
            kind, start = kinds[turn % len(kinds)], first + turn * size
            for seed, said in run_cases(kind, bases[kind], range(start, start + size), folder):
                counts[kind] += 1
                if said == "fine":
                    continue
                what = said.strip().splitlines()[-1][:100]
                found[what] += 1
                if found[what] <= 3:
                    print(f"--kind {kind} --seed {seed}: {said}", flush=True)
    print(
        ", ".join(f"{count:,} changed {kind}s" for kind, count in counts.items()), f"- {sum(found.values())} findings"
    )
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
