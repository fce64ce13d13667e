"""Questions of LangChain's ``batch`` are searched together if only the time differs."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import RunnableConfig, RunnableLambda

import langchain_ext
from leafspan import Index, InvalidArgument
from leafspan.hosting import StrategyRetriever
from tests.corpus import QUESTIONS
from tests.hosts.contract import RETRIEVERS, needed


class Listener(BaseCallbackHandler):
    """Notes the questions of runs, and how many have ended."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended = self.failed = 0

    def on_retriever_start(self, serialized: Any, query: str, **_: Any) -> None:
        self.begun.append(query)

    def on_retriever_end(self, documents: Any, **_: Any) -> None:
        self.ended += 1

    def on_retriever_error(self, error: BaseException, **_: Any) -> None:
        self.failed += 1


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The questions of each search of several at once."""
    noted: list[list[str]] = []

    def search_many(retriever: Any, questions: list[str], *arguments: Any) -> Any:
        noted.append(questions)
        return original(retriever, questions, *arguments)

    async def asearch_many(retriever: Any, questions: list[str], *arguments: Any) -> Any:
        noted.append(questions)
        return await aoriginal(retriever, questions, *arguments)

    original, aoriginal = StrategyRetriever._search_many, StrategyRetriever._asearch_many
    monkeypatch.setattr(StrategyRetriever, "_search_many", search_many)
    monkeypatch.setattr(StrategyRetriever, "_asearch_many", asearch_many)
    return noted


def seen(found: list[list[Document]]) -> list[list[tuple[Any, ...]]]:
    return [[(each.id, each.page_content, each.metadata) for each in documents] for documents in found]


@pytest.mark.parametrize("name", RETRIEVERS)
async def test_each_question_has_what_invoke_finds(shared_index: Index, name: str):
    retriever = getattr(langchain_ext, name)(index=shared_index, **needed(name))
    alone = seen([retriever.invoke(question) for question in QUESTIONS])
    assert seen(retriever.batch(QUESTIONS)) == alone
    assert seen(await retriever.abatch(QUESTIONS)) == alone
    assert seen(retriever.batch(QUESTIONS, [{"tags": ["one"]} for _ in QUESTIONS], return_exceptions=True)) == alone


async def test_questions_are_searched_together(shared_index: Index, searches: list[list[str]]):
    retriever = langchain_ext.AutoMergingRetriever(
        index=shared_index, base=langchain_ext.VectorRetriever(index=shared_index)
    )
    retriever.batch(QUESTIONS, k=2)
    await retriever.abatch(QUESTIONS, {"metadata": {"user": "a"}})
    assert searches == [QUESTIONS, QUESTIONS]
    chain = retriever | RunnableLambda(len)
    assert chain.batch(QUESTIONS, {"max_concurrency": 1}) == [len(retriever.invoke(question)) for question in QUESTIONS]
    assert retriever.with_config(tags=["a"]).bind(k=1).batch(QUESTIONS) == [
        retriever.invoke(question, k=1) for question in QUESTIONS
    ]
    assert searches == [QUESTIONS] * 4


async def test_where_somebody_listens_each_question_is_a_run_of_its_own(shared_index: Index, searches: list[list[str]]):
    retriever = langchain_ext.VectorRetriever(index=shared_index)
    one, other = Listener(), Listener()
    configs: list[RunnableConfig] = [{"callbacks": [one]}, {}, {"callbacks": [other]}]
    assert len(retriever.batch(QUESTIONS[:3], configs)) == 3
    assert len(await retriever.abatch(QUESTIONS[:3], {"callbacks": [one]})) == 3
    assert sorted(one.begun) == sorted([QUESTIONS[0], *QUESTIONS[:3]])
    assert other.begun == [QUESTIONS[2]]
    assert (one.ended, other.ended, one.failed) == (4, 1, 0)

    # Also with the callbacks of the caller.
    def ask(questions: list[str]) -> Any:
        return retriever.batch(questions)

    RunnableLambda(ask).invoke(QUESTIONS[:2], {"callbacks": [other]})
    assert other.ended == 3
    assert searches == []


def test_what_has_a_part_of_the_hosts_is_asked_question_by_question(shared_index: Index, searches: list[list[str]]):
    model = FakeListChatModel(responses=["another question"])
    base = langchain_ext.VectorRetriever(index=shared_index)
    for retriever in (
        langchain_ext.MultiQueryRetriever(index=shared_index, base=base, llm=model),
        langchain_ext.VectorRetriever(index=shared_index, retrieval_timeout=30.0),
    ):
        assert len(retriever.batch(QUESTIONS)) == len(QUESTIONS)
    assert searches == []


def test_a_subclass_with_results_of_its_own_keeps_them(shared_index: Index, searches: list[list[str]]):
    class Own(langchain_ext.VectorRetriever):
        def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
            return [Document(query)]

    assert [found[0].page_content for found in Own(index=shared_index).batch(QUESTIONS)] == QUESTIONS
    assert searches == []


async def test_one_bad_question_is_the_error_of_that_one(shared_index: Index):
    retriever = langchain_ext.VectorRetriever(index=shared_index)
    questions: list[Any] = [QUESTIONS[0], 5, QUESTIONS[1]]
    for found in (
        retriever.batch(questions, return_exceptions=True),
        await retriever.abatch(questions, return_exceptions=True),
    ):
        assert isinstance(found[1], InvalidArgument)
        assert seen([found[0], found[2]]) == seen([retriever.invoke(question) for question in QUESTIONS[:2]])
    with pytest.raises(InvalidArgument, match="a query must be"):
        retriever.batch(questions)
    with pytest.raises(InvalidArgument, match="has no option 'depht'"):
        retriever.batch(QUESTIONS, depht=3)
    with pytest.raises(ValueError, match="same length"):
        retriever.batch(QUESTIONS, [{}])
    assert retriever.batch([]) == []
    assert retriever.batch([0.1, 0.2], return_exceptions=True)[0].__class__ is InvalidArgument  # two questions, no vector


def test_an_error_of_the_search_is_each_questions(shared_index: Index, monkeypatch: pytest.MonkeyPatch):
    def failing(*_: Any) -> Any:
        raise RuntimeError("the disk is gone")

    retriever = langchain_ext.VectorRetriever(index=shared_index)
    monkeypatch.setattr(StrategyRetriever, "_search_many", failing)
    assert seen(retriever.batch(QUESTIONS)) == seen([retriever.invoke(question) for question in QUESTIONS])
