"""The measures of how reliable probabilities are, on cases worked out by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def measures():
    """The benchmark, which is a script beside others that it imports."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        patch.setattr(sys, "dont_write_bytecode", True)
        import calibration

        yield calibration


def array(*values):
    return np.array(values)


@pytest.mark.parametrize(
    ("scores", "right", "area"),
    [
        ((0.9, 0.8, 0.3, 0.1), (True, True, False, False), 1.0),  # every right one above every wrong one
        ((0.1, 0.3, 0.8, 0.9), (True, True, False, False), 0.0),
        ((0.5, 0.5, 0.5, 0.5), (True, False, True, False), 0.5),  # ties count half
        ((0.9, 0.6, 0.4, 0.2), (True, False, True, False), 3 / 4),  # of 4 pairs, (0.4, 0.6) is the wrong way round
        ((0.9, 0.4, 0.4, 0.2), (True, False, True, False), 3.5 / 4),  # and here a tie
        ((0.7, 0.7, 0.2), (True, False, False), 1.5 / 2),
    ],
)
def test_the_area_under_the_curve_is_the_share_of_pairs_in_order(measures, scores, right, area):
    assert measures.area_under_curve(array(*scores), array(*right)) == pytest.approx(area)
    # It does not depend on the scale of the scores, nor on their order.
    assert measures.area_under_curve(array(*scores) ** 3 - 1, array(*right)) == pytest.approx(area)
    assert measures.area_under_curve(array(*scores[::-1]), array(*right[::-1])) == pytest.approx(area)


def test_the_log_loss_is_the_mean_surprise(measures):
    assert measures.log_loss(array(0.8, 0.3), array(True, False)) == pytest.approx(-(np.log(0.8) + np.log(0.7)) / 2)
    assert measures.log_loss(array(1.0, 0.0), array(True, False)) == pytest.approx(0, abs=1e-11)


def test_the_calibration_error_is_the_distance_of_said_and_true_in_each_bin(measures):
    predicted, right = array(0.1, 0.3, 0.8, 0.9, 0.9), array(False, True, True, True, False)
    #       below 0.5: 0.4 said, 1 true; above: 2.6 said, 2 true
    error = measures.calibration_error(predicted, right, (0.0, 0.5, np.inf))
    assert error == pytest.approx((abs(0.4 - 1) + abs(2.6 - 2)) / 5)
    assert measures.calibration_error(array(0.5, 0.5), array(True, False), (0.0, np.inf)) == 0
