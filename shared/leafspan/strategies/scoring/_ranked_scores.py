"""Scores for results in a given order."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence


def scores_in_order(scores: Sequence[float | None]) -> list[float]:
    """The results' own scores, if each has a score and no score rises above the previous one; else 1 / rank, from 1."""
    own = [float(score) for score in scores if score is not None and math.isfinite(score)]
    if len(own) == len(scores) and all(a >= b for a, b in itertools.pairwise(own)):
        return own
    return [1 / rank for rank in range(1, len(scores) + 1)]
