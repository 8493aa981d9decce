"""The laboratory: the paper's experiments, sweeps of one's own, comparisons, their statistics and pictures."""
