"""How an index makes leaves and vectors of documents, which it remembers, since they must all be made alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from leafspan.errors import IndexMismatch, InvalidArgument
from leafspan.splitting import HierarchicalSplitter, Splitter, describe_splitter
from leafspan.structure import FORMAT

TITLE_WEIGHT = 0.3


@dataclass(frozen=True, slots=True)
class Indexing:
    """How documents are indexed: see ``Index.open``. ``splitter`` is None where it was a function, not given again."""

    splitter: Splitter | None
    context_sentences: int
    title_weight: float

    @classmethod
    def wanted(cls, splitter: Splitter | None, context_sentences: int | None, title_weight: float | None) -> Indexing:
        """What was asked for, with the defaults filled in.

        Raises:
            InvalidArgument: if one is out of its range.
        """
        if context_sentences is not None and (not isinstance(context_sentences, int) or context_sentences < 0):
            raise InvalidArgument(f"context_sentences must be a whole number >= 0, got {context_sentences!r}")
        if title_weight is not None and not (isinstance(title_weight, int | float) and 0 <= title_weight < float("inf")):
            raise InvalidArgument(f"title_weight must be a number >= 0, got {title_weight!r}")
        weight = TITLE_WEIGHT if title_weight is None else float(title_weight)
        return cls(splitter or HierarchicalSplitter(), context_sentences or 0, weight)

    def record(self) -> dict[str, Any]:
        """What is stored with the index when it is made."""
        assert self.splitter is not None
        options = self.splitter.options() if isinstance(self.splitter, HierarchicalSplitter) else None
        return {
            "format": FORMAT,
            "splitter": describe_splitter(self.splitter),
            "splitter_options": options,
            "context_sentences": self.context_sentences,
            "title_weight": self.title_weight,
        }

    @classmethod
    def recorded(
        cls,
        record: Mapping[str, Any],
        splitter: Splitter | None,
        context_sentences: int | None,
        title_weight: float | None,
    ) -> Indexing:
        """What an index was made with.

        Raises:
            IndexMismatch: if something else is wanted now; None stands for whatever it was.
        """
        wanted = {
            "splitter": None if splitter is None else describe_splitter(splitter),
            "context_sentences": context_sentences,
            "title_weight": title_weight,
        }
        for name, value in wanted.items():
            if value is not None and value != record[name]:
                raise IndexMismatch(f"the index was made with {name}={record[name]}, it cannot go on with {value}")
        options = record["splitter_options"]
        used = splitter or (HierarchicalSplitter(**options) if options else None)
        return cls(used, int(record["context_sentences"]), float(record["title_weight"]))
