"""Tables for people who have pandas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..exceptions import MissingDependencyError


def as_frame(columns: Mapping[str, Any]) -> Any:
    """A pandas frame of columns, or an error that says how to get pandas."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingDependencyError("frames need pandas: pip install pandas") from error
    return pd.DataFrame(dict(columns))
