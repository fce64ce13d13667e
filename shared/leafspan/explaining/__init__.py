"""Why a passage was returned, and why another one was not: found out by retrieving again without each obstacle."""

from leafspan.explaining._explain import explain
from leafspan.explaining._explanation import Explanation, Obstacle, Standing, TimedRequest
from leafspan.explaining._target import Piece

__all__ = ["Explanation", "Obstacle", "Piece", "Standing", "TimedRequest", "explain"]
