"""A function that a graph is asked with, and that two runs of one strategy have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Asked:
    """The function, which equals another one of the same ``key``, so that a retrieval does not ask the same twice."""

    key: tuple[Any, ...]
    function: Callable[..., Any] = field(compare=False)

    def __call__(self, question: str) -> Any:
        """What the function returns."""
        return self.function(question)
