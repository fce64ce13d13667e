"""Why a passage was returned, and why another one was not: found out by retrieving again without each obstacle."""

from ._explain import explain
from ._explanation import Explanation, Obstacle, Standing, TimedRequest
from ._target import Piece

__all__ = ["Explanation", "Obstacle", "Piece", "Standing", "TimedRequest", "explain"]
