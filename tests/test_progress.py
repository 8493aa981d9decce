"""Progress goes to standard error, and only where it was asked for."""

from __future__ import annotations

from exactfit._progress import progress_bar, silent


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
