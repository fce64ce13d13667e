"""What a strategy is, and how far it may look."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Protocol

from leafspan.errors import InvalidArgument
from leafspan.filters import Where
from leafspan.requests import Asking
from leafspan.values import Found, Query


@dataclass(frozen=True, slots=True)
class Reach:
    """How far one retrieval looks: so many ``candidates`` (leaves) for each query, among documents that match ``where``.

    ``k``: at most so many of the results are used, so a strategy need not load more; None where all may be, as by a
    strategy above. ``words``: about so many words are wanted in all, None where that was not said. ``embedder``: the name
    of the one that the index was made with, None while it has none.
    """

    candidates: int
    where: Where | None = None
    k: int | None = None
    words: int | None = None
    embedder: str | None = None

    @property
    def results(self) -> int:
        """How many results are worth loading."""
        return self.candidates if self.k is None else min(self.k, self.candidates)

    @property
    def below(self) -> Reach:
        """The same for a strategy whose results all count, since another one makes something of them."""
        return replace(self, k=None)


class Strategy(Protocol):
    """A frozen value that finds spans. ``retrieve`` is written once, without I/O, as a generator of requests."""

    def retrieve(self, queries: Sequence[Query], reach: Reach) -> Asking[list[list[Found]]]:
        """A list of results for each query, best first."""
        ...


def whole(name: str, value: object, least: int) -> None:
    """See that an option is a whole number of at least ``least``.

    Raises:
        InvalidArgument: if it is not.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InvalidArgument(f"{name} must be a whole number >= {least}, got {value!r}")


def check_strategy(name: str, thing: object) -> None:
    """See that an option is a strategy.

    Raises:
        InvalidArgument: if it is not.
    """
    if isinstance(thing, type) or not callable(getattr(thing, "retrieve", None)):
        raise InvalidArgument(f"{name} must be a strategy such as Vector(), got {thing!r}")


def is_number(value: object) -> bool:
    """Whether it is an int or float, neither nan nor infinite, and no bool."""
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def flag(name: str, value: object) -> None:
    """See that an option is a bool.

    Raises:
        InvalidArgument: if it is not.
    """
    if not isinstance(value, bool):
        raise InvalidArgument(f"{name} must be True or False, got {value!r}")


def check_choice(name: str, value: object, choices: Collection[str]) -> None:
    """See that an option is one of the choices.

    Raises:
        InvalidArgument: if it is not.
    """
    if value not in choices:
        raise InvalidArgument(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def check_base(base: object) -> None:
    """See that a base is a strategy that finds single leaves, which can then be merged or widened.

    Raises:
        InvalidArgument: if it is not.
    """
    check_strategy("base", base)
    if getattr(base, "finds_spans", False):
        raise InvalidArgument(f"base must be a strategy that finds single leaves, got {base!r}")
