from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import chromadb
import pytest
import pytest_asyncio
from chromadb.config import Settings

from leafspan import Index, Passage
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER, TEXTS
from tests.scenarios import SCENARIOS, Scenario

every_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
QUIET = {"anonymized_telemetry": False}


@pytest.fixture(scope="module", params=["folder", "memory", "server"])
def any_index(request, tmp_path_factory, shared_index: Index, chroma_server: tuple[str, int]) -> Iterator[Index]:
    """The corpus behind each kind of synchronous Chroma client."""
    if request.param == "folder":
        yield shared_index
        return
    host, port = chroma_server
    if request.param == "memory":
        client = chromadb.EphemeralClient(Settings(**QUIET))
    else:
        client = chromadb.HttpClient(host=host, port=port, settings=Settings(**QUIET))
    with Index.open(client=client, name="scenarios", splitter=SPLITTER) as opened:
        opened.add(DOCUMENTS)
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def async_index(chroma_server: tuple[str, int]) -> AsyncIterator[Index]:
    """The corpus on the server, behind Chroma's asynchronous client."""
    host, port = chroma_server
    client = await chromadb.AsyncHttpClient(host=host, port=port, settings=Settings(**QUIET))
    opened = await Index.aopen(client=client, name="scenarios", splitter=SPLITTER)
    await opened.aadd(DOCUMENTS)
    yield opened


def shown(passages: list[Passage]) -> list[tuple[Any, ...]]:
    """What must be equal everywhere."""
    return [
        (p.id, p.document_id, p.start, p.end, p.text, pytest.approx(p.score, abs=1e-6), dict(p.metadata)) for p in passages
    ]


def seen_in_langchain(documents) -> list[tuple[Any, ...]]:
    place = ("doc_id", "start", "end", "score")
    return [
        (
            d.id,
            *(d.metadata[key] for key in place[:3]),
            d.page_content,
            d.metadata["score"],
            {key: value for key, value in d.metadata.items() if key not in place},
        )
        for d in documents
    ]


def seen_in_llamaindex(nodes) -> list[tuple[Any, ...]]:
    place = ("doc_id", "start", "end")
    for node in nodes:
        assert (node.node.start_char_idx, node.node.end_char_idx) == (node.metadata["start"], node.metadata["end"])
        assert node.node.ref_doc_id == node.metadata["doc_id"]
    return [
        (
            n.node_id,
            *(n.metadata[key] for key in place),
            n.text,
            n.score,
            {key: value for key, value in n.metadata.items() if key not in place},
        )
        for n in nodes
    ]


answers: dict[tuple[Index, str], list[list[Passage]]] = {}


def ask(index: Index, scenario: Scenario) -> list[list[Passage]]:
    """What the core finds, one question after another; asked once, and compared with many times."""
    if (index, scenario.name) not in answers:
        view = scenario.view(index)
        answers[index, scenario.name] = [
            view.retrieve(question, scenario.strategy, **scenario.limits) for question in QUESTIONS
        ]
    return answers[index, scenario.name]


@every_scenario
def test_every_passage_is_the_text_of_its_document_at_its_place(any_index: Index, scenario: Scenario):
    for passages in ask(any_index, scenario):
        assert passages
        for passage in passages:
            assert TEXTS[passage.document_id][passage.start : passage.end] == passage.text
        places = [(p.document_id, c) for p in passages for c in range(p.start, p.end)]
        assert len(places) == len(set(places))
        assert [p.score for p in passages] == sorted((p.score for p in passages), reverse=True)


@every_scenario
def test_limits_hold(any_index: Index, scenario: Scenario):
    for passages in ask(any_index, scenario):
        if "budget" in scenario.limits:
            assert len(passages) == 1 or sum(len(p.text.split()) for p in passages) <= scenario.limits["budget"]
        if "budget" not in scenario.limits or "k" in scenario.limits:
            assert len(passages) <= scenario.limits.get("k", 5)


@every_scenario
def test_every_kind_of_client_gives_the_same(any_index: Index, shared_index: Index, scenario: Scenario):
    assert [*map(shown, ask(any_index, scenario))] == [*map(shown, ask(shared_index, scenario))]


@every_scenario
def test_a_batch_gives_what_single_queries_give(any_index: Index, scenario: Scenario):
    together = scenario.view(any_index).retrieve(QUESTIONS, scenario.strategy, **scenario.limits)
    assert [*map(shown, together)] == [*map(shown, ask(any_index, scenario))]


@every_scenario
async def test_asynchronous_retrieval_gives_the_same(any_index: Index, scenario: Scenario):
    view = scenario.view(any_index)
    calls = [view.aretrieve(question, scenario.strategy, **scenario.limits) for question in QUESTIONS]
    assert [*map(shown, await asyncio.gather(*calls))] == [*map(shown, ask(any_index, scenario))]


@every_scenario
def test_langchain_gives_the_same(any_index: Index, scenario: Scenario):
    retriever = scenario.in_langchain(any_index)
    expected = [shown(passages) for passages in ask(any_index, scenario)]
    assert [seen_in_langchain(retriever.invoke(question)) for question in QUESTIONS] == expected
    assert [*map(seen_in_langchain, retriever.batch(QUESTIONS))] == expected


@every_scenario
async def test_langchain_gives_the_same_asynchronously(any_index: Index, scenario: Scenario):
    retriever = scenario.in_langchain(any_index)
    expected = [shown(passages) for passages in ask(any_index, scenario)]
    assert [*map(seen_in_langchain, await retriever.abatch(QUESTIONS))] == expected


@every_scenario
def test_llamaindex_gives_the_same(any_index: Index, scenario: Scenario):
    retriever = scenario.in_llamaindex(any_index)
    expected = [shown(passages) for passages in ask(any_index, scenario)]
    assert [seen_in_llamaindex(retriever.retrieve(question)) for question in QUESTIONS] == expected


@every_scenario
async def test_llamaindex_gives_the_same_asynchronously(any_index: Index, scenario: Scenario):
    retriever = scenario.in_llamaindex(any_index)
    expected = [shown(passages) for passages in ask(any_index, scenario)]
    answers = await asyncio.gather(*(retriever.aretrieve(question) for question in QUESTIONS))
    assert [*map(seen_in_llamaindex, answers)] == expected


@every_scenario
@pytest.mark.asyncio(loop_scope="module")
async def test_an_asynchronous_client_gives_the_same(async_index: Index, shared_index: Index, scenario: Scenario):
    expected = [shown(passages) for passages in ask(shared_index, scenario)]
    together = await scenario.view(async_index).aretrieve(QUESTIONS, scenario.strategy, **scenario.limits)
    assert [*map(shown, together)] == expected
    langchain = scenario.in_langchain(async_index)
    assert [*map(seen_in_langchain, await langchain.abatch(QUESTIONS))] == expected
    llamaindex = scenario.in_llamaindex(async_index)
    assert [seen_in_llamaindex(await llamaindex.aretrieve(question)) for question in QUESTIONS] == expected


@every_scenario
def test_both_adapters_explain_what_the_core_explains(shared_index: Index, scenario: Scenario):
    langchain = scenario.in_langchain(shared_index, explain=True)
    llamaindex = scenario.in_llamaindex(shared_index, explain=True)
    for question, passages in zip(QUESTIONS, ask(shared_index, scenario), strict=True):
        expected = [passage.trace.explain() for passage in passages]
        assert [document.metadata["trace"] for document in langchain.invoke(question)] == expected
        assert [node.trace for node in llamaindex.retrieve(question)] == expected
