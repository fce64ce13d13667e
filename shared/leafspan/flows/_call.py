"""Calls: pieces of blocking work that a flow yields."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """One piece of blocking work: ``function(*arguments, **options)``."""

    function: Callable[..., Any] | None
    arguments: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    native: Callable[..., Any] | None = None
    finish: bool = False
    what: str | None = None
    computes: bool = False

    @property
    def name(self) -> str:
        """What the call waits for; empty if it only waits for other calls or for leafspan's own code."""
        if self.what is not None:
            return self.what
        function = self.function or self.native
        while isinstance(function, partial):
            function = function.func
        if getattr(function, "__module__", "").partition(".")[0] == __name__.partition(".")[0]:
            return ""
        return f"{getattr(function, '__qualname__', type(function).__name__)}()"


Flow = Generator[Call | Sequence[Call], Any, T]


def asked_whether_awaited() -> Call:
    """A call whose result is True if the driver awaits calls, so that an event loop must not block."""
    return Call(_is_blocking, native=_is_awaiting, what="")


def _is_blocking() -> bool:
    return False


async def _is_awaiting() -> bool:
    return True
