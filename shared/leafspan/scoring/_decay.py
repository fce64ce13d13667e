"""Decay: a factor that falls with a distance, such as the age of a document."""

from __future__ import annotations

from math import exp, log
from typing import Literal, TypeAlias

Shape: TypeAlias = Literal["exponential", "gaussian", "linear"]
SHAPES: tuple[Shape, ...] = ("exponential", "gaussian", "linear")


def decay_factor(distance: float, *, scale: float, decay: float, shape: Shape) -> float:
    """The factor for a distance, in [0, 1]: 1 at the distance 0, and ``decay`` at the distance ``scale``.

    With d for the distance, s for the scale and f for the decay, it is

    - exponential: f ** (d / s), so that each further scale multiplies it by f;
    - gaussian: f ** ((d / s) ** 2), which falls slowly first, then fast;
    - linear: max(0, 1 - (1 - f) * d / s), which is 0 from the distance s / (1 - f) on.

    Args:
        distance: The distance, >= 0, in the unit of ``scale``.
        scale: Distance at which the factor is ``decay``, > 0.
        decay: Factor at that distance, in (0, 1).
        shape: How it falls.

    Source: the functions exp, gauss and linear of Elasticsearch's ``function_score`` query, which are written there as
    exp(d * ln(f) / s), exp(-d ** 2 / (2 * v)) with v = -s ** 2 / (2 * ln(f)), and max(0, (c - d) / c) with c = s / (1 - f).
    """
    if shape == "linear":
        return max(0.0, 1.0 - (1.0 - decay) * distance / scale)
    scales = distance / scale
    return exp(log(decay) * (scales if shape == "exponential" else scales * scales))
