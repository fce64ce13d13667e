"""Fitting options of a strategy on one's own questions."""

from ._corpus import Corpus
from ._options import FEWEST_QUESTIONS, Kind, TuneOptions
from ._tune import base_of, tune
from ._tuning import Tuning

__all__ = ["FEWEST_QUESTIONS", "Corpus", "Kind", "TuneOptions", "Tuning", "base_of", "tune"]
