"""The strategies, as values: they hold no index, and can be compared, printed and composed.

What is listed here is also what someone needs to write a strategy of their own: see docs/write-a-strategy.md.
"""

from ._bm25 import BM25
from ._browse import Browse
from ._decay import Decay
from ._ensemble import Ensemble
from ._follow_references import FollowReferences
from ._for_authors import (
    Ancestor,
    Candidate,
    Contribution,
    Fused,
    Hit,
    Leaf,
    LeafId,
    Passage,
    Query,
    Span,
    Trace,
    TracedHit,
    check_choice,
    check_flag,
    check_number,
    check_text,
    check_whole,
    outside_candidate,
    scored,
    unite,
)
from ._fuse import Fusion, Ranked, fuse
from ._hybrid import Hybrid
from ._matching_nodes import MatchingNodes, NodeHit, NodeHits
from ._multi_query import MultiQuery
from ._other_sources import HostRetriever, OtherIndex
from ._over_base import (
    HOW_TO_FIND_LEAVES,
    AtLeast,
    Filtered,
    OverBase,
    Watched,
    Watcher,
    at_least,
    check_base,
    filtered,
    retrieve_leaves,
)
from ._parents import AutoMerging, ParentDocument
from ._queries import query_texts, query_vectors, to_queries, to_query
from ._relevant_segments import DEFAULT, RelevantSegments
from ._requests import (
    LOWEST_SCORE,
    MOST_CANDIDATES,
    AskHost,
    CallFunction,
    Embed,
    FindMentions,
    Generate,
    HasTrees,
    HostResult,
    LexicalMatches,
    LexicalSearch,
    ListLeaves,
    Load,
    LoadedVectorSearch,
    LoadPassages,
    LoadTexts,
    LoadVectors,
    Mention,
    NoteWhyEmpty,
    Request,
    RetrievalContext,
    Retrieves,
    RunStrategies,
    ScaleWeights,
    Similarities,
    SoftMatches,
    StrategyFlow,
    StrategyResults,
    StrategyRun,
    TreeRoot,
    TreeRoots,
    VectorSearch,
)
from ._rerank import HostReranker, Rerank, Reranked
from ._rewrite_query import RewriteQuery
from ._router import Router
from ._sentence_window import SentenceWindow
from ._strategy import Strategy, StrategyLike, check_strategy, name_strategies, to_strategy
from ._tree import Mode, Tree
from ._vector import Vector

__all__ = [
    "Ranked",
    "fuse",
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
    "FollowReferences",
    "RewriteQuery",
    "Rerank",
    "Decay",
    "Browse",
    "Tree",
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
    "MatchingNodes",
    "NodeHit",
    "NodeHits",
    "ScaleWeights",
    "LoadPassages",
    "Similarities",
    "SoftMatches",
    "FindMentions",
    "Mention",
    "TreeRoots",
    "HasTrees",
    "TreeRoot",
    "AskHost",
    "HostResult",
    "Generate",
    "CallFunction",
    "NoteWhyEmpty",
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
    "to_query",
]
