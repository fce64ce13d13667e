from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import chromadb
import pytest
import pytest_asyncio
from chromadb.config import Settings

from leafspan import Bisecting, Index, Passage
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER, TEXTS
from tests.hosts.scenarios import SCENARIOS, Scenario

every_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
QUIET = {"anonymized_telemetry": False}


TREE = {"clusterer": Bisecting(size=3), "across_documents": True}


@pytest.fixture(scope="module")
def in_folder(tmp_path_factory) -> Iterator[Index]:
    """The corpus in a folder, with its trees and layers above them."""
    with Index.open(tmp_path_factory.mktemp("scenarios") / "kb", splitter=SPLITTER) as opened:
        opened.add(DOCUMENTS)
        opened.build_tree(**TREE)
        yield opened


@pytest.fixture(scope="module", params=["folder", "memory", "server"])
def any_index(request, in_folder: Index, chroma_server: tuple[str, int]) -> Iterator[Index]:
    """The same behind each kind of synchronous Chroma client."""
    if request.param == "folder":
        yield in_folder
        return
    host, port = chroma_server
    if request.param == "memory":
        client = chromadb.EphemeralClient(Settings(**QUIET))
    else:
        client = chromadb.HttpClient(host=host, port=port, settings=Settings(**QUIET))
    with Index.open(client=client, name="scenarios", splitter=SPLITTER) as opened:
        opened.add(DOCUMENTS)
        opened.build_tree(**TREE)
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def async_index(chroma_server: tuple[str, int]) -> AsyncIterator[Index]:
    """The same on the server, behind Chroma's asynchronous client."""
    host, port = chroma_server
    client = await chromadb.AsyncHttpClient(host=host, port=port, settings=Settings(**QUIET))
    opened = await Index.aopen(client=client, name="scenarios", splitter=SPLITTER)
    await opened.aadd(DOCUMENTS)
    await opened.abuild_tree(**TREE)
    yield opened


def shown(passages: list[Passage]) -> list[tuple[Any, ...]]:
    """What must be equal everywhere."""
    return [
        (
            p.id,
            (p.document_id, p.start, p.end) if p.document_id else None,
            (p.layer, [[run.document_id, run.start, run.end] for run in p.summary.covers]) if p.summary else None,
            p.text,
            pytest.approx(p.score, abs=1e-6),
            dict(p.metadata),
        )
        for p in passages
    ]


PLACE = ("doc_id", "start", "end")
SUMMARY = ("layer", "covers")


def found_in(metadata: dict[str, Any], keys: tuple[str, ...]) -> tuple[Any, ...] | None:
    """The values of these keys, of which all are there or none."""
    there = [key in metadata for key in keys]
    assert all(there) or not any(there)
    return tuple(metadata[key] for key in keys) if all(there) else None


def own(metadata: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in metadata.items() if key not in (*PLACE, *SUMMARY, "score")}


def seen_in_langchain(documents) -> list[tuple[Any, ...]]:
    return [
        (
            d.id,
            found_in(d.metadata, PLACE),
            found_in(d.metadata, SUMMARY),
            d.page_content,
            d.metadata["score"],
            own(d.metadata),
        )
        for d in documents
    ]


def seen_in_llamaindex(nodes) -> list[tuple[Any, ...]]:
    seen = []
    for n in nodes:
        place, summary = found_in(n.metadata, PLACE), found_in(n.metadata, SUMMARY)
        assert (n.node.start_char_idx, n.node.end_char_idx) == ((None, None) if summary else place[1:])
        assert n.node.ref_doc_id == (place[0] if place else None)
        assert "score" not in n.metadata
        seen.append((n.node_id, place, summary, n.text, n.score, own(n.metadata)))
    return seen


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
        pieces = [p for p in passages if not p.summary]
        for passage in pieces:
            assert TEXTS[passage.document_id][passage.start : passage.end] == passage.text
        places = [(p.document_id, c) for p in pieces for c in range(p.start, p.end)]
        assert len(places) == len(set(places))
        assert len({p.id for p in passages}) == len(passages)
        if scenario.best_first:
            assert [p.score for p in passages] == sorted((p.score for p in passages), reverse=True)


@every_scenario
def test_every_summary_is_made_of_what_it_covers(any_index: Index, scenario: Scenario):
    summaries = [p for passages in ask(any_index, scenario) for p in passages if p.summary]
    assert bool(summaries) == scenario.finds_summaries
    for summary in summaries:
        covered = "".join(TEXTS[run.document_id][run.start : run.end] for run in summary.summary.covers)
        assert set(summary.text.split()) <= set(covered.split())
        documents = {run.document_id for run in summary.summary.covers}
        assert {summary.document_id} == (documents if len(documents) == 1 else {""})


@every_scenario
def test_limits_hold(any_index: Index, scenario: Scenario):
    for passages in ask(any_index, scenario):
        if "budget" in scenario.limits:
            assert len(passages) == 1 or sum(len(p.text.split()) for p in passages) <= scenario.limits["budget"]
        everything = "budget" in scenario.limits or scenario.all_by_default
        if not everything or "k" in scenario.limits:
            assert len(passages) <= scenario.limits.get("k", 5)


@every_scenario
def test_every_kind_of_client_gives_the_same(any_index: Index, in_folder: Index, scenario: Scenario):
    assert [*map(shown, ask(any_index, scenario))] == [*map(shown, ask(in_folder, scenario))]


@pytest.mark.parametrize("scenario", [each for each in SCENARIOS if not each.tree], ids=lambda scenario: scenario.name)
def test_trees_change_nothing_for_what_does_not_search_them(in_folder: Index, shared_index: Index, scenario: Scenario):
    assert ask(in_folder, scenario) == ask(shared_index, scenario)


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
async def test_an_asynchronous_client_gives_the_same(async_index: Index, in_folder: Index, scenario: Scenario):
    expected = [shown(passages) for passages in ask(in_folder, scenario)]
    together = await scenario.view(async_index).aretrieve(QUESTIONS, scenario.strategy, **scenario.limits)
    assert [*map(shown, together)] == expected
    langchain = scenario.in_langchain(async_index)
    assert [*map(seen_in_langchain, await langchain.abatch(QUESTIONS))] == expected
    llamaindex = scenario.in_llamaindex(async_index)
    assert [seen_in_llamaindex(await llamaindex.aretrieve(question)) for question in QUESTIONS] == expected


@every_scenario
def test_both_adapters_explain_what_the_core_explains(in_folder: Index, scenario: Scenario):
    langchain = scenario.in_langchain(in_folder, explain=True)
    llamaindex = scenario.in_llamaindex(in_folder, explain=True)
    for question, passages in zip(QUESTIONS, ask(in_folder, scenario), strict=True):
        expected = [passage.trace.explain() for passage in passages]
        assert [document.metadata["trace"] for document in langchain.invoke(question)] == expected
        assert [node.trace for node in llamaindex.retrieve(question)] == expected
