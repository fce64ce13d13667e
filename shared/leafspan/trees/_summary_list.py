"""A list of summaries, which notebooks show as trees."""

from __future__ import annotations

from leafspan.text import display
from leafspan.values import Passage


class Summaries(list[Passage]):
    """A list of summaries, and of the leaves below them if you asked for leaves. Notebooks show it as trees."""

    def __repr__(self) -> str:
        return "[" + ",\n ".join(map(repr, self)) + "]"

    def _repr_html_(self) -> str | None:
        """HTML for notebooks: each tree, which opens layer by layer."""
        return display("Summaries", self)
