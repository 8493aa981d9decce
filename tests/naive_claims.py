"""Slow, obvious twins: who claims whom, which points to give up, who is suspicious."""

from __future__ import annotations

import numpy as np


def claims_and_support(bits, y):
    """Every point as an anchor, one pair at a time."""
    n = len(y)
    claims, support = [0] * n, [0] * n
    for a in range(n):
        mask = ~bits[a]
        limit = min(int((bits[r] & mask).sum()) for r in range(n) if y[r] != y[a])
        for p in range(n):
            if p != a and y[p] == y[a] and int((bits[p] & mask).sum()) < limit:
                claims[p] += 1
                support[a] += 1
    return claims, support


def points_to_give_up(X, bits, y, budget, rounds):
    """Contradictory rows, then in rounds the least claimed, the least supporting, the first."""
    gone = [row for row in range(len(y)) if _loses(X, y, row)][:budget]
    most = {k: int((y == k).sum()) // 2 for k in set(y.tolist())}
    before = len(gone)
    for number in range(1, rounds + 1):
        if before == budget:
            break
        goal = before + (budget - before) * number // rounds
        kept = [row for row in range(len(y)) if row not in gone]
        claims, support = claims_and_support(bits[kept], y[kept])
        for _, _, row in sorted(zip(claims, support, kept, strict=True)):
            of_class = sum(y[other] == y[row] for other in gone)
            if len(gone) < goal and of_class < most[int(y[row])]:
                gone.append(row)
    return sorted(gone)


def _loses(X, y, row):
    """Whether most of a row's equals have another label (on a tie the lowest label stands)."""
    equal = [int(y[other]) for other in range(len(y)) if (X[other] == X[row]).all()]
    return min(equal, key=lambda label: (-equal.count(label), label)) != y[row]


def suspects(X, y, k):
    """Ratio of distances, the nearest of other labels, and how many of the k nearest are such."""
    n = len(y)
    away = np.array([[float(((X[a] - X[b]) ** 2).sum()) ** 0.5 for b in range(n)] for a in range(n)])
    to_other = [min(away[a][b] for b in range(n) if y[b] != y[a]) for a in range(n)]
    ratios, conflicts, strangers = [], [], []
    for a in range(n):
        by_distance = sorted((b for b in range(n) if b != a), key=lambda b: (away[a][b], b))
        own = [b for b in by_distance if y[b] == y[a]][:k]
        others = [b for b in by_distance if y[b] != y[a]][:k]
        middle = float(np.median([to_other[b] for b in own])) if own else 0.0
        ratios.append(0.0 if not own or to_other[a] == 0 else to_other[a] / middle if middle else float("inf"))
        conflicts.append(others + [-1] * (k - len(others)))
        strangers.append(sum(y[b] != y[a] for b in by_distance[:k]))
    return ratios, conflicts, strangers


def neighbours_say(X, y, k, reach, n_classes):
    """Logarithms of votes, and closeness, of every label at every row, as docs/suspects.md defines them."""
    n = len(y)
    votes, closeness = np.empty((n, n_classes)), np.empty((n, n_classes))
    for a in range(n):
        away = {b: float(((X[a] - X[b]) ** 2).sum()) ** 0.5 for b in range(n) if b != a}
        near = sorted(away, key=lambda b: (away[b], b))[:reach]
        last = max(away[b] for b in near)
        share = {b: away[b] / last if last > 0 else 0.0 for b in near}
        total = sum(np.exp(-(share[b] ** 2)) for b in near)
        for label in range(n_classes):
            own = [share[b] for b in near if y[b] == label]
            for_it = sum(np.exp(-(t**2)) for t in own)
            votes[a, label] = np.log((for_it + np.mean(y == label)) / (total + 1))
            first = own[:k]
            closeness[a, label] = -4 * (sum(first) + (k - len(first))) / k
    return votes, closeness
