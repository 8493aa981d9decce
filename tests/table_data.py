"""Tables that tests share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from exactfit import (
    InterpolatingClassifier,
    TableModel,
)


def fitted_table(data: Any, label: str | None = None, scale: Any = "standard", **options: Any) -> TableModel:
    return TableModel(InterpolatingClassifier(random_state=0, **options), scale=scale).fit(data, label=label)


def people() -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(40, 9, 60), "town": rng.choice(["Ulm", "Bonn"], 60)})
    return frame, pd.Series(np.where((frame["age"] > 40) ^ (frame["town"] == "Ulm"), "yes", "no"))


def fitted_to(X: Any, y: Any, **options: Any) -> TableModel:
    return TableModel(InterpolatingClassifier(random_state=0, **options)).fit(X, y)
