#!/usr/bin/env python3
"""Check what a model file of exactfit claims, with nothing but Python's standard library.

    python check_exactfit.py MODEL POINTS [LABELS] [--rows 0:100] [--margin]

MODEL   a file that ``exactfit fit`` or ``exactfit.save`` wrote
POINTS  one point a row: NPY, or CSV without a header; for a table's model see ``exactfit encode``
LABELS  one label a row, NPY or CSV; left out: the last column of a CSV file of points

Every answer is computed again in whole numbers and fractions: nothing is rounded, nothing is shared with
the package, and nothing is fast. ``docs/format.md`` describes the file. Ends with 0 if every row has its label,
1 if some have not (they are listed), 2 if the file cannot be checked. With --margin it also proves, for networks
of bits, that every row keeps its answer wherever it moves by at most the margin that the file claims.
"""

import argparse
import ast
import csv
import hashlib
import json
import math
import struct
import sys
from fractions import Fraction
from itertools import pairwise

FORMATS = (1, 2)  # of the file
CODES = {"F64": "d", "F32": "f", "I64": "q", "I32": "i", "I16": "h", "I8": "b", "U64": "Q", "U32": "I", "U16": "H",
         "U8": "B", "BOOL": "?"}  # fmt: skip
NUMPY = {name[0].lower() + str(struct.calcsize("<" + code)): code for name, code in CODES.items()}


class Refused(Exception):  # noqa: N818  (a verdict, not a mistake)
    """The file cannot be checked; the text says why."""


# ---- The model file ------------------------------------------------------------------------------------


def read_model(path):
    """Header (a dict) and tensors, by name as (shape, flat list of numbers), of a file that is as it was written."""
    with open(path, "rb") as file:
        octets = file.read()
    try:
        size = int.from_bytes(octets[:8], "little")
        outer = json.loads(octets[8 : 8 + size])
        text = outer.pop("__metadata__")["exactfit"]
        header = json.loads(text)
    except (ValueError, KeyError, TypeError) as error:
        raise Refused("this is not a model that exactfit saved") from error
    if header.get("format") not in FORMATS:
        raise Refused(f"format {header.get('format')!r} is not known here")
    digest = header.pop("digest", None)
    sealed = json.dumps(header, sort_keys=True, separators=(",", ":"))
    if hashlib.sha256(sealed.encode()).hexdigest() != digest:
        raise Refused("the header does not match its digest: it was damaged or edited")
    if set(outer) != set(header["tensors"]):
        raise Refused("the file does not hold the tensors that it lists")
    data, tensors = octets[8 + size :], {}
    for name, part in outer.items():
        start, stop = part["data_offsets"]
        if hashlib.sha256(data[start:stop]).hexdigest() != header["tensors"][name]["sha256"]:
            raise Refused(f"tensor {name!r} is damaged")
        if part["dtype"] not in CODES:
            raise Refused(f"tensor {name!r} has the unknown type {part['dtype']}")
        code = CODES[part["dtype"]]
        count = (stop - start) // struct.calcsize("<" + code)
        tensors[name] = part["shape"], list(struct.unpack(f"<{count}{code}", data[start:stop]))
    return header, tensors


def dyadic(number):
    """A number as (whole, power): whole / 2^power, exactly."""
    numerator, denominator = Fraction(number).numerator, Fraction(number).denominator
    return numerator, denominator.bit_length() - 1


def whole_rows(rows, constants):
    """Rows of numbers and constants as whole numbers over one power of two: rows, constants, power."""
    pairs = [[(j, dyadic(value)) for j, value in row if value] for row in rows]
    ends = [dyadic(value) for value in constants]
    power = max([0, *(p for row in pairs for _, (_, p) in row), *(p for _, p in ends)])
    whole = [[(j, n << (power - p)) for j, (n, p) in row] for row in pairs]
    return whole, [n << (power - p) for n, p in ends], power


class Layer:
    """Weights as rows of (input, whole number), biases as whole numbers, all over 2^power; and an activation."""

    def __init__(self, about, tensors, prefix):
        self.kind, self.activation = about["weights"], about["activation"]
        if self.activation not in (None, "threshold", "relu"):
            raise Refused(f"the activation {self.activation!r} is the user's own: what it computes is not in the file")
        own = {name[len(prefix) + 8 :]: part for name, part in tensors.items() if name.startswith(prefix + "weights.")}
        _, bias = tensors[prefix + "bias"]
        if about["bias"] == "integers":
            bias = [int(part, 16) for part in bytes(bias).decode("ascii").split()]
        rows = self.rows_of(own)
        if len(rows) != len(bias):
            raise Refused("a layer does not have a bias for every unit")
        self.rows, self.bias, self.power = whole_rows(rows, bias)

    def rows_of(self, own):
        """Every unit's weights as (input, number)."""
        if self.kind == "dense":
            (units, inputs), values = own["values"]
            return [list(enumerate(values[u * inputs : (u + 1) * inputs])) for u in range(units)]
        if self.kind == "masks":
            (_, units), values = own["words"]
            n_bits, sign = own["bits_sign"][1]
            return [
                [(i, sign) for i in range(n_bits) if values[(i // 64) * units + u] >> (i % 64) & 1]
                for u in range(units)
            ]
        if self.kind == "weighted":
            (units, inputs), values = own["values"]
            (sign,) = own["sign"][1]
            return [[(i, sign * values[u * inputs + i]) for i in range(inputs)] for u in range(units)]
        if self.kind == "sparse":
            data, indices, starts = (own[name][1] for name in ("data", "indices", "indptr"))
            return [list(zip(indices[a:b], data[a:b], strict=True)) for a, b in pairwise(starts)]
        if self.kind == "integers":
            units, inputs = own["shape"][1]
            values = [int(part, 16) for part in bytes(own["text"][1]).decode("ascii").split()]
            return [list(enumerate(values[u * inputs : (u + 1) * inputs])) for u in range(units)]
        raise Refused(f"weights of the unknown kind {self.kind!r}")

    def __call__(self, values, power):
        """Outputs for inputs values / 2^power, in the same form."""
        total = self.power + power
        sums = [
            sum(weight * values[j] for j, weight in row) + (constant << power)
            for row, constant in zip(self.rows, self.bias, strict=True)
        ]
        if self.activation == "threshold":
            return [int(value > 0) for value in sums], 0
        if self.activation == "relu":
            return [max(value, 0) for value in sums], total
        return sums, total


def layers_of(network, tensors, prefix):
    """From the input on."""
    return [Layer(about, tensors, f"{prefix}layers.{index}.") for index, about in enumerate(network["layers"])]


def passed(layers, values, power):
    """A signal behind some layers."""
    for layer in layers:
        values, power = layer(values, power)
    return values, power


class Model:
    """The network in a file, its labels, and what the file claims."""

    def __init__(self, path):
        header, tensors = read_model(path)
        network, prefix, self.behind = header["network"], "network.", []
        if header["kind"] == "repaired":  # patches before a chain, whose largest output answers where they do not
            if "model" not in network:
                raise Refused("the model behind its patches is not in the file: what it answers cannot be checked")
            self.behind = layers_of(network["model"], tensors, "network.model.")
            network, prefix = network["patches"], "network.patches."
        if network["input_map"] not in ("identity", "append_squared_norm"):
            raise Refused(f"the input map {network['input_map']!r} is not known here")
        self.squares = network["input_map"] == "append_squared_norm"
        self.layers = layers_of(network, tensors, prefix)
        self.decoder = network["decoder"]
        if self.decoder["kind"] not in ("sign", "one_hot", "nearest"):
            raise Refused(f"the decoder {self.decoder['kind']!r} is not known here")
        self.classes = header.get("classes", {}).get("values")
        self.short = header.get("parameters", {}).get("exact_in") == "float32"
        self.certificate = header.get("certificate", {})
        self.given_up = set(tensors.get("certificate.given_up", (None, []))[1])
        self.narrow = set(tensors.get("certificate.narrow", (None, []))[1])
        if "trace.detector_starts" in tensors:
            raise Refused("it holds several networks that answer by the mean of their scores, of an earlier version")

    def point(self, row):
        """A point as the network sees it: whole numbers over a power of two."""
        if self.short:
            try:
                row = [struct.unpack("<f", struct.pack("<f", value))[0] for value in row]
            except OverflowError as error:
                raise Refused("a point holds numbers that are too large for float32") from error
        exact = [Fraction(value) for value in row]
        if self.squares:
            exact.append(sum((value * value for value in exact), Fraction(0)))
        power = max([0, *(value.denominator.bit_length() - 1 for value in exact)])
        return [value.numerator << (power - value.denominator.bit_length() + 1) for value in exact], power

    def answer(self, row):
        """The class index of a point, None for none."""
        answer = self.decode(*passed(self.layers, *self.point(row)))
        if answer is None and self.behind:  # its largest output answers, the first of equals
            outputs, _ = passed(self.behind, *self.point(row))
            answer = outputs.index(max(outputs))
        return answer

    def decode(self, outputs, power):
        """The class index that outputs stand for."""
        classes = self.decoder["classes"]
        if self.decoder["kind"] == "sign":
            return classes[0] if outputs[0] < 0 else classes[1]
        if self.decoder["kind"] == "one_hot":
            claims = [k for k, value in enumerate(outputs) if value > 0]
            return classes[claims[0]] if len(claims) == 1 else None
        levels = [Fraction(float.fromhex(level)) for level in self.decoder["levels"]]
        gaps = [abs(Fraction(outputs[0], 1 << power) - level) for level in levels]
        return classes[gaps.index(min(gaps))]

    def code(self, label):
        """The class index of a label, None if there is none."""
        if self.classes is None:
            return int(float(label))
        for index, name in enumerate(self.classes):
            same = str(label) == str(name)
            if not same and isinstance(name, (int, float)) and not isinstance(name, bool):
                try:
                    same = float(label) == name
                except ValueError:
                    same = False
            if same:
                return index
        return None

    # ---- Margins ---------------------------------------------------------------------------------------

    def keeps(self, row, code, margin):
        """Whether a network of bits keeps its answer wherever the point moves by at most the margin."""
        first, second, last = self.layers
        values, power = self.point(row)
        room = Fraction(margin) ** 2
        sure, open_bits = [], []
        for weights, bias in zip(first.rows, first.bias, strict=True):
            total = sum(weight * values[j] for j, weight in weights) + (bias << power)
            near = Fraction(total, 1 << power) ** 2 <= room * sum(weight * weight for _, weight in weights)
            sure.append(int(total > 0 and not near))
            open_bits.append(near)
        lows, highs = [], []  # of limit - count
        for weights, limit in zip(second.rows, second.bias, strict=True):
            fixed = limit + sum(weight for j, weight in weights if sure[j])
            lows.append(fixed + sum(min(weight, 0) for j, weight in weights if open_bits[j]))
            highs.append(fixed + sum(max(weight, 0) for j, weight in weights if open_bits[j]))
        # The point's own class surely claims it, and no other can.
        position = self.decoder["classes"].index(code)
        speaks = [{j for j, _ in row} for row in last.rows]
        if self.decoder["kind"] == "sign":
            return any(lows[j] > 0 for j in speaks[0]) if position == 0 else all(highs[j] <= 0 for j in speaks[0])
        others = {j for k, own in enumerate(speaks) if k != position for j in own}
        return any(lows[j] > 0 for j in speaks[position]) and all(highs[j] <= 0 for j in others)

    def margin(self):
        """The margin that the file claims; refuses networks of another form."""
        claimed = self.certificate.get("margin")
        if not claimed:
            raise Refused("the file claims no margin")
        bits = [layer.activation for layer in self.layers] == ["threshold", "threshold", None]
        counts = bits and self.layers[1].kind in ("masks", "weighted") and self.layers[2].kind == "masks"
        if not counts or self.squares or self.decoder["kind"] == "nearest" or self.short:
            raise Refused("margins are checked for networks of bits in exact arithmetic only")
        return claimed


# ---- Points and labels ---------------------------------------------------------------------------------


def read_npy(path):
    """Shape and flat list of an NPY file of numbers or text."""
    with open(path, "rb") as file:
        octets = file.read()
    if octets[:6] != b"\x93NUMPY":
        raise Refused(f"{path} is not an NPY file")
    wide = octets[6] > 1
    size = int.from_bytes(octets[8 : 12 if wide else 10], "little")
    start = 12 if wide else 10
    about = ast.literal_eval(octets[start : start + size].decode("latin1"))
    order, kind, shape = about["descr"][0], about["descr"][1:], about["shape"]
    count = math.prod(shape)
    data, order = octets[start + size :], ">" if order == ">" else "<"
    if kind[0] == "U":
        step = 4 * int(kind[1:])
        name = "utf-32-be" if order == ">" else "utf-32-le"
        flat = [data[k * step : (k + 1) * step].decode(name).rstrip("\0") for k in range(count)]
    elif kind in NUMPY:
        flat = list(struct.unpack(f"{order}{count}{NUMPY[kind]}", data[: count * struct.calcsize(order + NUMPY[kind])]))
    else:
        raise Refused(f"{path} holds {about['descr']}, not numbers or text")
    if about["fortran_order"] and len(shape) == 2:
        flat = [flat[j * shape[0] + i] for i in range(shape[0]) for j in range(shape[1])]
    return shape, flat


def read_csv(path):
    """Rows of text."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        return [row for row in csv.reader(file) if row]


def read_data(points, labels):
    """Rows of floats, and their labels."""
    if str(points).endswith(".npy"):
        shape, flat = read_npy(points)
        if len(shape) != 2:
            raise Refused(f"{points} does not hold rows of points")
        rows = [[float(v) for v in flat[k * shape[1] : (k + 1) * shape[1]]] for k in range(shape[0])]
        told = None
    else:
        table = read_csv(points)
        told = [row[-1] for row in table] if labels is None else None
        rows = [[float(v) for v in (row if labels else row[:-1])] for row in table]
    if labels is not None:
        told = read_npy(labels)[1] if str(labels).endswith(".npy") else [row[0] for row in read_csv(labels)]
    if told is None or len(told) != len(rows):
        raise Refused("there must be one label for every point")
    return rows, told


def data_digests(rows, labels):
    """The data as certificates name them, now (a digest of the digests of rows with labels) and in format 1."""
    shape = json.dumps({"shape": [len(rows), len(rows[0]) if rows else 0]}).encode()
    now, before, names = hashlib.sha256(shape), hashlib.sha256(shape), [str(label) for label in labels]
    for row, name in zip(rows, names, strict=True):
        octets = struct.pack(f"<{len(row)}d", *(value + 0.0 for value in row))
        now.update(hashlib.sha256(octets + name.encode("utf-8", "surrogatepass")).digest())
        before.update(octets)
    before.update(hashlib.sha256(struct.pack(f"<{len(names)}q", *map(len, names))).digest())
    before.update(hashlib.sha256("".join(names).encode("utf-8", "surrogatepass")).digest())
    return now.hexdigest(), before.hexdigest()


def chosen(text, count):
    """Row numbers: ``3,5`` or ``0:100``; all without a text."""
    if text is None:
        return range(count)
    rows = []
    for part in text.split(","):
        start, colon, stop = part.partition(":")
        rows += range(int(start or 0), int(stop or count)) if colon else [int(start)]
    return [row for row in rows if 0 <= row < count]


def check(arguments):
    """Check a file; the exit code."""
    model = Model(arguments.model)
    rows, labels = read_data(arguments.points, arguments.labels)
    width = len(model.point(rows[0])[0]) if rows else 0
    inputs = max((j + 1 for row in model.layers[0].rows for j, _ in row), default=0)
    if width < inputs or any(len(row) != len(rows[0]) for row in rows):
        raise Refused(f"points have {width} numbers, the network takes at least {inputs}")
    same = model.certificate.get("data_digest") in data_digests(rows, labels)
    margin = model.margin() if arguments.margin else None
    out = model.given_up if same else set()
    wrong, moved, numbers = [], [], [row for row in chosen(arguments.rows, len(rows)) if row not in out]
    for row in numbers:
        code = model.code(labels[row])
        if code is None or model.answer(rows[row]) != code:
            wrong.append(row)
        elif margin and not (same and row in model.narrow) and not model.keeps(rows[row], code, margin):
            moved.append(row)
    print(f"data: {'those' if same else 'not those'} that the certificate is about", end="")
    print(f", {len(out)} rows given up" if out else "")
    for name, failed in (("answers", wrong), *([("margin", moved)] if margin else [])):
        listed = ", ".join(map(str, failed[:20])) + (" ..." if len(failed) > 20 else "")
        print(f"{name}: {f'fails for rows {listed}' if failed else 'holds'} ({len(numbers)} rows checked)")
    return 1 if wrong or moved else 0


def main(given=None):
    """Read the command line and check."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("points")
    parser.add_argument("labels", nargs="?")
    parser.add_argument("--rows", help="only these: 3,5 or 0:100")
    parser.add_argument("--margin", action="store_true", help="also prove the margin that the file claims")
    try:
        return check(parser.parse_args(given))
    except (Refused, OSError) as error:
        print(f"cannot check: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
