"""docs/coming-from.md names every retriever of the other libraries, with every parameter and its default."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import warnings
from collections.abc import Iterator, Mapping
from enum import Enum
from types import ModuleType
from typing import Any

import pytest

from tests.docs.page_of_peers import chapter, in_backticks, parameters_on_page, sections
from tests.docs.parameters_of_peers import PARAMETERS

PROTOCOLS = {"TextRetriever", "EmbeddingRetriever"}
WITHOUT_A_TABLE = {
    "BaseRetriever",
    "BaseImageRetriever",
    "EmptyIndexRetriever",
    "MultiModalVectorIndexRetriever",
    "MultiModalRetriever",
}
NOT_INSTALLED = {"BM25Retriever"}  # LlamaIndex lists it, but it is in a package of its own: see PARAMETERS


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


def langchain_packages() -> tuple[ModuleType, ModuleType]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # langchain-community is being retired
        import langchain_community.retrievers as community
    import langchain_classic.retrievers as classic

    return community, classic


def langchain_retriever(name: str) -> Any:
    from langchain_core.vectorstores import VectorStoreRetriever

    if name == "VectorStoreRetriever":
        return VectorStoreRetriever
    community, classic = langchain_packages()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return getattr(community if name in community.__all__ else classic, name)


def shown(default: object) -> str:
    """A default as the page has it."""
    return f"{type(default).__name__}.{default.name}" if isinstance(default, Enum) else repr(default)


def parameters_of(function: Any) -> dict[str, str | None]:
    """Each parameter with its default, None if it has none."""
    found = inspect.signature(function).parameters.values()
    named = [each for each in found if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY) and each.name != "self"]
    return {each.name: None if each.default is each.empty else shown(each.default) for each in named}


def fields_of(kind: Any) -> dict[str, str | None]:
    """The options of a retriever of LangChain, but for those that all of them have."""
    fields = {name: field for name, field in kind.model_fields.items() if name not in ("name", "tags", "metadata")}
    return {
        name: None if field.is_required() else shown(field.get_default(call_default_factory=True))
        for name, field in fields.items()
    }


def missing(system: str, name: str, parameters: Mapping[str, str | None], method: str = "") -> list[str]:
    """The parameters that the page does not have with these defaults. Long defaults may be three dots."""
    on_page = parameters_on_page(system, name)

    def text(parameter: str, default: str | None) -> str:
        plain = parameter if default is None else f"{parameter}={default}"
        return f"{method}({plain})" if method else plain

    def is_there(parameter: str, default: str | None) -> bool:
        long = default is not None and (len(default) > 25 or " at 0x" in default)
        return text(parameter, default) in on_page or (long and text(parameter, "...") in on_page)

    return [text(*each) for each in parameters.items() if not is_there(*each)]


def test_every_retriever_of_haystack_has_a_section():
    assert haystack_retrievers().keys() - sections("Haystack").keys() == set()


def test_every_retriever_of_llamaindex_is_named():
    assert llamaindex_retrievers().keys() - set(in_backticks(chapter("LlamaIndex"))) == set()


def test_every_retriever_of_langchain_is_named():
    community, classic = langchain_packages()
    names = {*classic.__all__, *community.__all__, "VectorStoreRetriever", "BaseRetriever"}
    assert names - set(in_backticks(chapter("LangChain"))) == set()


def test_a_retriever_that_the_page_does_not_name_would_be_noticed():
    assert "TeapotRetriever" not in in_backticks(chapter("LlamaIndex"))
    assert missing("Haystack", "FilterRetriever", {"document_store": None, "steep": "3"}) == ["steep=3"]
    assert missing("Haystack", "InMemoryBM25Retriever", {"top_k": "11"}) == ["top_k=11"]


def with_tables(system: str, *others: set[str]) -> list[str]:
    return [name for name in sections(system) if name and not any(name in each for each in others)]


@pytest.mark.parametrize("name", with_tables("Haystack", PROTOCOLS))
def test_the_parameters_of_haystack_are_there(name: str):
    kind = haystack_retrievers()[name]
    assert missing("Haystack", name, parameters_of(kind.__init__)) == []
    assert missing("Haystack", name, parameters_of(kind.run), "run") == []
    assert parameters_of(kind.run) == parameters_of(kind.run_async)


@pytest.mark.parametrize("name", with_tables("LlamaIndex", WITHOUT_A_TABLE, NOT_INSTALLED))
def test_the_parameters_of_llamaindex_are_there(name: str):
    kind = llamaindex_retrievers()[name]
    assert missing("LlamaIndex", name, parameters_of(kind.__init__)) == []
    if hasattr(kind, "from_defaults"):
        assert missing("LlamaIndex", name, parameters_of(kind.from_defaults), "from_defaults") == []


@pytest.mark.parametrize("name", with_tables("LangChain"))
def test_the_parameters_of_langchain_are_there(name: str):
    kind = langchain_retriever(name)
    assert missing("LangChain", name, fields_of(kind)) == []
    for method in ("from_llm", "from_texts", "from_documents"):
        if hasattr(kind, method):
            assert missing("LangChain", name, parameters_of(getattr(kind, method)), method) == []


@pytest.mark.parametrize(("system", "name"), [(system, name) for system in PARAMETERS for name in PARAMETERS[system]])
def test_the_parameters_of_documented_classes_are_there(system: str, name: str):
    assert [each for each in PARAMETERS[system][name] if each not in parameters_on_page(system, name)] == []
