"""Any LangChain Runnable from a question to Documents can replace a LangChain retriever."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda

from langchain_ext import EnsembleRetriever, MultiQueryRetriever, SentenceWindowRetriever, leaf_documents
from leafspan import Index, InvalidArgument, Vector
from leafspan.errors import SourceFailed
from tests.corpus import QUESTIONS
from tests.hosts.contract import HOSTS

[HOST] = [each for each in HOSTS if each.name == "LangChain"]


class Down(BaseRetriever):
    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        raise ConnectionError("the service is down")


def runnables(index: Index) -> dict[str, Any]:
    """One search in several disguises."""
    search = HOST.vector_search(index, 4)

    def ask(question: str) -> list[Document]:
        return search.invoke(question)

    return {
        "with_retry": search.with_retry(stop_after_attempt=2),
        "with_fallbacks": Down().with_fallbacks([search]),
        "with_config": search.with_config(tags=["tagged"]),
        "chain": RunnableLambda(str.strip) | search,
        "function": RunnableLambda(ask),
    }


NAMES = ["with_retry", "with_fallbacks", "with_config", "chain", "function"]


@pytest.mark.parametrize("name", NAMES)
async def test_a_runnable_is_a_base_like_the_retriever_in_it(name: str, shared_index: Index):
    plain = SentenceWindowRetriever(index=shared_index, base=HOST.vector_search(shared_index, 4))
    disguised = SentenceWindowRetriever(index=shared_index, base=runnables(shared_index)[name])
    expected = plain.invoke(QUESTIONS[0])
    assert expected
    assert disguised.invoke(QUESTIONS[0]) == expected
    assert await disguised.ainvoke(QUESTIONS[0]) == expected


async def test_the_error_of_a_base_is_retried_and_has_a_fallback_by_its_type(shared_index: Index):
    class Twice(BaseRetriever):
        asked: int = 0

        def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
            self.asked += 1
            if self.asked < 3:
                raise ConnectionError("the service is down")
            return [Document("up again", id="up")]

    waits = {"retry_if_exception_type": (ConnectionError,), "wait_exponential_jitter": False, "stop_after_attempt": 3}
    for strategy in (
        EnsembleRetriever(index=shared_index, retrievers=[Vector(), Twice()]),
        MultiQueryRetriever(base=Twice(), phrasings=[]),
    ):
        assert "up again" in [each.page_content for each in strategy.with_retry(**waits).invoke(QUESTIONS[0])]
    over = MultiQueryRetriever(base=Down(), phrasings=[])
    for kind, handled in ((ConnectionError, True), (SourceFailed, True), (KeyError, False)):
        safe = over.with_fallbacks([HOST.vector_search(shared_index, 4)], exceptions_to_handle=(kind,))
        if handled:
            assert safe.invoke(QUESTIONS[0]) == await safe.ainvoke(QUESTIONS[0]) != []
        else:
            with pytest.raises(ConnectionError, match="the service is down"):
                safe.invoke(QUESTIONS[0])


@pytest.mark.parametrize("name", NAMES)
def test_a_runnable_is_one_of_an_ensemble(name: str, shared_index: Index):
    plain = EnsembleRetriever(index=shared_index, retrievers=[Vector(), HOST.vector_search(shared_index, 4)])
    disguised = EnsembleRetriever(index=shared_index, retrievers=[Vector(), runnables(shared_index)[name]])
    assert disguised.invoke(QUESTIONS[0]) == plain.invoke(QUESTIONS[0])


def test_a_runnable_needs_no_index(shared_index: Index):
    found = leaf_documents(shared_index)[:2]
    multi = MultiQueryRetriever(base=RunnableLambda(lambda question: found), phrasings=["another"])
    assert [document.page_content for document in multi.invoke("one")] == [document.page_content for document in found]


def test_a_runnable_is_named_in_the_trace(shared_index: Index):
    async def from_the_web(question: str) -> list[Document]:
        return [Document(id="1", page_content="Found elsewhere.")]

    def blocking(question: str) -> list[Document]:
        return [Document(id="1", page_content="Found elsewhere.")]

    web = RunnableLambda(blocking, from_the_web, name="web search")
    (first, *_) = EnsembleRetriever(retrievers=[web, web], names=["one", "two"], explain=True).invoke("tea")
    assert first.page_content == "Found elsewhere."
    assert "web search" in " ".join(first.metadata["trace"])


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ("a text", "web must return a list of LangChain Documents, got 'a text'"),
        (None, "web must return a list of LangChain Documents, got None"),
        ([("a pair", 0.5)], r"web must return a list of LangChain Documents, got one of \('a pair', 0.5\)"),
    ],
)
async def test_a_runnable_that_returns_something_else_is_an_error_that_names_it(returned: Any, message: str):
    retriever = MultiQueryRetriever(base=RunnableLambda(lambda question: returned, name="web"), phrasings=["bees"])
    with pytest.raises(InvalidArgument, match=message):
        retriever.invoke("tea")
    with pytest.raises(InvalidArgument, match=message):
        await retriever.ainvoke("tea")


def test_a_language_model_is_no_retriever(shared_index: Index):
    with pytest.raises(ValueError, match="base must be a strategy or a LangChain retriever, got FakeListChatModel"):
        MultiQueryRetriever(index=shared_index, base=FakeListChatModel(responses=["tea"]))
