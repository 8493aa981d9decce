"""The tree of errors and warnings is the one that the module draws, and all of them survive pickling."""

from __future__ import annotations

import builtins
import copy
import pickle
import re

import pytest

from exactfit import exceptions
from exactfit.exceptions import AssumptionError, ContradictoryLabelsError, ExactfitError, ExactfitWarning

DEFINED = {
    name: thing
    for name, thing in vars(exceptions).items()
    if isinstance(thing, type) and issubclass(thing, Exception) and thing.__module__ == exceptions.__name__
}


def drawn_tree():
    """Name -> (name of the parent in the drawing, name of the Python exception in brackets)."""
    found, path = {}, []
    for line in exceptions.__doc__.split("::", 1)[1].splitlines():
        match = re.match(r"    ([│├└─ ]*)(\w+)(?: \((\w+)\))?(\s{2,}\S.*)?$", line)
        if match is None:
            continue
        depth = len(match[1]) // 4
        path[depth:] = [match[2]]
        found[match[2]] = (path[depth - 1] if depth else None, match[3])
    return found


def test_every_exception_is_in_the_drawing():
    assert drawn_tree().keys() == DEFINED.keys()


@pytest.mark.parametrize("name", sorted(DEFINED))
def test_the_tree_is_as_drawn(name):
    parent, builtin = drawn_tree()[name]
    expected = tuple(DEFINED[base] for base in [parent] if base)
    expected += tuple(getattr(builtins, base) for base in [builtin] if base)
    assert DEFINED[name].__bases__ == (expected or (Exception,))


def test_every_error_is_also_an_ordinary_one():
    for name, error in DEFINED.items():
        if name not in {"ExactfitError", "ExactfitWarning"}:
            assert issubclass(error, ExactfitError) != issubclass(error, ExactfitWarning)
            ordinary = [base for base in error.__mro__ if base.__module__ == "builtins"]
            assert set(ordinary) > {Exception, BaseException, object}, f"{name} is nothing that callers already catch"


@pytest.mark.parametrize("name", sorted(DEFINED.keys() - {"AssumptionError", "ContradictoryLabelsError"}))
def test_pickling_keeps_type_and_text(name):
    error = DEFINED[name]("what happened: what to do")
    for twin in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert type(twin) is type(error)
        assert str(twin) == "what happened: what to do"


@pytest.mark.parametrize("name", sorted(DEFINED))
def test_classes_make_their_own_instances(name):
    """Some picklers (tblib's, which Dask uses) make an empty one first, and fill it then."""
    assert type(DEFINED[name].__new__(DEFINED[name])) is DEFINED[name]


def test_an_assumption_keeps_its_rows_through_pickling():
    error = AssumptionError("that points are far apart", range(12), "Scale them.")
    for twin in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert type(twin) is AssumptionError
        assert twin.rows == tuple(range(12))
        assert str(twin) == str(error)
    assert "does not hold for rows 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more. Scale them." in str(error)


def test_contradictory_labels_keep_their_pairs_through_pickling():
    error = ContradictoryLabelsError([(0, 3), (1, 2)])
    for twin in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert type(twin) is ContradictoryLabelsError
        assert twin.pairs == ((0, 3), (1, 2))
        assert str(twin) == str(error)


def test_contradictory_labels_show_rows_and_remedies():
    text = str(ContradictoryLabelsError([(0, 3), (1, 2)]))
    assert text.startswith("2 conflicts")
    assert "(0, 3), (1, 2)" in text
    assert "more" not in text
    assert 'conflicts="majority"' in text


def test_contradictory_labels_show_the_first_ten_only():
    error = ContradictoryLabelsError([(k, 100 + k) for k in range(13)])
    assert len(error.pairs) == 13
    assert "(9, 109) and 3 more" in str(error)
    assert "(10, 110)" not in str(error)
