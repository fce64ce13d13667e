from __future__ import annotations

import dataclasses
import inspect
import json
import subprocess
import sys

import pytest
from langchain_core.retrievers import BaseRetriever

import langchain_ext
import leafspan
import llamaindex_ext
from langchain_ext.retriever import BasedRetriever

RETRIEVERS = [
    "VectorRetriever",
    "BM25Retriever",
    "HybridRetriever",
    "ParentDocumentRetriever",
    "SentenceWindowRetriever",
    "AutoMergingRetriever",
    "RelevantSegmentsRetriever",
    "EnsembleRetriever",
    "MultiQueryRetriever",
    "FilterRetriever",
    "TreeRetriever",
]


def test_the_core_offers_these_names():
    assert leafspan.__all__ == [
        "Index",
        "View",
        "Document",
        "Passage",
        "Summary",
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
        "Filter",
        "Tree",
        "Outside",
        "Splitter",
        "HierarchicalSplitter",
        "ChunkSplitter",
        "Cut",
        "Embedder",
        "Analyzer",
        "BM25Settings",
        "Summarizer",
        "Extractive",
        "Abstractive",
        "Clusterer",
        "Bisecting",
        "RaptorClusters",
        "Added",
        "TreesBuilt",
        "FailedSummary",
        "DocumentInfo",
        "Stats",
        "Finding",
        "Trace",
        "TracedHit",
        "Filled",
        "Merge",
        "LeafspanError",
        "InvalidArgument",
        "InvalidDocument",
        "NotALeaf",
        "DocumentNotFound",
        "IndexNotFound",
        "IndexMismatch",
        "WriterBusy",
        "Overtaken",
        "MissingExtra",
    ]


def test_both_adapters_offer_the_same_retrievers():
    assert langchain_ext.__all__ == [*RETRIEVERS, "leaf_documents", "splitter_from"]
    assert llamaindex_ext.__all__ == [*RETRIEVERS, "NodeWithTrace", "SpanNodeParser", "leaf_nodes", "splitter_from"]


@pytest.mark.parametrize("package", [leafspan, langchain_ext, llamaindex_ext])
def test_everything_public_is_there_and_documented(package):
    for name in package.__all__:
        assert getattr(package, name).__doc__


REQUIRED = "required"
# What a host has words of its own for, and what a call of LlamaIndex has no place for: a filter, and so a policy for it.
HOST_WORDS = {"similarity_top_k": "k"}
ONLY_IN_LANGCHAIN = {"filter_policy": "replace"}


def options_in_the_core(name):
    """Defaults by option, less those that a retriever has its own way for: the model of a host, its base and its k."""
    fields = dataclasses.fields(getattr(leafspan, name.removesuffix("Retriever")))
    return {
        field.name: REQUIRED if field.default is dataclasses.MISSING else field.default
        for field in fields
        if field.name not in ("base", "k", "generate", "agenerate")
    }


def options_in_langchain(name):
    return {
        option: REQUIRED if field.is_required() else field.default
        for option, field in getattr(langchain_ext, name).model_fields.items()
        if option not in BaseRetriever.model_fields
    }


def options_in_llamaindex(name):
    parameters = [
        parameter
        for kind in getattr(llamaindex_ext, name).__mro__
        if kind.__module__.startswith("llamaindex_ext.") and "__init__" in vars(kind)
        for parameter in inspect.signature(kind.__init__).parameters.values()
        if parameter.name != "self" and parameter.kind != parameter.VAR_KEYWORD
    ]
    return {
        HOST_WORDS.get(each.name, each.name): REQUIRED if each.default is each.empty else each.default
        for each in parameters
    }


@pytest.mark.parametrize("name", RETRIEVERS)
def test_both_adapters_have_the_same_options_and_defaults(name):
    assert options_in_langchain(name) == {**options_in_llamaindex(name), **ONLY_IN_LANGCHAIN}


@pytest.mark.parametrize("name", RETRIEVERS)
def test_adapters_have_the_options_and_defaults_of_the_core(name):
    limits = {"index": REQUIRED, "k": None, "candidates": None, "budget": None, "where": None, "explain": False}
    base = {"base": None} if issubclass(getattr(langchain_ext, name), BasedRetriever) else {}
    model = {"llm": None} if name == "MultiQueryRetriever" else {}
    assert options_in_llamaindex(name) == {**options_in_the_core(name), **limits, **base, **model}


@pytest.mark.parametrize("name", RETRIEVERS)
def test_a_retriever_stands_in_a_file_of_the_same_name_in_both_adapters(name):
    files = [getattr(package, name).__module__.partition(".")[2] for package in (langchain_ext, llamaindex_ext)]
    assert files[0] == files[1]
    strategy = getattr(leafspan, name.removesuffix("Retriever"))
    assert strategy.__module__ == f"leafspan.strategies.{files[0]}"


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
        ("langchain_ext", "langchain_core", "leafspan[langchain]"),
        ("llamaindex_ext", "llama_index", "leafspan[llamaindex]"),
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
