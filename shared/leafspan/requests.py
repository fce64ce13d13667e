"""What a strategy may ask for; the engine's flows answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Embed:
    """Embed these questions; the answer is a matrix, a row each."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """The ``count`` leaves nearest to each vector; the answer is a list of Found for each, best first."""

    vectors: Any
    count: int
    where: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class OutsideResult:
    """What a retriever of a host returned: a text, with an id and a score, where it has one."""

    id: str | None
    text: str
    score: float | None


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask a retriever of a host; the answer is a list of Found, one for each of its results, which must be leaves."""

    name: str
    question: str
    ask: Callable[[str], Sequence[OutsideResult]]
    aask: Callable[[str], Awaitable[Sequence[OutsideResult]]]


Request = Embed | Search | Ask
Asking = Generator[Request | tuple[Request, ...], Any, T]
"""A strategy at work: it yields requests, several at once where they are independent, and is sent the answers."""
