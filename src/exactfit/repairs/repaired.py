"""``repair`` and its classifier: patches before any trained model, proved, reported, explained."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._support.parameters import check_choice, check_n_jobs, check_number, seed_sequence, shown
from .._support.threads import Threads
from ..certificate import Certificate, certify
from ..certificate.chains import prove_chain
from ..certificate.record import ProofEffort
from ..construct.patterns import rounded
from ..data import (
    Codes,
    Floats,
    Matrix,
    Points,
    Rows,
    as_labels,
    data_digest,
    refuse_conflicts,
    refuse_other_features,
    validated,
    validated_pair,
)
from ..exceptions import ConstructionError, DataError, ParameterError
from ..network import Network
from ..network.network import SwitchedNetwork, overruled
from ..options import FORMATS
from .counts import count_patches, lowered_counts
from .models import Model, SpotChecks, read_model
from .patches import Patches, Targets, ball_patches, lowered_balls
from .reports import Change, HeldOut, PatchRecord, RepairExplanation, RepairReport

KINDS = ("ball", "mask", "weighted")


@dataclass(frozen=True, eq=False)
class Repair:
    """A model as it was read, its answers to the given points, and the patches before it."""

    model: Model
    patches: Patches
    changes: Rows  # for each patch the place in the history of the change that brought it
    history: tuple[Change, ...]
    answers: Codes  # the model's answers to the given points, as class indices
    targets: Rows  # given rows that it does not surely get right, ascending
    claims: tuple[Rows, Rows]  # pairs (given row, patch that fires there), row by row
    data_digest: str  # of the given points and labels
    probes: SpotChecks | None

    @cached_property
    def network(self) -> SwitchedNetwork:
        """Patches before the model."""
        return SwitchedNetwork(self.patches.network, self.model.chain)


def repair(model: Any, X: Matrix, y: ArrayLike, *, reach: Any = "least", **options: Any) -> RepairedClassifier:
    """Put patches before a trained model, so that it is provably right on every given point.

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
    network_ : SwitchedNetwork
        Patches, and the model behind them if it is a chain of layers.
    certificate_ : Certificate
        Proved from the numbers and the points, as ``certify`` proves it. Of a model that is no chain, given its answers
        on these points: ``answers_digest`` names them; ``certify`` and :meth:`verify` ask the model again.
    n_patches_ : int
    repair_ : Repair
        The model as it was read, its answers to the given points, the patches, and their history.

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
        """Return a copy with the same model, which is given and not fitted here."""
        return type(self)(**self.get_params(deep=False))

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn may expect of this estimator."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Matrix, y: ArrayLike) -> RepairedClassifier:
        """Build the patches, and prove the whole; the classifier is left as it was if anything is refused."""
        # On a copy, so that an error leaves this classifier as it was.
        made = self.__sklearn_clone__()
        points, labels = validated_pair(made, X, y)
        made._check_options()
        model = read_model(self.model, self.classes, rounded(points, self.exact_in), labels)
        made._keep(made._repaired(model, points, labels), (points, labels))
        return self._become(made)

    def _check_options(self) -> float:
        """Return reach as a number from 0 for "least" to 1 for "full"; refuse options that cannot be."""
        check_choice("patches", self.patches, KINDS)
        check_n_jobs(self.n_jobs)
        if self.exact_in is not None:
            check_choice("exact_in", self.exact_in, FORMATS)
        if isinstance(self.reach, str) and self.reach in ("least", "full"):
            return float(self.reach == "full")
        try:
            return check_number("reach", self.reach, above=0.0, at_most=1.0)
        except ParameterError as error:
            reach = shown(self.reach)
            raise ParameterError(f"reach must be 'least', 'full' or a share in (0, 1], got {reach}") from error

    def _repaired(self, model: Model, points: Matrix, labels: NDArray[Any], before: Repair | None = None) -> Repair:
        """Return patches for all given points, of which those beyond the answers of ``before`` are new."""
        if model.n_features is not None:
            refuse_other_features(points.shape[1], model.n_features, taker="model")
        codes, seen = model.codes(labels), rounded(points, self.exact_in)
        refuse_conflicts(seen, codes, self.exact_in)
        n_old, history = (0, ()) if before is None else (len(before.answers), before.history)
        new = slice(n_old, None)
        answers = model.ask(seen[new])
        is_right = answers == codes[new]
        if model.chain is not None:  # otherwise right answers are taken as given
            is_right &= self._are_safe(model.chain, seen[new], codes[new])
        rows = (n_old + np.flatnonzero(~is_right)).astype(np.int64)
        if before is not None:
            answers, rows = np.concatenate([before.answers, answers]), np.concatenate([before.targets, rows])
        targets = Targets(seen, codes, rows, len(model.classes), self.exact_in)
        if before is None:
            patches = more = self._build(targets, 0)
            changes, lowered, gone = np.zeros(len(more), dtype=np.int64), rows[:0], rows[:0]
        else:
            # Old limits are lowered over the new points first. Then every target that no patch surely claims any
            # more, or yet, gets one.
            old = before.patches
            lower = lowered_balls if old.are_balls else lowered_counts
            with Threads(self.n_jobs) as threads:
                left, kept = lower(old, targets, seen[new], codes[new], threads)
            claimed = self._are_safe(left.network, seen[rows], codes[rows])
            more = self._build(replace(targets, rows=rows[~claimed]), len(history))
            patches = left.joined(more)
            changes = np.concatenate([before.changes[kept], np.full(len(more), len(history))])
            lowered = left.anchors[left.network.layers[-2].bias != old.network.layers[-2].bias[kept]]
            gone = np.delete(old.anchors, kept)
        change = Change(n_old, len(codes) - n_old, *(tuple(part.tolist()) for part in (more.anchors, lowered, gone)))
        return Repair(
            model, patches, changes, (*history, change), answers, rows, patches.fired(seen),
            data_digest(points, labels), model.spot_checks(seen),
        )  # fmt: skip

    def _build(self, targets: Targets, change: int) -> Patches:
        """Return patches that claim the targets, and no given point of another label."""
        # Every change has a seed of its own, so that adding points repeats as well.
        seed = seed_sequence(self.random_state)
        root = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, change))
        if self.patches == "ball" or not len(targets.rows):
            return ball_patches(targets, self._check_options(), root)
        with Threads(self.n_jobs) as threads:
            return count_patches(targets, self._check_options(), self.patches, root, threads)

    def _are_safe(self, network: Network, seen: Matrix, codes: Codes) -> NDArray[np.bool_]:
        """Return which points a chain gets right in every evaluation that matters."""
        verdict = prove_chain(network, Points(seen), codes, ProofEffort(self.n_jobs), 0)
        assert verdict is not None  # nothing here has activations of a user's own
        # Without a format the evaluation that matters is this package's own, in float64.
        return verdict.right["float32" if self.exact_in == "float32" else "float64"]

    def _become(self, made: RepairedClassifier) -> RepairedClassifier:
        """Take over the fitted attributes of another one, and no others."""
        for name in [name for name in vars(self) if name.endswith("_") and name not in vars(made)]:
            delattr(self, name)
        self.__dict__.update({name: value for name, value in vars(made).items() if name.endswith("_")})
        return self

    def _take(self, made: Repair, given: tuple[Matrix, NDArray[Any]] | None) -> None:
        """Take over a repair that was built, or loaded."""
        self.repair_, self.given_ = made, given
        self.classes_, self.network_, self.n_patches_ = made.model.classes, made.network, len(made.patches)

    def _keep(self, made: Repair, given: tuple[Matrix, NDArray[Any]]) -> None:
        """Take over a repair that was built, and prove it."""
        self._take(made, given)
        answers = None if made.network.model is not None else made.answers  # of a chain nothing is taken as given
        # Proved from the numbers by other code than built the patches, before anything is kept.
        self.certificate_ = certificate = self._certified(*given, answers)
        if not certificate.holds:
            rows = ", ".join(map(str, certificate.errors[:10]))
            raise ConstructionError(
                f"{certificate.n_errors} given points are not proved right, among them rows {rows}: their "
                "right answers are closer calls than certify can settle; use exact_in='float64'"
            )

    def given_answers(self, X: Matrix) -> Codes | None:
        """Return the answers that ``certify`` takes as given of a model that is no chain; None for a chain."""
        points = self._points(X)
        return None if self.network_.model is not None else self.repair_.model.ask(points)

    def verify(self, X: Matrix, y: ArrayLike) -> Certificate:
        """Ask the model again, in the runtime at hand, and prove patches and its answers together.

        The certificate is given the answers that the model has just given, whatever it is; its note says if recorded
        ones were others.

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
        """Return the certificate of patches before a model that gives these answers."""
        subject = SimpleNamespace(
            network_=self.network_, classes_=self.classes_, exact_in=self.exact_in, given_answers=lambda X: answers
        )
        return certify(subject, X, y, arithmetic=self.exact_in or "exact", n_jobs=self.n_jobs)  # type: ignore[arg-type]

    def _points(self, X: Matrix) -> Matrix:
        """Return points to be classified: checked, and rounded as those of ``fit`` were."""
        check_is_fitted(self, "network_")
        return rounded(validated(self, X, reset=False), self.exact_in)

    def predict(self, X: Matrix) -> NDArray[Any]:
        """Return the patches' label where patches of exactly one class fire, the model's elsewhere.

        Examples
        --------
        >>> import exactfit
        >>> import numpy as np
        >>> exactfit.repair(lambda X: np.zeros(len(X)), [[0.0], [1.0]], [0.0, 1.0]).predict([[0.5], [1.0]])
        array([0., 1.])
        """
        points = self._points(X)
        return np.asarray(self.classes_[overruled(self._patched(points), self._answers(points))])

    def _patched(self, points: Matrix) -> NDArray[np.intp]:
        return self.network_.patches.decide(points, n_jobs=self.n_jobs, checked=True)

    def _answers(self, points: Matrix) -> Codes:
        return self.repair_.model.decide(points, self.n_jobs)

    @available_if(_has_scores)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Matrix) -> Floats:
        """Return the model's scores; where patches decide, with those of their class above all others.

        They have a column for each class; of two classes they are one number, positive for ``classes_[1]``.
        """
        points = self._points(X)
        scores = np.array(self.repair_.model.scores(points, self.n_jobs), dtype=np.float64)
        patched = self._patched(points)
        rows = np.flatnonzero(patched >= 0)
        if scores.ndim == 1:
            scores[rows] = np.where(patched[rows] == 1, 1.0, -1.0) * (1.0 + np.abs(scores[rows]))
            return scores
        # Above the largest of its row, whatever the sign of that.
        scores[rows, patched[rows]] = 1.0 + 2.0 * scores[rows].max(axis=1, initial=0.0)
        return np.asarray(scores[:, 1] - scores[:, 0]) if scores.shape[1] == 2 else scores

    def explain(self, X: Matrix) -> tuple[RepairExplanation, ...]:
        """Explain the answer at each point: by which patches, or by the model.

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
        patched, answers = self._patched(points), self._answers(points)
        rows, places = self.repair_.patches.fired(points)
        starts = np.searchsorted(rows, np.arange(1, points.shape[0]))
        anchors = np.split(self.repair_.patches.anchors[places], starts)
        labels, own = self.classes_[overruled(patched, answers)].tolist(), self.classes_[answers].tolist()
        facts = zip(labels, own, anchors, (patched >= 0).tolist(), strict=True)
        return tuple(RepairExplanation(new, old, tuple(at.tolist()), by) for new, old, at, by in facts)

    def report(self, X: Matrix = None, y: ArrayLike | None = None) -> RepairReport:
        """Report what every patch claims and how far it goes; on held-out data, how many answers changed.

        Examples
        --------
        >>> import exactfit
        >>> import numpy as np
        >>> print(exactfit.repair(lambda X: np.zeros(len(X)), [[0.0], [1.0]], [0.0, 1.0]).report().history[0])
        rows 0 to 1: 1 patches added, 0 lowered, 0 dropped
        """
        check_is_fitted(self, "network_")
        held_out = None
        if X is not None:
            points = self._points(X)
            before, labels = self._answers(points), as_labels(y, points.shape[0])
            after = overruled(self._patched(points), before)
            held_out = HeldOut.between(before, after, self.repair_.model.codes(labels))
        made, patches = self.repair_, self.repair_.patches
        rows, places = made.claims
        claimed: list[list[int]] = [[] for _ in range(len(patches))]
        for row, place in zip(rows.tolist(), places.tolist(), strict=True):
            claimed[place].append(row)
        old, new = self.classes_[made.answers[patches.anchors]], self.classes_[patches.codes]
        columns = (patches.anchors, made.changes, old, new, patches.fires_within, patches.silent_beyond)
        records = tuple(
            PatchRecord(anchor, change, tuple(own), was, now, within, beyond)
            for own, anchor, change, was, now, within, beyond in zip(
                claimed, *(column.tolist() for column in columns), strict=True
            )
        )
        return RepairReport(records, made.history, len(made.answers), len(made.targets), held_out)

    def add(self, X: Matrix, y: ArrayLike, *, given: tuple[Matrix, ArrayLike] | None = None) -> RepairedClassifier:
        """Add points: old limits are lowered over them, and points that need a patch then get one.

        Given points keep their answers. Rows are numbered on. A model that was loaded from a file, which does not hold
        the points given before, takes them as ``given=(X, y)``. It is left as it was if anything is refused.

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
        if given is not None:
            before = validated(self, given[0], reset=False)
            labels_before = as_labels(given[1], before.shape[0])
            if data_digest(before, labels_before) != self.repair_.data_digest:
                raise DataError(
                    "given must be the points and labels that the model was repaired for: their digest differs"
                )
        elif self.given_ is not None:
            before, labels_before = self.given_
        else:
            raise ParameterError("this model was loaded from a file: pass given=(X, y), what it was repaired for")
        if sp.issparse(before) or sp.issparse(points):
            points = sp.vstack([sp.csr_array(before), sp.csr_array(points)], format="csr")
        else:
            points = np.concatenate([before, points])
        labels = np.concatenate([labels_before, labels])
        self._check_options()
        made = self.__sklearn_clone__()
        made.__dict__.update(vars(self))
        made._keep(made._repaired(self.repair_.model, points, labels, self.repair_), (points, labels))
        return self._become(made)
