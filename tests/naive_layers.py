"""Networks evaluated as written down: one unit after the other, in exact fractions."""

from __future__ import annotations

from fractions import Fraction

from exactfit.network import Dense, Integers, Masks, Sparse, WeightedMasks


def rows_of(weights):
    """Weights as lists of fractions."""
    match weights:
        case Dense() | Integers():
            table = weights.values.tolist()
        case Sparse():
            table = weights.matrix.toarray().tolist()
        case WeightedMasks():
            table = (weights.sign * weights.values.astype(int)).tolist()
        case Masks():
            table = (weights.sign * weights.bits.to_bool().astype(int)).tolist()
    return [[Fraction(value) for value in row] for row in table]


def outputs(network, point):
    """Outputs for one point, as fractions."""
    values = [Fraction(value) for value in point]
    for layer in network.layers:
        biases = [Fraction(value) for value in layer.bias.tolist()]
        sums = [
            sum((w * v for w, v in zip(row, values, strict=True) if w), bias)
            for row, bias in zip(rows_of(layer.weights), biases, strict=True)
        ]
        if layer.activation is None:
            values = sums
        elif layer.activation.is_threshold:
            values = [Fraction(total > 0) for total in sums]
        else:
            values = [max(total, Fraction(0)) for total in sums]
    return values
