"""``TableModel``: an encoding and a classifier, which take tables as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError

from ..certificate import Certificate, certify
from ..estimators import InterpolatingClassifier
from ..exceptions import ParameterError
from .encoding import Encoding, Field, Scaling
from .errors import speaking_of
from .reading import Format, read, read_table
from .table import Table

Floats = NDArray[np.float64]


class TableModel(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    r"""A classifier for tables: numbers and categories in, labels out.

    Its points, which certificates speak of, are the encoded rows: numeric columns as they are,
    an indicator (0 or 1) for each category, and then (x - ``mean_``) / ``scale_`` in float64.

    Parameters
    ----------
    classifier : InterpolatingClassifier, optional
        With its options; it is cloned, not fitted itself.
    scale : {"standard", "none"}
        Whether numeric columns are centred and divided by their standard deviation.

    Attributes
    ----------
    classifier_ : InterpolatingClassifier
        Fitted to the encoded rows.
    encoding_ : Encoding
    columns : tuple of Field
        In the order of the features: ``name``, ``kind`` ("numeric" or "categorical") and
        ``categories`` (sorted, or None) of each column that is used.
    features_ : tuple of str
        Names of the features: a numeric column's own, ``column=category`` for an indicator.
    mean_, scale_ : ndarray of float64, one for each feature
        0 and 1 for indicators, and without scaling.
    classes_ : ndarray
        The labels, as read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from exactfit import InterpolatingClassifier, TableModel
    >>> fruit = "weight,colour,fruit\n182,red,apple\n118,yellow,banana\n171,green,apple\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "fruit.csv"
    ...     _ = path.write_text(fruit)
    ...     model = TableModel(InterpolatingClassifier(random_state=0)).fit(path, target="fruit")
    ...     model.predict(path), model.certify(path).holds
    (array(['apple', 'banana', 'apple'], dtype='<U6'), True)
    >>> model.features_
    ('weight', 'colour=green', 'colour=red', 'colour=yellow')
    """

    classifier_: InterpolatingClassifier
    encoding_: Encoding

    def __init__(self, classifier: InterpolatingClassifier | None = None, *, scale: Scaling = "standard") -> None:
        self.classifier, self.scale = classifier, scale

    def fit(self, data: Any, target: str | None = None) -> TableModel:
        """Learn the encoding of a table, and build the network.

        Parameters
        ----------
        data : Table, path or frame
            A table with labels, or what :func:`read_table` makes one of.
        target : str, optional
            The column that holds the labels, where ``data`` is not a Table yet.

        Returns
        -------
        TableModel
            Itself. If the data are refused, it is left as it was.
        """
        if isinstance(data, Table) and target is not None:
            raise ParameterError("target goes with a file or a frame: this table has been read already")
        table = data if isinstance(data, Table) else read_table(data, target=target)
        if table.labels is None:
            raise ParameterError(f"say which column of {table.name} holds the labels: target=...")
        encoding = Encoding.learn(table, self.scale)
        classifier = clone(self.classifier or InterpolatingClassifier())
        with speaking_of(table):
            classifier.fit(encoding.encode(table), table.labels)
        self.classifier_, self.encoding_ = classifier, encoding
        return self

    @classmethod
    def of(cls, classifier: InterpolatingClassifier, encoding: Encoding, scale: Scaling) -> TableModel:
        """The fitted model of a classifier that was fitted to the points of an encoding."""
        model = cls(classifier, scale=scale)
        model.classifier_, model.encoding_ = classifier, encoding
        return model

    @property
    def columns(self) -> tuple[Field, ...]:
        """Name, kind and categories of each column, in the order of the features."""
        return self._encoding.fields

    @property
    def features_(self) -> tuple[str, ...]:
        """Names of the features."""
        return self._encoding.features

    @property
    def mean_(self) -> Floats:
        """What is subtracted from each feature."""
        return self._encoding.mean

    @property
    def scale_(self) -> Floats:
        """What each feature is then divided by."""
        return self._encoding.scale

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, as read."""
        return np.asarray(self.classifier_.classes_)

    @property
    def _encoding(self) -> Encoding:
        if not hasattr(self, "encoding_"):
            raise NotFittedError("this TableModel is not fitted yet: call fit first")
        return self.encoding_

    def read(self, source: Any, *, labels: bool = False, form: Format | None = None) -> Table:
        """Read the columns that this model takes: by name where there are names, by position otherwise.

        Parameters
        ----------
        source : path, "-" or frame
        labels : bool
            Whether to read the labels too. Other columns are passed over.
        form : Format, optional
            Separator, header, and what becomes of empty cells.
        """
        encoding = self._encoding
        return read(source, form or Format(), lambda names, header: encoding.choose(names, header, labels))

    def encode(self, data: Any) -> Floats:
        """The points of a table; of a path or frame, what :meth:`read` makes of it."""
        table = data if isinstance(data, Table) else self.read(data)
        return self._encoding.encode(table)

    def predict(self, data: Any) -> NDArray[Any]:
        """The label of every row.

        Parameters
        ----------
        data : Table, path or frame
        """
        X = self.encode(data)
        return np.asarray(self.classifier_.predict(X))

    def certify(self, data: Any, **options: Any) -> Certificate:
        """Prove, from the network and a table with labels, that every row is classified correctly.

        Parameters
        ----------
        data : Table, path or frame
        **options
            Of :func:`exactfit.certify`.
        """
        table = data if isinstance(data, Table) else self.read(data, labels=True)
        if table.labels is None:
            raise ParameterError(f"{table.name} was read without labels: there is nothing to certify")
        labels = _as_classes(table.labels, self.classes_)
        return certify(self.classifier_, self.encode(table), labels, **options)

    def explain(self, data: Any) -> Any:
        """What stands behind the answer for every row; see ``InterpolatingClassifier.explain``.

        Parameters
        ----------
        data : Table, path or frame
        """
        X = self.encode(data)
        return self.classifier_.explain(X)


def _as_classes(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    """Labels of a file as the model has them: 3 is "3" where some labels are text."""
    if labels.dtype.kind == classes.dtype.kind:
        return labels
    by_text = {str(label): label for label in classes.tolist()}
    return np.array([by_text.get(str(label), label) for label in labels.tolist()], dtype=object)
