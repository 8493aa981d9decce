"""Checks of loaded models: fields are of the types that their records declare, arrays as tables here say, parts fit."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, fields
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from .._support.parameters import check_random_state
from ..certificate import Certificate
from ..certificate.chains import answers_digest
from ..certificate.record import STREAM_ALONE
from ..construct import Construction
from ..construct.importances import FULL
from ..data import target_code
from ..estimators import InterpolatingClassifier
from ..exceptions import ModelFileError
from ..network import Dense, InputMap, Integers, Layer, Masks, Network, Sparse, WeightedMasks
from ..network.activations import RELU, THRESHOLD
from ..network.detector_network import LARGEST_LIMIT
from ..network.network import SwitchedNetwork
from ..options import SAMPLERS, Options
from ..repairs import RepairedClassifier
from ..repairs.reports import Change
from ..tables.encoding import SCALINGS, Encoding, Field
from ..tables.table import MISSING, PARTS, PATTERNS
from .container import refuse_unless

Sizes = Mapping[str, int]

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
NUMBERS = (*FLOATS, np.dtype(np.int64))
LARGEST_CODE = 2**31  # class indices: more classes than any file could name, and no array of their counts is huge
LARGEST_INPUTS = 2**31  # features of a point: one such point takes 16 GB, and no file can hold a unit for it
LARGEST_ROWS = 2**48  # training points: as many numbers fill the largest disks, and int64 can hold all their sums
LARGEST = float(np.finfo(np.float64).max)
LARGEST_WEIGHTED = 2**23  # inputs of weighted masks: 128 times as many stay within the int32 of their counts
REMOVED_SAMPLERS = ("near-bisector", "local")  # of hyperplanes, which older versions drew


# ---- Fields and arrays -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Vector:
    """An array of a file, and what it may hold; the names of sizes stand for what only the file knows."""

    length: str | None = None  # None: any
    below: str | float | None = None  # every number is less
    least: float = 0
    step: int | None = None  # least difference between neighbours: 1 where they ascend, 0 where some may be equal
    dtype: type = np.int64
    may_be_empty: bool = False  # instead of having its length

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Refuse an array that is not as it may be."""
        stop = sizes[self.below] if isinstance(self.below, str) else self.below
        length = None if self.length is None else sizes[self.length]
        if isinstance(value, np.ndarray) and value.dtype == self.dtype and value.ndim == 1:
            long_enough = length in (None, len(value)) or (self.may_be_empty and not len(value))
            # Of numbers with a NaN the least is NaN, which no comparison holds for.
            within = not len(value) or bool(value.min() >= self.least and (stop is None or value.max() < stop))
            if long_enough and within and (self.step is None or bool((np.diff(value) >= self.step).all())):
                return
        count = "" if length is None else f"{length:,} "
        low = f" from {self.least:g} on" if self.least > -LARGEST else ""
        high = "" if stop is None else ", finite" if stop == np.inf else f", below {stop:,}"
        order = "" if self.step is None else ", in ascending order"
        raise ModelFileError(f"its {name} has to be {count}numbers of type {np.dtype(self.dtype)}{low}{high}{order}")


ROWS = Vector(below="rows", step=1)
OF_DETECTORS = Vector("detectors", may_be_empty=True)
OF_FEATURES = Vector("features", np.inf, dtype=np.float32, may_be_empty=True)
# The trace of a construction other than the paper's has what applies to it; what a classifier's has to have,
# ``check_classifier`` asks for.
TRACE = {
    "anchors": Vector("detectors", "rows", may_be_empty=True),
    "witnesses": Vector("detectors", "rows", -1, may_be_empty=True),  # -1 stands for a point of a stream
    "coverage": OF_DETECTORS,
    "detector_classes": OF_DETECTORS,
    "uncovered": Vector(below="rows"),
    "support": Vector("support", "rows"),
    "dual_coef": Vector("support", least=-np.inf),
    "support_starts": Vector("detectors + 1", step=0, may_be_empty=True),
    "without_margin": Vector(below="rows"),
    "importances": OF_FEATURES,
    "spreads": OF_FEATURES,
    "on_counts": Vector("hyperplanes", FULL + 1, may_be_empty=True),
}
CERTIFICATE = {"errors": ROWS, "given_up": ROWS, "overruled": ROWS, "narrow": ROWS, "mispredicted": Vector()}
REPAIR = {
    "answers": Vector("rows", "classes"),
    "targets": ROWS,
    "changes": Vector("patches", "changes"),
    "anchors": Vector("patches", "rows"),
    "claim_rows": Vector("claims", "rows", step=0),
    "claim_patches": Vector("claims", "patches"),
    "fires_within": Vector("patches", dtype=np.float64),
    "silent_beyond": Vector("patches", dtype=np.float64),
    "probe_rows": Vector("probes", "rows"),
}


def check_fields(record: Any, arrays: Mapping[str, Vector] | None = None, **sizes: int) -> None:
    """Refuse a record whose arrays are not as a table says, or other fields not of the type that they declare."""
    kind, hints = type(record), get_type_hints(type(record))
    for name, value in ((field.name, getattr(record, field.name)) for field in fields(record)):
        rule = (arrays or {}).get(name)
        if rule is None or value is None:
            fine = _is_of_type(value, hints[name])
            refuse_unless(fine, f"{kind.__name__}.{name} has the wrong type or value")
        else:
            rule.check(f"{kind.__name__}.{name}", value, sizes)


def _is_of_type(value: Any, hint: Any) -> bool:
    """Return whether a value is of exactly a type."""
    # Not an instance: a bool is no count, and a NumPy number would not survive JSON.
    kind, arguments = get_origin(hint), get_args(hint)
    if kind is Literal:
        return type(value) is str and value in arguments
    if kind in (Union, UnionType):
        return any(_is_of_type(value, argument) for argument in arguments)
    if kind is tuple:
        return type(value) is tuple and all(_is_of_type(element, arguments[0]) for element in value)
    return type(value) is hint


# ---- Networks and constructions ----------------------------------------------------------------------------


def check_network(network: Network) -> None:
    """Refuse a network that could not be evaluated, or not as it was."""
    refuse_unless(len(network.layers) > 0 and network.n_features > 0, "its network takes no features")
    refuse_unless(network.n_features <= LARGEST_INPUTS, "its network takes more features than a point can have")
    refuse_unless(network.input_map in get_args(InputMap), f"its input map {network.input_map!r} is unknown")
    for index, layer in enumerate(network.layers):
        refuse_unless(_is_sound(layer), f"layer {index} of its network holds what no layer can")
    decoder = network.decoder
    check_fields(decoder)
    n_classes, codes = len(decoder.classes), decoder.classes
    each = (n_classes, n_classes, 0)
    expected = {"sign": (1, 2, 0), "one_hot": each, "argmax": each, "nearest": (1, n_classes, n_classes)}[decoder.kind]
    fits = (network.widths[-1], n_classes, len(decoder.levels)) == expected and bool(np.isfinite(decoder.levels).all())
    known = n_classes > 0 and min(codes) >= 0 and max(codes) < LARGEST_CODE
    refuse_unless(fits and known, "its decoder does not fit its last layer")


def _is_sound(layer: Layer) -> bool:
    """Return whether weights and biases are finite numbers of the types that layers have."""
    weights, bias = layer.weights, layer.bias
    if isinstance(weights, Integers):  # evaluated without rounding, by rules that know of no other activation
        return bias.dtype == object and layer.activation in (None, RELU, THRESHOLD)
    if isinstance(weights, Masks | WeightedMasks) and weights.sign not in (-1, 1):
        return False
    match weights:
        case Dense():
            sound = _are_finite(weights.values, 2, FLOATS)
        case Sparse():  # with doubled entries added up
            sound = _are_finite(weights.rows.data, 1, FLOATS)
        case WeightedMasks(values=numbers):
            sound = numbers.ndim == 2 and numbers.dtype == np.int8 and numbers.shape[1] <= LARGEST_WEIGHTED
        case Masks():  # BitMatrix has checked the words
            sound = True
    # Counts can be added to integer biases without an overflow.
    small = bias.dtype.kind == "f" or bool(((bias >= -LARGEST_LIMIT) & (bias <= LARGEST_LIMIT)).all())
    return sound and _are_finite(bias, 1, NUMBERS) and small


def _are_finite(values: NDArray[Any], ndim: int, dtypes: tuple[np.dtype[Any], ...]) -> bool:
    return values.ndim == ndim and values.dtype in dtypes and bool(np.isfinite(values).all())


def check_construction(made: Construction) -> None:
    """Refuse a trace, and errors, that cannot be those of a network."""
    trace, network = made.trace, made.network
    # Detectors are counted by whichever array names them: check_classifier compares with the network.
    n = max(np.size(part) for part in (trace.anchors, trace.witnesses, trace.coverage, trace.detector_classes))
    sizes = {"rows": LARGEST_ROWS, "detectors": n, "detectors + 1": n + 1, "support": np.size(trace.support)}
    sizes |= {"features": network.n_features, "hyperplanes": network.widths[0]}
    check_fields(trace, TRACE, **sizes)
    counts = trace.margin, trace.n_rejected, trace.n_drawn, trace.n_fallback_cuts
    refuse_unless(all(count >= 0 for count in counts), "its trace holds negative numbers")
    starts = trace.support_starts if len(trace.support_starts) else np.zeros(1, dtype=np.int64)
    ends = starts[0] == 0 and starts[-1] == len(trace.support)
    refuse_unless(bool(ends), "its trace does not name the rows that each detector rests on")
    known = np.isin(trace.detector_classes, network.decoder.classes).all()
    refuse_unless(bool(known), "its trace has detectors for a class that its network does not know")
    for name in ("errors", "given_up", "overruled"):
        ROWS.check(f"construction.{name}", getattr(made, name), sizes)


# ---- Classifiers -------------------------------------------------------------------------------------------


def check_classifier(model: InterpolatingClassifier) -> None:
    """Refuse a classifier whose parts do not belong together."""
    trace, certificate = model.trace_, model.certificate_
    network, n_labels, decoder = model.network_.detectors, len(model.classes_), model.network_.decoder
    refuse_unless(network is not None, "its network is not of the form that a classifier has")
    assert network is not None
    # Slack is relative to the span, so it has to be positive; and no detector could fire otherwise.
    refuse_unless(bool((network.spans > 0).all()), "its network has a detector with a limit that is not positive")
    if n_labels == 2:
        decides = decoder.classes == (0, 1) or (decoder.kind == "sign" and decoder.classes == (1, 0))
    else:
        decides = decoder.kind == "one_hot" and max(decoder.classes) < n_labels  # a class without points has no output
    refuse_unless(decides, f"its network does not decide between its {n_labels} labels")
    classes = np.asarray(network.classes)[network.outputs]
    same = np.array_equal(classes, trace.detector_classes)
    refuse_unless(same, "its network and its trace have different detectors")
    check_certificate(certificate, network)
    # ``explain`` names the training rows behind every detector.
    named = (len(part) == network.n_detectors for part in (trace.anchors, trace.witnesses, trace.coverage))
    refuse_unless(all(named), "its trace does not speak of all its detectors")
    rows = [trace.uncovered]
    if STREAM_ALONE not in certificate.note:  # else how many rows it was fitted to is not known
        refuse_unless(bool(np.min(trace.witnesses, initial=0) >= 0), "its trace names no row that set a limit")
        rows += [trace.anchors, trace.witnesses, trace.support, trace.without_margin]
    inside = all(np.max(part, initial=-1) < certificate.n_samples for part in rows)
    refuse_unless(inside, f"its trace names rows beyond the {certificate.n_samples} that it was fitted to")
    check_feature_names(model)
    # A sampler that is gone is kept as text: the model answers, proves and is saved as ever, and only ``fit`` refuses
    # it, as an unknown one.
    options = copy(model)
    if options.hyperplanes in REMOVED_SAMPLERS:
        options.hyperplanes, options.image_shape = SAMPLERS[0], None
    Options.of(options)
    check_random_state(model.random_state)
    target_code(model.target, model.classes_)


def check_feature_names(model: Any) -> None:
    """Refuse names that are not one text for each feature."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        named = len(names) == model.n_features_in_ and all(isinstance(name, str) for name in names)
        refuse_unless(named, f"its feature names are not {model.n_features_in_} strings")


def check_certificate(certificate: Certificate, network: Network | SwitchedNetwork) -> None:
    """Refuse a certificate that contradicts itself, or is about another network."""
    check_fields(certificate, CERTIFICATE, rows=certificate.n_samples)
    refuse_unless(0 <= certificate.n_samples <= LARGEST_ROWS, "its certificate is about more points than there can be")
    errors, given_up, mispredicted = certificate.errors, certificate.given_up, certificate.mispredicted
    count = certificate.n_errors == len(errors) and certificate.holds == (len(errors) == 0)
    apart = not len(np.intersect1d(errors, given_up)) and bool(np.isin(certificate.overruled, given_up).all())
    known = mispredicted is None or bool(np.isin(mispredicted, errors).all())
    # Radii of rows are in no file: they would make it as large as the data.
    refuse_unless(count and apart and known and certificate.radii is None, "its certificate contradicts itself")
    refuse_unless(certificate.network_digest == network.digest, "its certificate is about another network")


# ---- Tables ------------------------------------------------------------------------------------------------


def check_encoding(encoding: Encoding, scaling: Any, n_features: int, n_samples: int) -> None:
    """Refuse an encoding that no table could have."""
    columns = encoding.fields
    for column in columns:
        _check_column(column)
    fills = {column.fill is not None for column in columns}
    fits = encoding.missing in MISSING and fills == {encoding.missing in ("impute", "indicator")}
    refuse_unless(fits, "it does not say what becomes of empty cells")
    positions, names = [column.position for column in columns], [column.name for column in columns]
    plain = type(encoding.n_columns) is int and type(encoding.header) is bool
    refuse_unless(plain and positions == sorted(set(positions)), "the columns of its table are not in order")
    refuse_unless(bool(positions) and positions[0] >= 0 and positions[-1] < encoding.n_columns, "it lacks columns")
    own = len(set(names)) == len(names) and (encoding.header or names == [str(position) for position in positions])
    refuse_unless(own, "the columns of its table do not have names of their own")
    label, place = encoding.label, encoding.label_position
    named = isinstance(label, str) or (label is None and place is None)  # None: the labels were no column
    refuse_unless(named, "it does not name the column of the labels")
    fits = place is None or (type(place) is int and 0 <= place < encoding.n_columns and place not in positions)
    refuse_unless(fits, "its labels have no column of their own")
    refuse_unless(len(encoding.features) == n_features, "its columns do not make the features of its network")
    for numbers, least in ((encoding.mean, -LARGEST), (encoding.scale, np.finfo(float).smallest_subnormal)):
        Vector("features", np.inf, least, dtype=np.float64).check("scaling", numbers, {"features": n_features})
    free = np.array([scaled and scaling == "standard" for column in columns for scaled in column.scaled])
    left = bool((encoding.mean[~free] == 0).all() and (encoding.scale[~free] == 1).all())
    refuse_unless(scaling in SCALINGS and left, "it scales what is not to be scaled")
    if encoding.rows is not None:
        Vector("rows", step=1).check("table.rows", encoding.rows, {"rows": n_samples})


def _check_column(column: Field) -> None:
    """Refuse categories, dates and fillings that a column cannot have."""
    check_fields(column)
    categories = column.categories
    in_order = categories is None or (bool(categories) and list(categories) == sorted(set(categories)))
    refuse_unless(in_order, f"the categories of its column {column.name!r} are not in order")
    plain = column.dates is None and column.parts == ()
    parts = [part for part in PARTS if part in column.parts]
    dated = categories is None and column.dates in PATTERNS and list(column.parts) == parts
    refuse_unless(plain or dated, f"the dates of its column {column.name!r} are not written in any known way")
    fill = column.fill
    fits = isinstance(fill, float) and np.isfinite(fill) if categories is None else fill in categories
    fits = bool(fits) or (fill is None and not column.indicator)
    refuse_unless(fits, f"empty cells of its column {column.name!r} cannot be filled")


# ---- Repaired models ---------------------------------------------------------------------------------------


def check_repaired_networks(network: SwitchedNetwork, n_classes: int) -> None:
    """Refuse patches or a model that do not decide between the labels, or are not of their form."""
    for part in network.parts.values():
        check_network(part)
        known = part.decoder.classes == tuple(range(n_classes))
        refuse_unless(known, f"its network does not decide between its {n_classes} labels")
    model = network.model
    refuse_unless(model is None or model.decoder.kind == "argmax", "its model does not decide by its largest output")
    patches, first, last = network.patches, network.patches.layers[0], network.patches.layers[-1]
    outputs = last.weights
    adds_up = isinstance(outputs, Masks) and outputs.sign == 1 and last.activation is None and not last.bias.any()
    fine = adds_up and isinstance(outputs, Masks) and bool((outputs.bits.to_bool().sum(axis=0) == 1).all())
    if patches.input_map == "identity":  # detectors of the paper's form
        fine = fine and patches.detectors is not None and patches.detectors.activation == THRESHOLD
    else:  # balls over the squared norm
        balls = len(patches.layers) == 2 and isinstance(first.weights, Dense) and first.activation == THRESHOLD
        fine = fine and balls
    refuse_unless(fine, "its patches are not of the form that patches have")


def check_repair(history: tuple[Change, ...], numbers: dict[str, Any], n_patches: int, n_classes: int) -> None:
    """Refuse changes that do not follow each other, and arrays of what cannot be."""
    n_given = 0
    for change in history:
        check_fields(change)
        refuse_unless(change.first_row == n_given and change.n_rows > 0, "its history does not follow its rows")
        n_given += change.n_rows
    sizes = {"rows": n_given, "patches": n_patches, "classes": n_classes, "changes": len(history)}
    sizes |= {"claims": len(numbers["claim_rows"]), "probes": len(numbers.get("probe_rows", ()))}
    for name, rule in REPAIR.items():
        if name != "probe_rows" or "probes" in numbers:
            rule.check(f"repair.{name}", numbers[name], sizes)
    if "probes" in numbers:
        fine = _are_finite(numbers["probes"], 2, FLOATS[1:]) and len(numbers["probes"]) == sizes["probes"]
        refuse_unless(fine, "its probes are no points")


def check_repaired(repaired: RepairedClassifier) -> None:
    """Refuse answers that the certificate is not about, or that the model at hand does not give any more."""
    check_feature_names(repaired)
    check_certificate(repaired.certificate_, repaired.network_)
    made, certificate = repaired.repair_, repaired.certificate_
    refuse_unless(certificate.n_samples == len(made.answers), "its certificate is about other points")
    given = None if made.model.chain is not None else answers_digest(made.answers)
    refuse_unless(certificate.answers_digest == given, "its certificate is about other answers")
    if made.probes is not None:
        fits = made.probes.points.shape[1] == repaired.n_features_in_
        refuse_unless(fits, "its probes are no points of its network")
        # Some of the given points are asked again: another model, or another runtime, is found out by its answers.
        wrong = int(np.count_nonzero(made.model.ask(made.probes.points) != made.answers[made.probes.rows]))
        refuse_unless(
            wrong == 0,
            f"the model given answers {wrong} of {len(made.probes.rows)} recorded points in another way: "
            "it is not the one that was repaired, or its runtime computes something else",
        )
