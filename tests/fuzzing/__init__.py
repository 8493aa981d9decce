"""Random changes of whatever exactfit reads: ``python tests/fuzzing``."""
