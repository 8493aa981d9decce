"""
A convolutional network, repaired in its ONNX file
==================================================

A small convolutional network is trained on scikit-learn's digits (PyTorch, seconds) and written as an ONNX file. New
images that it gets wrong are reported; all training images that it gets right are to stay right. Patches go into the
file, whose inputs and outputs stay what they are. What is proved is proved given the network's own answers; the numbers
at the end are what ONNX Runtime computes.

``python examples/repair_convolutions.py [repaired.onnx]``; ``python -m benchmarks repair`` does it with MNIST.
"""

# sphinx_gallery_thumbnail_path = "images/repair.png"

import sys
import warnings
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import onnxruntime
import torch
from sklearn.datasets import load_digits
from torch import nn

from exactfit import repair, to_onnx

EPOCHS, BATCH = 8, 32
TRAINING, REPORTED = 1000, 400  # images to train on; images after them whose failures are reported

X, y = load_digits(return_X_y=True)
X = (X / 16).astype(np.float32)
torch.manual_seed(0)
model = nn.Sequential(
    nn.Unflatten(1, (1, 8, 8)), nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.ReLU(), nn.Flatten(),
    nn.Linear(128, 10),
)  # fmt: skip
optimiser = torch.optim.Adam(model.parameters(), 3e-3)
for _ in range(EPOCHS):
    for rows in torch.randperm(TRAINING).split(BATCH):
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(torch.from_numpy(X)[rows]), torch.from_numpy(y)[rows]).backward()
        optimiser.step()

file = Path(mkdtemp()) / "model.onnx"
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the newer exporter needs one package more
    torch.onnx.export(
        model.eval(), (torch.zeros(1, 64),), file, dynamo=False, input_names=["X"], output_names=["scores"],
        dynamic_axes={"X": {0: "rows"}, "scores": {0: "rows"}},
    )  # fmt: skip


def right(path, rows):
    """Which images ONNX Runtime gets right."""
    (scores,) = onnxruntime.InferenceSession(path).run(["scores"], {"X": X[rows]})
    return scores.argmax(axis=1) == y[rows]


trained, new, others = slice(TRAINING), slice(TRAINING, TRAINING + REPORTED), slice(TRAINING + REPORTED, None)
rows = np.concatenate([np.flatnonzero(right(file, trained)), TRAINING + np.flatnonzero(~right(file, new))])
repaired = repair(file, X[rows], y[rows], exact_in="float32", random_state=0)
path = sys.argv[1] if len(sys.argv) > 1 else file.with_name("repaired.onnx")
to_onnx(repaired, "float32", path=path)

print(repaired.certificate_)
print(repaired.report(X[others], y[others]).held_out)
for name, part in (("training images", trained), ("images that were reported", new), ("others", others)):
    print(f"{name}: {right(file, part).sum()} right before, {right(path, part).sum()} after, of {len(y[part])}")
