"""docs/coming-from.md names every retriever of the installed libraries but services and bases, and parameters that exist."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import warnings
from collections.abc import Iterator
from enum import Enum
from functools import cache
from types import ModuleType
from typing import Any

import pytest

from tests.docs.page_of_peers import PROSE, SYSTEMS, at_a_glance, chapter, in_backticks, parameters_in, rows

METHODS = ("__init__", "run", "retrieve", "from_defaults", "from_llm", "from_texts", "from_documents")
SERVICES = {  # the page names the kind and four of them: they are used in an ensemble
    *("AmazonKnowledgeBasesRetriever", "ArceeRetriever", "ArxivRetriever", "AskNewsRetriever", "AzureAISearchRetriever"),
    *("AzureCognitiveSearchRetriever", "BreebsRetriever", "ChaindeskRetriever", "ChatGPTPluginRetriever"),
    *("CohereRagRetriever", "DocArrayRetriever", "DriaRetriever", "EmbedchainRetriever", "KayAiRetriever"),
    *("GoogleCloudEnterpriseSearchRetriever", "GoogleDocumentAIWarehouseRetriever", "GoogleVertexAISearchRetriever"),
    *("GoogleVertexAIMultiTurnSearchRetriever", "MetalRetriever", "MilvusRetriever", "NeedleRetriever"),
    *("NeuralDBRetriever", "OutlineRetriever", "PineconeHybridSearchRetriever", "PubMedRetriever"),
    *("RememberizerRetriever", "RemoteLangChainRetriever", "VespaRetriever", "WeaviateHybridSearchRetriever"),
    *("WebResearchRetriever", "YouRetriever", "ZepCloudRetriever", "ZepRetriever", "ZillizRetriever"),
}
BASES = {  # classes to derive from, and old names of classes that the page names
    *("BaseAutoRetriever", "BaseImageRetriever", "BaseKeywordTableRetriever", "BasePGRetriever", "BaseRetriever"),
    *("DocumentSummaryIndexRetriever", "EmbeddingRetriever", "TextRetriever"),
    *("ListIndexEmbeddingRetriever", "ListIndexLLMRetriever", "ListIndexRetriever"),
}
NOT_INSTALLED = {("LlamaIndex", "BM25Retriever")}  # LlamaIndex lists it, but it is in a package of its own


def modules_of(package: ModuleType) -> Iterator[ModuleType]:
    yield package
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        yield importlib.import_module(info.name)


def haystack_retrievers() -> dict[str, Any]:
    import haystack.components.retrievers as package

    return {
        name: thing
        for module in modules_of(package)
        for name, thing in vars(module).items()
        if inspect.isclass(thing) and thing.__module__ == module.__name__ and hasattr(thing, "run")
    }


def llamaindex_retrievers() -> dict[str, Any]:
    """What is listed, also what is not installed (None), and every other retriever in the same packages."""
    import llama_index.core.base
    import llama_index.core.indices
    import llama_index.core.retrievers as package

    found = {name: getattr(package, name, None) for name in package.__all__}
    for each in (package, llama_index.core.indices, llama_index.core.base):
        for module in modules_of(each):
            for name, thing in vars(module).items():
                if inspect.isclass(thing) and issubclass(thing, package.BaseRetriever):
                    found.setdefault(name, thing)
    return found


def langchain_retrievers() -> dict[str, Any]:
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStoreRetriever

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # langchain-community is being retired
        import langchain_classic.retrievers as classic
        import langchain_community.retrievers as community

        found = {name: getattr(community, name) for name in community.__all__}
        found |= {name: getattr(classic, name) for name in classic.__all__ if name not in found}
    return found | {"VectorStoreRetriever": VectorStoreRetriever, "BaseRetriever": BaseRetriever}


@cache
def retrievers_of(system: str) -> dict[str, Any]:
    find = {"Haystack": haystack_retrievers, "LlamaIndex": llamaindex_retrievers, "LangChain": langchain_retrievers}
    return find[system]()


def classes_in_tables(system: str) -> dict[str, Any]:
    """The retrievers, and other classes that the system's table names."""
    if system != "Haystack":
        return retrievers_of(system)
    from haystack.components.preprocessors import HierarchicalDocumentSplitter
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    others = (HierarchicalDocumentSplitter, InMemoryDocumentStore)
    return retrievers_of(system) | {each.__name__: each for each in others}


def shown(default: object) -> str:
    """A default as the page has it."""
    return f"{type(default).__name__}.{default.name}" if isinstance(default, Enum) else repr(default)


def parameters_of(kind: Any) -> dict[str, set[str | None]]:
    """Each parameter of a class and of its methods with its defaults, or None."""
    found: dict[str, set[str | None]] = {}
    for method in (getattr(kind, name) for name in METHODS if hasattr(kind, name)):
        for each in inspect.signature(method).parameters.values():
            found.setdefault(each.name, set()).add(None if each.default is each.empty else shown(each.default))
    for name, field in getattr(kind, "model_fields", {}).items():
        default = None if field.is_required() else shown(field.get_default(call_default_factory=True))
        found.setdefault(name, set()).add(default)
    return found


def wrong(cell: str, classes: dict[str, Any]) -> list[str]:
    """What a cell says of classes and parameters that are not so."""
    found = []
    for name, parameter, default in parameters_in(cell):
        defaults = parameters_of(classes[name]).get(parameter) if name in classes else None
        if defaults is None or (default is not None and default not in defaults):
            found.append(f"{name}({parameter})" if default is None else f"{name}({parameter}={default})")
    return found


@pytest.mark.parametrize("system", ["Haystack", "LlamaIndex", "LangChain"])
def test_every_retriever_is_named(system: str):
    assert retrievers_of(system).keys() - set(in_backticks(PROSE)) - SERVICES - BASES == set()


def test_what_the_page_leaves_out_exists():
    systems = ("Haystack", "LlamaIndex", "LangChain")
    assert (SERVICES | BASES) - {name for system in systems for name in retrievers_of(system)} == set()


@pytest.mark.parametrize("system", ["Haystack", "LlamaIndex", "LangChain"])
def test_the_classes_at_a_glance_exist(system: str):
    named = {name for _, cells in at_a_glance() for name in cells[SYSTEMS.index(system)]}
    assert named - retrievers_of(system).keys() == set()


@pytest.mark.parametrize("system", ["Haystack", "LlamaIndex", "LangChain"])
def test_the_parameters_in_a_table_exist_with_these_defaults(system: str):
    cells = [theirs for theirs, *_ in rows(chapter(system))]
    assert len(cells) > 5
    classes = classes_in_tables(system)
    checked = [each for each in cells if (system, next(parameters_in(each))[0]) not in NOT_INSTALLED]
    assert [each for cell in checked for each in wrong(cell, classes)] == []


def test_what_the_page_lacks_or_has_wrong_would_be_noticed():
    assert "TeapotRetriever" not in in_backticks(PROSE)
    classes = haystack_retrievers()
    assert wrong("`FilterRetriever(filters=None, steep)`", classes) == ["FilterRetriever(steep)"]
    assert wrong("`InMemoryBM25Retriever(top_k=11)`", classes) == ["InMemoryBM25Retriever(top_k=11)"]
    assert wrong("`TeapotRetriever(filters)`", classes) == ["TeapotRetriever(filters)"]
