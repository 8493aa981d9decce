"""The estimator for Dask collections: Dask in, Dask out, and the network that one machine would build."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._support.console import progress_bar
from .._support.parameters import check_integer, fill_docstring
from ..certificate import Certificate
from ..certificate.record import Arithmetic
from ..construct.build import build
from ..data import Labelled, as_labels, refuse_other_features
from ..estimators import InterpolatingClassifier
from ..exceptions import DataError, ParameterError
from ..explanation import Explanations
from ..options import Options
from .runner import Runner
from .shards import Shards, gathered_labels, is_collection, lazy_rows, row_chunks
from .tasks import answers_of_chunk, joined_rows

OWN = ("round_trips_", "phase_seconds_")  # attributes that the ordinary estimator does not have
# Options of the ordinary estimator that have to stay at these values.
LEFT_OUT = {"noise": 0.0, "exact_in": None, "activation": "threshold"}

_lazily = fill_docstring(
    rows="""Parameters
        ----------
        X : Dask array or frame of shape (n_samples, n_features)

        Returns
        -------
        Dask array, not computed yet"""
)


class DaskInterpolatingClassifier(InterpolatingClassifier):
    """Classifier that fits every point of a Dask array or frame: the network that one machine would build.

    Same rows, options and seed: the same network, bit for bit, as :class:`exactfit.InterpolatingClassifier`
    builds, whatever the chunks, the number of workers and the order in which they finish.

    Points stay where they are. Patterns (a bit for every point and hyperplane) come here, equal ones of a class
    once. Refused: ``noise``, ``exact_in``, activations other than the threshold.

    Parameters
    ----------
    width, min_width, max_width, max_bias, center, hyperplanes, max_features, image_shape, fallback_cuts
        As of :class:`exactfit.InterpolatingClassifier`, and so are the next:
    activation, detectors, target, conflicts, noise, exact_in, margin, n_jobs, random_state
    verbose : int, default=0
        1 shows a progress bar, of tasks that are done.
    client : distributed.Client or None, default=None
        None: the current client; without any, Dask's local scheduler, which takes data larger than memory too.
    memory_limit : int or None, default=None
        Bytes that hyperplanes, distinct patterns or hashes of rows may take here (None: what the machine has); hashes
        beyond come in parts, all else is refused.

    Attributes
    ----------
    round_trips_ : int
        How often ``fit`` waited for results, or asked which workers there are, before it went on.
    phase_seconds_ : dict
        For how long it did, by what was done there. All others are those of :class:`exactfit.InterpolatingClassifier`.

    Examples
    --------
    >>> import pytest
    >>> da = pytest.importorskip("dask.array")
    >>> from exactfit.distributed import DaskInterpolatingClassifier
    >>> X, y = da.from_array([[0.0], [1.0], [2.0]], chunks=2), da.from_array([0, 1, 0], chunks=1)
    >>> model = DaskInterpolatingClassifier(random_state=0).fit(X, y)
    >>> model.predict(X).compute()
    array([0, 1, 0])
    >>> model.to_local().interpolates_
    True
    """

    def __init__(
        self, width: Literal["adaptive"] | int = "adaptive", *, min_width: Literal["auto"] | int = "auto",
        max_width: int | None = None, max_bias: Literal["radius"] | float = "radius", center: bool = True,
        hyperplanes: str = "sparse", max_features: int | tuple[int, int] = 4,
        image_shape: tuple[int, ...] | None = None, fallback_cuts: bool = True,
        activation: Any = "threshold", detectors: str = "auto", target: Any = "all",
        conflicts: str = "raise", noise: float = 0.0, exact_in: Literal["float64", "float32"] | None = None,
        margin: float | str = 0.0, n_jobs: int | None = None, random_state: Any = None, verbose: int = 0,
        client: Any = None, memory_limit: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            width, min_width=min_width, max_width=max_width, max_bias=max_bias, center=center,
            hyperplanes=hyperplanes, max_features=max_features, image_shape=image_shape, fallback_cuts=fallback_cuts,
            activation=activation, detectors=detectors, target=target, conflicts=conflicts, noise=noise,
            exact_in=exact_in, margin=margin, n_jobs=n_jobs, random_state=random_state, verbose=verbose,
        )  # fmt: skip
        self.client = client
        self.memory_limit = memory_limit

    def _fit(self, X: Any, y: Any) -> None:
        self._refuse_what_is_left_out()
        with progress_bar(bool(self.verbose)) as progress:
            runner = Runner(self.client, progress)
            points = Shards.of(X, runner, self.memory_limit)
            data = Labelled.of_targets(points, as_labels(gathered_labels(y, runner), len(points)))
            points.labels = data.y
            made = build(data, Options.of(self), self.random_state, progress)
            digest = points.digest(data.y)
        self._remember_features(X, points.shape[1])
        self._keep(made, data.classes, made.certificate(len(data), digest, None))
        self.round_trips_, self.phase_seconds_ = runner.round_trips, runner.seconds

    def _refuse_what_is_left_out(self) -> None:
        options = Options.of(self)
        given = {**vars(options), "activation": "threshold" if options.s.is_threshold else options.s.name}
        for name, value in LEFT_OUT.items():
            if given[name] != value:
                raise ParameterError(
                    f"{name}={given[name]!r} does not work on Dask collections yet: use {name}={value!r}, "
                    "or InterpolatingClassifier on points in memory"
                )
        if self.memory_limit is not None:
            check_integer("memory_limit", self.memory_limit, at_least=1)

    def _remember_features(self, X: Any, count: int) -> None:
        """Remember number and names of features as scikit-learn does: names if all are strings."""
        self.__dict__.pop("feature_names_in_", None)
        self.n_features_in_ = count
        names = list(getattr(X, "columns", []))
        if names and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.array(names, dtype=object)

    def to_local(self) -> InterpolatingClassifier:
        """Return the estimator that one machine would have fitted: same network, certificate and explanations."""
        check_is_fitted(self)
        names = InterpolatingClassifier().get_params()
        local = InterpolatingClassifier(**{name: getattr(self, name) for name in names})
        fitted = {name: value for name, value in vars(self).items() if name.endswith("_") and name not in OWN}
        local.__dict__.update(fitted)
        return local

    @_lazily
    def predict(self, X: Any) -> Any:
        """Return the label that claims each point most clearly.

        {rows}
            Of shape (n_samples,).
        """
        return self._lazy(X, "predict")

    @_lazily
    def decision_function(self, X: Any) -> Any:
        """Return how clearly each class claims a point; see :class:`exactfit.InterpolatingClassifier`.

        {rows}
            Of shape (n_samples, n_classes), or (n_samples,) for two classes.
        """
        return self._lazy(X, "decision_function")

    @_lazily
    def claims(self, X: Any) -> Any:
        """Return which classes claim each point; see :class:`exactfit.InterpolatingClassifier`.

        {rows}
            Of bool, of shape (n_samples, n_classes).
        """
        return self._lazy(X, "claims")

    @_lazily
    def abstains(self, X: Any) -> Any:
        """Return which points no class or several classes claim; see :class:`exactfit.InterpolatingClassifier`.

        {rows}
            Of bool, of shape (n_samples,).
        """
        return self._lazy(X, "abstains")

    def _lazy(self, X: Any, method: str) -> Any:
        """Apply a method of the ordinary estimator to every chunk, once it is computed."""
        check_is_fitted(self)
        local = self._for_chunks()
        self._refuse_other_features(X)
        # What comes back looks like what comes back for the origin.
        like = getattr(local, method)(np.zeros((1, self.n_features_in_)))[:0]
        return lazy_rows(X, answers_of_chunk, (local, method, like), like)

    def _for_chunks(self) -> InterpolatingClassifier:
        """Return the estimator for workers: one thread each, without names of features, which are compared here."""
        local = self.to_local()
        # A worker runs several tasks at once, each on one of its threads.
        local.set_params(n_jobs=None)
        local.__dict__.pop("feature_names_in_", None)
        return local

    def _refuse_other_features(self, X: Any) -> None:
        names = list(getattr(X, "columns", []))
        if names and names != list(getattr(self, "feature_names_in_", names)):
            raise DataError(f"X has the features {names}, fit saw {list(self.feature_names_in_)}")
        count = X.shape[1] if hasattr(X, "shape") else len(names)
        refuse_other_features(count, self.n_features_in_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the fraction of points that get their label, computed now.

        Parameters
        ----------
        X : Dask array or frame of shape (n_samples, n_features)
        y : Dask array, series or array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        float
        """
        runner = Runner(self.client)
        answers = gathered_labels(self.predict(X), runner)
        labels = as_labels(gathered_labels(y, runner), len(answers))
        return float(np.average(answers == labels, weights=sample_weight))

    def certify(
        self, X: Any, y: Any, *, arithmetic: Arithmetic = "exact", radii: bool = False, margin: float | None = None
    ) -> Certificate:
        """Prove the network on Dask collections, chunk by chunk where they are; see :func:`exactfit.certify`.

        Parameters
        ----------
        X : Dask array or frame of shape (n_samples, n_features)
        y : Dask array, series or array of shape (n_samples,)
        arithmetic : {"exact", "float64", "float32"}
        radii : bool
        margin : float, optional

        Returns
        -------
        Certificate
            The one that :func:`exactfit.certify` gives for the same rows in memory.
        """
        check_is_fitted(self)
        self._refuse_other_features(X)
        with progress_bar(bool(self.verbose)) as progress:
            runner = Runner(self.client, progress)
            points = Shards.of(X, runner, self.memory_limit)
            labels = as_labels(gathered_labels(y, runner), len(points))
            return points.certify(
                self._for_chunks(), labels, {"arithmetic": arithmetic, "radii": radii, "margin": margin}
            )

    def explain(self, X: Any, *, radii: bool = False) -> Explanations:
        """Explain the answers to some points, which are fetched and looked at here.

        Parameters
        ----------
        X : Dask or ordinary array or frame of shape (n_samples, n_features)
            As many rows as fit in memory here.
        radii : bool
            Also prove how far each point may move without changing its answer.

        Returns
        -------
        Explanations
        """
        local = self.to_local()
        if not is_collection(X):
            return local.explain(X, radii=radii)
        self._refuse_other_features(X)
        parts = [part for part in Runner(self.client).run(row_chunks(X), "rows") if part.shape[0]]
        if not parts:
            raise DataError("X must have at least one row")
        return local.explain(joined_rows(parts), radii=radii)
