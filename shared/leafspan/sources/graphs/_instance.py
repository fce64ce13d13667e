"""Checks that a LightRAG can be asked, and finds the event loop that it lives in."""

from __future__ import annotations

import asyncio
from typing import Any

from leafspan.checks import shown
from leafspan.errors import InvalidArgument

_METHODS = ("aquery_data", "aquery_llm")


def check_instance(instance: Any) -> None:
    """Check that ``instance`` is a LightRAG with open storages.

    Raises:
        InvalidArgument: if it is not.
    """
    if isinstance(instance, type) or not all(callable(getattr(instance, name, None)) for name in _METHODS):
        raise InvalidArgument(
            f"instance must be a lightrag.LightRAG or a LightRAGThread, got {_what(instance)}; leafspan's own LightRAG is "
            "a strategy, so it helps to `import lightrag` and write lightrag.LightRAG"
        )
    check_initialized(instance)


def check_initialized(instance: Any) -> None:
    """Check that the storages of a LightRAG are open.

    Raises:
        InvalidArgument: if they are not.
    """
    status = status_of(instance)
    if status not in (None, "INITIALIZED"):
        raise InvalidArgument(
            f"instance must be initialised, got a LightRAG that is {status}: call `await instance.initialize_storages()` "
            "first, or make it in a LightRAGThread, which does"
        )


def status_of(instance: Any) -> str | None:
    """``"CREATED"``, ``"INITIALIZED"`` or ``"FINALIZED"``, or None if LightRAG does not report its status."""
    return getattr(getattr(instance, "_storages_status", None), "name", None)


def home_loop(instance: Any) -> asyncio.AbstractEventLoop:
    """The event loop in which the storages were opened.

    Raises:
        InvalidArgument: if the loop is closed, or LightRAG does not report its loop.
    """
    if not hasattr(instance, "_owning_loop"):
        raise InvalidArgument(
            "instance must say which event loop it lives in, and this version of LightRAG does not: make it in a "
            "LightRAGThread"
        )
    loop = instance._owning_loop
    if not isinstance(loop, asyncio.AbstractEventLoop) or loop.is_closed():
        raise InvalidArgument(
            "instance must live in an event loop that is open, and the one that its storages were opened in is closed, as "
            "after asyncio.run: make the LightRAG in a LightRAGThread, or ask in the same asyncio.run"
        )
    return loop


def _what(instance: Any) -> str:
    return f"the class {instance.__name__}" if isinstance(instance, type) else shown(instance)
