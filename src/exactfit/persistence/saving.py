"""``save`` and ``load``; activations that a user brought are saved by name, and loading needs them back."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.exceptions import NotFittedError

from .._version import __version__
from ..construct import Construction
from ..exceptions import ModelFileError, ParameterError
from ..network import Network
from ..network.activations import RELU, THRESHOLD, Activation, as_activation
from ..repairs import RepairedClassifier
from .container import MISFITS, read_container, refuse_unless, write_container
from .description import classifier_in, from_parts, is_generator, to_parts

Given = Mapping[str, Any] | Iterable[Any]

STANDARD = {activation.name: activation for activation in (THRESHOLD, RELU)}

# Where a function is compared with the one that was saved; every Activation is finite here.
PROBES = np.array([0.01, 0.5, 1.0, 2.0, 7.5, 100.0])
TOLERANCE = 1e-6  # other machines round exp and its like in another way, but not by so much


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to a file that :func:`~exactfit.load` reads.

    The file is written aside and then put in place: whatever happens meanwhile, ``path``
    holds the old file or the new one, whole.

    Parameters
    ----------
    model : InterpolatingClassifier, RepairedClassifier or TableModel (fitted), Construction or Network
        Activations of your own are saved by name. A ``random_state`` that is a running generator is saved as None.
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
        header, tensors = to_parts(model)
        by_reference = isinstance(model, RepairedClassifier) and model.repair_.model.kind == "reference"
        known = activations_in(model)
        # Whatever would not load is refused here, before anything is written.
        from_parts(header, tensors, known.__getitem__, model.model if by_reference else None)
        random_state = getattr(classifier_in(model), "random_state", None)
        header["saved_with"] = {
            "versions": {
                "exactfit": __version__,
                "numba": version("numba"),
                "numpy": np.__version__,
                "python": platform.python_version(),
                "scikit-learn": sklearn.__version__,
            },
            "random_state": type(random_state).__name__ if is_generator(random_state) else None,
            "activations": known.samples(),
        }
    except (NotFittedError, ParameterError):
        raise
    except MISFITS as error:
        raise ParameterError(f"this model cannot be saved: {error}") from error
    write_container(Path(path), header, tensors)


def load(path: str | os.PathLike[str], *, activations: Given | None = None, model: Any = None) -> Any:
    """Read a model that :func:`~exactfit.save` wrote.

    No code of the file is run. The file digest finds accidents, not malice: whoever edits
    a file can also make a new digest.

    Parameters
    ----------
    path : str or path-like
    activations : dict of name to function or Activation, or list of Activation, optional
        Activations of your own that the model uses.
    model : fitted classifier, function or torch.nn.Module, optional
        For a repaired model that is neither a chain of layers nor an ONNX graph: what was repaired. Its answers to some
        of the given points, which the file holds, are checked.

    Returns
    -------
    InterpolatingClassifier, RepairedClassifier, TableModel, Construction or Network
        Of the same kind as was saved, with the same numbers and the same answers, bit for bit.

    Raises
    ------
    ModelFileError
        If the file is damaged, was not written by exactfit or by a newer one, or names an activation that is not given.
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
    if isinstance(activations, Mapping):
        functions = {
            name: part.function if isinstance(part, Activation) else part for name, part in activations.items()
        }
        known = KnownActivations(Activation(name, function) for name, function in functions.items())
    elif activations is None or (isinstance(activations, Iterable) and not isinstance(activations, str)):
        known = KnownActivations(as_activation(part) for part in activations or ())
    else:
        raise ParameterError(f"activations must be a dict or a list of Activation, got {type(activations).__name__}")
    try:
        header, tensors = read_container(Path(path))
        loaded = from_parts(header, tensors, known.__getitem__, model)
        _check_circumstances(loaded, **header["saved_with"])
    except ModelFileError as error:
        raise ModelFileError(f"cannot load {os.fspath(path)!r}: {error}") from error
    except MISFITS as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else error
        raise ModelFileError(f"cannot load {os.fspath(path)!r}: its parts do not make a model: {reason}") from error
    return loaded


def _check_circumstances(model: Any, versions: Any, random_state: Any, activations: Any) -> None:
    texts = [*versions.keys(), *versions.values(), random_state or ""]
    refuse_unless(all(isinstance(text, str) for text in texts), "it does not say which versions wrote it")
    now = activations_in(model).samples()
    refuse_unless(now.keys() == activations.keys(), "it does not describe the activations that it names")
    for name, values in now.items():
        for probe, value, before in zip(PROBES.tolist(), values, activations[name], strict=True):
            refuse_unless(
                abs(value - before) <= TOLERANCE * abs(before),
                f"the function given for {name!r} is not the one that it was saved with: "
                f"at t = {probe} it is {value}, and was {before}",
            )


class KnownActivations(dict[str, Activation]):
    """Activations by name: the standard ones, and a user's own."""

    def __init__(self, own: Iterable[Activation]) -> None:
        super().__init__(STANDARD)
        for activation in own:
            if self.setdefault(activation.name, activation) != activation:
                raise ParameterError(f"two activations have the name {activation.name!r}: rename one of them")

    def __missing__(self, name: str) -> Activation:
        raise ModelFileError(
            f"it needs the activation {name!r}, of which it holds the name only: "
            f"pass activations={{{name!r}: function}}"
        )

    def samples(self) -> dict[str, list[float]]:
        """Return some values of each that is not a standard one, to recognise it by."""
        return {name: activation(PROBES).tolist() for name, activation in self.items() if name not in STANDARD}


def activations_in(model: Any) -> KnownActivations:
    """Return the activations of a model."""
    model = classifier_in(model)
    if isinstance(model, RepairedClassifier):
        return KnownActivations(())  # neither patches nor chains that were read have any of a user's own
    network = model if isinstance(model, Network) else model.network if isinstance(model, Construction) else None
    own = [layer.activation for layer in (network or model.network_).layers]
    if network is None:
        own.append(as_activation(model.activation))
    return KnownActivations(activation for activation in own if activation is not None)
