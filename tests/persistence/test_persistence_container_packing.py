"""Tensors take the smallest type that holds their numbers, and come back bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.attacks import refused
from helpers.networks import NETWORKS, fitted_model, labels, points
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from exactfit import ModelFileError, Network, load, save
from exactfit.construct import Construction, Trace
from exactfit.network import Decoder, Layer, Masks, Sparse, WeightedMasks
from exactfit.network.activations import THRESHOLD
from exactfit.network.bits import BitMatrix
from exactfit.outcome import Outcome
from exactfit.persistence import container
from exactfit.persistence.container import packed, unpacked
from exactfit.persistence.description import to_parts

LISTS = ["trace.anchors", "certificate.errors", "table.rows", "repair.changes", "construction.errors"]
INDICES = ["network.layers.0.weights.indices", "network.patches.layers.3.weights.indptr", "trace.support"]
WEIGHTS = "network.layers.0.weights.data"


INTEGERS = st.sampled_from([4, 8, 9, 16, 17, 32, 33, 62, 63]).flatmap(
    lambda bits: hnp.arrays(np.int64, st.integers(0, 5), elements=st.integers(-(2**bits), 2**bits - 1))
)


def seven_bits_a_byte(number: int) -> list[int]:
    code = 2 * number if number >= 0 else -2 * number - 1
    groups = [code & 127]
    while code := code >> 7:
        groups.append(code & 127)
    return [group + 128 for group in groups[:-1]] + groups[-1:]


@given(st.sampled_from([*INDICES, "trace.shares"]), INTEGERS)
def test_long_lists_come_back_from_bytes(name: str, numbers: Any) -> None:
    short = packed(name, numbers)
    assert short.dtype == np.uint8
    assert unpacked(name, short).tolist() == numbers.tolist()
    written = numbers if name == "trace.shares" else np.diff(numbers, prepend=0)  # modulo 2**64
    assert short.tolist() == [byte for number in written.tolist() for byte in seven_bits_a_byte(number)]


@pytest.mark.parametrize("octets", [[128], [0, 200], [128] * 10 + [0]])
def test_bytes_that_end_within_a_number_or_never_are_refused(octets: list[int]) -> None:
    with pytest.raises(ModelFileError, match="cut off"):
        unpacked("trace.support", np.array(octets, dtype=np.uint8))


@pytest.mark.parametrize("form", [3, 4])
@given(st.sampled_from(LISTS), INTEGERS)
def test_integers_come_back_from_the_smallest_type(form: int, name: str, numbers: Any) -> None:
    short = packed(name, numbers, form)
    again = unpacked(name, short, form)
    assert again.dtype == np.int64
    assert again.tolist() == numbers.tolist()
    types = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "int64"]
    held = [t for t in types if all(np.iinfo(t).min <= n <= np.iinfo(t).max for n in numbers.tolist())]
    assert short.dtype == held[0]


@given(
    hnp.arrays(
        np.float32,
        st.integers(0, 5),
        elements=st.sampled_from([1, -1, 2, -128, 127, 128, -32768, 32767, 32768, 0.5, -0.0, 0.0, np.nan, np.inf]),
    )
)
def test_weights_come_back_bit_for_bit(weights: Any) -> None:
    short = packed(WEIGHTS, weights)
    assert unpacked(WEIGHTS, short).tobytes() == weights.tobytes()
    assert unpacked(WEIGHTS, short).dtype == np.float32
    whole = [v == int(v) and (v != 0 or not np.signbit(v)) for v in weights.tolist() if np.isfinite(v)]
    sizes = [abs(v + 0.5) < 2**15 for v in weights.tolist()]
    assert (short.dtype != np.float32) == (len(whole) == len(weights) and all(whole) and all(sizes))
    assert (short.dtype == np.int8) == (short.dtype != np.float32 and all(-128 <= v <= 127 for v in weights.tolist()))


@pytest.mark.parametrize(
    ("name", "tensor"),
    [
        (WEIGHTS, np.array([1.0, 2.0])),  # float64 weights stay: a file that holds integers means float32
        ("network.layers.0.weights.values", np.array([[1.0, 2.0]], dtype=np.float32)),
        ("network.layers.0.weights.shape", np.array([2, 3])),
        ("network.layers.1.bias", np.array([2, 3])),
        ("network.layers.1.weights.words", np.array([[2]], dtype=np.uint64)),
        ("network.layers.1.weights.values", np.array([[2]], dtype=np.int8)),
        ("model.graph", np.array([1, 2], dtype=np.uint8)),
        ("table.mean", np.array([1.0, 2.0])),
        ("repair.probes", np.array([[1.0, 2.0]])),
    ],
)
def test_other_tensors_stay_as_they_are(name: str, tensor: Any) -> None:
    assert packed(name, tensor) is tensor
    assert unpacked(name, tensor) is tensor


MODELS = {
    "sparse": NETWORKS["sparse"],
    "three sparse": NETWORKS["three sparse"],
    "classifier": lambda: fitted_model(points(), labels(0, 1, 2), hyperplanes="sparse", detectors="weighted"),
    "masks": lambda: fitted_model(points(), labels(0, 1), hyperplanes="sparse"),
}


@pytest.mark.parametrize("form", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_files_of_the_formats_before_load(name: str, form: int, tmp_path: Path) -> None:
    model, path = MODELS[name](), tmp_path / "m"
    save(model, path)
    new, _ = container.read_container(path)
    header, tensors = to_parts(model, form)
    assert any(tensor.dtype == np.int64 for tensor in tensors.values())
    old = header | {"format": form, "saved_with": new["saved_with"]}
    container.write_container(path, old, tensors)
    again = load(path)
    assert to_parts(again)[0] == {name: part for name, part in new.items() if name != "saved_with"}
    network = getattr(model, "network_", model)
    assert getattr(again, "network_", again).digest == network.digest
    for wrong, numbers in ((form, to_parts(model)[1]), (container.FORMAT, tensors)):
        facts = {name: container.tensor_facts(tensor) for name, tensor in numbers.items()}
        container.write_container(path, old | {"format": wrong, "tensors": facts}, numbers)
        assert "cannot load" in refused(path, path.read_bytes())


def test_packed_weights_stay_in_the_digest_as_they_were(tmp_path: Path) -> None:
    """A network's digest is that of its numbers, however a file holds them."""
    rows = sp.csr_array(np.array([[1, 0, -4], [0, 2, 0]], dtype=np.float32))
    layers = (
        Layer(Sparse(rows), np.array([0.5, -0.25]), THRESHOLD),
        Layer(Masks(BitMatrix.from_bool(np.ones((1, 2), dtype=bool)), -1), np.array([1]), THRESHOLD),
        Layer(Masks(BitMatrix.from_bool(np.ones((1, 1), dtype=bool)), -1), np.array([0]), None),
    )
    network = Network(layers, Decoder("sign", (1, 0)))
    save(network, tmp_path / "m")
    _, tensors = container.read_container(tmp_path / "m")
    types = {name: tensors[f"network.layers.0.weights.{name}"].dtype for name in ("data", "indices", "indptr")}
    assert types == {"data": np.int8, "indices": np.uint8, "indptr": np.uint8}
    assert network.tensors()["layers.0.weights.indices"].dtype == np.int64
    again = load(tmp_path / "m")
    assert again.digest == network.digest
    assert again.layers[0].weights.rows.data.dtype == np.float32


def test_a_layer_of_images_takes_few_bytes(tmp_path: Path) -> None:
    """8,000 hyperplanes of 2 to 4 of 784 features, 16 weighted detectors that rest on 1,700 of 60,000 rows each."""
    rng, n, m, q = np.random.default_rng(0), 8000, 16, 1700
    features = [np.sort(rng.choice(784, rng.integers(2, 5), replace=False)) for _ in range(n)]
    starts = np.cumsum([0, *map(len, features)])
    weights = rng.choice([-1, 1], starts[-1]).astype(np.float32)
    rows = sp.csr_array((weights, np.concatenate(features), starts), shape=(n, 784))
    values = rng.integers(-127, 128, (m, n)).astype(np.int8)
    owners = np.arange(m) % 10
    claims = BitMatrix.from_bool(owners == np.arange(10)[:, None])
    layers = (
        Layer(Sparse(rows), rng.standard_normal(n), THRESHOLD),
        Layer(WeightedMasks(values, -1), rng.integers(1, 5000, m), THRESHOLD),
        Layer(Masks(claims, 1), np.zeros(10, dtype=np.int64), None),
    )
    some = rng.integers(0, 60_000, m)
    trace = Trace(some, some, some, owners, support=np.sort(rng.integers(0, 60_000, (m, q))).ravel(),
                  dual_coef=rng.integers(-20_000, 20_000, q * m), support_starts=q * np.arange(m + 1))  # fmt: skip
    made = Construction(Network(layers, Decoder("one_hot", tuple(range(10)))), Outcome.INTERPOLATES, trace)
    save(made, tmp_path / "m")
    assert (tmp_path / "m").stat().st_size <= 400_000
    again = load(tmp_path / "m")
    assert again.network.digest == made.network.digest
    assert again.trace.support.tolist() == trace.support.tolist()


def test_a_file_of_a_later_format_is_refused(tmp_path: Path) -> None:
    save(NETWORKS["sparse"](), tmp_path / "m")
    header, tensors = container.read_container(tmp_path / "m")
    container.write_container(tmp_path / "m", header | {"format": container.FORMAT + 1}, tensors)
    with pytest.raises(ModelFileError, match="upgrade exactfit"):
        load(tmp_path / "m")
