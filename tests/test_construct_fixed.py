import naive, numpy as np
from hypothesis import given, settings, strategies as st
from strategies import problems, seeds
from exactfit.construct import Recipe, fixed_width, adaptive_width
@st.composite
def recipes(draw):
    return Recipe(
        max_bias=draw(st.sampled_from(["radius", 0.0, 0.5, 3.0])), center=draw(st.booleans()),
        hyperplanes=draw(st.sampled_from(["gaussian", "bisector"])), selection=draw(st.sampled_from(["random", "greedy"])),
        greedy_memory=draw(st.sampled_from([1, 16, 24, 2**20])), target=draw(st.sampled_from([None, "all"])), n_jobs=draw(st.sampled_from([1, 2])))
from dataclasses import replace
@given(problems(), recipes(), st.integers(1,140), seeds)
def test_fixed(problem, recipe, width, seed):
    X,y=problem
    naive.assert_same(fixed_width(X,y,width,recipe,seed), naive.algorithm_2(X,y,width,recipe,seed))
@given(problems(), recipes(), st.integers(1,140), seeds)
def test_fixed_relu(problem, recipe, width, seed):
    X,y=problem
    recipe=replace(recipe,activation="relu")
    naive.assert_same(fixed_width(X,y,width,recipe,seed), naive.algorithm_2(X,y,width,recipe,seed))
@given(problems(), recipes(), st.sampled_from([0,0,0,1,100]), seeds)
def test_ada(problem, recipe, width, seed):
    X,y=problem
    naive.assert_same(adaptive_width(X,y,recipe,seed,min_width=width), naive.algorithm_1(X,y,recipe,seed,min_width=width))
@given(problems(), recipes(), st.sampled_from([0,0,0,1,100]), seeds)
def test_ada_relu(problem, recipe, width, seed):
    X,y=problem
    recipe=replace(recipe,activation="relu")
    naive.assert_same(adaptive_width(X,y,recipe,seed,min_width=width), naive.algorithm_1(X,y,recipe,seed,min_width=width))
