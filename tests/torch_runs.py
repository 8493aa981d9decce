"""Modules of PyTorch, run as NumPy would be."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch

torch.set_num_threads(1)  # other tests run beside these


def run(module, X):
    """Labels and scores of points."""
    label, scores = module(torch.from_numpy(X))
    return label.numpy(), scores.numpy()
