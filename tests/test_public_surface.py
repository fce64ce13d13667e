from __future__ import annotations

import dataclasses
import inspect
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any, get_type_hints

import pytest
from langchain_core.retrievers import BaseRetriever
from llama_index.core.base.base_retriever import BaseRetriever as LlamaIndexRetriever

import langchain_ext
import leafspan
import leafspan.hosting
import leafspan.strategies
import llamaindex_ext
from langchain_ext.retriever import BasedRetriever
from tests.hosts.contract import WITHOUT_INDEX

NAMED = [
    "VectorRetriever",
    "BM25Retriever",
    "HybridRetriever",
    "ParentDocumentRetriever",
    "SentenceWindowRetriever",
    "AutoMergingRetriever",
    "RelevantSegmentsRetriever",
    "EnsembleRetriever",
    "MultiQueryRetriever",
    "RouterRetriever",
    "RecursiveRetriever",
    "TransformRetriever",
    "RerankRetriever",
    "DecayRetriever",
    "FilterRetriever",
    "TreeRetriever",
    "SQLRetriever",
    "LightRAGRetriever",
    "PropertyGraphRetriever",
    "PIIAwareRetriever",
]
OF_SOURCES = {"LightRAGRetriever": "graphs", "PropertyGraphRetriever": "graphs", "SQLRetriever": "sql"}
"""The retrievers of strategies that search other sources, with the room that these are in."""

RETRIEVERS = ["SpanRetriever", *NAMED]


def test_the_core_offers_these_names():
    assert leafspan.__all__ == sorted(
        [
            "Index",
            "Config",
            "View",
            "PrivateView",
            "Vault",
            "Key",
            "Patterns",
            "Analyzed",
            "Found",
            "Document",
            "Chunk",
            "chunks_of",
            "Files",
            "Passage",
            "Passages",
            "Outline",
            "Summary",
            "Summaries",
            "Covered",
            "Query",
            "Budget",
            "joined",
            "F",
            "Where",
            "Strategy",
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
            "LightRAG",
            "PropertyGraph",
            "PIIAware",
            "HostRetriever",
            "SQL",
            "LightRAGThread",
            "lightrag_inputs",
            "lightrag_options",
            "retrieve",
            "aretrieve",
            "evaluate",
            "Evaluation",
            "Comparison",
            "Tuning",
            "Question",
            "Answer",
            "make_questions",
            "read_questions",
            "save_questions",
            "Splitter",
            "HierarchicalSplitter",
            "ChunkSplitter",
            "Cut",
            "Embedder",
            "EmbeddingCache",
            "Analyzer",
            "BM25Settings",
            "Summarizer",
            "Extractive",
            "Abstractive",
            "Clusterer",
            "Bisecting",
            "RaptorClusters",
            "Added",
            "Synced",
            "Skipped",
            "Adopted",
            "SkippedRecord",
            "TreesBuilt",
            "FailedSummary",
            "DocumentInfo",
            "Stats",
            "Finding",
            "Trace",
            "TracedHit",
            "Filled",
            "Merge",
            "Explanation",
            "Obstacle",
            "Standing",
            "TimedRequest",
            "LeafspanError",
            "InvalidArgument",
            "InvalidDocument",
            "EmptySource",
            "NotALeaf",
            "DocumentNotFound",
            "IndexNotFound",
            "IndexMismatch",
            "DamagedIndex",
            "StorageFailed",
            "StorageFull",
            "StorageReadOnly",
            "ServerTimeout",
            "ForkedProcess",
            "RefusedQuery",
            "QueryFailed",
            "QueryTimeout",
            "DatabaseUnavailable",
            "WriterBusy",
            "WrongKey",
            "DamagedVault",
            "VaultNotFound",
            "FunctionFailed",
            "UnusableResult",
            "FinderFailed",
            "RetrievalTimeout",
            "ConcurrentUpdate",
            "SourceTimeout",
            "SourceFailed",
            "MissingExtra",
        ]
    )


def test_a_strategy_can_be_written_with_these_names():
    assert leafspan.strategies.__all__ == sorted(
        [
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
            "check_choice",
            "check_flag",
            "check_number",
            "check_text",
            "check_whole",
            "Request",
            "Embed",
            "VectorSearch",
            "LoadedVectorSearch",
            "LexicalSearch",
            "LexicalMatches",
            "ScaleWeights",
            "MatchingNodes",
            "NodeHit",
            "NodeHits",
            "SoftMatches",
            "ListLeaves",
            "Load",
            "LoadTexts",
            "LoadVectors",
            "LoadPassages",
            "Similarities",
            "TreeRoots",
            "HasTrees",
            "FindMentions",
            "Mention",
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
    )


def test_an_adapter_is_built_on_these_names():
    assert leafspan.hosting.__all__ == [
        "CALL_OPTIONS",
        "CHOOSING_PROMPT",
        "DEFAULT_PROMPT",
        "DEFAULT_REPAIR_PROMPT",
        "DEFAULT_SQL_PROMPT",
        "KEYWORD_PROMPT",
        "PROMPT_FIELDS",
        "REPAIR_FIELDS",
        "SHOWN_TO_MODELS",
        "AgentTool",
        "Extract",
        "FilterPolicy",
        "Fusion",
        "GenerateOptions",
        "Given",
        "GraphKind",
        "HostReranker",
        "HostResult",
        "LightRAGMode",
        "LightRAGShape",
        "Limits",
        "Mode",
        "PropertyGraphShape",
        "Reranked",
        "Shape",
        "StrategyLike",
        "Tables",
        "Watched",
        "Watcher",
        "adelete",
        "aexplain",
        "agent_tool",
        "agent_tools",
        "apply_policy",
        "as_base",
        "asearch",
        "asearch_many",
        "awith_ids",
        "check_base_retriever",
        "changed_options",
        "check_choice",
        "check_choosing_prompt",
        "check_flag",
        "check_index",
        "check_number",
        "check_option_names",
        "check_prompt",
        "check_template",
        "check_timeout",
        "check_whole",
        "citation",
        "cuts_at",
        "delete",
        "error_text",
        "explain",
        "from_langchain",
        "from_llamaindex",
        "is_elsewhere",
        "is_plain",
        "make_strategy",
        "own_options",
        "place_among",
        "plain_options",
        "read_options",
        "read_retriever",
        "search",
        "search_many",
        "searched_index",
        "searches_the_same",
        "shown",
        "split_into_leaves",
        "strategy_of",
        "to_documents",
        "to_filter",
        "to_named_strategies",
        "to_strategies",
        "with_any_metadata",
        "with_ids",
        "write_options",
        "write_retriever",
    ]


def test_both_adapters_offer_the_same_retrievers():
    assert set(langchain_ext.__all__) == {
        *RETRIEVERS,
        "SpanVectorStore",
        "as_tools",
        "as_tool",
        "leaf_documents",
        "splitter_from",
    }
    assert set(llamaindex_ext.__all__) == {
        *RETRIEVERS,
        "FilteredQueryBundle",
        "NodeWithTrace",
        "RetrievalTraceEvent",
        "SpanNodeParser",
        "as_tools",
        "as_tool",
        "leaf_nodes",
        "splitter_from",
    }


@pytest.mark.parametrize("package", [leafspan, langchain_ext, llamaindex_ext])
def test_everything_public_is_there_and_documented(package):
    for name in package.__all__:
        assert getattr(package, name).__doc__


@pytest.mark.parametrize("package", [leafspan.strategies, leafspan.hosting])
def test_everything_that_others_build_on_is_there(package):
    for name in package.__all__:
        assert hasattr(package, name)


REQUIRED = "required"


@dataclasses.dataclass(frozen=True)
class Option:
    """An option by its default and its type."""

    default: Any
    type: Any


LIMITS = {
    "index": Option(REQUIRED, leafspan.View),
    "min_score": Option(None, float | None),
    "retrieval_timeout": Option(None, float | None),
    "filter_policy": Option("replace", leafspan.hosting.FilterPolicy),
    "k": Option(None, int | None),
    "candidates": Option(None, int | None),
    "budget": Option(None, int | leafspan.Budget | None),
    "where": Option(None, Any),
    "explain": Option(False, bool),
}
NO_INDEX = {"index": Option(None, leafspan.View | None)}
OF_LLAMAINDEX = {"callback_manager", "object_map", "objects", "verbose"}


def options_of(kind):
    """The options of a dataclass."""
    types = get_type_hints(kind)
    options = {}
    for field in dataclasses.fields(kind):
        made = REQUIRED if field.default_factory is dataclasses.MISSING else field.default_factory()
        options[field.name] = Option(made if field.default is dataclasses.MISSING else field.default, types[field.name])
    return options


def options_in_the_core(name):
    """The options of a strategy, less those for which its retriever has a way of its own: the model, the base and k."""
    options = options_of(getattr(leafspan, name.removesuffix("Retriever")))
    own = ("base", "retrievers", "targets", "k", "generate", "agenerate")
    return {each: options[each] for each in options if each not in own}


def options_in_langchain(name):
    kind = getattr(langchain_ext, name)
    types = get_type_hints(kind)
    return {
        option: Option(REQUIRED if field.is_required() else field.default, types[option])
        for option, field in kind.model_fields.items()
        if option not in BaseRetriever.model_fields
    }


def options_in_llamaindex(name):
    """The options, the one for k by the core's name, less those that any retriever of LlamaIndex has."""
    options = options_of(getattr(llamaindex_ext, name))
    names = {"similarity_top_k": "k"}
    return {names.get(each, each): options[each] for each in options if each not in OF_LLAMAINDEX}


@pytest.mark.parametrize("name", RETRIEVERS)
def test_both_adapters_have_the_same_options_defaults_and_types(name):
    assert options_in_langchain(name) == options_in_llamaindex(name)


@pytest.mark.parametrize("name", NAMED)
def test_adapters_have_the_options_defaults_and_types_of_the_core(name):
    expected = {**LIMITS, **options_in_the_core(name), **(NO_INDEX if name in {*WITHOUT_INDEX, *OF_SOURCES} else {})}
    if issubclass(getattr(langchain_ext, name), BasedRetriever):
        expected["base"] = Option(None, Any)  # or a retriever of the host
    if name == "EnsembleRetriever":
        expected["retrievers"] = Option(REQUIRED, Sequence[Any])
    if name == "RouterRetriever":
        expected["retrievers"] = Option(REQUIRED, Mapping[str, Any])
        expected["choose"] = Option(None, Any)  # or what the host has for that
    if name == "RecursiveRetriever":
        expected["targets"] = Option({}, Mapping[str, Any])
    if name == "TransformRetriever":
        expected["how"] = Option("rewrite", Any)  # or what says in the host what is searched
    if name == "RerankRetriever":
        expected["rerank"] = Option(None, Any)  # or what reorders results in the host
    if name in ("MultiQueryRetriever", "RouterRetriever", "PropertyGraphRetriever", "TransformRetriever", "SQLRetriever"):
        expected["llm"] = Option(None, Any)
    assert options_in_llamaindex(name) == expected


def test_the_retriever_of_any_strategy_has_the_strategy_as_its_option():
    assert options_in_llamaindex("SpanRetriever") == {
        **LIMITS,
        **NO_INDEX,
        "strategy": Option(None, leafspan.strategies.StrategyLike | None),
    }


@pytest.mark.parametrize("name", RETRIEVERS)
def test_a_retriever_of_llamaindex_has_the_options_of_any_other_there(name):
    theirs = inspect.signature(LlamaIndexRetriever.__init__).parameters.keys() - {"self"}
    assert theirs == OF_LLAMAINDEX
    assert {field.name for field in dataclasses.fields(getattr(llamaindex_ext, name))} >= theirs


@pytest.mark.parametrize("name", RETRIEVERS)
def test_options_but_the_index_are_given_by_name(name):
    by_position = [field.name for field in dataclasses.fields(getattr(llamaindex_ext, name)) if not field.kw_only]
    assert by_position == ["index"]


@pytest.mark.parametrize("name", NAMED)
def test_a_retriever_stands_in_a_file_of_the_same_name_in_both_adapters(name):
    files = {getattr(package, name).__module__.partition(".")[2] for package in (langchain_ext, llamaindex_ext)}
    strategy = getattr(leafspan, name.removesuffix("Retriever"))
    room = OF_SOURCES.get(name, "strategies")
    assert {strategy.__module__} == {f"leafspan.{room}._{file}" for file in files}


FRAMEWORKS = {"chromadb", "langchain_core", "langchain_community", "llama_index", "numpy", "rank_bm25"}


@pytest.mark.parametrize(
    ("module", "brings"),
    [
        ("leafspan", set()),
        ("langchain_ext", {"langchain_core"}),
        ("llamaindex_ext", {"llama_index", "numpy"}),
    ],
)
def test_importing_loads_no_framework_that_was_not_asked_for(module, brings):
    program = f"import sys, json, {module}; print(json.dumps(sorted(sys.modules)))"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert FRAMEWORKS & set(json.loads(output)) <= brings


@pytest.mark.parametrize(
    ("module", "host", "command"),
    [
        ("langchain_ext", "langchain_core", ".[langchain]"),
        ("llamaindex_ext", "llama_index", ".[llamaindex]"),
    ],
)
def test_a_missing_extra_names_the_command_to_type(module, host, command):
    program = f"""
import sys
sys.modules[{host!r}] = None
from leafspan import MissingExtra
try:
    import {module}
except MissingExtra as error:
    print(error)
"""
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert f'pip install "{command}"' in output
