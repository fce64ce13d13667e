"""The core's strategies as LlamaIndex retrievers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from datetime import date, datetime, timedelta
from typing import Any, ClassVar, Literal

from llama_index.core.schema import QueryBundle

from leafspan import (
    BM25,
    AutoMerging,
    BM25Settings,
    Browse,
    Decay,
    Ensemble,
    FollowReferences,
    Hybrid,
    MultiQuery,
    ParentDocument,
    Query,
    RelevantSegments,
    Rerank,
    RewriteQuery,
    Router,
    SentenceWindow,
    Strategy,
    Tree,
    Vector,
)
from leafspan.hosting import (
    CHOOSING_PROMPT,
    DEFAULT_PROMPT,
    Fusion,
    Mode,
    Shape,
    StrategyLike,
    strategy_of,
    to_named_strategies,
    to_strategies,
)
from llamaindex_ext.host_objects import as_choice, as_reranker, as_transformation
from llamaindex_ext.retriever import (
    BasedLeafRetriever,
    BasedRetriever,
    BaseSpanRetriever,
    LeafRetriever,
    NamedRetriever,
    documented,
)


@documented
class SpanRetriever(BaseSpanRetriever):
    """Any strategy of the core, or one of your own, as a LlamaIndex retriever."""

    strategy: StrategyLike | None = None

    def _strategy(self, bundle: QueryBundle | None = None) -> Strategy:
        return strategy_of(self.index, self.strategy)


@documented
class VectorRetriever(LeafRetriever):
    """Like the core's ``Vector``, but a LlamaIndex retriever."""

    kind: ClassVar[type[Strategy]] = Vector
    instruction: str = ""
    min_score: float | None = None
    summaries: bool = False


@documented
class BM25Retriever(LeafRetriever):
    """Like the core's ``BM25``, but a LlamaIndex retriever."""

    kind: ClassVar[type[Strategy]] = BM25
    bm25: BM25Settings | None = None
    scale: bool = False
    engine: Literal["postings", "rank-bm25"] = "postings"
    min_score: float | None = None
    summaries: bool = False


@documented
class HybridRetriever(LeafRetriever):
    """Like the core's ``Hybrid``, but a LlamaIndex retriever."""

    kind: ClassVar[type[Strategy]] = Hybrid
    weights: tuple[float, float] = (0.55, 0.45)
    fusion: Fusion = "relative_score"
    depth: int | tuple[int, int] = (100, 50)
    scales: tuple[float, float, float] = (0.3, 0.3, 0.3)
    soft_matches: float = 0.5
    neighbour_bonus: float = 0.3
    calibrate: bool = True
    min_score: float | None = None
    min_answer_probability: float | None = None
    bm25: BM25Settings | None = None
    instruction: str = ""
    summaries: bool = False
    summary_bonus: float = 0.0
    references: float = 0.6
    aliases: str | None = "aliases"


@documented
class ParentDocumentRetriever(BasedLeafRetriever):
    """Like the core's ``ParentDocument``, but a LlamaIndex retriever, and its ``base`` may be one too."""

    kind: ClassVar[type[Strategy]] = ParentDocument
    level: int | None = 1
    max_parents: int | None = None


@documented
class SentenceWindowRetriever(BasedLeafRetriever):
    """Like the core's ``SentenceWindow``, but a LlamaIndex retriever, and its ``base`` may be one too."""

    kind: ClassVar[type[Strategy]] = SentenceWindow
    before: int = 0
    after: int = 1
    max_words: int | None = 300


@documented
class AutoMergingRetriever(BasedLeafRetriever):
    """Like the core's ``AutoMerging``, but a LlamaIndex retriever, and its ``base`` may be one too."""

    kind: ClassVar[type[Strategy]] = AutoMerging
    threshold: float = 0.5
    fill_gaps: int = 1
    max_level: int | None = None
    max_words: int | None = 400
    score: Literal["mean", "max"] = "max"


@documented
class RelevantSegmentsRetriever(BasedLeafRetriever):
    """Like the core's ``RelevantSegments``, but a LlamaIndex retriever, and its ``base`` may be one too."""

    kind: ClassVar[type[Strategy]] = RelevantSegments
    words: int | None = None
    max_words: int | None = 300
    run_cost: float = 30
    passage_words: int = 75


@documented
class EnsembleRetriever(NamedRetriever):
    """Like the core's ``Ensemble``, but a LlamaIndex retriever, and its ``retrievers`` may be LlamaIndex retrievers too."""

    kind: ClassVar[type[Strategy]] = Ensemble
    retrievers: Sequence[Any]
    weights: Sequence[float] | None = None
    fusion: Fusion = "rrf"
    rank_constant: float = 60
    timeout: float | Sequence[float | None] | None = None
    on_failure: Literal["raise", "skip"] = "raise"
    min_candidates: int | None = None
    names: Sequence[str] | None = None

    def _converted(self, bundle: QueryBundle | None) -> dict[str, Any]:
        return {"retrievers": to_strategies(self.retrievers, lambda name, each: self._as_strategy(name, each, bundle))}


@documented
class MultiQueryRetriever(BasedRetriever):
    """Like the core's ``MultiQuery``, but a LlamaIndex retriever, and its ``base`` may be one too."""

    kind: ClassVar[type[Strategy]] = MultiQuery
    llm: Any = None
    phrasings: Sequence[str | Sequence[float] | Query] | None = None
    include_original: bool = True
    count: int = 3
    prompt: str = DEFAULT_PROMPT
    fusion: Literal["rrf", "maximum"] = "rrf"


@documented
class RouterRetriever(NamedRetriever):
    """Like the core's ``Router``, but a LlamaIndex retriever, and its ``retrievers`` may be LlamaIndex retrievers too."""

    kind: ClassVar[type[Strategy]] = Router
    retrievers: Mapping[str, Any]
    descriptions: Mapping[str, str] = field(default_factory=dict)
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

    def _converted(self, bundle: QueryBundle | None) -> dict[str, Any]:
        named = to_named_strategies("retriever", self.retrievers, lambda name, each: self._as_strategy(name, each, bundle))
        chosen = as_choice(self.choose, self.retrievers, self.descriptions)
        return {**super()._converted(bundle), "retrievers": named, **chosen}


@documented
class FollowReferencesRetriever(BasedRetriever):
    """Like the core's ``FollowReferences``, but a LlamaIndex retriever; its ``base`` and its ``targets`` may be ones too.

    An ``IndexNode`` of a LlamaIndex retriever refers to its ``index_id``, which counts as the ``"reference"`` in its
    metadata, unless it stands for an object that LlamaIndex follows itself.
    """

    kind: ClassVar[type[Strategy]] = FollowReferences
    targets: Mapping[str, Any] = field(default_factory=dict)
    key: str = "reference"
    depth: int = 2
    per_reference: int = 3
    keep: bool = False
    timeout: float | None = None
    on_failure: Literal["raise", "skip"] = "raise"

    def _converted(self, bundle: QueryBundle | None) -> dict[str, Any]:
        targets = to_named_strategies("target", self.targets, lambda name, each: self._as_strategy(name, each, bundle))
        return {**super()._converted(bundle), "targets": targets}


@documented
class RewriteQueryRetriever(BasedRetriever):
    """Like the core's ``RewriteQuery``, but a LlamaIndex retriever, and its ``base`` may be one too."""

    kind: ClassVar[type[Strategy]] = RewriteQuery
    how: Any = "rewrite"
    ahow: Callable[[str], Awaitable[Any]] | None = None
    llm: Any = None
    count: int | None = None
    prompt: str | None = None
    keep_question: bool | None = None
    fusion: Literal["rrf", "maximum"] = "rrf"

    def _converted(self, bundle: QueryBundle | None) -> dict[str, Any]:
        return {**super()._converted(bundle), **as_transformation(self.how)}

    def _prompts(self) -> dict[str, str | None]:
        strategy = self._strategy()
        return {"prompt": strategy.template if isinstance(strategy, RewriteQuery) else None}


@documented
class RerankRetriever(BasedRetriever):
    """Like the core's ``Rerank``, but a LlamaIndex retriever, and its ``base`` may be one too.

    ``rerank`` may also be a node postprocessor of LlamaIndex, which is given results as this retriever would return them.
    """

    kind: ClassVar[type[Strategy]] = Rerank
    rerank: Any = None
    arerank: Callable[[str, list[str]], Awaitable[Sequence[float]]] | None = None
    depth: int | None = None
    diversity: float = 0
    on_failure: Literal["raise", "keep"] = "raise"

    def _converted(self, bundle: QueryBundle | None) -> dict[str, Any]:
        return {**super()._converted(bundle), "rerank": as_reranker(self.rerank, bundle)}


@documented
class DecayRetriever(BasedRetriever):
    """Like the core's ``Decay``, but a LlamaIndex retriever, and its ``base`` may be one too."""

    kind: ClassVar[type[Strategy]] = Decay
    key: str = "date"
    scale: float | timedelta = 30.0
    offset: float | timedelta = 0.0
    decay: float = 0.5
    shape: Shape = "exponential"
    weight: float = 1
    now: datetime | date | str | None = None
    missing: float = 1


@documented
class BrowseRetriever(LeafRetriever):
    """Like the core's ``Browse``, but a LlamaIndex retriever: the question is not read, and may be ``""``."""

    kind: ClassVar[type[Strategy]] = Browse
    offset: int = 0


@documented
class TreeRetriever(BasedLeafRetriever):
    """Like the core's ``Tree``, but a LlamaIndex retriever, and its ``base`` may be one of this package's."""

    kind: ClassVar[type[Strategy]] = Tree
    mode: Mode = "collapsed"
    top_k: int | None = None
    min_score: float | None = None
    start_layer: int | None = None
    end_layer: int = 0
    expand: bool | int = False
    keep_covered_summaries: bool = False
