"""The scikit-learn face: validate, construct, and keep network and certificate."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ._inputs import check_random_state, check_width, seed_of, target_code, validated, without_mask
from ._results import by_construction, errors_of, in_format, in_rows, outcome_of, renumbered
from ._support.progress import progress_bar
from .certificate import Certificate, certify, data_digest
from .construct import Construction, Recipe, adaptive_width, fixed_width
from .construct.labels import resolve_conflicts
from .construct.noise import check_noise, points_to_give_up
from .construct.patterns import rounded
from .construct.recipe import check_choice, check_whole
from .exceptions import DataError, InterpolationWarning, ParameterError
from .explanation import Explanations, Standings
from .network.activations import Activation
from .network.detectors import LOWEST, class_slack

Matrix = Any
Codes = NDArray[np.int64]


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
    noise : float, default=0.0
        Give up at most this fraction of the training points, below 0.5: those whose labels look wrong
        (see ``exactfit.construct.noise``). The network is the one of the others; ``certificate_`` lists
        the points given up that it gets wrong.
    exact_in : {None, "float64", "float32"}, default=None
        None: every answer is the one of exact arithmetic on the stored numbers. A format: every
        training point is also right in every IEEE evaluation in that format, in any order of sums,
        fused or not, so that exports stay exact. Points are rounded to the format first, here and
        in ``predict``; points that become equal by it must have equal labels.
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
        noise: float = 0.0,
        exact_in: Literal["float64", "float32"] | None = None,
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
        self.noise = noise
        self.exact_in = exact_in
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
        recipe = replace(self._recipe(), target=target_code(self.target, classes))
        seen, codes = rounded(points, self.exact_in), codes.astype(np.int64)
        with progress_bar(bool(self.verbose)) as progress:
            made, errors, given_up = self._make(seen, codes, replace(recipe, progress=progress), len(classes))
        certificate = by_construction(made, errors, len(labels), data_digest(points, labels))
        more = in_format(self.exact_in, certificate.holds)
        self._keep(made, classes, replace(certificate, given_up=given_up, **more))

    def _make(self, X: Matrix, codes: Codes, recipe: Recipe, n_classes: int) -> tuple[Construction, Codes, Codes]:
        """The construction, the rows in error, and the rows given up that the network gets wrong."""
        seed = seed_of(self.random_state)
        out = points_to_give_up(X, codes, self.noise, recipe, seed)
        rows = np.delete(np.arange(len(codes)), out)
        part, own = (X[rows], codes[rows]) if len(out) else (X, codes)
        kept = resolve_conflicts(part, own, self.conflicts, stacklevel=4, exact_in=self.exact_in)
        made = self._construct(part, kept, recipe, n_classes, seed)
        errors = errors_of(made, np.flatnonzero(kept != own), self.exact_in)
        if not len(out):
            return made, errors, out
        doubt = certify(made.network, X[out], codes[out], arithmetic=self.exact_in or "exact", n_jobs=self.n_jobs)
        return in_rows(made, rows), rows[errors], out[doubt.errors]

    def _check_parameters(self) -> None:
        check_width(self.width)
        check_whole("min_width", self.min_width, at_least=0)
        if self.max_width is not None:
            check_whole("max_width", self.max_width, at_least=1)
        check_choice("conflicts", self.conflicts, ("raise", "majority"))
        if not isinstance(self.rescue, bool | np.bool_):
            raise ParameterError(f"rescue must be True or False, got {self.rescue!r}")
        if not isinstance(self.verbose, numbers.Integral | np.bool_):
            raise ParameterError(f"verbose must be a whole number, got {self.verbose!r}")
        check_noise(self.noise)
        check_random_state(self.random_state)
        self._recipe()

    def _recipe(self) -> Recipe:
        """Options as the constructions take them, all but the target, which depends on the data."""
        return Recipe(
            max_bias=self.max_bias, center=self.center, hyperplanes=self.hyperplanes, activation=self.activation,
            selection=self.selection, greedy_memory=self.greedy_memory, exact_in=self.exact_in, n_jobs=self.n_jobs,
        )  # fmt: skip

    def _check_data(self, X: Matrix, y: ArrayLike) -> tuple[Matrix, NDArray[Any]]:
        points, labels = validated(self, X, y=without_mask(y))
        try:
            check_classification_targets(labels)
        except TypeError as error:
            raise DataError(f"y must hold labels of one kind: {error}") from error
        return points, labels

    def _points(self, X: Matrix) -> Matrix:
        """Points to be classified: checked, and rounded as those of ``fit`` were."""
        return rounded(validated(self, X, reset=False), self.exact_in)

    def _construct(self, X: Matrix, codes: Codes, recipe: Recipe, n_classes: int, seed: int | None) -> Construction:
        """The network for the classes that have points; majorities may have left some without."""
        sizes = np.bincount(codes, minlength=n_classes)
        present = np.flatnonzero(sizes)
        if len(present) == n_classes:
            return self._build(X, codes, recipe, seed)
        if len(present) < 2:
            raise DataError("only one class is left, equal points having one label each: correct their labels")
        compact = (np.cumsum(sizes > 0) - 1)[codes]
        return renumbered(self._build(X, compact, replace(recipe, target="all"), seed), present)

    def _build(self, X: Matrix, codes: Codes, recipe: Recipe, seed: int | None) -> Construction:
        if self.width == "adaptive":
            return adaptive_width(
                X, codes, recipe, seed,
                min_width=self.min_width, max_width=self.max_width, rescue=bool(self.rescue), check=False,
            )  # fmt: skip
        return fixed_width(X, codes, self.width, recipe, seed, check=False)

    def _keep(self, made: Construction, classes: NDArray[Any], certificate: Certificate) -> None:
        missed = len(made.trace.uncovered)
        self.classes_, self.network_, self.trace_ = classes, made.network, made.trace
        self.outcome_ = outcome_of(made, certificate)
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
        return self._scores(class_slack(self.network_, self._points(X), n_jobs=self.n_jobs))

    def _scores(self, slack: NDArray[np.float64]) -> NDArray[np.float64]:
        """The decision function, from the slack of every output."""
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
        return self._answers(self.decision_function(X))

    def _answers(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        codes = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.intp)
        return np.asarray(self.classes_[codes])

    def explain(self, X: Matrix) -> Explanations:
        """What stands behind the answer for each point.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)

        Returns
        -------
        Explanations
            For each point the detectors that fire, or those that came closest, with the training
            rows that they are built on and that set their limits, and the other class that came closest.

        Examples
        --------
        >>> from exactfit import InterpolatingClassifier
        >>> model = InterpolatingClassifier(random_state=0).fit([[0.0], [1.0], [2.0]], ["a", "b", "a"])
        >>> print(model.explain([[1.0]])[0])
        'b': claimed by 'b'
          fires        detector 0 of 'b', anchor row 1, slack 0.5, limit set by row 0
        """
        check_is_fitted(self)
        standings = Standings.of(self.network_, self._points(X), self.n_jobs)
        trace, outputs = self.trace_, list(self.network_.decoder.classes)[: self.network_.widths[-1]]
        return Explanations(
            labels=self._answers(self._scores(standings.best)), standings=standings,
            detector_labels=self.classes_[trace.detector_classes], anchors=trace.anchors, witnesses=trace.witnesses,
            output_labels=self.classes_[outputs],
        )  # fmt: skip

    def abstains(self, X: Matrix) -> NDArray[np.bool_]:
        """Which points no class or several classes claim: answer only the others to be right more often.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of bool, shape (n_samples,)

        Raises
        ------
        ParameterError
            If only one of two classes has detectors: then every point gets one answer. Fit with
            ``target="all"``.

        Examples
        --------
        >>> from exactfit import InterpolatingClassifier
        >>> model = InterpolatingClassifier(target="all", random_state=0).fit([[0.0], [1.0]], ["a", "b"])
        >>> model.abstains([[0.0], [1.0]])
        array([False, False])
        """
        check_is_fitted(self)
        if self.network_.widths[-1] == 1:
            raise ParameterError('only one class has detectors, the other claims nothing: fit with target="all"')
        slack = class_slack(self.network_, self._points(X), n_jobs=self.n_jobs)
        return np.asarray(np.count_nonzero(slack > 0, axis=1) != 1)
