"""How clearly each class claims a point: the largest relative slack of its detectors."""

from __future__ import annotations

import numpy as np

from .compile import compiled
from .counting import COLUMN_TILE, count_words
from .values import sum_masked


@compiled
def best_slack_counts(words, start, stop, masks, limits, spans, classes, out):
    """out[k, c] = max over the detectors of class k of (limit - 1/2 - count) / span.

    Half a unit off, so that no score is zero: it is positive exactly where a detector fires.
    """
    counts = np.zeros(COLUMN_TILE, np.int64)
    for low in range(start, stop, COLUMN_TILE):
        high = min(low + COLUMN_TILE, stop)
        for m in range(masks.shape[0]):
            count_words(words, 0, words.shape[0], low, high, masks[m], counts)
            limit, span = np.float64(limits[m]), spans[m]
            best = out[classes[m], low:high]
            for c in range(high - low):
                best[c] = max(best[c], (limit - 0.5 - counts[c]) / span)


@compiled
def best_slack_sums(values, masks, limits, spans, classes, out):
    """out[k, c] = max over the detectors of class k of (limit - value) / span, never exactly zero."""
    n = values.shape[1]
    sums = np.empty(n)
    for m in range(masks.shape[0]):
        sum_masked(values, masks[m], sums)
        limit, span = limits[m], spans[m]
        best = out[classes[m]]
        for c in range(n):
            slack = (limit - sums[c]) / span
            if slack == 0.0:
                slack = -5e-324
            best[c] = max(best[c], slack)
