"""From a construction to what an estimator says of it: rows, outcome and certificate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .certificate import Certificate
from .certificate.record import EVALUATED, method_of
from .construct import Construction
from .network.activations import as_activation
from .outcome import Outcome

Codes = NDArray[np.int64]


def outcome_of(made: Construction, certificate: Certificate) -> Outcome:
    """How it ended: what went wrong comes before what was asked for."""
    if certificate.holds and len(certificate.given_up):
        return Outcome.POINTS_GIVEN_UP
    overruled = certificate.n_errors and not len(made.trace.uncovered)
    return Outcome.CONFLICTS_OVERRULED if overruled else made.outcome


def in_rows(made: Construction, rows: Codes) -> Construction:
    """Row k of a construction becomes row ``rows[k]``."""
    trace = made.trace
    named = {name: rows[getattr(trace, name)] for name in ("anchors", "witnesses", "uncovered")}
    return replace(made, trace=replace(trace, **named))


def renumbered(made: Construction, present: NDArray[np.intp]) -> Construction:
    """Class k of a construction becomes class ``present[k]``."""
    decoder = replace(made.network.decoder, classes=tuple(present.tolist()))
    trace = replace(made.trace, detector_classes=present[made.trace.detector_classes].astype(np.int64))
    return replace(made, network=replace(made.network, decoder=decoder), trace=trace)


def errors_of(made: Construction, lost: NDArray[np.intp], exact_in: str | None) -> NDArray[np.int64]:
    """Rows that the network gets wrong: those it missed, and those that lost to a majority.

    With one output, a missed point gets the other label, which is right if that is the one that lost;
    but with ``exact_in`` a point is missed already if some evaluation may miss it.
    """
    join = np.setxor1d if made.network.decoder.kind == "sign" and exact_in is None else np.union1d
    return join(made.trace.uncovered, lost).astype(np.int64)


def in_format(exact_in: Literal["float64", "float32"] | None, holds: bool) -> dict[str, Any]:
    """What the construction also proves: float64 errs less than float32, on points that float32 holds too."""
    if exact_in is None:
        return {}
    return {"arithmetic": exact_in, "float64_safe": holds, "float32_safe": holds if exact_in == "float32" else None}


def by_construction(made: Construction, errors: NDArray[np.int64], n_samples: int, digest: str) -> Certificate:
    """What the cover step's own numbers prove: nothing is computed again.

    A threshold detector's limit is the count at its witness, so the smallest slack is 1/2.
    """
    activation = as_activation(made.network.layers[0].activation or "threshold")
    exact_slack = 0.5 if len(made.trace.anchors) else np.inf
    return Certificate(
        holds=not len(errors),
        n_samples=n_samples,
        n_errors=len(errors),
        errors=errors,
        slack=exact_slack if activation.is_threshold else np.nan,
        proof="construction",
        method=method_of(activation),
        data_digest=digest,
        network_digest=made.network.digest,
        note=EVALUATED if activation.is_own else "",
    )
