"""-0.0 and 0.0 are one number, and give one network."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from exactfit import InterpolatingClassifier, Recipe, TableModel, adaptive_width
from exactfit.constructions import CONSTRUCTORS
from exactfit.data.matrices import as_points

RNG = np.random.default_rng(0)
X = np.where(RNG.random((30, 4)) < 0.5, 0.0, RNG.normal(size=(30, 4)).round(1))
X = X[np.unique(X, axis=0, return_index=True)[1]] + 0.0
Y = np.arange(len(X)) % 3
NEGATIVE = np.where(X == 0, -0.0, X)
MIXED = np.where((X == 0) & (RNG.random(X.shape) < 0.5), -0.0, X)


def stored(matrix: np.ndarray) -> sp.csr_array:
    """A CSR matrix that stores every entry, its zeros too."""
    rows, columns = np.indices(matrix.shape).reshape(2, -1)
    return sp.csr_array((matrix.ravel(), (rows, columns)), shape=matrix.shape)


FORMS = {
    "negative": NEGATIVE, "mixed": MIXED, "sparse": sp.csr_array(X), "stored": stored(MIXED),
    "frame": pd.DataFrame(MIXED), "column-major": np.asfortranarray(MIXED), "list": MIXED.tolist(),
}  # fmt: skip
RECIPES = {
    "bisector": {"hyperplanes": "bisector"},
    "cuts": {"max_bias": 1e-9, "center": False},  # draws through the origin stall
    "relu": {"activation": "relu", "hyperplanes": "bisector"},
    "float32": {"exact_in": "float32", "hyperplanes": "bisector"},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("recipe", RECIPES)
def test_zeros_of_both_signs_give_one_network(form: str, recipe: str) -> None:
    options = Recipe(**RECIPES[recipe])
    digest = adaptive_width(X, Y, options, 0).network.digest
    assert adaptive_width(FORMS[form], Y, options, 0).network.digest == digest
    model = InterpolatingClassifier(**RECIPES[recipe], random_state=0).fit(FORMS[form], Y)
    assert model.network_.digest == digest


def test_zeros_of_both_signs_give_one_network_for_tables() -> None:
    digests = set()
    for matrix in (X, NEGATIVE, MIXED):
        frame = pd.DataFrame(matrix, columns=list("abcd")).assign(y=Y)
        model = TableModel(InterpolatingClassifier(hyperplanes="bisector", random_state=0), scale="none")
        digests.add(model.fit(frame, label="y").classifier_.network_.digest)
    assert len(digests) == 1


@pytest.mark.parametrize("name", sorted(CONSTRUCTORS))
def test_zeros_of_both_signs_give_one_network_whatever_the_construction(name: str) -> None:
    codes = Y % 2
    made = []
    for matrix in (X, NEGATIVE, MIXED):
        try:
            made.append(CONSTRUCTORS[name](matrix, codes, 0).network.digest)
        except Exception as error:
            made.append(str(error))
    assert len(set(made)) == 1


def test_the_gate_keeps_what_needs_no_change() -> None:
    assert as_points(X) is X
    assert not np.signbit(as_points(MIXED)[as_points(MIXED) == 0]).any()
