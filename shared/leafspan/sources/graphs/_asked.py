"""The function that asks a graph. Equal strategies share it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Asked:
    """A function that equals any other with the same ``key``, so that a retrieval does not ask the same twice."""

    key: tuple[Any, ...]
    function: Callable[..., Any] = field(compare=False)

    def __call__(self, question: str) -> Any:
        """Call the function."""
        return self.function(question)
