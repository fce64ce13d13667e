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
    """
    if shape == "linear":
        return max(0.0, 1.0 - (1.0 - decay) * distance / scale)
    scales = distance / scale
    return exp(log(decay) * (scales if shape == "exponential" else scales * scales))
