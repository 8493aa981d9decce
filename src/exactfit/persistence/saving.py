"""``save`` and ``load``."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import numba
import numpy as np
import sklearn
from sklearn.exceptions import NotFittedError

from .._version import __version__
from ..exceptions import ModelFileError, ParameterError
from .container import MISFITS, Header, read, refuse_unless, write
from .description import describe, is_generator, rebuild
from .kinds import inside
from .own import Given, compare, lookup_in, own_activations, read_given, sample


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to a file that :func:`load` reads.

    The file is written aside and then put in place: whatever happens meanwhile, ``path``
    holds the old file or the new one, whole.

    Parameters
    ----------
    model : InterpolatingClassifier or TableModel (fitted), Construction or Network
        Activations of your own are saved by name. A ``random_state`` that is a running
        generator is saved as None.
    path : str or path-like
        Any name; ``.safetensors`` is the usual ending.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the classifier is not fitted.
    ParameterError
        If the model is none of these, or holds something that a file cannot.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import exactfit
    >>> model = exactfit.InterpolatingClassifier(random_state=0).fit([[0.0], [1.0], [2.0]], ["a", "b", "a"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.safetensors"
    ...     exactfit.save(model, path)
    ...     exactfit.load(path).predict([[0.0], [1.0], [2.0]])
    array(['a', 'b', 'a'], dtype='<U1')
    """
    try:
        header, tensors = describe(model)
        rebuild(header, tensors, lookup_in(own_activations(model)))
        header["saved_with"] = _circumstances(model)
    except (NotFittedError, ParameterError):
        raise
    except MISFITS as error:
        raise ParameterError(f"this model cannot be saved: {error}") from error
    write(Path(path), header, tensors)


def load(path: str | os.PathLike[str], *, activations: Given | None = None) -> Any:
    """Read a model that :func:`save` wrote.

    No code of the file is run. The file digest finds accidents, not malice: whoever edits
    a file can also make a new digest.

    Parameters
    ----------
    path : str or path-like
    activations : dict of name to function or Activation, or list of Activation, optional
        Activations of your own that the model uses.

    Returns
    -------
    InterpolatingClassifier, TableModel, Construction or Network
        Of the same kind as was saved, with the same numbers and the same answers, bit for bit.

    Raises
    ------
    ModelFileError
        If the file is damaged, was not written by exactfit or by a newer one, or names an
        activation that is not given.
    OSError
        If the file cannot be read; ``FileNotFoundError`` if there is none.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import exactfit
    >>> def squared_relu(t):
    ...     return np.maximum(t, 0.0) ** 2
    >>> model = exactfit.InterpolatingClassifier(activation=squared_relu, random_state=0)
    >>> model = model.fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.safetensors"
    ...     exactfit.save(model, path)
    ...     again = exactfit.load(path, activations={"squared_relu": squared_relu})
    >>> again.network_.digest == model.network_.digest
    True
    """
    look_up = lookup_in(read_given(activations))
    try:
        header, tensors = read(Path(path))
        model = rebuild(header, tensors, look_up)
        _check_circumstances(model, **header["saved_with"])
    except ModelFileError as error:
        raise ModelFileError(f"cannot load {os.fspath(path)!r}: {error}") from error
    except MISFITS as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else error
        raise ModelFileError(f"cannot load {os.fspath(path)!r}: its parts do not make a model: {reason}") from error
    return model


def _circumstances(model: Any) -> Header:
    """What is true of this saving, and cannot be read off the model."""
    random_state = getattr(inside(model), "random_state", None)
    return {
        "versions": {
            "exactfit": __version__,
            "numba": numba.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
            "scikit-learn": sklearn.__version__,
        },
        "random_state": type(random_state).__name__ if is_generator(random_state) else None,
        "activations": sample(model),
    }


def _check_circumstances(model: Any, versions: Any, random_state: Any, activations: Any) -> None:
    texts = [*versions.keys(), *versions.values(), random_state or ""]
    refuse_unless(all(isinstance(text, str) for text in texts), "it does not say which versions wrote it")
    compare(model, activations)
