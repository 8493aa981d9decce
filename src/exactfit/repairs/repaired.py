"""``repair`` and its classifier: patches before any trained model, proved, reported, explained."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..certificate import Certificate, certify, data_digest
from ..construct.patterns import rounded
from ..data import Codes, Floats, Matrix, as_labels, validated, validated_pair
from ..exceptions import ConstructionError, DataError, ParameterError
from ..network.network import overruled
from .building import HeldOut, PatchRecipe, Repair, RepairExplanation, RepairReport, stacked
from .models import read_model


def repair(model: Any, X: Matrix, y: ArrayLike, *, reach: Any = "least", **options: Any) -> RepairedClassifier:
    """Patches before a trained model, so that it is provably right on every given point.

    Parameters
    ----------
    model : fitted classifier, function, torch.nn.Module or ONNX file
    X, y : points and labels
        Points that the model gets wrong become targets; those that it gets right stay right.
    reach : {"least", "full"} or float in (0, 1], default="least"
    **options
        Those of :class:`RepairedClassifier`, in which ``reach`` is described too.

    Returns
    -------
    RepairedClassifier
        ``RepairedClassifier(model, reach=reach, **options).fit(X, y)``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> import exactfit
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression(max_iter=1000).fit(X, y)
    >>> repaired = exactfit.repair(model, X, y)
    >>> int((model.predict(X) != y).sum()), int((repaired.predict(X) != y).sum()), repaired.n_patches_
    (4, 0, 4)
    """
    return RepairedClassifier(model, reach=reach, **options).fit(X, y)


def _has_scores(model: Any) -> bool:
    made = getattr(model, "repair_", None)
    return hasattr(model.model, "decision_function") if made is None else bool(made.model.has_scores)


class RepairedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A trained model with patches before it: right on every given point, by construction and by proof.

    For each class, patches are built that fire on points of it that the model gets wrong, and on no given point of
    another label. The answer is the patches' class where patches of exactly one class fire, and the model's elsewhere.

    Parameters
    ----------
    model : fitted classifier, function, torch.nn.Module or ONNX file
        Anything that answers points: with ``predict``, or called itself; a module or graph whose largest output of a
        row is its answer, or a graph with an output of labels. It is not changed, and clones share it.
    patches : {"ball", "mask", "weighted"}, default="ball"
        What a patch is: a ball around a point, one unit over the squared norm; or a detector of this package over
        random hyperplanes, with the mask of its anchor, or with weights (far fewer, less local).
    reach : {"least", "full"} or float in (0, 1], default="least"
        How far patches go: as little as surely claims their points in the asked format, as far as given points of
        other labels allow, or so great a share of the way from the one to the other.
    exact_in : {None, "float64", "float32"}, default=None
        A format: every given point is right in every evaluation in it, so that exports and other runtimes agree.
        Points are rounded to it first. Of a model that is a chain of layers, right answers that are not safe in
        the format are patched as well. None: exact arithmetic, and float64 as this package evaluates it.
    classes : sequence, optional
        Labels by class index, for models that do not name theirs: by default 0, 1, 2, ... for outputs, and what they
        answer for functions.
    n_jobs : int or None, default=None
        Threads. Changes no result.
    random_state : int, RandomState, Generator or None, default=None
        For the order in which points are taken, and for hyperplanes.

    Attributes
    ----------
    classes_ : ndarray
    network_ : SwitchedNetwork
        Patches, and the model behind them if it is a chain of layers.
    certificate_ : Certificate
        Proved from the numbers and the points, as ``certify`` proves it. Of a model that is no chain, given its answers
        on these points: ``answers_digest`` names them; ``certify`` and :meth:`verify` ask the model again.
    n_patches_ : int
    repair_ : Repair
        The model as it was read, its answers to the given points, the patches, and their history.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from exactfit import RepairedClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> forest = RandomForestClassifier(10, max_depth=6, random_state=0).fit(X[:1000], y[:1000])
    >>> repaired = RepairedClassifier(forest).fit(X[:1000], y[:1000])
    >>> float(repaired.score(X[:1000], y[:1000])), repaired.certificate_.note
    (1.0, "given the model's answers")
    >>> print(repaired.report(X[1000:], y[1000:]).held_out)
    0 of 797 held-out answers changed: 0 mended, 0 broken, 0 from wrong to wrong (accuracy 0.8745 -> 0.8745)
    """

    def __init__(
        self, model: Any, *, patches: str = "ball", reach: Any = "least", exact_in: str | None = None,
        classes: Any = None, n_jobs: int | None = None, random_state: Any = None,
    ) -> None:  # fmt: skip
        self.model = model
        self.patches, self.reach, self.exact_in = patches, reach, exact_in
        self.classes, self.n_jobs, self.random_state = classes, n_jobs, random_state

    def __sklearn_clone__(self) -> RepairedClassifier:
        """With the same model, which is given and not fitted here."""
        return type(self)(**self.get_params(deep=False))

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may expect of this estimator."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Matrix, y: ArrayLike) -> RepairedClassifier:
        """Build the patches, and prove the whole.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
        y : array of shape (n_samples,)

        Returns
        -------
        RepairedClassifier
            Itself; left as it was if anything is refused.
        """
        made = self.__sklearn_clone__()
        points, labels = validated_pair(made, X, y)
        recipe = made._recipe()
        model = read_model(self.model, self.classes, rounded(points, self.exact_in), labels)
        made._keep(Repair.of(model, points, labels, recipe), (points, labels))
        return self._become(made)

    def _become(self, made: RepairedClassifier) -> RepairedClassifier:
        """Take over all that another one was fitted to."""
        for name in [name for name in vars(self) if name.endswith("_") and name not in vars(made)]:
            delattr(self, name)
        self.__dict__.update({name: value for name, value in vars(made).items() if name.endswith("_")})
        return self

    def _recipe(self) -> PatchRecipe:
        return PatchRecipe(self.patches, self.reach, self.exact_in, self.n_jobs, self.random_state)

    def _take(self, made: Repair, given: tuple[Matrix, NDArray[Any]] | None) -> None:
        """Take over what was built, or loaded."""
        self.repair_, self.given_ = made, given
        self.classes_, self.network_, self.n_patches_ = made.model.classes, made.network, len(made.patches)

    def _keep(self, made: Repair, given: tuple[Matrix, NDArray[Any]]) -> None:
        """Take over what was built, and prove it."""
        self._take(made, given)
        answers = None if made.network.model is not None else made.answers  # of a chain nothing is taken as given
        self.certificate_ = certificate = self._certified(*given, answers)
        if not certificate.holds:
            rows = ", ".join(map(str, certificate.errors[:10]))
            raise ConstructionError(
                f"{certificate.n_errors} given points are not proved right, among them rows {rows}: their "
                "right answers are closer calls than certify can settle; use exact_in='float64'"
            )

    def given_answers(self, X: Matrix) -> Codes | None:
        """What ``certify`` takes as given of a model that is no chain: what it answers now, whatever a file records.

        Parameters
        ----------
        X : points

        Returns
        -------
        ndarray of int64, or None
            None for a chain, of which nothing has to be taken as given.
        """
        points = self._points(X)
        return None if self.network_.model is not None else self.repair_.model.ask(points)

    def verify(self, X: Matrix, y: ArrayLike) -> Certificate:
        """Ask the model again, in the runtime at hand, and prove patches and its answers together.

        Parameters
        ----------
        X, y : points and labels

        Returns
        -------
        Certificate
            Given the answers that the model has just given, whatever it is; its note says if recorded ones were others.

        Examples
        --------
        >>> import exactfit
        >>> import numpy as np
        >>> repaired = exactfit.repair(lambda X: np.zeros(len(X)), [[0.0], [1.0]], [0.0, 1.0])
        >>> repaired.verify([[0.0], [1.0]], [0.0, 1.0]).holds
        True
        """
        check_is_fitted(self, "network_")
        answers, recorded = self.repair_.model.ask(self._points(X)), self.repair_.answers
        certificate = self._certified(X, y, answers)
        if certificate.data_digest != self.repair_.data_digest or np.array_equal(answers, recorded):
            return certificate
        others = np.count_nonzero(answers != recorded)
        return replace(certificate, note=f"{certificate.note}; {others} of these are not as recorded")

    def _certified(self, X: Matrix, y: ArrayLike, answers: Codes | None) -> Certificate:
        """The certificate of patches before a model that gives these answers."""
        heard = SimpleNamespace(
            network_=self.network_, classes_=self.classes_, exact_in=self.exact_in, given_answers=lambda X: answers
        )
        return certify(heard, X, y, arithmetic=self._recipe().arithmetic, n_jobs=self.n_jobs)

    def _points(self, X: Matrix) -> Matrix:
        """Points to be classified: checked, and rounded as those of ``fit`` were."""
        check_is_fitted(self, "network_")
        return rounded(validated(self, X, reset=False), self.exact_in)

    def predict(self, X: Matrix) -> NDArray[Any]:
        """The patches' label where patches of exactly one class fire, the model's elsewhere.

        Parameters
        ----------
        X : points, as ``fit`` takes them

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        points = self._points(X)
        return np.asarray(self.classes_[overruled(self._patched(points), self._answers(points))])

    def _patched(self, points: Matrix) -> NDArray[np.intp]:
        return self.network_.patches.decide(points, n_jobs=self.n_jobs, checked=True)

    def _answers(self, points: Matrix) -> Codes:
        return self.repair_.model.decide(points, self.n_jobs)

    @available_if(_has_scores)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Matrix) -> Floats:
        """The model's scores; where patches decide, with those of their class above all others.

        Parameters
        ----------
        X : points, as ``fit`` takes them

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            For two classes positive for ``classes_[1]``.
        """
        points = self._points(X)
        scores = np.array(self.repair_.model.scores(points, self.n_jobs), dtype=np.float64)
        patched = self._patched(points)
        rows = np.flatnonzero(patched >= 0)
        if scores.ndim == 1:
            scores[rows] = np.where(patched[rows] == 1, 1.0, -1.0) * (1.0 + np.abs(scores[rows]))
            return scores
        scores[rows, patched[rows]] = 1.0 + 2.0 * scores[rows].max(axis=1, initial=0.0)
        return np.asarray(scores[:, 1] - scores[:, 0]) if scores.shape[1] == 2 else scores

    def explain(self, X: Matrix) -> tuple[RepairExplanation, ...]:
        """Who answers each point: which patches, or the model.

        Parameters
        ----------
        X : points, as ``fit`` takes them

        Returns
        -------
        tuple of RepairExplanation

        Examples
        --------
        >>> from sklearn.neighbors import KNeighborsClassifier
        >>> import exactfit
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "b", "a", "a"]
        >>> repaired = exactfit.repair(KNeighborsClassifier(3).fit(X, y), X, y)
        >>> for found in repaired.explain([[1.0], [1.4]]):
        ...     print(found)
        'b': by the patch anchored at row 1; the model says 'a'
        'a': by the model
        """
        points = self._points(X)
        patches, answers = self.repair_.patches, self._answers(points)
        rows, places = patches.fired(points)
        patched = patches.decided((rows, places), points.shape[0])
        anchors = np.split(patches.anchors[places], np.searchsorted(rows, np.arange(1, points.shape[0])))
        parts = (self.classes_[overruled(patched, answers)], self.classes_[answers], patched >= 0)
        told = zip(*(part.tolist() for part in parts), anchors, strict=True)
        return tuple(RepairExplanation(new, old, tuple(own.tolist()), by) for new, old, by, own in told)

    def report(self, X: Matrix = None, y: ArrayLike | None = None) -> RepairReport:
        """What every patch claims and how far it goes; on held-out data, how many answers changed.

        Parameters
        ----------
        X, y : points and labels, optional
            Held-out data.

        Returns
        -------
        RepairReport
        """
        check_is_fitted(self, "network_")
        held_out = None
        if X is not None:
            points = self._points(X)
            before, labels = self._answers(points), as_labels(y, points.shape[0])
            after = overruled(self._patched(points), before)
            held_out = HeldOut.between(before, after, self.repair_.model.codes(labels))
        made = self.repair_
        return RepairReport(made.records(), made.history, len(made.answers), len(made.targets), held_out)

    def add(self, X: Matrix, y: ArrayLike, *, given: tuple[Matrix, ArrayLike] | None = None) -> RepairedClassifier:
        """Further points: old limits are lowered over them, and what needs a patch then gets one.

        Given points keep their answers. Rows are numbered on.

        Parameters
        ----------
        X, y : points and labels
        given : tuple (X, y), optional
            All points given before, for a model that was loaded from a file, which does not hold them.

        Returns
        -------
        RepairedClassifier
            Itself; left as it was if anything is refused.

        Examples
        --------
        >>> from sklearn.neighbors import KNeighborsClassifier
        >>> import exactfit
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "b", "a", "a"]
        >>> repaired = exactfit.repair(KNeighborsClassifier(3).fit(X, y), X, y, reach="full")
        >>> print(repaired.add([[1.25], [5.0]], ["a", "b"]).report())
        2 patches for 2 of 6 given rows
          anchor row 1: 'a' -> 'b', claims 1 given row, fires within 0.25, silent beyond 0.25
          anchor row 5: 'a' -> 'b', claims 1 given row, fires within 2, silent beyond 2
        history: rows 0 to 3: 1 patches added, 0 lowered, 0 dropped
        history: rows 4 to 5: 1 patches added, 1 lowered, 0 dropped
        """
        check_is_fitted(self, "network_")
        points = validated(self, X, reset=False)
        labels = as_labels(y, points.shape[0])
        before, labels_before = self._given_before(given)
        everything = stacked(before, points), np.concatenate([labels_before, labels])
        made = self.__sklearn_clone__()
        made.__dict__.update(vars(self))
        made._keep(self.repair_.extended(*everything, self._recipe()), everything)
        return self._become(made)

    def _given_before(self, given: tuple[Matrix, ArrayLike] | None) -> tuple[Matrix, NDArray[Any]]:
        if given is None:
            if self.given_ is None:
                raise ParameterError("this model was loaded from a file: pass given=(X, y), what it was repaired for")
            return self.given_
        points = validated(self, given[0], reset=False)
        labels = as_labels(given[1], points.shape[0])
        if data_digest(points, labels) != self.repair_.data_digest:
            raise DataError("given must be the points and labels that the model was repaired for: their digest differs")
        return points, labels
