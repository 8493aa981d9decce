"""Repaired models as header and tensors, and back: chains and ONNX graphs whole, any other model by its answers."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..certificate.switched_proof import answers_digest
from ..exceptions import ModelFileError
from ..network import Dense, Masks, Network
from ..network.activations import THRESHOLD
from ..network.parts import SwitchedNetwork
from ..repairs import RepairedClassifier
from ..repairs.account import Change
from ..repairs.building import Repair, SpotChecks
from ..repairs.graphs import Graph
from ..repairs.models import Model, read_model
from ..repairs.patches import Patches
from .checks import check_certificate, check_feature_names, check_network, check_types
from .container import (
    FORMAT,
    Header,
    Tensors,
    decode_certificate,
    decode_labels,
    encode_fitted,
    is_generator,
    refuse_unless,
    under,
)

MODELS = ("chain", "graph", "reference")
OPTIONS = ("patches", "reach", "exact_in", "n_jobs", "random_state")


def encode_repaired(model: RepairedClassifier) -> tuple[Header, Tensors]:
    """Everything but the given points."""
    check_is_fitted(model, "network_")
    made, (header, tensors) = model.repair_, encode_fitted(model)
    parameters = {name: getattr(model, name) for name in OPTIONS}
    if is_generator(model.random_state):
        parameters["random_state"] = None
    header |= {
        "format": FORMAT,
        "kind": "repaired",
        "network": made.network.header(),
        "network_digest": made.network.digest,
        "model": made.model.kind,
        "parameters": parameters | {"classes": None if model.classes is None else made.model.classes.tolist()},
        "history": [{name: _plain(part) for name, part in asdict(change).items()} for change in made.history],
        "data_digest": made.data_digest,
    }
    numbers = {name: getattr(made, name) for name in ("answers", "targets", "changes")}
    numbers |= {name: getattr(made.patches, name) for name in ("anchors", "fires_within", "silent_beyond")}
    numbers |= dict(zip(("claim_rows", "claim_patches"), made.claims, strict=True))
    if made.probes is not None:
        numbers |= {"probes": made.probes.points, "probe_rows": made.probes.rows}
    tensors |= {f"repair.{name}": array for name, array in numbers.items()}
    tensors |= {f"network.{name}": array for name, array in made.network.tensors().items()}
    if made.model.graph is not None:
        tensors["model.graph"] = np.frombuffer(made.model.graph.octets, dtype=np.uint8)
    return header, tensors


def _plain(part: Any) -> Any:
    return list(part) if isinstance(part, tuple) else part


def _frozen(part: Any) -> Any:
    return tuple(part) if isinstance(part, list) else part


def decode_repaired(header: Header, tensors: Tensors, behind: Any) -> RepairedClassifier:
    """A repaired model, and for one by reference the model that a user brings."""
    network = SwitchedNetwork.from_parts(header["network"], under("network.", tensors))
    classes = decode_labels(**header["classes"])
    _check_networks(network, len(classes))
    model = _decode_model(header["model"], network, classes, tensors, behind)
    numbers = under("repair.", tensors)
    made = _decode_repair(header, network, model, numbers)
    options = header["parameters"]
    refuse_unless(options["classes"] in (None, classes.tolist()), "its classes are given twice")
    repaired = RepairedClassifier(
        behind if header["model"] == "reference" else model,
        **{name: options[name] for name in OPTIONS},
        classes=None if options["classes"] is None else classes,
    )
    repaired._recipe()  # refuses options that cannot be
    repaired._take(made, None)
    repaired.certificate_ = decode_certificate(header, tensors)
    repaired.n_features_in_ = network.n_features
    if header["feature_names"] is not None:
        repaired.feature_names_in_ = np.array(header["feature_names"], dtype=object)
    check_feature_names(repaired)
    check_certificate(repaired.certificate_, network)
    _check_answers(repaired)
    return repaired


def _check_networks(network: SwitchedNetwork, n_classes: int) -> None:
    for part in network.parts.values():
        check_network(part)
        known = part.decoder.classes == tuple(range(n_classes))
        refuse_unless(known, f"its network does not decide between its {n_classes} labels")
    model = network.model
    refuse_unless(model is None or model.decoder.kind == "argmax", "its model does not decide by its largest output")
    refuse_unless(_are_patches(network.patches), "its patches are not of the form that patches have")


def _are_patches(network: Network) -> bool:
    """Balls over the squared norm, or detectors of the paper's form; each speaks for one class."""
    last = network.layers[-1]
    if not isinstance(last.weights, Masks) or last.weights.sign != 1 or last.bias.any() or last.activation is not None:
        return False
    once = bool((last.weights.bits.to_bool().sum(axis=0) == 1).all())
    if network.input_map == "identity":
        return once and network.detectors is not None and network.detectors.activation == THRESHOLD
    units = network.layers[0]
    return once and len(network.layers) == 2 and isinstance(units.weights, Dense) and units.activation == THRESHOLD


def _decode_model(kind: Any, network: SwitchedNetwork, classes: NDArray[Any], tensors: Tensors, behind: Any) -> Model:
    refuse_unless(kind in MODELS, f"its model is of a kind that is not known here: {kind!r}")
    if kind == "reference":
        if behind is None:
            raise ModelFileError("it holds patches and the answers of a model, not the model itself: pass model=...")
        refuse_unless(network.model is None, "it holds a chain of layers for a model that is none")
        return read_model(behind, classes.tolist())
    refuse_unless(behind is None, "it holds its model: load it without model=...")
    if kind == "chain":
        refuse_unless(network.model is not None, "it lacks the model that it says it holds")
        return Model(classes, None, network.model)
    octets = tensors["model.graph"]
    refuse_unless(octets.dtype == np.uint8 and octets.ndim == 1, "its ONNX graph is no sequence of octets")
    graph = Graph.of(octets.tobytes())
    same = [None if chain is None else chain.digest for chain in (graph.chain, network.model)]
    refuse_unless(same[0] == same[1], "its network is not the one of its ONNX graph")
    return Model(classes, None, graph.chain, graph)


def _decode_repair(header: Header, network: SwitchedNetwork, model: Model, numbers: dict[str, Any]) -> Repair:
    changes: list[Header] = [{name: _frozen(part) for name, part in change.items()} for change in header["history"]]
    history = tuple(Change(**change) for change in changes)
    n_given = sum(change.n_rows for change in history)
    n_patches = network.patches.layers[-1].weights.shape[1]
    _check_numbers(numbers, n_given, n_patches, len(history), len(model.classes))
    _check_history(history)
    patches = Patches(network.patches, *(numbers[name] for name in ("anchors", "fires_within", "silent_beyond")))
    probes = SpotChecks(numbers["probe_rows"], numbers["probes"]) if "probes" in numbers else None
    refuse_unless((probes is not None) == (model.kind == "reference"), "its probes do not belong to its model")
    refuse_unless(isinstance(header["data_digest"], str), "it does not name its data")
    return Repair(
        model, patches, numbers["changes"], history, numbers["answers"], numbers["targets"],
        (numbers["claim_rows"], numbers["claim_patches"]), header["data_digest"], probes,
    )  # fmt: skip


def _check_numbers(numbers: dict[str, Any], n_given: int, n_patches: int, n_changes: int, n_classes: int) -> None:
    """Every tensor has its type, its length, and numbers that can be."""
    ranges = {
        "answers": (n_given, n_classes), "targets": (None, n_given), "changes": (n_patches, n_changes),
        "anchors": (n_patches, n_given), "claim_rows": (None, n_given),
        "claim_patches": (len(numbers["claim_rows"]), n_patches),
    }  # fmt: skip
    for name, (length, stop) in ranges.items():
        array = numbers[name]
        whole = array.dtype == np.int64 and array.ndim == 1 and length in (None, len(array))
        fine = whole and array.min(initial=0) >= 0 and array.max(initial=-1) < stop
        refuse_unless(fine, f"its {name} are not what they can be")
    ascending = all((np.diff(numbers[name]) >= least).all() for name, least in (("targets", 1), ("claim_rows", 0)))
    refuse_unless(bool(ascending), "its rows are not in order")
    for name in ("fires_within", "silent_beyond"):
        radii = numbers[name]
        fine = radii.dtype == np.float64 and radii.shape == (n_patches,) and bool((radii >= 0).all())
        refuse_unless(fine, "its radii are none")
    if "probes" in numbers:
        rows, points = numbers["probe_rows"], numbers["probes"]
        whole = rows.dtype == np.int64 and rows.ndim == 1 and bool(((rows >= 0) & (rows < n_given)).all())
        fine = whole and points.dtype == np.float64 and points.ndim == 2 and len(points) == len(rows)
        refuse_unless(fine and bool(np.isfinite(points).all()), "its probes are no points")


def _check_history(history: tuple[Change, ...]) -> None:
    first = 0
    for change in history:
        check_types(change)
        refuse_unless(change.first_row == first and change.n_rows > 0, "its history does not follow its rows")
        first += change.n_rows


def _check_answers(repaired: RepairedClassifier) -> None:
    """The recorded answers are those that the certificate is about, and the model at hand still gives them."""
    made, certificate = repaired.repair_, repaired.certificate_
    refuse_unless(certificate.n_samples == len(made.answers), "its certificate is about other points")
    given = None if made.model.chain is not None else answers_digest(made.answers)
    refuse_unless(certificate.answers_digest == given, "its certificate is about other answers")
    if made.probes is not None:
        fits = made.probes.points.shape[1] == repaired.n_features_in_
        refuse_unless(fits, "its probes are no points of its network")
        wrong = int(np.count_nonzero(made.model.ask(made.probes.points) != made.answers[made.probes.rows]))
        refuse_unless(
            wrong == 0,
            f"the model given answers {wrong} of {len(made.probes.rows)} recorded points in another way: "
            "it is not the one that was repaired, or its runtime computes something else",
        )
