"""``certify``: prove again, from the finished network and the data alone, whatever they were fitted by."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from .._support.console import counted, progress_bar
from .._support.parameters import check_choice, check_flag, check_n_jobs, check_number, shown
from ..data import (
    Codes,
    Floats,
    Points,
    as_labels,
    class_indices,
    data_digest,
    overruled_rows,
    refuse_empty,
    refuse_other_features,
)
from ..exceptions import DataError, ParameterError
from ..network import Integers, Network
from ..network.detector_network import UNKNOWN, DetectorNetwork
from ..network.network import SwitchedNetwork, overruled
from .chains import answers_digest, prove_chain, prove_switched
from .paper_form import prove_threshold
from .radius import attack as smallest_attack
from .record import ARITHMETICS, EVALUATED, Arithmetic, Certificate, ProofEffort, Verdict

EXACT_OPERATIONS = 2**32  # multiplications of exact integers before points are left open


def certify(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    arithmetic: Arithmetic = "exact",
    exact_operations: int = EXACT_OPERATIONS,
    given_up: Any = (),
    radii: bool = False,
    attack: bool = False,
    margin: float | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Certificate:
    """Prove that a network classifies every point correctly, from its numbers and the data alone.

    Every bit is decided by an evaluation of its own with a proved error bound, and in exact arithmetic where that
    leaves doubt; nothing of this is shared with the constructions. Whatever ``arithmetic`` is, the certificate also
    says whether every evaluation in float64 and in float32 gives the right answers.

    Parameters
    ----------
    model : InterpolatingClassifier, RepairedClassifier, TableModel, Pipeline (fitted), Construction or Network
        Of a scikit-learn pipeline its last step, and the points that this sees.
    X : array, sparse matrix or frame, shape (n_samples, n_features)
        Rounded first to the format that a classifier is exact in, if it has one. For a table's model:
        Table, path or frame. For a ``DaskInterpolatingClassifier`` also a Dask collection, which stays where it is.
    y : sequence of n_samples
        Labels; class indices for a construction or a network. A table may hold its labels itself.
    arithmetic : {"exact", "float64", "float32"}
        In which arithmetic the points have to be right for the certificate to hold: in exact
        arithmetic on the stored numbers, or in every evaluation in a format, that is after
        rounding points and weights to it, with sums in any order.
    exact_operations : int
        How many multiplications of exact integers may be spent on points that no error bound decides, in networks other
        than the paper's. What is still open then counts as not proved, and the certificate's note says so.
    given_up : sequence of int
        Rows to leave out: the certificate is about all others, and lists these.
    radii : bool
        Also prove, for every row, how far the point may move (Euclidean) without changing its answer, in the
        given arithmetic. Sharper than ``robust_radius`` is without, and costs some of the time again.
    attack : bool
        Also look for the smallest move that changes an answer: an upper bound beside the lower one, by search.
        Includes ``radii``.
    margin : float, optional
        Prove that every row keeps its answer wherever it moves by at most this distance: that its radius is no
        smaller. By default what the model was built with, if it was. Includes ``radii``.
    n_jobs : int or None
        Threads, as in scikit-learn.
    verbose : bool
        Whether to show progress bars on standard error.

    Returns
    -------
    Certificate
        Networks of any depth are proved, with thresholds, ReLU or no activation, weights and
        decoders of every kind; ``method`` says how. For a network with a user's own activation,
        points are right if evaluating the network says so; the certificate's note says that.

    Raises
    ------
    DataError
        If X and y do not fit each other or the network, or hold NaN or infinity.
    ParameterError
        If another arithmetic than "exact" is asked for and the network has a user's own activation; if radii are
        asked for that nothing is proved about.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit import Network, certify
    >>> from exactfit.network.bits import BitMatrix
    >>> from exactfit.network.activations import THRESHOLD
    >>> from exactfit.network import Decoder, Dense, Layer, Masks
    >>> one = BitMatrix.from_bool(np.array([[True]]))
    >>> cut = Layer(Dense(np.array([[1.0]])), np.array([-0.5]), THRESHOLD)
    >>> detector = Layer(Masks(one, -1), np.array([1]), THRESHOLD)
    >>> output = Layer(Masks(one, -1), np.array([0]), None)
    >>> network = Network((cut, detector, output), Decoder("sign", (0, 1)))
    >>> certificate = certify(network, np.array([[0.25], [0.5], [0.75]]), [0, 1, 1])
    >>> certificate.holds, certificate.errors, certificate.slack
    (False, array([1]), 0.5)
    >>> certify(network, np.array([[0.25], [0.75]]), [0, 1], arithmetic="float32").holds
    True
    >>> certify(network, np.array([[0.0], [0.75]]), [0, 1], radii=True).radii.round(9)
    array([0.5 , 0.25])
    """
    check_choice("arithmetic", arithmetic, ARITHMETICS)
    check_flag("radii", radii)
    check_flag("attack", attack)
    check_n_jobs(n_jobs)
    if hasattr(X, "__dask_graph__") and hasattr(model, "certify"):
        if attack or len(given_up):
            raise ParameterError(
                "for Dask collections there is neither attack nor given_up: fetch the rows in question"
            )
        return cast("Certificate", model.certify(X, y, arithmetic=arithmetic, radii=radii, margin=margin))
    case = Case.of(model, X, y, given_up)
    least = case.margin if margin is None else check_number("margin", margin)
    if not 0 <= least < np.inf:
        raise ParameterError(f"margin must be a finite distance >= 0, got {shown(margin)}")
    with progress_bar(bool(verbose)) as progress:
        effort = ProofEffort(n_jobs, progress, arithmetic if radii or attack or least > 0 else None)
        verdict = case.prove(effort, exact_operations)
    certificate = case.certificate(verdict, arithmetic, n_jobs)
    if effort.radii is not None:
        certificate = _with_radii(certificate, verdict, case.kept, least)
    if attack and verdict.radii is not None:
        if isinstance(case.network, SwitchedNetwork):
            raise ParameterError("attack looks for moves against one network: use radii=True for a repaired model")
        points, codes = case.seen.take(case.kept).tile(0, len(case.kept)), case.codes[case.kept]
        upper = smallest_attack(case.network, points, codes, verdict.radii, verdict.setters)
        certificate = replace(certificate, radius_upper=upper)
    return certificate.in_rows(case.rows)


def _read(model: Any, X: Any, y: Any) -> dict[str, Any]:
    """Find network, data and what else is known in a network, construction, classifier, table's model or pipeline."""
    if isinstance(model, Network | SwitchedNetwork):
        return {"network": model, "X": X, "y": y}
    if isinstance(getattr(model, "network", None), Network):  # a construction
        return {"network": model.network, "X": X, "y": y, "margin": _margin(model, "trace")}
    if hasattr(model, "network_") and hasattr(model, "classes_"):  # a classifier
        return {
            "network": model.network_,
            "X": X,
            "y": y,
            "classes": model.classes_,
            "exact_in": getattr(model, "exact_in", None),
            "margin": _margin(model, "trace_"),
            "answers": model.given_answers(X) if hasattr(model, "given_answers") else None,
        }
    if hasattr(model, "points_and_labels") and hasattr(model, "classifier_"):  # a table's model
        points, labels, rows = model.points_and_labels(X, y)
        return _read(model.classifier_, points, labels) | {"rows": rows}
    if hasattr(model, "named_steps"):  # a pipeline: what its last step sees
        return _read(model.steps[-1][1], X if len(model.steps) == 1 else model[:-1].transform(X), y)
    if hasattr(model, "fit") and not any(name.endswith("_") for name in vars(model)):
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(f"this {type(model).__name__} is not fitted yet: call fit before certify")
    raise ParameterError(
        "certify takes a Network, a Construction, a fitted classifier, RepairedClassifier or table's model, or a "
        f"fitted pipeline that ends in one, got {type(model).__name__}"
    )


def _margin(model: Any, trace: str) -> float:
    return float(getattr(getattr(model, trace, None), "margin", 0.0))


@dataclass(frozen=True, eq=False)
class Case:
    """A network and data that fit each other, with the rows that a certificate is about."""

    network: Network | SwitchedNetwork
    points: Points  # as given
    seen: Points  # rounded, if the classifier has a format
    labels: NDArray[Any]
    codes: Codes  # class indices of all points
    classes: Any  # labels by class index; None where labels are class indices themselves
    left_out: Codes  # rows that are given up
    kept: Codes  # all others
    margin: float  # claimed by the construction
    rows: Codes | None  # numbers of the rows in a file, ascending; None: 0, 1, ...
    answers: Codes | None  # of a model behind patches that is no chain of layers

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, given_up: Any) -> Case:
        """Read the model and validate the data; refuse what does not fit, with the reason."""
        found = _read(model, X, y)
        network, classes, rows, answers = (
            found["network"],
            *(found.get(name) for name in ("classes", "rows", "answers")),
        )
        if found["y"] is None:
            raise ParameterError("certify needs y, the labels of the points")
        points = Points.of(found["X"])
        n_samples = points.shape[0]
        refuse_empty(points.shape)
        refuse_other_features(points.shape[1], network.n_features)
        labels = as_labels(found["y"], n_samples)
        left_out = _check_rows(given_up, n_samples, rows)
        return cls(
            network=network,
            points=points,
            seen=replace(points, format=found.get("exact_in")),
            labels=labels,
            codes=class_indices(labels, classes),
            classes=classes,
            left_out=left_out,
            kept=np.delete(np.arange(n_samples, dtype=np.int64), left_out),
            margin=found.get("margin", 0.0),
            rows=rows,
            answers=None if answers is None else np.asarray(answers, dtype=np.int64),
        )

    def prove(self, effort: ProofEffort, exact_operations: int) -> Verdict:
        """Prove the points by the sharpest proof for the network's form."""
        network, codes = self.network, self.codes[self.kept]
        points = (self.seen.take(self.kept) if len(self.left_out) else self.seen).checked()
        if isinstance(network, SwitchedNetwork):
            given = None if self.answers is None else self.answers[self.kept]
            return prove_switched(network, points, codes, effort, exact_operations, given)
        found = prove_threshold(network, points, codes, effort)
        verdict = found or prove_chain(network, points, codes, effort, exact_operations)
        if verdict is not None:
            return verdict
        # With an activation of a user's own, a point is right if the network itself decides so.
        tiles = [network.decide(points.tile(*piece), n_jobs=effort.n_jobs, checked=True) for piece in points.ranges()]
        decided = np.concatenate([np.empty(0, dtype=np.int64), *tiles])
        right = (decided == codes) & (codes >= 0)
        return Verdict({"exact": right}, slack=float("nan"), radius=None, method="evaluation", note=EVALUATED)

    def certificate(self, verdict: Verdict, arithmetic: Arithmetic, n_jobs: int | None) -> Certificate:
        """Make the certificate of what was proved, in an arithmetic."""
        if arithmetic not in verdict.right:
            raise ParameterError(f"there is no proof in {arithmetic} arithmetic for an own activation: use 'exact'")
        outvoted, note = self.left_out, verdict.note
        differing = self.differing(verdict, arithmetic, n_jobs)
        errors = np.union1d(self.kept[~verdict.right[arithmetic]], differing)
        if len(differing):
            more = f"{counted(len(differing), 'row')} proved right, but answered otherwise"
            note = f"{note or f'{arithmetic} arithmetic'}; {more}"
        if len(self.left_out):  # of these, those that equal a kept one of another label
            outvoted = overruled_rows(self.seen.whole(), self.codes, self.left_out)
        by_slack, mispredicted = _with_slack(self.network), None
        if by_slack is not None:
            mispredicted = errors[self.answer(errors, by_slack, n_jobs) != self.codes[errors]]
        return Certificate(
            holds=len(errors) == 0,
            n_samples=self.points.shape[0],
            n_errors=len(errors),
            errors=errors,
            slack=verdict.slack,
            robust_radius=0.0 if len(differing) and verdict.radius is not None else verdict.radius,
            arithmetic=arithmetic,
            proof="recomputed",
            method=verdict.method,
            radius_method=verdict.radius_method,
            float64_safe=verdict.is_safe("float64"),
            float32_safe=verdict.is_safe("float32"),
            data_digest=data_digest(self.points, self.labels),
            network_digest=self.network.digest,
            note=note,
            given_up=self.left_out,
            overruled=outvoted,
            mispredicted=mispredicted,
            answers_digest=None if self.answers is None else answers_digest(self.answers),
        )

    def differing(self, verdict: Verdict, arithmetic: Arithmetic, n_jobs: int | None) -> Codes:
        """Return rows that are proved right in an arithmetic, but that the model at hand answers otherwise."""
        # It evaluates in float64, so that only rows have to be tried that are not right in every such evaluation; or
        # all, where a layer of integers is followed by one that would round them, which evaluation refuses.
        right, parts = verdict.right[arithmetic], getattr(self.network, "parts", {"": self.network})
        refuses = any(
            isinstance(before.weights, Integers) and not isinstance(after.weights, Integers)
            for network in parts.values()
            for before, after in pairwise(network.layers)
        )
        sure = np.zeros_like(right) if refuses else verdict.right.get("float64", np.zeros_like(right))
        rows = self.kept[right & ~sure]
        by_slack = None if self.classes is None else _with_slack(self.network)
        return np.asarray(rows[self.answer(rows, by_slack, n_jobs) != self.codes[rows]])

    def answer(self, rows: Codes, by_slack: DetectorNetwork | None, n_jobs: int | None) -> Codes:
        """Return answers to some rows, by ``predict`` of detectors if given, else by ``decide``."""
        some = self.seen.take(rows)
        tiles = [self._answer(some.tile(*piece), rows[slice(*piece)], by_slack, n_jobs) for piece in some.ranges()]
        return np.concatenate([np.empty(0, dtype=np.int64), *tiles])

    def _answer(self, points: Floats, rows: Codes, by_slack: DetectorNetwork | None, n_jobs: int | None) -> Codes:
        """Return answers to the points of some rows; UNKNOWN where evaluation refuses one."""
        try:
            with np.errstate(all="ignore"):
                if isinstance(self.network, SwitchedNetwork) and self.answers is not None:
                    return overruled(self.network.patches.decide(points, n_jobs=n_jobs), self.answers[rows])
                if by_slack is not None:
                    n_classes = None if self.classes is None else len(self.classes)
                    return by_slack.predict_codes(points, n_classes=n_classes, n_jobs=n_jobs)
                return self.network.decide(points, n_jobs=n_jobs)
        except DataError:
            each = [self._answer(points[[k]], rows[[k]], by_slack, n_jobs) for k in range(len(rows)) if len(rows) > 1]
            return np.concatenate(each) if each else np.array([UNKNOWN])


def _with_slack(network: Network | SwitchedNetwork) -> DetectorNetwork | None:
    """Return a network whose detectors all have limits above their floors, to which slack is relative; else None."""
    found = None if isinstance(network, SwitchedNetwork) else network.detectors
    return found if found is not None and bool((found.spans > 0).all()) else None


def _with_radii(certificate: Certificate, verdict: Verdict, kept: Codes, margin: float) -> Certificate:
    """Add a radius for every row, what sets the smallest, and the margin that they prove."""
    # Radii above zero are rounded down, so a move by a whole radius is still within what is proved.
    found = verdict.radii
    if found is None:
        raise ParameterError("there is no proof of radii for a network of this kind: use radii=False")
    if certificate.arithmetic != "exact" and verdict.radius_method != "slack of detectors":
        raise ParameterError("radii in a format are proved for threshold networks of the paper's form only")
    found = np.where(np.isin(kept, certificate.errors), 0.0, found)
    radii = np.full(certificate.n_samples, np.nan)
    radii[kept] = found
    if margin > 0:
        narrow = np.setdiff1d(kept[found < margin], certificate.errors).astype(np.int64)
        certificate = replace(certificate, margin=margin, narrow=narrow)
    if not len(kept):
        return replace(certificate, radii=radii)
    row = int(found.argmin())
    setter = None if verdict.setters is None or verdict.setters[row] < 0 else int(verdict.setters[row])
    smallest = float(found[row])
    return replace(certificate, radii=radii, robust_radius=smallest, radius_row=int(kept[row]), radius_detector=setter)


def _check_rows(rows: Any, n_samples: int, names: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Return distinct rows, ascending, as places among the points; refuse what is none."""
    given, known = np.asarray(rows), np.arange(n_samples) if names is None else names
    are_integers = given.ndim == 1 and (given.dtype.kind in "iu" or not given.size)
    if not are_integers or not np.isin(given, known).all():
        of = f"from 0 to {n_samples - 1}" if names is None else "that the table has"
        raise ParameterError(f"given_up must hold row numbers {of}")
    return np.searchsorted(known, np.unique(given)).astype(np.int64)
