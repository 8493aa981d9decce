"""The scikit-learn face: validate, construct, and keep network and certificate."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ._progress import progress_bar
from .activations import Activation, as_activation
from .certificate import Certificate, data_digest
from .construct import Construction, Recipe, adaptive_width, fixed_width
from .construct.labels import conflict_pairs, conflicts, majority_labels
from .construct.recipe import check_choice, check_whole
from .exceptions import ConflictWarning, ContradictoryLabelsError, DataError, InterpolationWarning, ParameterError
from .explanation import LOWEST, class_slack
from .outcome import Outcome

Matrix = Any
EXACT_INTEGERS = 2**53


class InterpolatingClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that fits every training point, by construction.

    Random hyperplanes cut space into cells until no cell mixes labels; then detectors,
    each anchored at a training point, are chosen until every point of a class is claimed
    and none of another. Nothing is trained, and ``certificate_`` says what was proved.

    Parameters
    ----------
    width : "adaptive" or int, default="adaptive"
        Hyperplanes in the first layer: as many as it takes (Algorithm 1 of the paper), or
        so many (Algorithm 2, which may miss points and then warns).
    min_width : int, default=0
        Adaptive only: draw at least so many. More hyperplanes mean fewer detectors.
    max_width : int or None, default=None
        Adaptive only: give up beyond so many (None: what memory allows).
    max_bias : "radius" or float, default="radius"
        Biases are uniform on [-max_bias, max_bias]; the paper's lambda.
    center : bool, default=True
        Draw hyperplanes around the mean of the data; False is the paper's choice.
    hyperplanes : {"gaussian", "bisector"}, default="gaussian"
        The paper's law, or perpendicular bisectors of random pairs of different labels.
    rescue : bool, default=True
        Adaptive only: when random draws stall, finish with coordinate cuts.
    activation : {"threshold", "relu"}, Activation or named function, default="threshold"
    selection : {"random", "greedy"}, default="random"
        Anchors in random order (the paper), or always the one that claims most.
    greedy_memory : int, default=2**28
        Bytes for greedy selection's coverage rows.
    target : label, "all" or None, default=None
        Two classes only: the class that gets detectors. None: the rarer one, the last of
        ``classes_`` on a tie. ``"all"``: both.
    conflicts : {"raise", "majority"}, default="raise"
        Equal points with different labels: an error, or the majority's label (with a warning).
    n_jobs : int or None, default=None
        Threads, BLAS included. Changes no result.
    random_state : int, RandomState, Generator or None, default=None
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray
    network_ : Network
    outcome_ : Outcome
    interpolates_ : bool
        Whether every training point is classified as its label says.
    certificate_ : Certificate
        Proved by construction; ``exactfit.certify`` proves it again from network and data.
    width_ : int
    n_detectors_ : int
    detectors_per_class_ : ndarray of int64, shape (n_classes,)
    anchors_ : ndarray of int64, shape (n_detectors,)
        The training row that each detector is built on.
    trace_ : Trace
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    References
    ----------
    Dirksen, Finke, Genzel: Memorization With Neural Nets: Going Beyond the Worst Case.
    Journal of Machine Learning Research 25 (2024).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from exactfit import InterpolatingClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = InterpolatingClassifier(random_state=0).fit(X, y)
    >>> model.interpolates_, float(model.score(X, y))
    (True, 1.0)
    """

    def __init__(
        self,
        width: Literal["adaptive"] | int = "adaptive",
        *,
        min_width: int = 0,
        max_width: int | None = None,
        max_bias: Literal["radius"] | float = "radius",
        center: bool = True,
        hyperplanes: str = "gaussian",
        rescue: bool = True,
        activation: str | Activation | Callable[..., Any] = "threshold",
        selection: str = "random",
        greedy_memory: int = 2**28,
        target: Any = None,
        conflicts: str = "raise",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.width = width
        self.min_width = min_width
        self.max_width = max_width
        self.max_bias = max_bias
        self.center = center
        self.hyperplanes = hyperplanes
        self.rescue = rescue
        self.activation = activation
        self.selection = selection
        self.greedy_memory = greedy_memory
        self.target = target
        self.conflicts = conflicts
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may expect of this estimator."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Matrix, y: ArrayLike) -> InterpolatingClassifier:
        """Build the network.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
        y : array of shape (n_samples,)

        Returns
        -------
        InterpolatingClassifier
            Itself. If the input is refused, or no network comes out, it is left as it
            was; if the work is interrupted it is left unfitted.
        """
        before = dict(vars(self))
        try:
            self._fit(X, y)
        except Exception:
            self.__dict__ = before
            raise
        except BaseException:
            self.__dict__ = {name: value for name, value in before.items() if not name.endswith("_")}
            raise
        return self

    def _fit(self, X: Matrix, y: ArrayLike) -> None:
        self._check_parameters()
        points, labels = self._check_data(X, y)
        classes, codes = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            raise DataError(f"y holds only one class, {classes.tolist()[0]!r}: there is nothing to tell apart")
        recipe = replace(self._recipe(), target=_target_code(self.target, classes))
        kept = self._resolve_conflicts(points, codes.astype(np.int64))
        with progress_bar(bool(self.verbose)) as progress:
            made = self._construct(points, kept, replace(recipe, progress=progress), len(classes))
        errors = _errors(made, np.flatnonzero(kept != codes))
        self._keep(made, classes, _by_construction(made, errors, len(labels), data_digest(points, labels)))

    def _check_parameters(self) -> None:
        _check_width(self.width)
        check_whole("min_width", self.min_width, at_least=0)
        if self.max_width is not None:
            check_whole("max_width", self.max_width, at_least=1)
        check_choice("conflicts", self.conflicts, ("raise", "majority"))
        if not isinstance(self.rescue, bool | np.bool_):
            raise ParameterError(f"rescue must be True or False, got {self.rescue!r}")
        if not isinstance(self.verbose, numbers.Integral | np.bool_):
            raise ParameterError(f"verbose must be a whole number, got {self.verbose!r}")
        _check_random_state(self.random_state)
        self._recipe()

    def _recipe(self) -> Recipe:
        """Options as the constructions take them, all but the target, which depends on the data."""
        return Recipe(
            max_bias=self.max_bias, center=self.center, hyperplanes=self.hyperplanes, activation=self.activation,
            selection=self.selection, greedy_memory=self.greedy_memory, n_jobs=self.n_jobs,
        )  # fmt: skip

    def _check_data(self, X: Matrix, y: ArrayLike) -> tuple[Matrix, NDArray[Any]]:
        points, labels = self._validate(X, y=_without_mask(y))
        try:
            check_classification_targets(labels)
        except TypeError as error:
            raise DataError(f"y must hold labels of one kind: {error}") from error
        return points, labels

    def _validate(self, X: Matrix, **options: Any) -> Any:
        """scikit-learn's checks, and no integer is rounded on the way."""
        try:
            checked = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], **options)
        except OverflowError:
            _refuse_inexact_integers(X, range(np.shape(X)[1]))
            raise
        if _may_hold_large_integers(X):
            _refuse_inexact_integers(X, _large_columns(checked[0] if isinstance(checked, tuple) else checked))
        return checked

    def _resolve_conflicts(self, X: Matrix, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        groups = conflicts(X, codes)
        if not groups:
            return codes
        if self.conflicts == "raise":
            raise ContradictoryLabelsError(conflict_pairs(groups, codes))
        kept = majority_labels(groups, codes)
        warnings.warn(
            f"{len(groups)} groups of equal points carry different labels; "
            f"{np.count_nonzero(kept != codes)} rows lose to the majority of their group",
            ConflictWarning,
            stacklevel=4,
        )
        return kept

    def _construct(self, X: Matrix, codes: NDArray[np.int64], recipe: Recipe, n_classes: int) -> Construction:
        """The network for the classes that have points; majorities may have left some without."""
        sizes = np.bincount(codes, minlength=n_classes)
        present = np.flatnonzero(sizes)
        if len(present) == n_classes:
            return self._build(X, codes, recipe)
        if len(present) < 2:
            raise DataError("only one class is left after conflicts='majority': correct the labels of equal points")
        compact = (np.cumsum(sizes > 0) - 1)[codes]
        return _renumbered(self._build(X, compact, replace(recipe, target="all")), present)

    def _build(self, X: Matrix, codes: NDArray[np.int64], recipe: Recipe) -> Construction:
        seed = _seed(self.random_state)
        if self.width == "adaptive":
            return adaptive_width(
                X, codes, recipe, seed,
                min_width=self.min_width, max_width=self.max_width, rescue=bool(self.rescue), check=False,
            )  # fmt: skip
        return fixed_width(X, codes, self.width, recipe, seed, check=False)

    def _keep(self, made: Construction, classes: NDArray[Any], certificate: Certificate) -> None:
        missed = len(made.trace.uncovered)
        overruled = certificate.n_errors and not missed
        self.classes_, self.network_, self.trace_ = classes, made.network, made.trace
        self.outcome_ = Outcome.CONFLICTS_OVERRULED if overruled else made.outcome
        self.interpolates_ = self.outcome_.interpolates
        self.certificate_ = certificate
        self.width_, self.n_detectors_ = made.network.widths[:2]
        self.detectors_per_class_ = np.bincount(made.trace.detector_classes, minlength=len(classes))
        self.anchors_ = made.trace.anchors
        if missed:
            warnings.warn(
                f"{missed} of {certificate.n_samples} training points are missed: {self.outcome_.message}",
                InterpolationWarning,
                stacklevel=4,
            )

    def decision_function(self, X: Matrix) -> NDArray[np.float64]:
        """How clearly each class claims a point.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            Per class the largest relative slack over its detectors, or the lowest float64
            for a class without any; for two classes one number, positive for ``classes_[1]``.
        """
        check_is_fitted(self)
        slack = class_slack(self.network_, self._validate(X, reset=False), n_jobs=self.n_jobs)
        classes = self.network_.decoder.classes
        if slack.shape[1] == 1:
            return np.asarray(slack[:, 0] if classes[0] == 1 else -slack[:, 0])
        if len(self.classes_) == 2:
            return np.asarray(slack[:, 1] - slack[:, 0])
        by_class = np.full((len(slack), len(self.classes_)), LOWEST)
        by_class[:, classes] = slack
        return by_class

    def predict(self, X: Matrix) -> NDArray[Any]:
        """The label that claims each point most clearly.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        slack = self.decision_function(X)
        codes = slack.argmax(axis=1) if slack.ndim == 2 else (slack > 0).astype(np.intp)
        return np.asarray(self.classes_[codes])


def _check_width(width: Any) -> None:
    if isinstance(width, str) and width == "adaptive":
        return
    try:
        check_whole("width", width, at_least=1)
    except ParameterError:
        raise ParameterError(f"width must be 'adaptive' or a whole number >= 1, got {width!r}") from None


def _check_random_state(random_state: Any) -> None:
    if random_state is None or isinstance(random_state, np.random.RandomState | np.random.Generator):
        return
    if not isinstance(random_state, numbers.Integral) or isinstance(random_state, bool) or random_state < 0:
        raise ParameterError(
            f"random_state must be None, a whole number >= 0, a RandomState or a Generator, got {random_state!r}"
        )


def _seed(random_state: Any) -> int | None:
    """One integer from whatever scikit-learn users pass as random_state; one draw from what can be drawn from."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    return None if random_state is None else int(random_state)


def _without_mask(y: Any) -> Any:
    """Labels of pandas' nullable types as NumPy's, where scikit-learn would make floats of them."""
    dtype = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    return y.to_numpy(dtype=dtype) if isinstance(dtype, np.dtype) else y


def _target_code(target: Any, classes: NDArray[Any]) -> Any:
    """The class code of a target label; None and "all" as they are."""
    if target is None or (isinstance(target, str) and target == "all"):
        return target
    if len(classes) > 2:
        raise ParameterError(f"target={target!r} needs a problem of two classes, this one has {len(classes)}")
    codes = {label: code for code, label in enumerate(classes.tolist())}
    if not isinstance(target, Hashable) or target not in codes:
        raise ParameterError(f"target must be one of {classes.tolist()}, 'all' or None, got {target!r}")
    return codes[target]


def _renumbered(made: Construction, present: NDArray[np.intp]) -> Construction:
    """Class k of a construction becomes class ``present[k]``."""
    decoder = replace(made.network.decoder, classes=tuple(present.tolist()))
    trace = replace(made.trace, detector_classes=present[made.trace.detector_classes].astype(np.int64))
    return replace(made, network=replace(made.network, decoder=decoder), trace=trace)


def _errors(made: Construction, lost: NDArray[np.intp]) -> NDArray[np.int64]:
    """Rows that the network gets wrong: those it missed, and those that lost to a majority.

    With one output, a missed point gets the other label, which is right if that is the one that lost.
    """
    join = np.setxor1d if made.network.decoder.kind == "sign" else np.union1d
    return join(made.trace.uncovered, lost).astype(np.int64)


def _by_construction(made: Construction, errors: NDArray[np.int64], n_samples: int, digest: str) -> Certificate:
    """What the cover step's own numbers prove: nothing is computed again.

    A threshold detector's limit is the count at its witness, so the smallest slack is 1/2.
    """
    activation = as_activation(made.network.layers[0].activation or "threshold")
    exact_slack = 0.5 if len(made.trace.anchors) else np.inf
    return Certificate(
        holds=not len(errors),
        n_samples=n_samples,
        n_errors=len(errors),
        errors=errors,
        slack=exact_slack if activation.is_threshold else np.nan,
        proof="construction",
        data_digest=digest,
        network_digest=made.network.digest,
        note="by evaluation only" if activation.is_own else "",
    )


def _may_hold_large_integers(given: Matrix) -> bool:
    """False for an array of floats, booleans or short integers; True for what has columns or elements of many types."""
    dtype = getattr(given, "dtype", None)
    return not isinstance(dtype, np.dtype) or dtype.kind == "O" or (dtype.kind in "iu" and dtype.itemsize >= 8)


def _refuse_inexact_integers(given: Matrix, columns: Iterable[int]) -> None:
    """Integers beyond 2^53 would be rounded in float64: name their column."""
    for column in columns:
        name, values = _column(given, column)
        if _beyond(values):
            raise DataError(
                f"column {name!r} holds integers beyond 2**53, which float64 cannot hold exactly: "
                "scale it, or leave it out if it is an identifier"
            )


def _large_columns(X: Matrix) -> Iterable[int]:
    """Columns with a number of 2^53 or more in size."""
    if sp.issparse(X):
        return map(int, np.unique(X.indices[np.abs(X.data) >= EXACT_INTEGERS]))
    return map(int, np.flatnonzero((X.max(axis=0) >= EXACT_INTEGERS) | (X.min(axis=0) <= -EXACT_INTEGERS)))


def _column(given: Matrix, column: int) -> tuple[Any, NDArray[Any]]:
    """Name and values, as they were given."""
    if sp.issparse(given):
        return column, given.tocsc()[:, [column]].toarray().ravel()
    if hasattr(given, "columns") and hasattr(given, "to_numpy"):
        values = given.iloc[:, column] if hasattr(given, "iloc") else given[:, column]
        return list(given.columns)[column], np.asarray(values)
    array = given if isinstance(given, np.ndarray) else np.asarray(given, dtype=object)
    return column, array[:, column]


def _beyond(values: NDArray[Any]) -> bool:
    """Whether there are integers beyond 2^53."""
    if values.dtype.kind in "iu":
        return bool(values.max() > EXACT_INTEGERS or values.min() < -EXACT_INTEGERS)
    if values.dtype.kind != "O":
        return False
    return any(isinstance(value, numbers.Integral) and abs(int(value)) > EXACT_INTEGERS for value in values)
