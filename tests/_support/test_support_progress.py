"""Progress goes to standard error, and only where it was asked for."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from exactfit import InterpolatingClassifier, certify, find_suspects
from exactfit._support.progress import Steps, progress_bar, silent


def test_silence_by_default(capfd):
    with progress_bar(False) as tell:
        assert tell is silent
        tell("hyperplanes", 64, None)
    assert capfd.readouterr() == ("", "")


def test_a_bar_tells_each_kind_of_work_on_standard_error(capfd, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal: elsewhere the bar shows nothing
    with progress_bar(True) as tell:
        for done in (64, 128):
            tell("hyperplanes", done, None)
        tell("detectors", 3, 10)
    out, err = capfd.readouterr()
    assert out == ""
    assert "hyperplanes" in err
    assert "detectors" in err


def test_steps_of_many_threads_are_all_counted():
    told = []
    steps = Steps(lambda *what: told.append(what), "points", 4000)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(steps.add, [1, 2, 3, 4] * 400))
    assert told[-1] == ("points", 4000, 4000)
    assert [done for _, done, _ in told] == sorted({done for _, done, _ in told})


def test_certify_and_find_suspects_show_how_far_they_are_if_asked(capfd, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.random((300, 3)), rng.integers(0, 3, 300)
    model = InterpolatingClassifier(random_state=0).fit(X, y)
    monkeypatch.setenv("FORCE_COLOR", "1")
    capfd.readouterr()
    certify(model, X, y)
    find_suspects(X, y, random_state=0)
    assert capfd.readouterr() == ("", "")
    certify(model, X, y, verbose=True)
    assert "points" in capfd.readouterr().err
    find_suspects(X, y, random_state=0, verbose=True)
    told = capfd.readouterr().err
    assert "claims" in told
    assert "neighbours" in told
