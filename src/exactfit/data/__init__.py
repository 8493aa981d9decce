"""The gate: points and labels of every kind, checked once per call and turned into frozen records.

Points may be an array, a sparse matrix or a frame; behind the gate they are a float32 or float64
array or a CSR matrix of finite numbers, in which no zero is negative. Labels may be anything that
can be sorted; behind the gate they are class codes 0..K-1. Whoever computes takes these records
and checks nothing again.
"""

from .equal import (
    conflict_pairs,
    conflicts,
    distinct_rows,
    majority_labels,
    overruled_rows,
    refuse_conflicts,
    resolve_conflicts,
)
from .labelled import (
    Codes,
    Digest,
    Labelled,
    as_labels,
    choose_targets,
    class_indices,
    data_digest,
    is_digest_of,
    labelled_for,
    row_digests,
    target_code,
)
from .matrices import (
    ExactSum,
    Floats,
    Matrix,
    PartedPoints,
    Points,
    Rows,
    as_matrix,
    as_points,
    copied,
    exact_sum,
    finite_points,
    is_mapped,
    mean,
    mean_and_deviation,
    validated,
)

__all__ = [
    "Codes",
    "Digest",
    "ExactSum",
    "Floats",
    "Labelled",
    "Matrix",
    "PartedPoints",
    "Points",
    "Rows",
    "as_labels",
    "as_matrix",
    "as_points",
    "choose_targets",
    "class_indices",
    "conflict_pairs",
    "conflicts",
    "copied",
    "data_digest",
    "distinct_rows",
    "exact_sum",
    "finite_points",
    "is_digest_of",
    "is_mapped",
    "labelled_for",
    "majority_labels",
    "mean",
    "mean_and_deviation",
    "overruled_rows",
    "refuse_conflicts",
    "resolve_conflicts",
    "row_digests",
    "target_code",
    "validated",
]
