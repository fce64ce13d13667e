"""Fitting options of a strategy on one's own questions."""

from ._options import FEWEST_QUESTIONS, Kind
from ._tune import atune, tune
from ._tuning import Tuning

__all__ = ["FEWEST_QUESTIONS", "Kind", "Tuning", "atune", "tune"]
