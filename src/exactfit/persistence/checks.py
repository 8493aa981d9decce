"""What must be true of a loaded model, and no rule of its parts would notice."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import fields
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from .._support.parameters import check_random_state
from ..certificate import Certificate
from ..certificate.chains import answers_digest
from ..certificate.record import ROW_LISTS, STREAM_ALONE
from ..construct import Construction, Trace
from ..construct.importances import FULL
from ..construct.recipe import recipe_of
from ..data import target_code
from ..estimators import InterpolatingClassifier
from ..network import Decoder, Dense, InputMap, Integers, Layer, Masks, Network, Sparse, WeightedMasks
from ..network.activations import RELU, THRESHOLD
from ..network.detector_network import LARGEST_LIMIT
from ..network.network import SwitchedNetwork
from ..options import LAWS
from ..repairs import RepairedClassifier
from ..repairs.building import Change
from ..tables.encoding import SCALINGS, Encoding, Field
from ..tables.table import MISSING, PARTS, PATTERNS
from .container import refuse_unless

Check = Callable[[Any], bool]

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
NUMBERS = (*FLOATS, np.dtype(np.int64))
LARGEST_CODE = 2**31  # class indices: more classes than any file could name, and no array of their counts is huge
LARGEST_INPUTS = 2**31  # features of a point: one such point takes 16 GB, and no file can hold a unit for it
LARGEST_ROWS = 2**48  # training points: as many numbers fill the largest disks, and int64 has room for all their sums
REMOVED_LAWS = ("near-bisector", "local")  # of hyperplanes, which older versions drew
LARGEST_WEIGHTED = 2**23  # inputs of weighted masks: 128 times as many stay within the int32 of their counts


def _is(*kinds: type) -> Check:
    # Exact types: a bool is no count, and a NumPy number would not survive JSON.
    return lambda value: type(value) in kinds


def _one_of(*words: str) -> Check:
    return lambda value: type(value) is str and value in words


def _tuple_of(kind: type) -> Check:
    return lambda value: type(value) is tuple and all(type(element) is kind for element in value)


def _optional(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _is_none(value: Any) -> bool:
    return value is None


def _is_vector_of(dtype: Any) -> Check:
    return lambda value: isinstance(value, np.ndarray) and value.dtype == dtype and value.ndim == 1


_is_integer_vector = _is_vector_of(np.int64)
_is_bool, _is_int, _is_float, _is_text = _is(bool), _is(int), _is(float), _is(str)

# What every field of the records in a file may hold. Type hints are not taken apart: NumPy changes what its own are.
RECORDS: dict[type, dict[str, Check]] = {
    Decoder: {
        "kind": _one_of("sign", "one_hot", "nearest", "argmax"),
        "classes": _tuple_of(int),
        "levels": _tuple_of(float),
    },
    Trace: {
        "anchors": _is_integer_vector,
        "witnesses": _is_integer_vector,
        "coverage": _is_integer_vector,
        "detector_classes": _is_integer_vector,
        "uncovered": _is_integer_vector,
        "support": _is_integer_vector,
        "shares": _is_integer_vector,
        "support_starts": _is_integer_vector,
        "narrow": _is_integer_vector,
        "importances": _is_vector_of(np.float32),
        "spreads": _is_vector_of(np.float32),
        "on_counts": _is_integer_vector,
        "margin": _is_float,
        "n_rejected": _is_int,
        "n_drawn": _is_int,
        "n_rescued": _is_int,
    },
    Certificate: {
        "holds": _is_bool,
        "n_samples": _is_int,
        "n_errors": _is_int,
        "errors": _is_integer_vector,
        "slack": _is_float,
        "robust_radius": _optional(_is_float),
        "arithmetic": _one_of("exact", "float64", "float32"),
        "proof": _one_of("construction", "recomputed"),
        "method": _optional(
            _one_of("counts", "running error bound", "double-double", "rational", "integer-exact", "evaluation")
        ),
        "radius_method": _optional(
            _one_of("slack of detectors", "nearest hyperplane", "nearest sphere", "Lipschitz bound")
        ),
        "float64_safe": _optional(_is_bool),
        "float32_safe": _optional(_is_bool),
        "data_digest": _is_text,
        "network_digest": _is_text,
        "note": _is_text,
        "given_up": _is_integer_vector,
        "overruled": _is_integer_vector,
        "mispredicted": _optional(_is_integer_vector),
        "radii": _is_none,  # one number per row would make the file as large as the data
        "radius_row": _optional(_is_int),
        "radius_detector": _optional(_is_int),
        "radius_upper": _optional(_is_float),
        "margin": _optional(_is_float),
        "narrow": _is_integer_vector,
        "answers_digest": _optional(_is_text),
    },
    Field: {
        "name": _is_text,
        "position": _is_int,
        "categories": _optional(_tuple_of(str)),
        "dates": _optional(_is_text),
        "parts": _tuple_of(str),
        "fill": _optional(_is(float, str)),
        "indicator": _is_bool,
    },
    Change: {
        "first_row": _is_int,
        "n_rows": _is_int,
        "added": _tuple_of(int),
        "lowered": _tuple_of(int),
        "dropped": _tuple_of(int),
    },
}


def check_types(record: Any) -> None:
    """Refuse a record with a value that ``RECORDS`` does not allow."""
    kind = type(record)
    for name, fits in RECORDS[kind].items():
        refuse_unless(fits(getattr(record, name)), f"{kind.__name__}.{name} has the wrong type or value")


def check_network(network: Network) -> None:
    """Refuse a network that could not be evaluated, or not as it was."""
    refuse_unless(len(network.layers) > 0 and network.n_features > 0, "its network takes no features")
    refuse_unless(network.n_features <= LARGEST_INPUTS, "its network takes more features than a point can have")
    refuse_unless(network.input_map in get_args(InputMap), f"its input map {network.input_map!r} is unknown")
    for index, layer in enumerate(network.layers):
        refuse_unless(_is_sound(layer), f"layer {index} of its network holds what no layer can")
    check_types(network.decoder)
    refuse_unless(_decodes(network.decoder, network.widths[-1]), "its decoder does not fit its last layer")


def _is_sound(layer: Layer) -> bool:
    weights = layer.weights
    if isinstance(weights, Dense) and not _are_finite(weights.values, 2, FLOATS):
        return False
    if isinstance(weights, Sparse) and not _are_finite(weights.rows.data, 1, FLOATS):  # doubled entries added up
        return False
    if isinstance(weights, Masks | WeightedMasks) and weights.sign not in (-1, 1):
        return False
    if isinstance(weights, WeightedMasks):
        numbers = weights.values
        if numbers.ndim != 2 or numbers.dtype != np.int8 or numbers.shape[1] > LARGEST_WEIGHTED:
            return False
    if isinstance(weights, Integers):  # evaluated without rounding, by rules that know of no other activation
        return layer.bias.dtype == object and layer.activation in (None, RELU, THRESHOLD)
    return _are_finite(layer.bias, 1, NUMBERS) and _stays_whole(layer.bias)


def _stays_whole(bias: NDArray[Any]) -> bool:
    """Whether integer biases are so small that adding counts to them cannot overflow."""
    return bias.dtype.kind == "f" or bool(((bias >= -LARGEST_LIMIT) & (bias <= LARGEST_LIMIT)).all())


def _are_finite(values: NDArray[Any], ndim: int, dtypes: tuple[np.dtype[Any], ...]) -> bool:
    return values.ndim == ndim and values.dtype in dtypes and bool(np.isfinite(values).all())


def _decodes(decoder: Decoder, n_outputs: int) -> bool:
    n_classes, n_levels = len(decoder.classes), len(decoder.levels)
    each = (n_classes, n_classes, 0)
    expected = {"sign": (1, 2, 0), "one_hot": each, "argmax": each, "nearest": (1, n_classes, n_classes)}
    fits = expected[decoder.kind] == (n_outputs, n_classes, n_levels) and n_classes > 0
    known = fits and min(decoder.classes) >= 0 and max(decoder.classes) < LARGEST_CODE
    return known and bool(np.isfinite(decoder.levels).all())


def check_trace(trace: Trace, network: Network) -> None:
    """Refuse a trace that speaks of what cannot be."""
    check_types(trace)
    parts = {part.name: getattr(trace, part.name) for part in fields(trace) if part.name != "shares"}
    parts["witnesses"] = parts["witnesses"] + 1  # -1 stands for a point of a stream
    refuse_unless(all(np.min(part, initial=0) >= 0 for part in parts.values()), "its trace holds negative numbers")
    lengths = {len(part) for part in (trace.anchors, trace.witnesses, trace.coverage, trace.detector_classes)}
    # A construction other than the paper's fills what applies to it.
    refuse_unless(len(lengths - {0}) <= 1, "its trace does not say the same about all detectors")
    d, n = network.n_features, network.widths[0]
    sizes = (trace.importances, d), (trace.spreads, d), (trace.on_counts, n)
    fits = all(len(part) in (0, size) and np.isfinite(part).all() for part, size in sizes)
    shares = fits and int(trace.on_counts.max(initial=0)) <= FULL
    refuse_unless(shares, "its trace does not say the same about all features and hyperplanes")
    refuse_unless(_is_csr(trace), "its trace says of no detector what it rests on")
    known = np.isin(trace.detector_classes, network.decoder.classes).all()
    refuse_unless(bool(known), "its trace has detectors for a class that its network does not know")


def check_rows(made: Construction) -> None:
    """Refuse a construction whose errors are not rows."""
    for rows in (made.errors, made.given_up, made.overruled):
        fine = rows.dtype == np.int64 and rows.ndim == 1 and _are_rows(rows, np.iinfo(np.int64).max)
        refuse_unless(fine, "its errors are not rows")


def _is_csr(trace: Trace) -> bool:
    """Whether the support is there for all detectors or for none."""
    starts = trace.support_starts
    if not len(starts):
        return not len(trace.support) and not len(trace.shares)
    ends = starts[0] == 0 and starts[-1] == len(trace.support) == len(trace.shares)
    return bool(ends and (np.diff(starts) >= 0).all() and len(starts) == len(trace.anchors) + 1)


def check_classifier(model: InterpolatingClassifier) -> None:
    """Refuse a classifier whose parts do not belong together."""
    _check_detectors(model)
    check_certificate(model.certificate_, model.network_)
    _check_told(model.trace_, model.network_.widths[1], model.certificate_)
    check_feature_names(model)
    _check_options(model)
    check_random_state(model.random_state)
    target_code(model.target, model.classes_)


def _check_options(model: InterpolatingClassifier) -> None:
    """Refuse options that cannot be.

    A law of hyperplanes that is gone is kept as text: the model answers, proves and is saved as ever, and only ``fit``
    refuses it, as an unknown one.
    """
    options = copy(model)
    if options.hyperplanes in REMOVED_LAWS:
        options.hyperplanes, options.image_shape = LAWS[0], None
    recipe_of(options)


def check_feature_names(model: Any) -> None:
    """Refuse names that are not one text for each feature."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        named = len(names) == model.n_features_in_ and all(isinstance(name, str) for name in names)
        refuse_unless(named, f"its feature names are not {model.n_features_in_} strings")


def _check_detectors(model: InterpolatingClassifier) -> None:
    network, n_labels = model.network_, len(model.classes_)
    detectors = network.detectors
    refuse_unless(detectors is not None, "its network is not of the form that a classifier has")
    assert detectors is not None
    refuse_unless(bool((detectors.spans > 0).all()), "its network has a detector with a limit that is not positive")
    refuse_unless(_speaks_of(n_labels, network.decoder), f"its network does not decide between its {n_labels} labels")
    owners = np.asarray(detectors.classes)[detectors.outputs]
    fits = detectors.speak_once and np.array_equal(owners, model.trace_.detector_classes)
    refuse_unless(fits, "its network and its trace have different detectors")


def _check_told(trace: Trace, n_detectors: int, certificate: Certificate) -> None:
    """Refuse a trace that does not name the training rows behind every detector: ``explain`` would."""
    told = trace.anchors, trace.witnesses, trace.coverage
    refuse_unless(all(len(part) == n_detectors for part in told), "its trace does not speak of all its detectors")
    n_samples, rows = certificate.n_samples, [trace.uncovered]
    if STREAM_ALONE not in certificate.note:  # else how many rows it was fitted to is not known
        refuse_unless(bool(np.min(trace.witnesses, initial=0) >= 0), "its trace names no row that set a limit")
        rows += [trace.anchors, trace.witnesses, trace.support]
    inside = all(np.max(part, initial=-1) < n_samples for part in rows)
    refuse_unless(inside, f"its trace names rows beyond the {n_samples} that it was fitted to")


def _speaks_of(n_labels: int, decoder: Decoder) -> bool:
    if n_labels == 2:
        return decoder.classes == (0, 1) or (decoder.kind == "sign" and decoder.classes == (1, 0))
    return decoder.kind == "one_hot" and max(decoder.classes) < n_labels  # a class without points has no output


def check_certificate(certificate: Certificate, network: Network | SwitchedNetwork) -> None:
    """Refuse a certificate that contradicts itself, or is about another network."""
    check_types(certificate)
    refuse_unless(0 <= certificate.n_samples <= LARGEST_ROWS, "its certificate is about more points than there can be")
    errors, given_up = certificate.errors, certificate.given_up
    inside = all(_are_rows(getattr(certificate, name), certificate.n_samples) for name in ROW_LISTS)
    count = certificate.n_errors == len(errors) and certificate.holds == (len(errors) == 0)
    apart = not len(np.intersect1d(errors, given_up)) and bool(np.isin(certificate.overruled, given_up).all())
    known = certificate.mispredicted is None or bool(np.isin(certificate.mispredicted, errors).all())
    refuse_unless(inside and count and apart and known, "its certificate contradicts itself")
    refuse_unless(certificate.network_digest == network.digest, "its certificate is about another network")


def _are_rows(rows: NDArray[np.int64], n_samples: int) -> bool:
    """Whether these are row numbers, ascending."""
    return not len(rows) or bool(rows[0] >= 0 and rows[-1] < n_samples and (np.diff(rows) > 0).all())


def check_encoding(encoding: Encoding, scaling: Any, n_features: int, n_samples: int) -> None:
    """Refuse an encoding that no table could have."""
    for field in encoding.fields:
        _check_field(field)
        _check_fill(field)
    fills = {field.fill is not None for field in encoding.fields}
    fits = encoding.missing in MISSING and fills == {encoding.missing in ("impute", "indicator")}
    refuse_unless(fits, "it does not say what becomes of empty cells")
    _check_fields(encoding)
    _check_label(encoding)
    _check_numbers(encoding, scaling, n_features)
    rows = encoding.rows
    if rows is not None:
        fits = rows.dtype == np.int64 and rows.shape == (n_samples,) and bool((np.diff(rows, prepend=-1) > 0).all())
        refuse_unless(fits, "its training rows are not in the order of their file")


def _check_field(field: Field) -> None:
    check_types(field)
    if field.categories is not None:
        in_order = list(field.categories) == sorted(set(field.categories))
        refuse_unless(
            in_order and bool(field.categories), f"the categories of its column {field.name!r} are not in order"
        )
    plain = field.dates is None and field.parts == ()
    dated = (
        field.categories is None
        and field.dates in PATTERNS
        and list(field.parts) == [part for part in PARTS if part in field.parts]
    )
    refuse_unless(plain or dated, f"the dates of its column {field.name!r} are not written in any known way")


def _check_fill(field: Field) -> None:
    if field.categories is None:
        fits = isinstance(field.fill, float) and np.isfinite(field.fill)
    else:
        fits = field.fill in field.categories
    fits = bool(fits) or (field.fill is None and not field.indicator)
    refuse_unless(fits, f"empty cells of its column {field.name!r} cannot be filled")


def _check_fields(encoding: Encoding) -> None:
    positions = [field.position for field in encoding.fields]
    names = [field.name for field in encoding.fields]
    plain = type(encoding.n_columns) is int and type(encoding.header) is bool
    refuse_unless(plain and positions == sorted(set(positions)), "the columns of its table are not in order")
    refuse_unless(bool(positions) and positions[0] >= 0 and positions[-1] < encoding.n_columns, "it lacks columns")
    own = len(set(names)) == len(names) and (encoding.header or names == [str(position) for position in positions])
    refuse_unless(own, "the columns of its table do not have names of their own")


def _check_label(encoding: Encoding) -> None:
    label, position = encoding.label, encoding.label_position
    named = isinstance(label, str) or (label is None and position is None)  # None: the labels were no column
    refuse_unless(named, "it does not name the column of the labels")
    taken = {field.position for field in encoding.fields}
    fits = position is None or (type(position) is int and 0 <= position < encoding.n_columns and position not in taken)
    refuse_unless(fits, "its labels have no column of their own")


def _check_numbers(encoding: Encoding, scaling: Any, n_features: int) -> None:
    mean, scale = encoding.mean, encoding.scale
    for numbers in (mean, scale):
        refuse_unless(numbers.dtype == np.float64 and numbers.shape == (n_features,), "its scaling has the wrong form")
    refuse_unless(len(encoding.features) == n_features, "its columns do not make the features of its network")
    refuse_unless(bool(np.isfinite(mean).all() and np.isfinite(scale).all()), "its scaling is not finite")
    refuse_unless(bool((scale > 0).all()), "its scaling divides by what is not positive")
    free = np.array([scaled and scaling == "standard" for field in encoding.fields for scaled in field.scaled])
    left = bool((mean[~free] == 0).all() and (scale[~free] == 1).all())
    refuse_unless(scaling in SCALINGS and left, "it scales what is not to be scaled")


def check_repaired_networks(network: SwitchedNetwork, n_classes: int) -> None:
    """Refuse patches or a model that do not decide between the labels, or are not of their form."""
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


def check_repair(history: tuple[Change, ...], numbers: dict[str, Any], n_patches: int, n_classes: int) -> None:
    """Refuse changes that do not follow each other, and tensors of another type or length, or of what cannot be."""
    n_given = 0
    for change in history:
        check_types(change)
        refuse_unless(change.first_row == n_given and change.n_rows > 0, "its history does not follow its rows")
        n_given += change.n_rows
    ranges = {
        "answers": (n_given, n_classes), "targets": (None, n_given), "changes": (n_patches, len(history)),
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
        wrong = int(np.count_nonzero(made.model.ask(made.probes.points) != made.answers[made.probes.rows]))
        refuse_unless(
            wrong == 0,
            f"the model given answers {wrong} of {len(made.probes.rows)} recorded points in another way: "
            "it is not the one that was repaired, or its runtime computes something else",
        )
