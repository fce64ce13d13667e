"""Choices: what happens at each point of a run, made from a seed or read from a record."""

from __future__ import annotations

from collections.abc import Mapping

Point = tuple[int, int]
"""A place in a run: the number of an operation, and how many points that operation has passed before."""

_MASK = 2**64 - 1
_PACES = (0.25, 1, 2)


class Choices:
    """What happens at each point. Zero, which is most frequent, lets the operation go on.

    A choice depends on its place only, so that it stays when other operations are left out.

    Each operation has a pace of its own: something happens to it as often as the rate says, a quarter as often, or twice as
    often. So one process can stop at each step while another one does much.

    Args:
        seed: What all choices follow from.
        rate: Share of points at which something happens, in [0, 0.5].
        recorded: The choices that are not zero. If they are given, there are no others.
    """

    def __init__(self, seed: int, rate: float, recorded: Mapping[Point, int] | None = None) -> None:
        self._seed = seed
        self._limits = [int(rate * pace * 2**32) for pace in _PACES]
        self._recorded = recorded
        self.made: dict[Point, int] = {}

    def at(self, point: Point) -> int:
        """The choice for a point: 0 for nothing, or any other number."""
        if self._recorded is not None:
            choice = self._recorded.get(point, 0)
        else:
            mixed = _mixed(self._seed, *point)
            limit = self._limits[_mixed(self._seed, point[0], 0) % len(_PACES)]
            choice = 1 + ((mixed >> 32) & 0xFFFF) if mixed & 0xFFFFFFFF < limit else 0
        if choice:
            self.made[point] = choice
        return choice


def _mixed(seed: int, operation: int, count: int) -> int:
    """64 bits in which each bit of the arguments has changed half of all others (splitmix64)."""
    mixed = (seed * 0x9E3779B97F4A7C15 + operation * 0xD1B54A32D192ED03 + count * 0x8CB92BA72F3D8DD7) & _MASK
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
    return mixed ^ (mixed >> 31)
