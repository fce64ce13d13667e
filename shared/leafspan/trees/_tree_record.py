"""The record that is stored with a tree: its summaries, and what they were made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from leafspan.store import Row


@dataclass(frozen=True, slots=True)
class TreeRecord:
    """The record of a tree, stored beside its summaries. Each summary of several documents is stored as a tree of its own.

    Attributes:
        layers: Layer of each summary, by its number.
        tops: Numbers of the summaries below no other summary of the tree.
        bare: Ordinals of the leaves below no summary.
        keys: Cache keys of the summaries' texts.
        summarizer: Identity of the summarizer.
        document_version: Version of the document that the tree was built from. None for a summary of several documents.
        view: Name of the view that built a summary of several documents, "" for the whole index; None for one document.
        label: Which documents a summary of several documents is about.
        children: Ids of the leaves and summaries that a summary of several documents was made from. None for the tree of a
            document.
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
        """Whether this is the tree of one document, and not a summary of several."""
        return self.children is None

    def pack(self) -> dict[str, Any]:
        """The record as a dictionary that JSON can hold."""
        specific: dict[str, Any] = {"of": self.document_version}
        if self.children is not None:
            specific = {"view": self.view, "label": self.label, "children": self.children}
        shared = {name: getattr(self, name) for name in ("layers", "tops", "bare", "keys", "summarizer")}
        return {**specific, **shared}

    @classmethod
    def of(cls, row: Row) -> TreeRecord:
        """The record of a row; without summaries while the tree's first version is being written."""
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
