"""What is stored with the row of a tree: which summaries it has, and what they were made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from leafspan.store import Row


@dataclass(frozen=True, slots=True)
class TreeRecord:
    """What is stored with a tree, beside its summaries. A summary of several documents is a tree of its own.

    Attributes:
        layers: Layer of each summary.
        tops: Numbers of the summaries that no other summary of the tree was made of.
        bare: Ordinals of the leaves that no summary was made of.
        keys: Keys under which the texts of the summaries are cached.
        summarizer: Identity of the summarizer.
        document_version: Version of the document that the tree is of. None for a summary of several documents.
        view: Name of the view that a summary of several documents was built in, "" for the whole index. None for the tree
            of a document.
        label: Which documents a summary of several documents is about.
        children: Ids of what a summary of several documents was made of.
    """

    layers: list[int]
    tops: list[int]
    bare: list[int]
    keys: list[str]
    summarizer: str
    document_version: str | None = None
    view: str | None = None
    label: str = ""
    children: list[str] | None = None

    @property
    def is_of_document(self) -> bool:
        """Whether it is the tree of one document, and not a summary of several."""
        return self.children is None

    def pack(self) -> dict[str, Any]:
        """The record as JSON has it."""
        own: dict[str, Any] = {"of": self.document_version}
        if self.children is not None:
            own = {"view": self.view, "label": self.label, "children": self.children}
        shared = {name: getattr(self, name) for name in ("layers", "tops", "bare", "keys", "summarizer")}
        return {**own, **shared}

    @classmethod
    def of(cls, row: Row) -> TreeRecord:
        """The record of a row; one without summaries for a tree that is first being written."""
        stored: Mapping[str, Any] = row.extra
        return cls(
            stored.get("layers", []),
            stored.get("tops", []),
            stored.get("bare", []),
            stored.get("keys", []),
            stored.get("summarizer", ""),
            stored.get("of"),
            stored.get("view"),
            stored.get("label", ""),
            stored.get("children"),
        )
