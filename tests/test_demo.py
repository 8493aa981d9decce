"""What the demo shows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from exactfit import certify, demo


def test_two_moons_are_the_papers() -> None:
    X, y = demo.two_moons()
    assert X.shape == (1000, 2)
    assert np.bincount(y).tolist() == [500, 500]
    assert np.sqrt((X * X).sum(axis=1)).max() == pytest.approx(1.0, abs=1e-15)


def test_digits_are_all_of_them() -> None:
    X, y = demo.digits()
    assert X.shape == (1797, 64)
    assert sorted(set(y)) == list(range(10))


@pytest.mark.parametrize("name", list(demo.DATA))
def test_exhibits_are_fitted_and_certified(name: str) -> None:
    shown = demo.exhibit(name, random_state=1)
    assert repr(shown) == f"<Exhibit {shown.headline()}>"
    network = shown.model.network_
    assert shown.certificate.holds
    assert shown.certificate.proof == "recomputed"
    assert shown.certificate.network_digest == network.digest
    assert str(certify(shown.model, shown.X, shown.y)) == str(shown.certificate)
    assert shown.sizes()["neurons"] == sum(network.widths)
    assert shown.sizes()["hyperplanes"] == shown.model.width_


def test_same_seed_same_network() -> None:
    digests = [demo.exhibit("Two Moons", seed).certificate.network_digest for seed in (0, 0, 1)]
    assert digests[0] == digests[1] != digests[2]


def test_the_picture_goes_into_a_new_folder(tmp_path: Path) -> None:
    path = demo.draw(demo.exhibit("Two Moons"), tmp_path / "a" / "b")
    assert path == tmp_path / "a" / "b" / "two-moons.png"
    assert path.read_bytes().startswith(b"\x89PNG")
