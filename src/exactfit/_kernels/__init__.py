"""The compiled leaf: arrays in, arrays out, no decisions about data.

Rules that keep these right: words are uint64 end to end (mixing with signed
integers would turn them signed), indices int64, no fastmath, no parallel loops
(callers bring threads; every kernel releases the GIL and is short), no random numbers.
"""
