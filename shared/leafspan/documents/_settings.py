"""An index's settings: how leaves, vectors and terms are made. They are stored, since all documents share them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from types import NoneType
from typing import Any

from leafspan.checks import check_number, keep_whole, shown
from leafspan.errors import DamagedIndex, IndexMismatch, InvalidArgument
from leafspan.lexical import Analysis, Analyzer, BM25Settings, describe_analyzer, probe_terms
from leafspan.splitting import HierarchicalSplitter, Splitter, describe_splitter

TITLE_WEIGHT = 0.3

FORMAT = "4"  # the index format; an index with another format cannot be opened

TREE_SETTINGS = {"format": FORMAT, "kind": "tree"}


@dataclass(frozen=True, slots=True)
class OpenOptions:
    """The options of ``Index.open`` that are fixed when an index is made.

    None means the index's existing setting, or the default for a new index.
    """

    splitter: Splitter | None = None
    context_sentences: int | None = None
    title_weight: float | None = None
    analyzer: Analysis | None = None
    bm25: BM25Settings | None = None

    def __post_init__(self) -> None:
        if self.splitter is not None:
            _check_splitter(self.splitter)
        keep_whole(self, "context_sentences", 0, optional=True)
        check_number("title_weight", self.title_weight, at_least=0, optional=True)
        if self.analyzer is not None:
            if isinstance(self.analyzer, type) or not callable(self.analyzer):
                raise InvalidArgument(
                    f"analyzer must be an Analyzer or a function from a text to its terms, got {shown(self.analyzer)}"
                )
            probe_terms(self.analyzer)
        if self.bm25 is not None and not isinstance(self.bm25, BM25Settings):
            raise InvalidArgument(f"bm25 must be BM25Settings, got {shown(self.bm25)}")

    def with_others(self, others: OpenOptions) -> OpenOptions:
        """Return the same with the options that others give."""
        return replace(self, **others.values)

    @property
    def values(self) -> dict[str, Any]:
        """The options that are given, by name."""
        return {each.name: value for each in fields(self) if (value := getattr(self, each.name)) is not None}


def _check_splitter(splitter: object) -> None:
    """Check that it can be called with a text. LlamaIndex's splitters can be called, but with nodes."""
    makes_nodes = hasattr(splitter, "get_nodes_from_documents")
    if not isinstance(splitter, type) and callable(splitter) and not makes_nodes:
        return
    host = "llamaindex_ext" if makes_nodes else "langchain_ext" if hasattr(splitter, "split_text") else None
    remedy = f"pass {host}.splitter_from(...) of it, or " if host else ""
    frameworks = bool(host) or hasattr(splitter, "split_by")  # the attribute of Haystack's splitters
    hint = f"; {remedy}add the chunks that it makes: chunks_of(chunks)" if frameworks else ""
    got = type(splitter).__name__ if frameworks and not isinstance(splitter, type) else shown(splitter)
    raise InvalidArgument(f"splitter must be a function from a text to its cuts, got {got}{hint}")


@dataclass(frozen=True, slots=True)
class IndexSettings:
    splitter: Splitter | None  # how documents are cut into leaves. None for a function that was not passed again
    context_sentences: int  # number of sentences from the previous and the next leaf that are indexed with each leaf
    title_weight: float  # weight of the title and the headings in a leaf's vector, beside 1 for its text
    analyzer: Analysis | None  # how texts become terms. None for a function that was not passed again
    bm25: BM25Settings  # k1, b and the variant of BM25

    @classmethod
    def made(cls, options: OpenOptions) -> IndexSettings:
        """Return a new index's settings: the given options, and defaults for the others."""
        return cls(
            HierarchicalSplitter() if options.splitter is None else options.splitter,
            options.context_sentences or 0,
            TITLE_WEIGHT if options.title_weight is None else float(options.title_weight),
            Analyzer() if options.analyzer is None else options.analyzer,
            options.bm25 or BM25Settings(),
        )

    def record(self) -> dict[str, Any]:
        """Return the settings as they are stored with a new index."""
        return {
            "format": FORMAT,
            **_described(self),
            "splitter_options": self.splitter.options() if isinstance(self.splitter, HierarchicalSplitter) else None,
            "analyzer_options": self.analyzer.options() if isinstance(self.analyzer, Analyzer) else None,
        }

    def changed(self, options: OpenOptions, record: Mapping[str, Any]) -> tuple[IndexSettings, dict[str, Any]]:
        """Return the settings, and how they are stored, with the given options instead of the recorded ones."""
        settings = replace(self, **options.values)
        kept = [name for name in ("splitter", "analyzer") if getattr(settings, name) is None]
        made = settings.record()
        return settings, made | {name: record[name] for name in record if name.removesuffix("_options") in kept}

    @classmethod
    def recorded(cls, record: Mapping[str, Any], options: OpenOptions) -> IndexSettings:
        """Return the settings that an index was made with."""
        if record == TREE_SETTINGS:
            raise IndexMismatch("these are the trees of another index; open that one")
        if wrong := [name for name, kinds in _STORED.items() if not isinstance(record.get(name, options), kinds)]:
            raise _damaged(record, wrong)
        for name, value in _described(options).items():
            if value is not None and value != record[name]:
                raise IndexMismatch(
                    f"the index was made with {name}={record[name]}, it cannot go on with {value}: open it without "
                    f"{name}=, or make another index"
                )
        splitter_options, analyzer_options = record["splitter_options"], record["analyzer_options"]
        try:
            return cls(
                options.splitter or (HierarchicalSplitter(**splitter_options) if splitter_options else None),
                int(record["context_sentences"]),
                float(record["title_weight"]),
                options.analyzer or (Analyzer(**analyzer_options) if analyzer_options else None),
                BM25Settings(**record["bm25"]),
            )
        except (TypeError, ValueError) as error:  # unknown options, or values out of their range
            raise _damaged(record, [str(error)]) from error


def _described(settings: OpenOptions | IndexSettings) -> dict[str, Any]:
    """Return settings as they are stored and compared, or None for each that is not set."""
    return {
        "splitter": None if settings.splitter is None else describe_splitter(settings.splitter),
        "context_sentences": settings.context_sentences,
        "title_weight": settings.title_weight,
        "analyzer": None if settings.analyzer is None else describe_analyzer(settings.analyzer),
        "bm25": None if settings.bm25 is None else asdict(settings.bm25),
    }


# The stored settings, by name, with their types.
_STORED: dict[str, tuple[type, ...]] = {
    "splitter": (str,),
    "splitter_options": (dict, NoneType),
    "context_sentences": (int,),
    "title_weight": (int, float),
    "analyzer": (str,),
    "analyzer_options": (dict, NoneType),
    "bm25": (dict,),
}


def _damaged(record: Mapping[str, Any], wrong: Sequence[str]) -> DamagedIndex:
    return DamagedIndex(
        f"the settings of the index are damaged ({', '.join(wrong)}), got {shown(dict(record))}: restore the index from a "
        "backup, or add the documents to a new one"
    )
