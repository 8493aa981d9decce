#!/usr/bin/env python3
"""Check what a model file of exactfit claims, with nothing but Python's standard library.

    python check_exactfit.py MODEL POINTS [LABELS] [--rows 0:100] [--margin]

MODEL   a file that ``exactfit fit`` or ``exactfit.save`` wrote
POINTS  one point a row: NPY, or CSV without a header; for a table's model see ``exactfit encode``
LABELS  one label a row, NPY or CSV; left out: the last column of a CSV file of points

Every answer is computed again in integers and fractions: nothing is rounded, nothing is shared with the package, and
nothing is fast. ``docs/format.md`` describes the file. With --margin it also proves, for networks of bits, that every
row keeps its answer wherever it moves by at most the margin that the file claims. Exit code 0: every row checked has
its label, and there was one; 1: some have not, they are listed; 2: nothing can be said, and one line says why. Files
may be hostile: only ordinary ones are read, and what they declare is compared with their size first.
"""

import argparse
import csv
import hashlib
import io
import itertools  # older Pythons have no pairwise in it: they are told so below
import json
import math
import os
import re
import struct
import sys
from array import array
from fractions import Fraction

FORMATS = ("1", "2", "3", "4")  # of the file
LARGEST_FILE, LARGEST_HEADER, LARGEST_NPY = 2**31, 2**25, 10**4  # bytes; the last of a header
LARGEST_SIZE = 2**31  # of what is counted: features, units, classes
LARGEST_LIMIT, LARGEST_WEIGHTED = 2**60, 2**23  # biases and inputs of integer layers: the package counts in int64
# Types of tensors as NumPy writes them, of biases as files name them, of numbers as the array module does.
LISTS = ("U8", "I8", "U16", "I16", "U32", "I32", "I64")  # rows and indices: any of them, whatever the format
TYPES = {t: ("<" if t[2:] else "|") + f"{t[0].lower()}{int(t[1:]) // 8}" for t in (*LISTS, "U64", "F32", "F64")}
BIASES = {"float64": "F64", "float32": "F32", "int64": "I64", "integers": "U8"}
CODES = {"f4": "f", "f8": "d", "i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q",
         "b1": "B"}  # fmt: skip
LABELS = {"b": bool, "i": int, "u": int, "f": float, "U": str, "O": str}  # by the first letter of NumPy's type
TEXTS = {bool: "True|False", int: r"\s*[+-]?[0-9]+\s*", str: "(?s:.*)",  # what CSV files hold
         float: r"\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*"}  # fmt: skip
NPY = r"\{'descr': '([<>|])([a-zA-Z])([0-9]{1,9})', 'fortran_order': (True|False), 'shape': \(([0-9, ]*)\), \}\s*"
KINDS = ("network", "construction", "classifier", "table", "repaired")  # of files; those after the second hold labels


class Refused(Exception):  # noqa: N818  (a verdict, not a mistake)
    """The file cannot be checked; the text says why."""


def refuse_unless(fine, reason):
    """Refuse what is not as it must be."""
    if not fine:
        raise Refused(reason)


def read_bytes(path):
    """Return the content of an ordinary file: a pipe or a device might never end."""
    refuse_unless(os.path.isfile(path) or not os.path.exists(path), f"{path} is not an ordinary file")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        refuse_unless(size <= LARGEST_FILE, f"{path} takes {size:,} bytes, more than the {LARGEST_FILE:,} read here")
        return file.read(size)


def unpacked(octets, code, order="<"):
    """Numbers as they lie in a file."""
    numbers = array(code, bytes(octets))
    if (order == ">") != (sys.byteorder == "big"):
        numbers.byteswap()
    return numbers


def coded(octets):
    """Integers of seven bits a byte, the lowest first, the eighth bit set in all but the last: 0, -1, 1, -2, ..."""
    parts = re.findall(rb"[\x80-\xff]{0,9}[\0-\x7f]", octets)
    refuse_unless(sum(map(len, parts)) == len(octets), "a list of integers is cut off, or one is too long")
    codes = [sum((octet & 127) << 7 * k for k, octet in enumerate(part)) for part in parts]
    return [code >> 1 ^ -(code & 1) for code in codes]


def canonical(plain):
    """Return the one text that JSON is written as."""
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)


def read_model(path):
    """Header (a dict) and tensors, by name as (type, shape, bytes), of a file that is as it was written."""
    content = read_bytes(path)
    size = int.from_bytes(content[:8], "little")
    refuse_unless(size <= min(LARGEST_HEADER, len(content) - 8), f"{path} is no model file, or is cut off")
    octets, data = content[8 : 8 + size], memoryview(content)[8 + size :]
    outer = json.loads(octets.decode())
    text = outer.pop("__metadata__")["exactfit"]
    header = json.loads(text)
    refuse_unless(repr(header["format"]) in FORMATS, f"format {header['format']!r} is not known here, only {FORMATS}")
    layout = {"__metadata__": {"exactfit": text}, **outer}  # a key may not come twice, nor a number be written oddly
    layout = json.dumps(layout, separators=(",", ":"), ensure_ascii=False).encode()
    sealed = octets == layout + b" " * (-len(layout) % 8) and text == canonical(header)
    sealed = sealed and header.pop("digest") == hashlib.sha256(canonical(header).encode()).hexdigest()
    refuse_unless(sealed, "the header does not match its digest: it was damaged or edited")
    tensors, end = {}, 0
    for name, part in sorted(outer.items(), key=lambda item: item[1]["data_offsets"]):
        refuse_unless(part.keys() == {"dtype", "shape", "data_offsets"}, f"tensor {name!r} is not described")
        shape, (start, stop), dtype = part["shape"], part["data_offsets"], TYPES[part["dtype"]]
        sizes = len(shape) in (1, 2) and all(type(n) is int and 0 <= n <= LARGEST_SIZE for n in (*shape, start, stop))
        fits = sizes and start == end and stop - start == math.prod(shape) * int(dtype[2:])
        refuse_unless(fits, f"tensor {name!r} is not where or as large as it must be")
        facts = {"dtype": dtype, "shape": shape, "sha256": hashlib.sha256(data[start:stop]).hexdigest()}
        refuse_unless(canonical(header["tensors"].pop(name)) == canonical(facts), f"tensor {name!r} is damaged")
        tensors[name], end = (part["dtype"], shape, data[start:stop]), stop
        if header["format"] >= 4 and name.endswith((".weights.indices", ".weights.indptr")):
            refuse_unless(part["dtype"] == "U8" and len(shape) == 1, f"tensor {name!r} is no list of bytes")
            numbers = list(itertools.accumulate(coded(data[start:stop])))
            tensors[name] = ("I64", [len(numbers)], struct.pack(f"<{len(numbers)}q", *numbers))
    refuse_unless(end == len(data) and not header["tensors"], "the file does not hold the tensors that it lists")
    return header, tensors


def take(tensors, name, *types, n_dims=1):
    """Shape and numbers of a tensor, which leaves the others: what is left over has no meaning."""
    kind, shape, octets = tensors.pop(name, (None, [], b""))
    refuse_unless(kind in types and len(shape) == n_dims, f"tensor {name!r} is missing, or of another type or shape")
    numbers = unpacked(octets, CODES[TYPES[kind][1:]])
    refuse_unless(kind[0] != "F" or all(map(math.isfinite, numbers)), f"tensor {name!r} is not finite")
    return shape, numbers


def scaled(numbers):
    """Numbers as integers over a power of two, exactly."""
    ratios = [number.as_integer_ratio() for number in numbers]
    power = max((under.bit_length() - 1 for _, under in ratios), default=0)
    return [over << (power - under.bit_length() + 1) for over, under in ratios], power


def hexadecimal(octets):
    """Integers of any size, written as text."""
    text = bytes(octets).decode("ascii")
    numbers = [int(part, 16) for part in text.split()]
    refuse_unless(text == " ".join(f"{number:x}" for number in numbers), "integers are not written as they must be")
    return numbers


# Nothing is made here for units that are only declared: a layer has biases to be compared with.
def read_weights(kind, own):
    """Units, inputs, row(u) for the weights of unit u as pairs (input, integer), the power of two they are over."""
    if kind == "masks":
        (n_words, units), words = own("words", "U64", n_dims=2)
        n_bits, sign = own("bits_sign", "I64")[1]
        rest = n_bits - 64 * (n_words - 1)  # bits in the last word
        fine = 1 <= rest <= 64 and all(word >> rest == 0 for word in words[len(words) - units :])
        refuse_unless(sign in (-1, 1) and (fine or n_bits == n_words == 0), "masks have other bits than they say")
        mask = lambda u: b"".join(word.to_bytes(8, "little") for word in words[u::units])  # noqa: E731
        bits = lambda u: enumerate(reversed(f"{int.from_bytes(mask(u), 'little'):b}"))  # noqa: E731
        return units, n_bits, lambda u: ((i, sign) for i, bit in bits(u) if bit == "1"), 0
    if kind == "sparse":
        (_, data), (_, indices) = own("data", "I8", "I16", "F32", "F64"), own("indices", *LISTS)
        (_, starts), (_, (units, inputs)) = own("indptr", *LISTS), own("shape", "I64")
        follow = len(starts) == units + 1 and starts[0] == 0 and starts[-1] == len(indices) == len(data)
        refuse_unless(follow and list(starts) == sorted(starts), "the rows of a sparse layer do not follow one another")
        lines, (data, power) = [indices[start:stop] for start, stop in itertools.pairwise(starts)], scaled(data)
        once = all(a < b for line in lines for a, b in itertools.pairwise([-1, *line, inputs]))
        refuse_unless(once, "a sparse layer has weights twice, out of order or outside its shape")
        return units, inputs, lambda u: zip(lines[u], data[starts[u] : starts[u + 1]], strict=True), power
    if kind == "dense":
        (units, inputs), values = own("values", "F64", "F32", n_dims=2)
        values, power = scaled(values)
    elif kind == "weighted":
        (units, inputs), values = own("values", "I8", n_dims=2)
        (sign,), power = own("sign", "I64")[1], 0
        refuse_unless(sign in (-1, 1) and inputs <= LARGEST_WEIGHTED, "integer weights are not as they must be")
        values = [sign * value for value in values]
    else:
        refuse_unless(kind == "integers", f"weights of the unknown kind {kind!r}")
        values, (units, inputs), power = hexadecimal(own("text", "U8")[1]), own("shape", "I64")[1], 0
        refuse_unless(min(units, inputs) >= 0 and units * inputs == len(values), "integers do not fill their shape")
    return units, inputs, lambda u: enumerate(values[u * inputs : (u + 1) * inputs]), power


class Layer:
    """Weights, a bias for every unit over a power of two of its own, and an activation."""

    def __init__(self, about, tensors, prefix):
        refuse_unless(about.keys() == {"weights", "activation", "bias"}, "a layer is not described as it must be")
        kind, self.activation, dtype = about["weights"], about["activation"], about["bias"]
        if self.activation not in (None, "threshold", "relu"):
            raise Refused(f"the activation {self.activation!r} is the user's own: what it computes is not in the file")
        own = lambda name, *types, **form: take(tensors, f"{prefix}weights.{name}", *types, **form)  # noqa: E731
        self.units, self.inputs, self.row, self.power = read_weights(kind, own)
        _, bias = take(tensors, prefix + "bias", BIASES[dtype])
        refuse_unless((dtype == "integers") == (kind == "integers"), "a layer is of integers in part only")
        bias = hexadecimal(bias) if dtype == "integers" else bias
        small = dtype != "int64" or all(-LARGEST_LIMIT <= number <= LARGEST_LIMIT for number in bias)
        refuse_unless(len(bias) == self.units and small, "a layer does not have a bias for every unit")
        self.bias, self.bias_power = scaled(bias)
        self.squares = [sum(weight * weight for _, weight in self.row(u)) for u in range(self.units)]

    def __call__(self, lows, highs, power, margin=0):
        """Least and greatest outputs for inputs from lows to highs, over 2^power, or at most the margin from there."""
        inner = self.power + power
        total = max(inner, self.bias_power)
        ends = [(lows, highs), (highs, lows)] if lows != highs else [(lows, highs)]
        sums = [
            [
                (sum(weight * (low if weight > 0 else high)[j] for j, weight in self.row(u)) << (total - inner))
                + (constant << (total - self.bias_power))
                for u, constant in enumerate(self.bias)
            ]
            for low, high in ends
        ]
        least, most = sums[0], sums[-1]
        if self.activation == "threshold":  # a side is open where the squared distance is at most the margin's square
            scale = margin**2 * 4 ** (total - self.power)
            reach = [scale * square if margin else -1 for square in self.squares]
            least = [int(value > 0 and value**2 > far) for value, far in zip(least, reach, strict=True)]
            return least, [int(value > 0 or value**2 <= far) for value, far in zip(most, reach, strict=True)], 0
        if self.activation == "relu":
            return [max(value, 0) for value in least], [max(value, 0) for value in most], total
        return least, most, total


class Network:
    """A chain of layers, and what its outputs stand for."""

    def __init__(self, about, tensors, prefix):
        refuse_unless(about.keys() == {"input_map", "decoder", "layers"}, "a network is not described as it must be")
        self.layers = [Layer(part, tensors, f"{prefix}layers.{k}.") for k, part in enumerate(about["layers"])]
        decoder, last, self.map = about["decoder"], self.layers[-1], about["input_map"]
        refuse_unless(self.map in ("identity", "append_squared_norm"), f"the input map {self.map!r} is not known here")
        self.n_features = self.layers[0].inputs - (self.map != "identity")
        follow = all(a.units == b.inputs for a, b in itertools.pairwise(self.layers)) and last.activation is None
        refuse_unless(follow and 0 < self.n_features <= LARGEST_SIZE, "layers do not follow one another, to a sum")
        self.kind, self.classes = decoder["kind"], decoder["classes"]
        self.levels = [Fraction(float.fromhex(level)) for level in decoder["levels"]]  # refuses infinity and NaN
        n, levels = len(self.classes), [float(level).hex() for level in self.levels]
        known = decoder == {"kind": self.kind, "classes": self.classes, "levels": levels} and n > 0
        known = known and all(type(code) is int and 0 <= code < LARGEST_SIZE for code in self.classes)
        sizes = {"sign": (1, 2, 0), "one_hot": (n, n, 0), "argmax": (n, n, 0), "nearest": (1, n, n)}.get(self.kind)
        refuse_unless(known and sizes == (last.units, n, len(levels)), "the decoder does not fit the last layer")

    def answer(self, row, margin=0):
        """Return the class index of a point; None for none, or for several within the margin."""
        lows, power = scaled(row)
        if self.map == "append_squared_norm":
            lows, power = [*(v << power for v in lows), sum(v * v for v in lows)], 2 * power
        highs = lows
        for layer in self.layers:
            lows, highs, power = layer(lows, highs, power, margin)
            margin = 0  # it is a distance of points
        return self.decide(lows, highs, power)

    def decide(self, least, most, power):
        """Return the class index that all outputs between these stand for, None for none."""
        if self.kind == "sign":
            return self.classes[0] if most[0] < 0 else self.classes[1] if least[0] >= 0 else None
        if self.kind == "one_hot":
            claims = [k for k, value in enumerate(most) if value > 0]
            return self.classes[claims[0]] if len(claims) == 1 and least[claims[0]] > 0 else None
        if self.kind == "argmax":
            return self.classes[least.index(max(least))]
        gaps = [abs(Fraction(least[0], 1 << power) - level) for level in self.levels]
        return self.classes[gaps.index(min(gaps))]


class Model:
    """The network in a file, its labels, and what the file claims."""

    def __init__(self, path):
        header, tensors = read_model(path)
        kind, about, prefix, self.behind = header["kind"], header["network"], "network.", None
        fine = (KINDS.index(kind) > 1) == ("certificate" in header)
        refuse_unless(fine, "the file does not hold what a file of its kind does")
        if kind == "repaired":  # patches before a chain, which answers where they do not
            held = header["model"] == "chain" and about.keys() == {"patches", "model"}
            refuse_unless(held, "the model behind its patches is not in the file as a chain: exactfit has to check it")
            self.behind = Network(about["model"], tensors, "network.model.")
            about, prefix = about["patches"], "network.patches."
        self.network, self.classes = Network(about, tensors, prefix), None
        self.certificate, self.rounds = header.get("certificate", {}), header.get("parameters", {}).get("exact_in")
        refuse_unless(self.rounds in (None, "float64", "float32"), f"exact_in={self.rounds!r} is not known here")
        if "certificate" in header:
            self.read_classes(**header["classes"])
        rows = {name[12:]: take(tensors, name, *LISTS)[1] for name in list(tensors) if name.startswith("certificate.")}
        self.given_up, self.narrow = set(rows.get("given_up", ())), set(rows.get("narrow", ()))
        refuse_unless("trace.detector_starts" not in tensors, "it holds several networks, as earlier versions made it")
        left = [name for name in tensors if name.split(".")[0] not in {"trace", "construction", "table", "repair"}]
        refuse_unless(not left, f"the file holds tensors that mean nothing: {left[:3]}")

    def read_classes(self, dtype, values):
        """Labels with their class index, all of which the network has to decide between."""
        letter = re.fullmatch(r"[<>|]([biuf][1248]|U[0-9]{1,5}|O)", dtype)[1][0]
        same = type(values) is list and all(type(name) is LABELS[letter] for name in values)
        refuse_unless(same and 2 <= len(set(values)) == len(values), "the labels are of several types, or come twice")
        chain, kind, codes, n = self.behind, self.network.kind, self.network.classes, len(values)
        fine = kind == "one_hot" and max(codes) < n and len(set(codes)) == len(codes)
        if chain:
            fine = fine and codes == chain.classes == list(range(n)) and chain.kind == "argmax"
            fine = fine and chain.n_features == self.network.n_features
        elif n == 2:
            fine = codes == [0, 1] if kind == "one_hot" else kind == "sign" and sorted(codes) == [0, 1]
        refuse_unless(fine, "the network does not decide between the labels of the file")
        self.classes = {name: code for code, name in enumerate(values)}

    def margin(self):
        """Return the margin that the file claims; refuse networks of another form."""
        claimed, network = self.certificate.get("margin"), self.network
        refuse_unless(type(claimed) is float and claimed > 0, "the file claims no margin")
        bits = {layer.activation for layer in network.layers[:-1]} == {"threshold"} and network.map == "identity"
        fine = bits and network.kind in ("sign", "one_hot") and self.rounds != "float32" and not self.behind
        refuse_unless(fine, "margins are checked for networks of bits in exact arithmetic only")
        return Fraction(claimed)

    def is_right(self, row, code, margin=0):
        """Whether a point gets its class, wherever it moves by at most the margin."""
        given = self.network.answer(row, margin)
        return (self.behind.answer(row) if self.behind and given is None else given) == code


def read_npy(path):
    """Type, shape and flat numbers or texts of an NPY file."""
    octets = read_bytes(path)
    start = 12 if octets[6:7] > b"\1" else 10
    stop = start + int.from_bytes(octets[8:start], "little")
    about = re.fullmatch(NPY, octets[start : min(stop, LARGEST_NPY)].decode("latin1"))
    refuse_unless(octets[:6] == b"\x93NUMPY" and about, f"{path} is no NPY file of numbers or text")
    order, letter, size, fortran, sizes = about.groups()
    shape, data = [int(size) for size in sizes.split(",") if size.strip()], octets[stop:]
    step, form = int(size) * (4 if letter == "U" else 1), "utf-32-be" if order == ">" else "utf-32-le"
    refuse_unless(step and math.prod(shape) * step == len(data), f"{path} does not hold as much as it says")
    if letter == "U":
        texts = (data[k : k + step].decode(form, "surrogatepass") for k in range(0, len(data), step))
        return str, shape, [text.rstrip("\0") for text in texts]
    refuse_unless(letter + size in CODES, f"{path} holds numbers of the unknown type {letter + size}")
    flat = unpacked(data, CODES[letter + size], order)
    refuse_unless(letter != "b" or set(flat) <= {0, 1}, f"{path} holds truth values that are neither")
    if fortran == "True" and len(shape) == 2:
        flat = array(flat.typecode, (value for k in range(shape[0]) for value in flat[k :: shape[0]]))
    return LABELS[letter], shape, flat


def read_csv(path):
    """Rows of text."""
    return [row for row in csv.reader(io.StringIO(read_bytes(path).decode("utf-8-sig"), newline="")) if row]


def parsed(text, kind):
    """Return a text of a CSV file as a value of a type."""
    refuse_unless(re.fullmatch(TEXTS[kind], text), f"{text!r} is not of the type {kind.__name__}")
    return text == "True" if kind is bool else kind(text)


def read_data(points, labels, kind):
    """Rows of float64 numbers, and labels of the type that the model's have."""
    if points.endswith(".npy"):
        own, shape, flat = read_npy(points)
        refuse_unless(own is not str and len(shape) == 2, f"{points} does not hold rows of numbers")
        numbers, (count, n), table = array("d", flat), shape, None
        refuse_unless(all(a == b for a, b in zip(flat, numbers, strict=True)), "a point is not of float64 numbers")
        rows = [numbers[k * n : (k + 1) * n] for k in range(count if n else 0)]
    else:
        table = read_csv(points)
        rows = [array("d", [parsed(text, float) for text in (line if labels else line[:-1])]) for line in table]
    refuse_unless(table or labels, "labels are missing: name their file")
    if labels and labels.endswith(".npy"):
        own, shape, flat = read_npy(labels)
        refuse_unless(own is kind and len(shape) == 1, f"{labels} does not hold labels of the type {kind.__name__}")
        found = list(map(kind, flat))
    else:
        texts = [text for (text,) in read_csv(labels)] if labels else [line[-1] for line in table]
        found = [parsed(text, kind) for text in texts]
    numbers = (value for row in [*rows, found if kind is float else ()] for value in row)
    refuse_unless(all(map(math.isfinite, numbers)), "a point or a label is not finite")
    refuse_unless(len(found) == len(rows), f"there are {len(found)} labels for {len(rows)} points")
    return rows, found


def data_digests(rows, labels):
    """Return the data as certificates name them, now (a digest of the digests of rows with labels) and in format 1."""
    shape = json.dumps({"shape": [len(rows), len(rows[0])]}).encode()
    now, before, names = hashlib.sha256(shape), hashlib.sha256(shape), [str(label) for label in labels]
    for row, name in zip(rows, names, strict=True):
        octets = struct.pack(f"<{len(row)}d", *(value + 0.0 for value in row))
        now.update(hashlib.sha256(octets + name.encode("utf-8", "surrogatepass")).digest())
        before.update(octets)
    for octets in (struct.pack(f"<{len(names)}q", *map(len, names)), "".join(names).encode("utf-8", "surrogatepass")):
        before.update(hashlib.sha256(octets).digest())
    return now.hexdigest(), before.hexdigest()


def chosen(text, count):
    """Row numbers: 3,5 or 0:100; all without a text."""
    rows = set()
    for part in (text or "0:").split(","):
        form = re.fullmatch(r"([0-9]{1,18})(:?)([0-9]{0,18})", part) or [None, count, "", ""]
        start = int(form[1])
        stop = int(form[3] or count) if form[2] else start + 1
        refuse_unless(start < stop <= count, f"--rows takes numbers of the {count} rows, as in 3,5 or 0:100")
        rows.update(range(start, stop))
    return sorted(rows)


def check(given):
    """Return what is to be said, and the exit code."""
    model = Model(given.model)
    kind = int if model.classes is None else type(next(iter(model.classes)))
    rows, labels = read_data(given.points, given.labels, kind)
    n, margin = model.network.n_features, model.margin() if given.margin else None
    refuse_unless(rows and all(len(row) == n for row in rows), f"there must be points, of {n} numbers each")
    same = model.certificate.get("data_digest") in data_digests(rows, labels)
    out, narrow = (model.given_up, model.narrow) if same else (set(), set())
    numbers = [row for row in chosen(given.rows, len(rows)) if row not in out]
    firm = [row for row in numbers if row not in narrow] if margin else []
    refuse_unless(numbers and (firm or not margin), "no row is left to be checked: the file excepts them all")
    if model.rounds == "float32":
        rows = [struct.unpack(f"<{n}f", struct.pack(f"<{n}f", *row)) for row in rows]
    codes = labels if model.classes is None else [model.classes.get(label, -1) for label in labels]
    moved = [row for row in firm if not model.is_right(rows[row], codes[row], margin)]
    kept = set(firm) - set(moved)  # right wherever they move by the margin, so also where they are
    wrong = [row for row in numbers if row not in kept and not model.is_right(rows[row], codes[row])]
    text = f"data: {'' if same else 'not '}those that the certificate is about"
    text += f", {len(out)} rows given up" if out else ""
    for name, checked, failed in (("answers", numbers, wrong), *([("margin", firm, moved)] if margin else [])):
        listed = ", ".join(map(str, failed[:20])) + (" ..." if len(failed) > 20 else "")
        text += f"\n{name}: {f'fails for rows {listed}' if failed else 'holds'} ({len(checked)} rows checked)"
    text += f", {len(numbers) - len(firm)} rows are without it" if margin and len(firm) < len(numbers) else ""
    return text, 1 if wrong or moved else 0


def main(given=None):
    """Read the command line and check; the exit code."""
    parser = argparse.ArgumentParser(allow_abbrev=False, add_help=False)  # help would end with 0
    parser.error = lambda reason: refuse_unless(False, f"{reason}; usage: {__doc__.splitlines()[2].strip()}")
    for name, options in {"model": {}, "points": {}, "labels": {"nargs": "?"}, "--rows": {}}.items():
        parser.add_argument(name, **options)
    parser.add_argument("--margin", action="store_true")
    try:
        refuse_unless(sys.version_info >= (3, 10), "Python 3.10 or newer is needed")
        text, code = check(parser.parse_args(given))
        print(text, flush=True)
    except Exception as error:  # whatever it is, it must not look like a verdict
        known = isinstance(error, (Refused, OSError))
        text = str(error) if known else f"what the files hold does not fit together ({type(error).__name__}: {error})"
        print(f"cannot check: {''.join(c if c.isprintable() else ' ' for c in text[:400])}", file=sys.stderr)
        return 2
    return code


if __name__ == "__main__":
    sys.exit(main())
