"""From what a user hands over to a plan, with what is known and proved about it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from .._version import __version__
from ..certificate import Certificate
from ..construct import Construction
from ..estimators import InterpolatingClassifier
from ..exceptions import ParameterError
from ..network import Network
from .plan import DType, Plan, Scale, plan_classifier, plan_network

SHOWN_ERRORS = 1000


def plan_of(model: Any, dtype: DType) -> Plan:
    """What to compute for a fitted classifier, a table's model, a construction or a network."""
    if isinstance(model, Construction):
        model = model.network
    if isinstance(model, Network):
        return replace(plan_network(model), about=_about_network(model, dtype))
    if isinstance(model, InterpolatingClassifier):
        return _plan_classifier(model, dtype)
    if hasattr(model, "encoding_") and hasattr(model, "classifier_"):
        return _plan_table(model, dtype)
    if hasattr(model, "fit") and hasattr(model, "classifier"):
        raise NotFittedError(f"this {type(model).__name__} is not fitted yet: call fit before exporting it")
    raise ParameterError(
        "exports take a fitted InterpolatingClassifier, TableModel, Construction or Network, "
        f"got {type(model).__name__}"
    )


def _plan_classifier(model: InterpolatingClassifier, dtype: DType) -> Plan:
    check_is_fitted(model, "network_")
    plan = plan_classifier(model.network_, model.classes_, model.exact_in)
    names = getattr(model, "feature_names_in_", None)
    about = _about_network(model.network_, dtype) | {
        "exactfit.classes": json.dumps(model.classes_.tolist()),
        "exactfit.exact_in": model.exact_in or "",
        "exactfit.certificate": json.dumps(_short(model.certificate_)),
        "exactfit.proved": proved(model.certificate_, dtype),
    }
    if names is not None:
        about["exactfit.feature_names"] = json.dumps([str(name) for name in names])
    return replace(plan, about=about)


def _plan_table(model: Any, dtype: DType) -> Plan:
    """Columns as numbers, categories as zeros and ones, in the order that the metadata say; scaling is inside."""
    plan = _plan_classifier(model.classifier_, dtype)
    about = plan.about | {
        "exactfit.feature_names": json.dumps(list(model.features_)),
        "exactfit.columns": json.dumps(model.encoding_.to_dict()),
    }
    return replace(plan, steps=(Scale(model.mean_, model.scale_), *plan.steps), about=about)


def _about_network(network: Network, dtype: DType) -> dict[str, str]:
    return {"exactfit.version": __version__, "exactfit.network_sha256": network.digest, "exactfit.dtype": dtype}


def _short(certificate: Certificate) -> dict[str, Any]:
    """As JSON can hold it, with the first rows in error only."""
    plain = certificate.to_dict()
    return plain | {"errors": plain["errors"][:SHOWN_ERRORS]}


def proved(certificate: Certificate, dtype: DType) -> str:
    """What a certificate says about evaluations in the format of an export.

    Examples
    --------
    >>> from exactfit import InterpolatingClassifier
    >>> from exactfit.export.models import proved
    >>> model = InterpolatingClassifier(exact_in="float32", random_state=0).fit([[0.0], [1.0]], ["a", "b"])
    >>> proved(model.certificate_, "float32")
    'all 2 training points are right in every float32 evaluation (proof: construction)'
    """
    safe = certificate.float64_safe if dtype == "float64" else certificate.float32_safe
    points = f"{certificate.n_samples} training points"
    if safe:
        return f"all {points} are right in every {dtype} evaluation (proof: {certificate.proof})"
    right = certificate.n_samples - certificate.n_errors
    return (
        f"{right} of {points} are right in {certificate.arithmetic} arithmetic (proof: {certificate.proof}); "
        f"in {dtype} nothing is proved: certify(model, X, y, arithmetic={dtype!r}) names the rows that are not safe"
    )
