"""The scikit-learn face: validate, construct, and keep network and certificate."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ._support.console import progress_bar, user_stacklevel
from ._support.html import FactsBelow
from ._support.parameters import shown
from .certificate import Certificate, certify
from .conditions import Conditions, Wording
from .construct import Construction
from .construct.build import build
from .construct.patterns import rounded
from .data import Matrix, labelled_for, validated
from .exceptions import InterpolationWarning, ParameterError
from .explanation import Explanations, SupportRows
from .network.activations import Activation
from .network.detector_network import LOWEST, DetectorNetwork
from .options import PAPER, Options
from .outcome import Outcome

SCORES_AT_ONCE = 2**24  # scores that predict holds at a time, 128 MB: with 20,000 classes those of 838 points


class InterpolatingClassifier(FactsBelow, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that fits every training point, by construction.

    Random hyperplanes cut space into cells until no cell mixes labels; then detectors,
    each anchored at a training point, are chosen until every point of a class is claimed
    and none of another. Nothing is trained, and ``certificate_`` says what was proved.

    Parameters
    ----------
    width : "adaptive" or int, default="adaptive"
        Hyperplanes in the first layer: as many as needed (Algorithm 1 of the paper), or
        this many (Algorithm 2, which may miss points and then warns).
    min_width : int or "auto", default="auto"
        Adaptive only: draw at least this many. More hyperplanes mean fewer detectors, and answers on new points that
        are right more often. ``"auto"``: 16 for each row of X, at most 4096; never more than ``max_width`` and what
        memory allows.
    max_width : int or None, default=None
        Adaptive only: give up beyond this many (None: what memory allows).
    max_bias : "radius" or float, default="radius"
        Biases are uniform on [-max_bias, max_bias], the paper's lambda; ``"radius"`` takes the
        largest norm of the data (as drawn upon, that is after centring).
    center : bool, default=True
        Draw hyperplanes around the mean of the data; False is the paper's choice.
    hyperplanes : {"gaussian", "bisector", "sparse"}, default="sparse"
        The paper's; perpendicular bisectors of random pairs of different labels; or hyperplanes that look at
        a few features each, between two rows of different labels.
    max_features : int or (low, high), default=4
        For ``hyperplanes="sparse"``: the number of features of a hyperplane is uniform from 1 to that, or from low
        to high.
    image_shape : (height, width) or (height, width, channels), default=None
        For ``hyperplanes="sparse"``: what a row of X is an image of, pixel by pixel in C order. The features of a
        hyperplane then lie in a random square window.
    fallback_cuts : bool, default=True
        Adaptive only: when random draws stall, finish with coordinate cuts.
    activation : {"threshold", "relu"}, Activation or named function, default="threshold"
    detectors : {"mask", "weighted", "auto"}, default="auto"
        What detectors count with: the mask of their anchor (the paper), or integer weights, which need far
        fewer of them. ``"auto"``: weights where the activation is a threshold, else masks.
    target : label, "all" or None, default="all"
        Two classes only: the class that gets detectors. None: the rarer one, the last of
        the sorted labels on a tie. ``"all"``: both.
    conflicts : {"raise", "majority"}, default="raise"
        Equal points with different labels: an error, or the majority's label (with a warning).
    noise : float, default=0.0
        Give up at most this fraction of the training points, below 0.5: those whose labels look wrong
        (see ``exactfit.construct.noise``). The network is the one of the others.
    exact_in : {None, "float64", "float32"}, default=None
        None: every answer is the one of exact arithmetic on the stored numbers. A format: every
        training point is also right in every IEEE evaluation in that format, in any order of sums,
        fused or not, so that exports stay exact. Points are rounded to the format first, here and
        in ``predict``; points that become equal by it must have equal labels.
    margin : float or str, default=0.0
        Every training point keeps its right answer wherever it moves by at most this Euclidean distance, in the
        units of X; or a text like ``"25%"`` of half the separation. At a given width, points that are right
        without the margin are listed. Threshold activation only.
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
    feature_importances_ : ndarray of float64, shape (n_features,)
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
        self, width: Literal["adaptive"] | int = "adaptive", *, min_width: Literal["auto"] | int = "auto",
        max_width: int | None = None, max_bias: Literal["radius"] | float = "radius", center: bool = True,
        hyperplanes: str = "sparse", max_features: int | tuple[int, int] = 4,
        image_shape: tuple[int, ...] | None = None, fallback_cuts: bool = True,
        activation: str | Activation | Callable[..., Any] = "threshold", detectors: str = "auto", target: Any = "all",
        conflicts: str = "raise", noise: float = 0.0, exact_in: Literal["float64", "float32"] | None = None,
        margin: float | str = 0.0, n_jobs: int | None = None, random_state: Any = None, verbose: int = 0,
    ) -> None:  # fmt: skip
        self.width = width
        self.min_width = min_width
        self.max_width = max_width
        self.max_bias = max_bias
        self.center = center
        self.hyperplanes = hyperplanes
        self.max_features = max_features
        self.image_shape = image_shape
        self.fallback_cuts = fallback_cuts
        self.activation = activation
        self.detectors = detectors
        self.target = target
        self.conflicts = conflicts
        self.noise = noise
        self.exact_in = exact_in
        self.margin = margin
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def paper(cls, **options: Any) -> InterpolatingClassifier:
        """Return the paper's algorithm as it is published: Gaussian hyperplanes around the origin, masks, random order.

        Parameters
        ----------
        **options
            Whatever is to differ from that, ``width`` and ``max_bias`` for instance, and ``random_state``.

        Examples
        --------
        >>> from exactfit import InterpolatingClassifier
        >>> InterpolatingClassifier.paper(width=200, max_bias=1.0)
        InterpolatingClassifier(center=False, detectors='mask', hyperplanes='gaussian',
                                max_bias=1.0, min_width=0, target=None, width=200)
        """
        return cls(**PAPER | options)

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn may expect of this estimator."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Matrix, y: ArrayLike, **weights: Any) -> InterpolatingClassifier:
        """Build the network.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        **weights
            Refused, with the reason: every row is fitted, whatever its weight.

        Returns
        -------
        InterpolatingClassifier
            Itself. If the input is refused, or no network comes out, it is left as it
            was; if the work is interrupted it is left unfitted.
        """
        if "sample_weight" in weights:
            raise ParameterError(
                "sample_weight has no meaning here: every row is fitted, whatever its weight. Leave rows out, or, for "
                "other costs of errors, move the threshold on decision_function"
            )
        if weights:
            raise TypeError(f"fit takes X and y, and no {', '.join(weights)}")
        if not isinstance(self.verbose, numbers.Integral | np.bool_):
            raise ParameterError(f"verbose must be an integer, got {shown(self.verbose)}")
        before = dict(vars(self))
        try:
            self._fit(X, y)
        except BaseException as error:
            refused = isinstance(error, Exception)
            self.__dict__ = {name: value for name, value in before.items() if refused or not name.endswith("_")}
            raise
        return self

    def _fit(self, X: Matrix, y: ArrayLike) -> None:
        """Build and keep the network; subclasses take points from elsewhere."""
        data = labelled_for(self, X, y)
        with progress_bar(bool(self.verbose)) as progress:
            made = build(data, Options.of(self), self.random_state, progress)
        self._keep(made, data.classes, made.certificate(len(data), data.digest(), self.exact_in))

    def _fitted_html(self) -> str:
        """Return size and certificate, once there are such."""
        if not hasattr(self, "network_"):
            return ""
        return self.network_._repr_html_() + self.certificate_._repr_html_()

    def _points(self, X: Matrix) -> Matrix:
        """Return points to be classified: checked, and rounded as those of ``fit`` were."""
        points = validated(self, X, reset=False)
        return points if self.exact_in is None else rounded(points, self.exact_in)

    def _keep(self, made: Construction, classes: NDArray[Any], certificate: Certificate) -> None:
        """Take over what was built; ``extend`` does so for a copy of a classifier."""
        self.classes_, self.network_, self.trace_ = classes, made.network, made.trace
        self.outcome_ = made.outcome
        self.interpolates_ = made.outcome.interpolates
        self.certificate_ = certificate
        self.width_, self.n_detectors_ = made.network.widths[:2]
        self.detectors_per_class_ = np.bincount(made.trace.detector_classes, minlength=len(classes))
        self.anchors_ = made.trace.anchors
        narrow, missed, of_all = len(made.trace.without_margin), len(made.trace.uncovered), certificate.n_samples
        notes = []
        if narrow:
            margin = f"{made.trace.margin:.6g}: {Outcome.MARGIN_MISSED.message}"
            notes.append(f"{narrow} of {of_all} training points are right without the margin of {margin}")
        if missed:
            notes.append(f"{missed} of {of_all} training points are missed: {self.outcome_.message}")
        for note in notes:
            warnings.warn(note, InterpolationWarning, stacklevel=user_stacklevel())

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The importance of each feature for the detectors, adding up to 1.

        The importance of feature j is the mean over up to 256 training rows x of what the lead of x's answer loses
        when x_j is that of another row, in which the lead is the slack of the detector that claims x most clearly,
        less that of the clearest detector of another class (see :meth:`decision_function`).

        Raises
        ------
        AttributeError
            If the model was loaded from a file of a version that did not have them.

        Examples
        --------
        >>> import numpy as np
        >>> from exactfit import InterpolatingClassifier
        >>> X = np.random.default_rng(0).normal(size=(200, 3))
        >>> model = InterpolatingClassifier(random_state=0).fit(X, X[:, 1] > 0)
        >>> int(model.feature_importances_.argmax())
        1
        """
        check_is_fitted(self)
        shares = self.trace_.importances.astype(np.float64)
        if len(shares) != self.n_features_in_ and self.n_detectors_:
            raise AttributeError("the file of this model is of a version without feature_importances_: fit it again")
        return shares / (shares.sum() or 1.0) if len(shares) else np.zeros(self.n_features_in_)

    def decision_function(self, X: Matrix) -> NDArray[np.float64]:
        """Return how clearly each class claims a point: the part of its limit that is left when a detector has counted.

        A detector fires when its count c is below its limit m; its relative slack is (m - 1/2 - c) / m, positive if
        it fires, close to 1 at its anchor, and the more negative the farther the point is from what it claims. A
        class has the largest slack of its detectors. Scores rank points, they are no probabilities: docs/accuracy.md
        has areas under the curve, and how to calibrate them with scikit-learn.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            The lowest float64 for a class without detectors. For two classes one number, positive for
            ``classes_[1]``: its slack minus that of the other, if both have detectors.
        """
        check_is_fitted(self)
        return self._scores(DetectorNetwork.of(self.network_).class_slack(self._points(X), n_jobs=self.n_jobs))

    def _scores(self, slack: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the decision function, from the slack of every output."""
        classes = self.network_.decoder.classes
        if slack.shape[1] == 1:
            return np.asarray(slack[:, 0] if classes[0] == 1 else -slack[:, 0])
        if len(self.classes_) == 2:
            return np.asarray(slack[:, 1] - slack[:, 0])
        by_class = np.full((len(slack), len(self.classes_)), LOWEST)
        by_class[:, classes] = slack
        return by_class

    def predict(self, X: Matrix) -> NDArray[Any]:
        """Return the label that claims each point most clearly.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        points = self._points(X)
        step = max(1, SCORES_AT_ONCE // len(self.classes_))
        tiles = (points[start : start + step] for start in range(0, points.shape[0], step))
        slacks = (DetectorNetwork.of(self.network_).class_slack(tile, n_jobs=self.n_jobs) for tile in tiles)
        return np.concatenate([self._answers(self._scores(slack)) for slack in slacks])

    def _answers(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        return np.asarray(self.classes_[scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.intp)])

    def explain(self, X: Matrix, *, radii: bool = False) -> Explanations:
        """Explain the answer for each point.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
        radii : bool
            Also prove how far each point may move without changing its answer, which takes longer.

        Returns
        -------
        Explanations
            For each point the detectors that fire, or those that came closest, with the training
            rows that they are built on and that set their limits, and the other class that came closest; of
            weighted detectors also the rows that they rest on, with their shares; and the conditions that hold at
            the point for its answer, where hyperplanes look at few features.

        Examples
        --------
        >>> from exactfit import InterpolatingClassifier
        >>> model = InterpolatingClassifier(detectors="mask", random_state=0)
        >>> model = model.fit([[0.0], [1.0], [2.0]], ["a", "b", "a"])
        >>> print(model.explain([[1.0]])[0])
        'b': claimed by 'b'
          fires        detector 2 of 'b', anchor row 1, slack 0.95, limit set by row 0
          other class  detector 0 of 'a', anchor row 2, slack -0.0385, limit set by row 1
          because      x0 >= 0.1821 (1, by 0.818; in 67% of rows; slack 0.1)
          only just    x0 <= 1.059 (1, by 0.059; in 67% of rows; slack 0.1)
        """
        check_is_fitted(self)
        points, detectors, trace = self._points(X), DetectorNetwork.of(self.network_), self.trace_
        responses = detectors.responses(points, self.n_jobs)
        outputs = list(self.network_.decoder.classes)[: self.network_.widths[-1]]
        labels = self._answers(self._scores(responses.best))
        proved = certify(self, X, labels, radii=True, n_jobs=self.n_jobs).radii if radii else None
        supports = SupportRows(trace.support, trace.dual_coef, trace.support_starts)
        wording = Wording(getattr(self, "feature_names_in_", None), self.image_shape)
        return Explanations(
            labels=labels, responses=responses, radii=proved,
            detector_labels=self.classes_[trace.detector_classes], anchors=trace.anchors, witnesses=trace.witnesses,
            output_labels=self.classes_[outputs], supports=supports if len(trace.support_starts) else None,
            conditions=Conditions(detectors, points, wording, trace.spreads, trace.on_counts),
        )  # fmt: skip

    def claims(self, X: Matrix) -> NDArray[np.bool_]:
        """Return which classes claim each point: those of which a detector fires.

        A training point is claimed by its class alone; other points by one class, by none or by several.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of bool, shape (n_samples, n_classes)
            If only one of two classes has detectors, the other counts as claiming what that one does not.

        Examples
        --------
        >>> from exactfit import InterpolatingClassifier
        >>> model = InterpolatingClassifier(random_state=0).fit([[0.0], [1.0]], ["a", "b"])
        >>> model.claims([[0.0], [1.0]])
        array([[ True, False],
               [False,  True]])
        """
        check_is_fitted(self)
        fires = DetectorNetwork.of(self.network_).class_slack(self._points(X), n_jobs=self.n_jobs) > 0
        if fires.shape[1] == 1:
            fires = np.column_stack([fires, ~fires])
        claimed = np.zeros((len(fires), len(self.classes_)), dtype=bool)
        claimed[:, self.network_.decoder.classes] = fires
        return claimed

    def abstains(self, X: Matrix) -> NDArray[np.bool_]:
        """Return which points no class or several classes claim: answer only the others to be right more often.

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
            ``target="all"``, the default.

        Examples
        --------
        >>> from exactfit import InterpolatingClassifier
        >>> model = InterpolatingClassifier(random_state=0).fit([[0.0], [1.0]], ["a", "b"])
        >>> model.abstains([[0.0], [1.0]])
        array([False, False])
        """
        check_is_fitted(self)
        if self.network_.widths[-1] == 1:
            raise ParameterError('only one class has detectors, the other claims nothing: fit with target="all"')
        return np.asarray(np.count_nonzero(self.claims(X), axis=1) != 1)
