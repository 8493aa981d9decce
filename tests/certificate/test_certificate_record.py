"""Certificates as records: text, JSON, older versions."""

from __future__ import annotations

import numpy as np
from helpers.networks import STEPS

from exactfit.certificate import Certificate, certify


def test_certificates_of_older_versions_can_be_read() -> None:
    plain = certify(STEPS, np.array([[0.25]]), [0]).to_dict()
    for name in ("method", "radius_method"):
        del plain[name]
    old = Certificate.from_dict(plain)
    assert (old.method, old.radius_method, old.holds) == (None, None, True)
    assert "method         not named" in str(old)
