"""The paper's own behind the protocol: built by the same code."""

from __future__ import annotations

from random_problems import three_labels

from exactfit.constructions import (
    AdaptiveWidth,
    FixedWidth,
)


def test_the_papers_own_is_built_by_the_same_code() -> None:
    from exactfit.construct import Recipe, adaptive_width, fixed_width

    X, y = three_labels()
    recipe = Recipe(selection="greedy", activation="relu")
    made = AdaptiveWidth(selection="greedy", activation="relu").construct(X, y, random_state=0)
    assert made.network.digest == adaptive_width(X, y, recipe, 0).network.digest
    made = FixedWidth(50, target="all").construct(X, y, random_state=0)
    assert made.network.digest == fixed_width(X, y, 50, Recipe(target="all"), 0).network.digest
    assert not FixedWidth(2).construct(X, y, random_state=0).outcome.interpolates
