"""The slow twin of ``construct.weighted``: the same detectors from plain Python integers and lists of 0 and 1.

Nothing is packed, nothing is kept from step to step that can be worked out anew: the half-space of
some dual_coef is sum_k dual_coef[k] * agree(x, x_k), computed as it is written. Python's integers cannot
overflow, so equality also shows that the fast ones do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from exactfit.construct import weighted
from exactfit.construct.weighted import C_HARD, C_REST, GOLDEN, LARGEST_SUM, LARGEST_WEIGHT, UNIT, Effort

Bits = list[list[int]]
Verdict = tuple[int, int, list[int], int]
Fit = tuple[list[int], Verdict, list[tuple[int, int]]]


@dataclass(frozen=True)
class NaiveDetector:
    """As ``construct.weighted.Detector``, with plain lists."""

    weights: list[int]
    limit: int
    anchor: int
    witness: int
    coverage: int
    support: list[tuple[int, int]]


def shuffled(count: int, turn: int) -> list[int]:
    """Places in the order of their hashes."""
    return sorted(range(count), key=lambda place: ((place + turn) * int(GOLDEN)) % 2**64)


def agreeing(a: list[int], b: list[int]) -> int:
    """How many bits are the same."""
    return sum(x == y for x, y in zip(a, b, strict=True))


class NaiveCover:
    """One class, target columns start..stop of ``on``; ``maybe`` has the open bits on as well."""

    def __init__(self, on: Bits, maybe: Bits, start: int, stop: int, counts: list[int], effort: Effort) -> None:
        self.on, self.maybe, self.start, self.stop, self.effort = on, maybe, start, stop, effort
        self.n, self.size = len(on[0]), len(on)
        self.counts = counts
        self.rest = [c for c in range(self.size) if not start <= c < stop]
        self.unclaimed = set(range(start, stop))
        self.inseparable = self._lost()
        self.neighbours = effort.neighbours
        self.working_set: list[int] = []
        self.detectors: list[NaiveDetector] = []
        times = 1 if on == maybe else effort.rounds + 2
        self.room = 2**60 // (2 * self.n * self.size * times)

    def _lost(self) -> set[int]:
        """Target columns with the bits of some column of the rest that their signed mask does not claim."""
        outside = {tuple(self.on[c]) for c in self.rest}
        return {
            c
            for c in self.unclaimed
            if tuple(self.on[c]) in outside and c not in self.judge(self.masks(c)[1])[2]
        }  # fmt: skip

    def masks(self, seed: int) -> tuple[list[int], list[int]]:
        """The paper's mask, and the signed one."""
        off = [1 - bit for bit in self.maybe[seed]]
        return off, [a - b for a, b in zip(off, self.on[seed], strict=True)]

    def least(self, v: list[int], c: int) -> int:
        return sum(w * (on if w > 0 else maybe) for w, on, maybe in zip(v, self.on[c], self.maybe[c], strict=True))

    def most(self, v: list[int], c: int) -> int:
        return sum(w * (maybe if w > 0 else on) for w, on, maybe in zip(v, self.on[c], self.maybe[c], strict=True))

    def judge(self, v: list[int]) -> Verdict:
        """Limit, witness, the unclaimed columns below the limit, and how many points they stand for."""
        limit, witness = min((self.least(v, c), c) for c in self.rest)
        claimed = [c for c in sorted(self.unclaimed) if self.most(v, c) < limit]
        return limit, witness, claimed, sum(self.counts[c - self.start] for c in claimed)

    def worst(self, v: list[int], c: int) -> list[int]:
        """The corner that is worst: open bits on where they raise the count in the target, lower it in the rest."""
        raises = 1 if self.start <= c < self.stop else -1
        return [most if raises * w > 0 else on for w, on, most in zip(v, self.on[c], self.maybe[c], strict=True)]

    def left(self) -> int:
        return sum(self.counts[c - self.start] for c in self.unclaimed - self.inseparable)

    def open(self) -> list[int]:
        return sorted(self.unclaimed - self.inseparable)

    def descend(self, rows: Bits, caps: list[int], dual_coef: list[int], turn: int, epochs: int) -> bool:
        """Coordinate descent; whether its last steps were small."""
        goal, tolerance, visit = UNIT * self.n, self.effort.tolerance, shuffled(len(rows), turn)
        agree = [[agreeing(a, b) for b in rows] for a in rows]
        largest = 0
        for _ in range(epochs):
            largest, kept = 0, []
            for i in visit:
                f = sum(share * a for share, a in zip(dual_coef, agree[i], strict=True) if share)
                if caps[i] > 0:
                    step = (goal - f) // self.n
                    new = min(max(dual_coef[i] + step, 0), caps[i])
                else:
                    step = -((goal + f) // self.n)
                    new = max(min(dual_coef[i] + step, 0), caps[i])
                if new == dual_coef[i] and abs(step) > 2 * tolerance:
                    continue
                kept.append(i)
                largest = max(largest, abs(new - dual_coef[i]))
                dual_coef[i] = new
            visit = kept
            if largest <= tolerance:
                break
        return largest <= tolerance

    def rounded(self, rows: Bits, dual_coef: list[int]) -> tuple[list[int], int, int]:
        """Weights low on the target; the largest of them after and before rounding."""
        exact = [
            sum(share * (1 - 2 * row[j]) for row, share in zip(rows, dual_coef, strict=True))
            for j in range(self.n)
        ]  # fmt: skip
        top, largest = min(LARGEST_WEIGHT, LARGEST_SUM // (2 * self.n)), max(map(abs, exact))
        shift = max(0, largest.bit_length() - 48)
        size = max(largest >> shift, 1)
        sizes = [(2 * top * (abs(w) >> shift) + size) // (2 * size) for w in exact]
        return [s if w > 0 else -s for s, w in zip(sizes, exact, strict=True)], top, largest

    def fit(self, state: dict[str, Any], C: int) -> Fit:
        """Rounds of descent, exact judgement, and taking in what of the rest lies within the margin."""
        columns, rows, dual_coef, pool = (state[name] for name in ("columns", "rows", "dual_coef", "pool"))
        patience = weighted.PATIENCE if C >= C_HARD else 0
        soft, hard = min(C * UNIT, self.room), -min(C_REST * UNIT, self.room)
        best, stale, goal = None, 0, UNIT * self.n
        for _ in range(self.effort.rounds):
            state["turn"] += 1
            caps = [soft if self.is_target(c) else hard for c in columns]
            epochs = max(self.effort.epochs, patience // len(columns))
            at_rest = self.descend(rows, caps, dual_coef, state["turn"], epochs)
            v, top, largest = self.rounded(rows, dual_coef)
            verdict = self.judge(v)
            stale = 0 if best is None or verdict[3] > best[1][3] else stale + 1
            if best is None or verdict[3] >= best[1][3]:
                best = (v, verdict, self.support(columns, dual_coef))
            constant = sum(s * (self.n - sum(row)) for row, s in zip(rows, dual_coef, strict=True))
            bounds = [(constant + d * goal) * top // max(largest, 1) for d in (1, -1)]
            far = (2 * constant + 3 * goal) * top // (2 * max(largest, 1))
            keep = [k for k, c in enumerate(columns) if self.is_target(c) or dual_coef[k] or self.least(v, c) <= far]
            for each in (columns, rows, dual_coef):
                each[:] = [each[k] for k in keep]
            found = self.fresh(v, bounds, columns, rows, pool)
            columns += [c for c, _ in found]
            rows += [row for _, row in found]
            dual_coef += [0] * len(found)
            enough = 1 if best[1][3] == self.left() else self.effort.stale
            if (at_rest and not found) or stale >= enough:
                break
        return best

    def fresh(
        self, v: list[int], bounds: list[int], columns: list[int], rows: Bits, pool: list[int]
    ) -> list[tuple[int, list[int]]]:
        """Who joins: of the rest, and of a pool that began with a part, those within the margin.

        Where bits are open they join as corners that are new.
        """
        near, low = bounds
        count = min(self.effort.fresh, self.effort.fresh_each * len(pool))
        inside = sorted((self.least(v, c), c) for c in self.rest if self.least(v, c) < near)
        if self.on == self.maybe:
            inside = [pair for pair in inside if pair[1] not in columns]
            late = sorted((-self.most(v, c), c) for c in pool if c not in columns and self.most(v, c) > low)
            joining = sorted(c for _, c in late[:count]) + sorted(c for _, c in inside[:count])
            return [(c, self.on[c]) for c in joining]
        joining = sorted(c for _, c in inside[:count]) + [c for c in pool if self.most(v, c) > low]
        known = list(zip(columns, rows, strict=True))
        return [(c, self.worst(v, c)) for c in joining if (c, self.worst(v, c)) not in known]

    def support(self, columns: list[int], dual_coef: list[int]) -> list[tuple[int, int]]:
        pairs = [(c, s) for c, s in zip(columns, dual_coef, strict=True) if s]
        if self.on == self.maybe:
            return pairs
        return [(c, sum(s for other, s in pairs if other == c)) for c in sorted({c for c, _ in pairs})]

    def is_target(self, column: int) -> bool:
        return self.start <= column < self.stop

    def start_with(self, pool: list[int]) -> dict[str, Any]:
        columns = pool[:: -(-len(pool) // self.effort.most)] + self.working_set
        rows = [self.on[c] for c in columns]
        return {"columns": columns, "rows": rows, "dual_coef": [0] * len(columns), "pool": pool, "turn": 0}

    def accept(self, v: list[int], verdict: Verdict, support: list[tuple[int, int]]) -> None:
        limit, witness, claimed, coverage = verdict
        anchor = min(claimed, key=lambda c: (self.most(v, c), c))
        self.detectors.append(NaiveDetector(v, limit, anchor, witness, coverage, support))
        self.unclaimed -= set(claimed)
        self.working_set = [c for c, share in support if share < 0]

    def at_once(self) -> None:
        pool = self.open()
        if not pool:
            return
        state = self.start_with(pool)
        found = self.fit(state, self.effort.C)
        percent = Fraction(100 * found[1][3], self.left())
        if self.effort.clean <= percent < 100:
            other = self.fit(state, self.effort.C_firm)
        elif percent < self.effort.enough and self.size <= 2 * self.n:
            other = self.fit(self.start_with(pool), C_HARD)
        else:
            other = found
        if other[1][3] == self.left():
            found = other
        if Fraction(100 * found[1][3], self.left()) >= self.effort.enough:
            self.accept(*found)

    def around(self, seed: int) -> None:
        by_distance = sorted(self.open(), key=lambda c: (-agreeing(self.on[seed], self.on[c]), c))
        pool = sorted(by_distance[: self.neighbours])
        found = self.fit(self.start_with(pool), self.effort.C)
        share = Fraction(len(found[1][2]), len(pool))
        if share < Fraction(4, 10):
            self.neighbours = max(self.neighbours // 2, self.effort.fewest)
        elif share > Fraction(8, 10):
            self.neighbours = min(self.neighbours * 3 // 2, self.effort.neighbours)
        if not found[1][3]:
            tried = [(v, self.judge(v)) for v in self.masks(seed)]
            v, verdict = max(tried, key=lambda one: one[1][3])
            found = (v, verdict, [(seed, UNIT), (verdict[1], -UNIT)])
        if found[1][3]:
            self.accept(*found)
        else:
            self.inseparable.add(seed)

    def run(self, order: list[int]) -> None:
        self.at_once()
        for seed in order:
            while seed in self.unclaimed - self.inseparable:
                self.around(seed)


def distinct_twin(on, maybe, codes):
    """Every pattern of a class once, in the order of its first column; and the place of every point's pattern."""
    firsts, places, starts = [], np.empty(len(codes), dtype=int), [0]
    rows = np.argsort(codes, kind="stable")
    for k in range(codes.max() + 1):
        seen = {}
        for row in rows[codes[rows] == k].tolist():
            place = seen.setdefault((*on[row], *maybe[row]), len(firsts))
            if place == len(firsts):
                firsts.append(row)
            places[row] = place
        starts.append(len(firsts))
    return firsts, places, starts
