from __future__ import annotations

import dataclasses
import inspect
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, get_type_hints

import pytest
from langchain_core.retrievers import BaseRetriever
from llama_index.core.base.base_retriever import BaseRetriever as LlamaIndexRetriever

import langchain_ext
import leafspan
import leafspan.hosting
import leafspan.strategies
import llamaindex_ext
from leafspan import Index, Passages, View
from leafspan.filters import FilterPolicy
from tests.hosts.contract import WITHOUT_INDEX
from tests.public import STRATEGIES

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
    "FollowReferencesRetriever",
    "RewriteQueryRetriever",
    "RerankRetriever",
    "DecayRetriever",
    "BrowseRetriever",
    "TreeRetriever",
    "SQLRetriever",
    "LightRAGRetriever",
    "PropertyGraphRetriever",
    "PIIAwareRetriever",
]
OF_SOURCES = {"LightRAGRetriever", "PropertyGraphRetriever", "SQLRetriever"}

RETRIEVERS = ["SpanRetriever", *NAMED]


def test_the_root_offers_few_names():
    """The reference lists them, which ``tests/docs/test_pages.py`` compares with them."""
    assert len(leafspan.__all__) <= 60


def test_both_adapters_offer_the_same_retrievers():
    assert set(langchain_ext.__all__) == {
        *RETRIEVERS,
        "SpanVectorStore",
        "RelevantSegmentsCompressor",
        "as_tools",
        "as_tool",
        "leaf_documents",
        "prompt_sources",
        "splitter_from",
    }
    assert set(llamaindex_ext.__all__) == {
        *RETRIEVERS,
        "FilteredQueryBundle",
        "NodeWithTrace",
        "RetrievalTraceEvent",
        "SpanNodeParser",
        "SpanVectorStore",
        "as_tools",
        "as_tool",
        "leaf_nodes",
        "prompt_sources",
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
    "per_document": Option(None, int | None),
    "as_of": Option(None, datetime | date | str | None),
    "retrieval_timeout": Option(None, float | None),
    "filter_policy": Option("replace", FilterPolicy),
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
    options = options_of(STRATEGIES[name.removesuffix("Retriever")])
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
    if "base" in {field.name for field in dataclasses.fields(STRATEGIES[name.removesuffix("Retriever")])}:
        expected["base"] = Option(None, Any)  # or a retriever of the host
    if name == "EnsembleRetriever":
        expected["retrievers"] = Option(REQUIRED, Sequence[Any])
    if name == "RouterRetriever":
        expected["retrievers"] = Option(REQUIRED, Mapping[str, Any])
        expected["choose"] = Option(None, Any)  # or what the host has for that
    if name == "FollowReferencesRetriever":
        expected["targets"] = Option({}, Mapping[str, Any])
    if name == "RewriteQueryRetriever":
        expected["how"] = Option("rewrite", Any)  # or what says in the host what is searched
    if name == "RerankRetriever":
        expected["rerank"] = Option(None, Any)  # or what reorders results in the host
    if name in (
        "MultiQueryRetriever",
        "RouterRetriever",
        "PropertyGraphRetriever",
        "RewriteQueryRetriever",
        "SQLRetriever",
    ):
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


@pytest.mark.parametrize("owner", [View, leafspan, Index])
def test_a_result_is_typed_as_what_says_why_it_is_empty(owner: Any):
    for name in ("retrieve", "aretrieve"):
        assert get_type_hints(getattr(owner, name))["return"] is Passages
        assert get_type_hints(getattr(owner, f"{name}_many"))["return"] == list[Passages]
