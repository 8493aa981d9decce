"""Networks as frozen data: detectors over hyperplanes, generic layers, decoders; and exact sides of hyperplanes."""

from .activations import RELU, THRESHOLD, Activation, Decoder, as_activation
from .bits import BitMatrix
from .detector_network import DetectorNetwork
from .network import InputMap, Layer, Network
from .weights import Dense, Integers, Masks, Sparse, WeightedMasks, Weights, object_array

__all__ = [
    "RELU",
    "THRESHOLD",
    "Activation",
    "BitMatrix",
    "Decoder",
    "Dense",
    "DetectorNetwork",
    "InputMap",
    "Integers",
    "Layer",
    "Masks",
    "Network",
    "Sparse",
    "WeightedMasks",
    "Weights",
    "as_activation",
    "object_array",
]
