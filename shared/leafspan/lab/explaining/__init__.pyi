"""Why a passage was returned, and why another one was not."""

from ._explain import aexplain, explain
from ._explanation import Explanation, Obstacle, Standing, TimedRequest

__all__ = ["Explanation", "Obstacle", "Standing", "TimedRequest", "aexplain", "explain"]
