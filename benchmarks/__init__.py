"""Benchmarks: exactfit beside a dense NumPy form, in one run. ``python -m benchmarks.run --help``."""
