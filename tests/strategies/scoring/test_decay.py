from __future__ import annotations

from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan.strategies.scoring import SHAPES, decay_factor
from tests.profiles import examples

every_shape = pytest.mark.parametrize("shape", SHAPES)


@every_shape
def test_the_factor_is_1_at_no_distance_and_the_decay_at_the_scale(shape):
    assert decay_factor(0, scale=10, decay=0.3, shape=shape) == 1
    assert decay_factor(10, scale=10, decay=0.3, shape=shape) == pytest.approx(0.3)


def test_each_shape_falls_in_its_own_way():
    at_20 = {shape: decay_factor(20, scale=10, decay=0.6, shape=shape) for shape in SHAPES}
    assert at_20 == {
        "exponential": pytest.approx(0.6**2),
        "gaussian": pytest.approx(0.6**4),
        "linear": pytest.approx(1 - 2 * 0.4),
    }


def test_a_linear_one_ends_at_0():
    assert decay_factor(25, scale=10, decay=0.6, shape="linear") == pytest.approx(0)
    assert decay_factor(1e9, scale=10, decay=0.6, shape="linear") == 0


def of_elasticsearch(distance, scale, decay, shape):
    """The formulas as its documentation writes them."""
    if shape == "exponential":
        return exp(log(decay) / scale * distance)
    if shape == "gaussian":
        variance = -(scale**2) / (2 * log(decay))
        return exp(-(distance**2) / (2 * variance))
    slope = scale / (1 - decay)
    return max(0, (slope - distance) / slope)


@given(
    distance=st.floats(0, 1e4), scale=st.floats(0.01, 1e4), decay=st.floats(0.01, 0.99), shape=st.sampled_from(list(SHAPES))
)
@examples(300)
def test_the_factors_match_elasticsearch(distance, scale, decay, shape):
    ours = decay_factor(distance, scale=scale, decay=decay, shape=shape)
    assert ours == pytest.approx(of_elasticsearch(distance, scale, decay, shape), rel=1e-9, abs=1e-12)
    assert 0 <= ours <= 1


@given(st.lists(st.floats(0, 1e6), min_size=2), st.sampled_from(list(SHAPES)))
@examples(100)
def test_what_is_further_away_never_has_more(distances, shape):
    factors = [decay_factor(distance, scale=30, decay=0.5, shape=shape) for distance in sorted(distances)]
    assert factors == sorted(factors, reverse=True)
