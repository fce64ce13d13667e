"""What a user gives as an engine, as leafspan calls it."""

from __future__ import annotations

from typing import Any

from leafspan.engines._tables import CalledEngine, FlowEngine, is_engine


def to_engine(thing: Any, timeout: float) -> FlowEngine:
    """The engine of the user's, or a client of Chroma as one. Each call ends after ``timeout`` seconds."""
    if is_engine(thing):
        return CalledEngine(thing, timeout)
    from leafspan.engines.chroma import Chroma

    return Chroma(thing, timeout)
