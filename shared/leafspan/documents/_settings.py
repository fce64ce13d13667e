"""How an index makes leaves, vectors and terms of documents, which it remembers, since they must all be made alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from leafspan.checks import check_number, check_whole, shown
from leafspan.documents._packed_place import FORMAT
from leafspan.errors import IndexMismatch, InvalidArgument
from leafspan.lexical import Analysis, Analyzer, BM25Settings, describe_analyzer
from leafspan.splitting import HierarchicalSplitter, Splitter, describe_splitter

TITLE_WEIGHT = 0.3
TREE_SETTINGS = {"format": FORMAT, "kind": "tree"}
"""What is stored with the trees of an index."""


@dataclass(frozen=True, slots=True)
class OpenOptions:
    """What ``Index.open`` is asked for; None stands for whatever the index was made with, or else for the default.

    Raises:
        InvalidArgument: if an option is out of its range.
    """

    splitter: Splitter | None = None
    context_sentences: int | None = None
    title_weight: float | None = None
    analyzer: Analysis | None = None
    bm25: BM25Settings | None = None

    def __post_init__(self) -> None:
        if self.context_sentences is not None:
            check_whole("context_sentences", self.context_sentences, 0)
        if self.title_weight is not None:
            check_number("title_weight", self.title_weight, at_least=0)
        if self.analyzer is not None and (isinstance(self.analyzer, type) or not callable(self.analyzer)):
            raise InvalidArgument(
                f"analyzer must be an Analyzer or a function from a text to its terms, got {shown(self.analyzer)}"
            )
        if self.bm25 is not None and not isinstance(self.bm25, BM25Settings):
            raise InvalidArgument(f"bm25 must be BM25Settings, got {shown(self.bm25)}")


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """How documents are indexed: see ``Index.open``.

    ``splitter`` and ``analyzer`` are None where they were functions, and not given again.
    """

    splitter: Splitter | None
    context_sentences: int
    title_weight: float
    analyzer: Analysis | None
    bm25: BM25Settings

    @classmethod
    def made(cls, wanted: OpenOptions) -> IndexSettings:
        """What was asked for, with the defaults filled in."""
        return cls(
            wanted.splitter or HierarchicalSplitter(),
            wanted.context_sentences or 0,
            TITLE_WEIGHT if wanted.title_weight is None else float(wanted.title_weight),
            wanted.analyzer or Analyzer(),
            wanted.bm25 or BM25Settings(),
        )

    def record(self) -> dict[str, Any]:
        """What is stored with the index when it is made."""
        assert self.splitter is not None
        assert self.analyzer is not None
        return {
            "format": FORMAT,
            "splitter": describe_splitter(self.splitter),
            "splitter_options": self.splitter.options() if isinstance(self.splitter, HierarchicalSplitter) else None,
            "context_sentences": self.context_sentences,
            "title_weight": self.title_weight,
            "analyzer": describe_analyzer(self.analyzer),
            "analyzer_options": self.analyzer.options() if isinstance(self.analyzer, Analyzer) else None,
            "bm25": asdict(self.bm25),
        }

    @classmethod
    def recorded(cls, record: Mapping[str, Any], wanted: OpenOptions) -> IndexSettings:
        """What an index was made with.

        Raises:
            IndexMismatch: if something else is wanted now.
        """
        if record == TREE_SETTINGS:
            raise IndexMismatch("these are the trees of another index; open that one")
        asked = {
            "splitter": None if wanted.splitter is None else describe_splitter(wanted.splitter),
            "context_sentences": wanted.context_sentences,
            "title_weight": wanted.title_weight,
            "analyzer": None if wanted.analyzer is None else describe_analyzer(wanted.analyzer),
            "bm25": None if wanted.bm25 is None else asdict(wanted.bm25),
        }
        for name, value in asked.items():
            if value is not None and value != record[name]:
                raise IndexMismatch(
                    f"the index was made with {name}={record[name]}, it cannot go on with {value}: open it without "
                    f"{name}=, or make another index"
                )
        splitting, analysis = record["splitter_options"], record["analyzer_options"]
        return cls(
            wanted.splitter or (HierarchicalSplitter(**splitting) if splitting else None),
            int(record["context_sentences"]),
            float(record["title_weight"]),
            wanted.analyzer or (Analyzer(**analysis) if analysis else None),
            BM25Settings(**record["bm25"]),
        )
