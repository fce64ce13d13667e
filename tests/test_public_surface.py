from __future__ import annotations

import json
import subprocess
import sys

import pytest

import langchain_ext
import leafspan
import llamaindex_ext

RETRIEVERS = ["VectorRetriever", "ParentDocumentRetriever", "SentenceWindowRetriever", "AutoMergingRetriever"]


def test_the_core_offers_these_names():
    assert leafspan.__all__ == [
        "Index",
        "Document",
        "Passage",
        "Query",
        "Budget",
        "Strategy",
        "Vector",
        "ParentDocument",
        "SentenceWindow",
        "AutoMerging",
        "Outside",
        "Splitter",
        "HierarchicalSplitter",
        "ChunkSplitter",
        "Cut",
        "Embedder",
        "Added",
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
    assert llamaindex_ext.__all__ == [*RETRIEVERS, "SpanNodeParser", "leaf_nodes", "splitter_from"]


@pytest.mark.parametrize("package", [leafspan, langchain_ext, llamaindex_ext])
def test_everything_public_is_there_and_documented(package):
    for name in package.__all__:
        assert getattr(package, name).__doc__


@pytest.mark.parametrize("name", RETRIEVERS)
def test_adapters_have_the_options_and_defaults_of_the_core(name):
    strategy = getattr(leafspan, name.removesuffix("Retriever"))
    core = {field: getattr(strategy(), field) for field in strategy.__slots__ if field not in ("base", "k")}
    in_langchain = getattr(langchain_ext, name).model_fields
    assert {field: in_langchain[field].default for field in core} == core
    in_llamaindex = getattr(llamaindex_ext, name).__init__.__kwdefaults__
    assert {field: in_llamaindex[field] for field in core} == core


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
