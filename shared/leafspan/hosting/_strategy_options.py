"""The options of each strategy's retriever, which the retrievers of all hosts declare by inheriting them.

They are the strategy's options with their types and defaults, but a base may be a retriever of the host, and ``llm`` is the
model of the host.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, Literal, TypeVar, dataclass_transform

from leafspan import strategies
from leafspan.hosting._retriever import StrategyRetriever
from leafspan.language_model import CHOOSING_PROMPT, DEFAULT_PROMPT
from leafspan.lexical import BM25Settings
from leafspan.strategies import DEFAULT, Fusion, Mode, Strategy, StrategyLike, to_strategy
from leafspan.strategies.scoring import Shape
from leafspan.values import Query

T = TypeVar("T")


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def options_of(kind: type[Strategy]) -> Callable[[type[T]], type[T]]:
    """A decorator for the options of a strategy's retriever, which is then the retriever of this ``kind``."""

    def decorate(options: type[T]) -> type[T]:
        options.kind = kind  # type: ignore[attr-defined]
        return dataclass(init=False, kw_only=True, eq=False, repr=False)(options)

    return decorate


@dataclass(init=False, kw_only=True, eq=False, repr=False)
class SpanOptions(StrategyRetriever):
    """The option of a retriever of any strategy."""

    strategy: StrategyLike | None = None

    def _strategy(self, context: object = None) -> Strategy:
        if self.strategy is None:
            return DEFAULT if self.index is None else self.index.default_strategy
        return to_strategy("strategy", self.strategy)


@options_of(strategies.Vector)
class VectorOptions:
    instruction: str = ""
    min_score: float | None = None
    summaries: bool = False


@options_of(strategies.BM25)
class BM25Options:
    bm25: BM25Settings | None = None
    scale: bool = False
    engine: Literal["postings", "rank-bm25"] = "postings"
    min_score: float | None = None
    summaries: bool = False
    spelling: bool = True


@options_of(strategies.Hybrid)
class HybridOptions:
    weights: tuple[float, float] = (0.7, 0.3)
    min_score: float | None = None
    min_answer_probability: float | None = None
    bm25: BM25Settings | None = None
    instruction: str = ""
    summaries: bool = False
    references: float = 0.8
    aliases: str | None = "aliases"
    spelling: bool = True


@options_of(strategies.ParentDocument)
class ParentDocumentOptions:
    base: Any = None
    level: int | None = 1
    max_parents: int | None = None


@options_of(strategies.SentenceWindow)
class SentenceWindowOptions:
    base: Any = None
    before: int = 0
    after: int = 1
    max_words: int | None = 300


@options_of(strategies.AutoMerging)
class AutoMergingOptions:
    base: Any = None
    threshold: float = 0.5
    fill_gaps: int = 1
    max_level: int | None = None
    max_words: int | None = 400
    score: Literal["mean", "max"] = "max"


@options_of(strategies.RelevantSegments)
class RelevantSegmentsOptions:
    base: Any = None
    words: int | None = None
    max_words: int | None = 300
    run_cost: float = 30
    passage_words: int = 75


@options_of(strategies.Ensemble)
class EnsembleOptions:
    retrievers: Sequence[Any]
    weights: Sequence[float] | None = None
    fusion: Fusion = "rrf"
    rank_constant: float = 60
    timeout: float | Sequence[float | None] | None = None
    on_failure: Literal["raise", "skip"] = "raise"
    min_candidates: int | None = None
    names: Sequence[str] | None = None


@options_of(strategies.MultiQuery)
class MultiQueryOptions:
    base: Any = None
    llm: Any = None
    phrasings: Sequence[str | Sequence[float] | Query] | None = None
    include_original: bool = True
    count: int = 3
    prompt: str = DEFAULT_PROMPT
    fusion: Literal["rrf", "maximum"] = "rrf"


@options_of(strategies.Router)
class RouterOptions:
    retrievers: Mapping[str, Any]
    choose: Any = None
    achoose: Callable[[str], Awaitable[str | Sequence[str] | None]] | None = None
    llm: Any = None
    prompt: str = CHOOSING_PROMPT
    most: int | None = None
    min_similarity: float | None = None
    default: str | Sequence[str] | None = None
    fusion: Fusion = "rrf"
    timeout: float | None = None
    on_failure: Literal["raise", "skip"] = "raise"


@options_of(strategies.FollowReferences)
class FollowReferencesOptions:
    base: Any = None
    key: str = "reference"
    depth: int = 2
    per_reference: int = 3
    keep: bool = False
    timeout: float | None = None
    on_failure: Literal["raise", "skip"] = "raise"


@options_of(strategies.RewriteQuery)
class RewriteQueryOptions:
    base: Any = None
    how: Any = "rewrite"
    ahow: Callable[[str], Awaitable[Any]] | None = None
    llm: Any = None
    count: int | None = None
    prompt: str | None = None
    keep_question: bool | None = None
    fusion: Literal["rrf", "maximum"] = "rrf"


@options_of(strategies.Rerank)
class RerankOptions:
    base: Any = None
    rerank: Any = None
    arerank: Callable[[str, list[str]], Awaitable[Sequence[float]]] | None = None
    depth: int | None = None
    diversity: float = 0
    on_failure: Literal["raise", "keep"] = "raise"


@options_of(strategies.Decay)
class DecayOptions:
    base: Any = None
    key: str = "date"
    scale: float | timedelta = 30.0
    offset: float | timedelta = 0.0
    decay: float = 0.5
    shape: Shape = "exponential"
    weight: float = 1
    now: datetime | date | str | None = None
    missing: float = 1


@options_of(strategies.Browse)
class BrowseOptions:
    offset: int = 0


@options_of(strategies.Tree)
class TreeOptions:
    base: Any = None
    mode: Mode = "collapsed"
    top_k: int | None = None
    min_score: float | None = None
    start_layer: int | None = None
    end_layer: int = 0
    expand: bool | int = False
    keep_covered_summaries: bool = False
