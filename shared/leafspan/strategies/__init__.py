"""The strategies, as values: they hold no index, and can be compared, printed and composed.

What is listed here is also what someone needs to write a strategy of their own: see docs/write-a-strategy.md.
"""

from leafspan.checks import check_choice, check_flag, check_number, check_text, check_whole
from leafspan.spans import unite
from leafspan.strategies._at_least import AtLeast, at_least
from leafspan.strategies._auto_merging import AutoMerging
from leafspan.strategies._base import HOW_TO_FIND_LEAVES, check_base, retrieve_leaves
from leafspan.strategies._bm25 import BM25
from leafspan.strategies._choosing import StrategyLike, to_strategy
from leafspan.strategies._context import LOWEST_SCORE, MOST_CANDIDATES, RetrievalContext
from leafspan.strategies._decay import Decay
from leafspan.strategies._ensemble import Ensemble
from leafspan.strategies._filter import Filter
from leafspan.strategies._filtered import Filtered, filtered
from leafspan.strategies._fuse import Fusion
from leafspan.strategies._host_reranker import HostReranker, Reranked
from leafspan.strategies._host_retriever import HostRetriever
from leafspan.strategies._hybrid import Hybrid
from leafspan.strategies._multi_query import MultiQuery
from leafspan.strategies._named import name_strategies
from leafspan.strategies._other_index import OtherIndex
from leafspan.strategies._over_base import OverBase
from leafspan.strategies._parent_document import ParentDocument
from leafspan.strategies._pii_aware import PIIAware
from leafspan.strategies._queries import query_texts, to_queries
from leafspan.strategies._query_vectors import query_vectors
from leafspan.strategies._recursive import Recursive
from leafspan.strategies._relevant_segments import RelevantSegments
from leafspan.strategies._requests import (
    AskHost,
    CallFunction,
    Embed,
    Generate,
    HostResult,
    LexicalMatches,
    LexicalSearch,
    ListLeaves,
    Load,
    LoadedVectorSearch,
    LoadPassages,
    LoadTexts,
    LoadVectors,
    Request,
    Retrieves,
    RunStrategies,
    Similarities,
    StrategyFlow,
    StrategyResults,
    StrategyRun,
    TreeRoot,
    TreeRoots,
    VectorSearch,
)
from leafspan.strategies._rerank import Rerank
from leafspan.strategies._router import Router
from leafspan.strategies._sentence_window import SentenceWindow
from leafspan.strategies._strategy import Strategy, check_strategy
from leafspan.strategies._transform import Transform
from leafspan.strategies._tree import Mode, Tree
from leafspan.strategies._vector import Vector
from leafspan.strategies._watched import Watched, Watcher
from leafspan.trace import Contribution, Fused, Trace, TracedHit
from leafspan.values import Ancestor, Candidate, Hit, Leaf, LeafId, Passage, Query, Span, outside_candidate, scored

__all__ = [
    # the strategies
    "Vector",
    "BM25",
    "Hybrid",
    "ParentDocument",
    "SentenceWindow",
    "AutoMerging",
    "RelevantSegments",
    "Ensemble",
    "MultiQuery",
    "Router",
    "Recursive",
    "Transform",
    "Rerank",
    "Decay",
    "Filter",
    "Tree",
    "PIIAware",
    "Filtered",
    "AtLeast",
    "HostRetriever",
    "OtherIndex",
    "Watched",
    "Watcher",
    "HostReranker",
    "Reranked",
    "DEFAULT",
    # what a strategy is, and is told
    "Strategy",
    "OverBase",
    "RetrievalContext",
    "MOST_CANDIDATES",
    "LOWEST_SCORE",
    "StrategyFlow",
    "check_base",
    "check_strategy",
    "StrategyLike",
    "to_strategy",
    "retrieve_leaves",
    # checks of options
    "check_choice",
    "check_flag",
    "check_number",
    "check_text",
    "check_whole",
    # what it can ask for
    "Request",
    "Embed",
    "VectorSearch",
    "LoadedVectorSearch",
    "LexicalSearch",
    "LexicalMatches",
    "ListLeaves",
    "Load",
    "LoadTexts",
    "LoadVectors",
    "LoadPassages",
    "Similarities",
    "TreeRoots",
    "TreeRoot",
    "AskHost",
    "HostResult",
    "Generate",
    "CallFunction",
    "RunStrategies",
    "StrategyRun",
    "Retrieves",
    "StrategyResults",
    # what it is given and gives
    "Query",
    "Hit",
    "LeafId",
    "Candidate",
    "Span",
    "Leaf",
    "Ancestor",
    "Trace",
    "TracedHit",
    "Fused",
    "Contribution",
    "Passage",
    "scored",
    "outside_candidate",
    "unite",
    # the types of options, and helpers
    "HOW_TO_FIND_LEAVES",
    "Fusion",
    "Mode",
    "at_least",
    "filtered",
    "name_strategies",
    "query_texts",
    "query_vectors",
    "to_queries",
]

DEFAULT: Strategy = RelevantSegments()
"""The strategy that is used where none is named."""
