"""``compare``: every construction and the usual baselines on one data set, split once for all."""

from __future__ import annotations

import tempfile
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from .._support.options import check_number, check_whole
from .._support.progress import Progress, progress_bar
from .._support.threads import n_threads
from ..construct.memory import machine_memory
from .comparison import Comparison, Row
from .contenders import Contender, choose
from .contest import Limits, prepare, run


def compare(
    X: Any,
    y: Any,
    constructions: Any = "all",
    time_limit: float = 60.0,
    *,
    memory_limit: int | None = None,
    conflicts: str = "raise",
    random_state: int = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Comparison:
    """Build networks by every construction, certify them, and put them side by side.

    Four fifths of every class, the same for all, are built on; the rest is held out. Each
    construction runs in a process of its own and is ended when its time or memory is out;
    its row then says so. Ctrl-C ends the comparison and leaves the rows so far.

    Parameters
    ----------
    X : array, sparse matrix or frame, shape (n_samples, n_features)
    y : sequence of n_samples labels
    constructions : "all", name, Constructor, or several of these
        Names are those of ``exactfit.constructions.CONSTRUCTORS`` and, as baselines that are not
        certified, ``"1-nn"``, ``"decision-tree"`` and ``"mlp"``. A mapping gives rows names
        of one's own: ``{"small groups": Baum(group_size=3)}``.
    time_limit : float
        Seconds for each: to build, evaluate and certify. Starting a process and compiling do not count.
    memory_limit : int or None
        Bytes for each, data that all share left out; half of the machine's memory by default.
        Kept where the system tells how much a process uses (Linux, macOS).
    conflicts : {"raise", "majority"}
        What to do about equal points with different labels, as in ``InterpolatingClassifier``.
    random_state : int
        Seed of the split, the probes and every construction. The same seed gives the same
        table, apart from seconds and from what the time limit cuts short.
    n_jobs : int or None
        How many to run at a time. Seconds are most comparable one at a time, the default.
    verbose : bool
        Whether to show progress.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import exactfit
    >>> comparison = exactfit.compare(*load_iris(return_X_y=True), "huang")
    >>> comparison.n_samples, comparison.n_held_out, comparison["huang"].certified
    (120, 30, True)
    """
    contenders = choose(constructions)
    seconds = check_number("time_limit", time_limit, above=0.0)
    memory = machine_memory() // 2 if memory_limit is None else check_whole("memory_limit", memory_limit, at_least=1)
    seed = check_whole("random_state", random_state, at_least=0)
    limits = Limits(seconds, memory, n_threads(n_jobs), seed)
    data, n_classes = prepare(X, y, conflicts, seed)
    with tempfile.TemporaryDirectory(prefix="exactfit-") as folder, progress_bar(bool(verbose)) as progress:
        data.save(Path(folder))
        rows = _rows(contenders, Path(folder), limits, progress)
    names = [contender.name for contender in contenders]
    return Comparison(
        rows=tuple(rows[name] for name in names if name in rows),
        n_samples=len(data.y),
        n_held_out=len(data.other_codes),
        n_features=data.X.shape[1],
        n_classes=n_classes,
        time_limit=seconds,
        memory_limit=memory,
        random_state=seed,
        missing=tuple(name for name in names if name not in rows),
    )


def _rows(contenders: list[Contender], folder: Path, limits: Limits, progress: Progress) -> dict[str, Row]:
    """Rows by name; those so far if it is interrupted."""
    rows = dict[str, Row]()
    arriving = run(
        contenders, folder, limits, lambda name, passed: progress(name, round(passed), round(limits.seconds))
    )
    with suppress(KeyboardInterrupt), closing(arriving):
        for row in arriving:
            rows[row.name] = row
            progress("constructions", len(rows), len(contenders))
    return rows
