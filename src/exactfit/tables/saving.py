"""What a file holds of a table model beside its classifier: the encoding."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from ..estimators import InterpolatingClassifier
from ..persistence.container import Header, Tensors, refuse_unless
from ..persistence.kinds import Kind, register
from .encoding import LARGEST_CATEGORIES, SCALINGS, Encoding, Field
from .model import TableModel


def _inside(model: TableModel) -> InterpolatingClassifier:
    if not hasattr(model, "classifier_"):
        raise NotFittedError("this TableModel is not fitted yet: call fit before save")
    return model.classifier_


def _encode(model: TableModel) -> tuple[Header, Tensors]:
    encoding = model.encoding_
    return encoding.to_dict() | {"scale": model.scale}, {"mean": encoding.mean, "scale": encoding.scale}


def _decode(classifier: InterpolatingClassifier, section: Header, tensors: Tensors) -> TableModel:
    rest = {name: section[name] for name in ("header", "n_columns", "target", "target_position")}
    fields = tuple(_field(**plain) for plain in section["columns"])
    encoding = Encoding(fields=fields, mean=tensors["mean"], scale=tensors["scale"], **rest)
    _check_fields(encoding)
    _check_target(encoding)
    _check_numbers(encoding, section["scale"], classifier.n_features_in_)
    model = TableModel(classifier, scale=section["scale"])
    model.classifier_, model.encoding_ = classifier, encoding
    return model


def _field(name: Any, position: Any, categories: Any) -> Field:
    texts = categories is None or (isinstance(categories, list) and all(isinstance(text, str) for text in categories))
    refuse_unless(isinstance(name, str) and type(position) is int and texts, "a column of its table is none")
    if categories is not None:
        in_order = categories == sorted(set(categories)) and 0 < len(categories) <= LARGEST_CATEGORIES
        refuse_unless(in_order, f"the categories of its column {name!r} are not in order")
    return Field(name, position, None if categories is None else tuple(categories))


def _check_fields(encoding: Encoding) -> None:
    positions = [field.position for field in encoding.fields]
    names = [field.name for field in encoding.fields]
    plain = type(encoding.n_columns) is int and type(encoding.header) is bool
    refuse_unless(plain and positions == sorted(set(positions)), "the columns of its table are not in order")
    refuse_unless(bool(positions) and positions[0] >= 0 and positions[-1] < encoding.n_columns, "it lacks columns")
    own = len(set(names)) == len(names) and (encoding.header or names == [str(position) for position in positions])
    refuse_unless(own, "the columns of its table do not have names of their own")


def _check_target(encoding: Encoding) -> None:
    target, position = encoding.target, encoding.target_position
    refuse_unless(isinstance(target, str), "it does not name the column of the labels")
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
    free = np.array(
        [field.kind == "numeric" and scaling == "standard" for field in encoding.fields for _ in field.features]
    )
    left = bool((mean[~free] == 0).all() and (scale[~free] == 1).all())
    refuse_unless(scaling in SCALINGS and left, "it scales what is not to be scaled")


KIND = Kind("table", TableModel, _inside, _encode, _decode)
register(KIND)
