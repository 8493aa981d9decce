"""Benchmarks: exactfit beside a dense NumPy form and others. ``python -m benchmarks --list``."""
