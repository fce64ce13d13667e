"""What a strategy is, and how far it may look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from leafspan.errors import InvalidArgument
from leafspan.requests import Asking
from leafspan.values import Found, Query


@dataclass(frozen=True, slots=True)
class Reach:
    """How far one retrieval looks: so many ``candidates`` (leaves) for each query, among those that match ``where``."""

    candidates: int
    where: Mapping[str, Any] | None = None


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


def check_base(base: object) -> None:
    """See that a base is a strategy that finds single leaves, which can then be merged or widened.

    Raises:
        InvalidArgument: if it is not.
    """
    if isinstance(base, type) or not callable(getattr(base, "retrieve", None)):
        raise InvalidArgument(f"base must be a strategy such as Vector(), got {base!r}")
    if getattr(base, "finds_spans", False):
        raise InvalidArgument(f"base must be a strategy that finds single leaves, got {base!r}")
