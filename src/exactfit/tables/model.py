"""``TableModel``: an encoding and a classifier, which take tables as they are."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import column_or_1d

from .._support.html import FactsBelow
from ..certificate import Certificate, certify
from ..data import data_digest
from ..estimators import InterpolatingClassifier
from ..exceptions import DataError, ParameterError
from .encoding import Encoding, Field, Scaling, refuse_measure
from .explained import RowExplanations
from .reading import ReadOptions, read_table
from .table import Floats, Missing, Table, speaking_of
from .wording import TableWording


class TableModel(FactsBelow, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    r"""A classifier for tables: numbers and categories in, labels out.

    Its points, which certificates speak of, are the encoded rows: numeric columns as they are,
    an indicator (0 or 1) for each category, and then (x - ``mean_``) / ``scale_`` in float64.

    Parameters
    ----------
    classifier : InterpolatingClassifier, optional
        With its options; it is cloned, not fitted itself.
    scale : {"standard", "none"}
        Whether numeric columns are centred and divided by their standard deviation.
    missing : {"error", "drop-rows", "impute", "indicator"}
        What becomes of empty cells, see :func:`~exactfit.read_table`; a :class:`~exactfit.Table` brings its own.

    Attributes
    ----------
    classifier_ : InterpolatingClassifier
        Fitted to the encoded rows.
    encoding_ : Encoding
    table_ : Table
        What it was fitted to, for explanations, from ``fit`` or ``read_training``; neither saved nor pickled.
    columns : tuple of Field
        In the order of the features: ``name``, ``kind`` ("numeric" or "categorical") and
        ``categories`` (sorted, or None) of each column that is used.
    features_ : tuple of str
        Names of the features: a numeric column's own, ``column=category`` for an indicator.
    mean_, scale_ : ndarray of float64, one for each feature
        0 and 1 for indicators, and without scaling.
    classes_ : ndarray
        The labels, as read.
    certificate_ : Certificate
        Of ``classifier_``; its rows are those of the file, from 0 after the header.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from exactfit import InterpolatingClassifier, TableModel
    >>> fruit = "weight,colour,fruit\n182,red,apple\n118,yellow,banana\n171,green,apple\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "fruit.csv"
    ...     _ = path.write_text(fruit)
    ...     model = TableModel(InterpolatingClassifier(random_state=0)).fit(path, label="fruit")
    ...     model.predict(path), model.certify(path).holds
    (array(['apple', 'banana', 'apple'], dtype='<U6'), True)
    >>> model.features_
    ('weight', 'colour=green', 'colour=red', 'colour=yellow')
    """

    classifier_: InterpolatingClassifier
    encoding_: Encoding
    table_: Table

    def __init__(
        self,
        classifier: InterpolatingClassifier | None = None,
        *,
        scale: Scaling = "standard",
        missing: Missing = "error",
    ) -> None:
        self.classifier, self.scale, self.missing = classifier, scale, missing

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn may expect of this estimator."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    def _fitted_html(self) -> str:
        return self.classifier_._fitted_html() if hasattr(self, "classifier_") else ""

    def fit(self, X: Any, y: Any = None, *, label: str | None = None) -> TableModel:
        """Learn the encoding of a table, and build the network.

        Parameters
        ----------
        X : Table, path, frame or matrix
            A table, or what :func:`~exactfit.read_table` makes one of.
        y : array of shape (n_samples,), optional
            The labels, where they are not in the table.
        label : str, optional
            The column that holds the labels, where ``X`` is a file or a frame.

        Returns
        -------
        TableModel
            Itself. If the data are refused, it is left as it was.
        """
        if isinstance(X, Table) and label is not None:
            raise ParameterError("label goes with a file or a frame: this table has been read already")
        if label is not None and y is not None:
            raise ParameterError("labels are given twice: leave out y, or label")
        table = X if isinstance(X, Table) else read_table(X, label=label, missing=self.missing)
        refuse_measure(table)
        labels = _labels(table, y, "name their column with label=..., or pass them as y")
        # All is made before anything is kept: a table that is refused leaves the model as it was.
        encoding = Encoding.learn(table, self.scale)
        classifier = clone(self.classifier or InterpolatingClassifier())
        with speaking_of(table):
            classifier.fit(encoding.encode(table), labels)
        self.classifier_, self.encoding_ = classifier, encoding
        self.table_ = table if table.labels is not None else replace(table, labels=np.asarray(labels))
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the data: who passes a model on need not pass them on."""
        return {name: value for name, value in super().__getstate__().items() if name != "table_"}

    @classmethod
    def of(cls, classifier: InterpolatingClassifier, encoding: Encoding, scale: Scaling) -> TableModel:
        """Return the fitted model of a classifier that was fitted to the points of an encoding."""
        model = cls(classifier, scale=scale, missing=encoding.missing)
        model.classifier_, model.encoding_ = classifier, encoding
        return model

    @property
    def columns(self) -> tuple[Field, ...]:
        """Name, kind and categories of each column, in the order of the features."""
        return self._encoding.fields

    @property
    def n_features_in_(self) -> int:
        """Number of columns."""
        return len(self.columns)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns, if they have names of their own."""
        if not self._encoding.header:
            raise AttributeError("the columns have no names")
        return np.array([field.name for field in self.columns], dtype=object)

    @property
    def features_(self) -> tuple[str, ...]:
        """Names of the features."""
        return self._encoding.features

    @property
    def mean_(self) -> Floats:
        """Number that is subtracted from each feature."""
        return self._encoding.mean

    @property
    def scale_(self) -> Floats:
        """Number that each feature is then divided by."""
        return self._encoding.scale

    @property
    def feature_importances_(self) -> Floats:
        """Importance of each of ``columns``: that of its features together, see ``InterpolatingClassifier``."""
        starts = np.cumsum([0, *(len(field.features) for field in self.columns)])[:-1]
        return np.asarray(np.add.reduceat(self.classifier_.feature_importances_, starts))

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, as read."""
        return np.asarray(self.classifier_.classes_)

    @property
    def certificate_(self) -> Certificate:
        """The certificate of ``classifier_``, with rows as the file counts them."""
        return self.classifier_.certificate_.in_rows(self._encoding.rows)

    @property
    def _encoding(self) -> Encoding:
        if not hasattr(self, "encoding_"):
            raise NotFittedError("this TableModel is not fitted yet: call fit first")
        return self.encoding_

    def read(self, source: Any, *, labels: bool = False, form: ReadOptions | None = None) -> Table:
        """Read the columns that this model takes: by name where there are names, by position otherwise.

        Parameters
        ----------
        source : path, "-", frame or matrix
        labels : bool
            Whether to read the labels too. Other columns are passed over.
        form : ReadOptions, optional
            Separator, header, and what becomes of empty cells.
        """
        return self._encoding.read(source, labels=labels, form=form)

    # Each encodes first, which says that a model is not fitted.

    def encode(self, X: Any) -> Floats:
        """Return the points of a table; of a path, frame or matrix, what :meth:`read` makes of it."""
        return self._encoding.encode(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of every row of a table, path, frame or matrix."""
        points = self.encode(X)
        return np.asarray(self.classifier_.predict(points))

    def decision_function(self, X: Any) -> Floats:
        """Return how clearly each class claims every row; see ``InterpolatingClassifier.decision_function``."""
        points = self.encode(X)
        return np.asarray(self.classifier_.decision_function(points))

    def claims(self, X: Any) -> NDArray[np.bool_]:
        """Return which classes claim every row; see ``InterpolatingClassifier.claims``."""
        points = self.encode(X)
        return np.asarray(self.classifier_.claims(points))

    def abstains(self, X: Any) -> NDArray[np.bool_]:
        """Return which rows no class or several classes claim; see ``InterpolatingClassifier.abstains``."""
        points = self.encode(X)
        return np.asarray(self.classifier_.abstains(points))

    def explain(self, X: Any, training: Any = None, *, radii: bool = False) -> RowExplanations:
        """Explain the answer for every row; see ``InterpolatingClassifier.explain``.

        Anchors and witnesses are rows of the file that the model was fitted to, counted from 0 after the header.

        Parameters
        ----------
        X : Table, path, frame or matrix
        training : Table, path, frame or matrix, optional
            What the model was fitted to: the cells of its rows are shown beside their numbers. A model that was
            fitted here remembers it; one that was loaded has to be given it once, since files hold no data.
        radii : bool
            Also prove how far each row may move, in units of the encoded columns, without changing its answer.
        """
        asked = X if isinstance(X, Table) else self.read(X)
        found = self.classifier_.explain(self.encode(asked), radii=radii)
        known = getattr(self, "table_", None) if training is None else self.read_training(training)
        parts = {part.name: getattr(found, part.name) for part in fields(found)}
        wording = TableWording(self._encoding, asked, known)
        parts["conditions"] = found.conditions and replace(found.conditions, wording=wording)
        if self._encoding.rows is not None:
            names = self._encoding.rows
            supports = found.supports and replace(found.supports, rows=names[found.supports.rows])
            parts |= {"anchors": names[found.anchors], "witnesses": names[found.witnesses], "supports": supports}
        return RowExplanations(**parts, asked=asked, training=known)

    def read_training(self, source: Any, form: ReadOptions | None = None) -> Table:
        """Read the table that the model was fitted to, labels and all; refuses another one.

        Parameters
        ----------
        source : Table, path, frame or matrix
        form : ReadOptions, optional
            As for :meth:`read`; where the model was fitted without rows that have empty cells, so is this.
        """
        if source is getattr(self, "table_", None):
            return self.table_  # which was checked when it came
        form = form or ReadOptions()
        if form.missing == "error" and self._encoding.rows is not None:
            form = replace(form, missing="drop-rows")
        table = source if isinstance(source, Table) else self.read(source, labels=True, form=form)
        points, labels, _ = self.points_and_labels(table)
        if data_digest(points, labels) != self.classifier_.certificate_.data_digest:
            raise DataError(
                f"{table.name} does not hold the rows that the model was fitted to, in that order: the model's "
                "certificate names their SHA-256"
            )
        self.table_ = table
        return table

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the fraction of the rows that are classified as their labels say.

        Parameters
        ----------
        X : Table, path, frame or matrix
        y : array of shape (n_samples,), optional
            The labels; those of the table by default.
        sample_weight : array of shape (n_samples,), optional
        """
        table, labels = self._labelled(X, y)
        return float(np.average(self.predict(table) == labels, weights=sample_weight))

    def certify(self, X: Any, y: Any = None, **options: Any) -> Certificate:
        """Prove, from the network and a table with labels, that every row is classified correctly.

        Rows are those of the file, counted from 0 after the header, also where some were left out.

        Parameters
        ----------
        X : Table, path, frame or matrix
        y : array of shape (n_samples,), optional
            The labels; those of the table by default.
        **options
            Of :func:`exactfit.certify`.
        """
        return certify(self, X, y, **options)

    def points_and_labels(self, X: Any, y: Any = None) -> tuple[Floats, NDArray[Any], NDArray[np.int64]]:
        """Return points as ``classifier_`` takes them, their labels, and their row numbers in the file.

        Parameters
        ----------
        X : Table, path, frame or matrix
        y : array of shape (n_samples,), optional
            The labels; those of the table by default.
        """
        table, labels = self._labelled(X, y)
        return self.encode(table), labels, table.rows

    def _labelled(self, X: Any, y: Any) -> tuple[Table, NDArray[Any]]:
        """Return a table, and its labels as the model has them: 3 is "3" where some labels are text."""
        table = X if isinstance(X, Table) else self.read(X, labels=y is None)
        labels = column_or_1d(_labels(table, y, "read it with labels=True, or pass them as y"))
        if labels.dtype.kind == self.classes_.dtype.kind:
            return table, labels
        by_text = {str(label): label for label in self.classes_.tolist()}
        return table, np.array([by_text.get(str(label), label) for label in labels.tolist()], dtype=object)


def _labels(table: Table, y: Any, remedy: str) -> Any:
    """Return the labels that were given, or those of the table."""
    if isinstance(y, str):
        raise ParameterError(f"y must hold a label for each row; a column is named by label={y!r}")
    if y is None and table.labels is None:
        raise ParameterError(f"{table.name} was read without labels: {remedy}")
    return table.labels if y is None else y
