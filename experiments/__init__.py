"""The paper's experiments, and sweeps of one's own: an application of exactfit, run as ``python -m experiments``.

An experiment is a TOML file (``experiment.py`` says what it may hold; the paper's are in ``paper/``). Its cells are run
by ``widths.py`` (networks of fixed width) or ``options.py`` (any construction, with points held out); ``sweep.py`` runs
what a store lacks, here, in processes or on a cluster. ``store.py`` keeps trials, ``trials.py`` says what they show of
every cell, ``plots.py`` and ``figures.py`` draw it, and ``published.py`` compares it with the paper's numbers.
"""
