from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any
from uuid import uuid4

import chromadb
import pytest
import pytest_asyncio
from chromadb.config import Settings
from psycopg_pool import AsyncConnectionPool, ConnectionPool
from qdrant_client import AsyncQdrantClient, QdrantClient

from leafspan import Index, Passage
from leafspan.engines.postgres import Postgres
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER, TEXTS
from tests.hosts.conftest import TREE
from tests.hosts.scenario import Scenario
from tests.hosts.scenarios import SCENARIOS
from tests.profiles import THOROUGH, paired

Way = Callable[[Index, asyncio.Runner, Scenario, list[Any]], None]


def named(value: Any) -> str:
    """A scenario, a function or a name as part of a test's name."""
    return value.name if isinstance(value, Scenario) else getattr(value, "__name__", value)


every_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=named)
QUIET = {"anonymized_telemetry": False}


@pytest.fixture(scope="module")
def memory_index() -> Iterator[Index]:
    """The corpus with its trees in memory."""
    yield from filled(chromadb.EphemeralClient(Settings(**QUIET)))


@pytest.fixture(scope="module")
def server_index(chroma_server: tuple[str, int]) -> Iterator[Index]:
    """The corpus with its trees behind a server."""
    host, port = chroma_server
    yield from filled(chromadb.HttpClient(host=host, port=port, settings=Settings(**QUIET)))


@pytest.fixture(scope="module")
def postgres_index(pgvector_server: str) -> Iterator[Index]:
    """The corpus with its trees in PostgreSQL."""
    with ConnectionPool(pgvector_server, min_size=1, max_size=4, open=True) as pool:
        yield from filled(Postgres(pool, schema=f"s{uuid4().hex}"))


@pytest.fixture(scope="module")
def qdrant_index() -> Iterator[Index]:
    """The corpus with its trees in Qdrant."""
    yield from filled(QdrantClient(":memory:"))


def filled(client: Any) -> Iterator[Index]:
    with Index.open(client=client, name="scenarios", splitter=SPLITTER) as opened:
        opened.add(DOCUMENTS)
        opened.build_tree(**TREE)
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["chroma", "postgres", "qdrant"])
async def async_index(request: pytest.FixtureRequest) -> AsyncIterator[Index]:
    """The same in each store, behind a client that is awaited."""
    async with AsyncExitStack() as stack:
        if request.param == "chroma":
            host, port = request.getfixturevalue("chroma_server")
            client: Any = await chromadb.AsyncHttpClient(host=host, port=port, settings=Settings(**QUIET))
        elif request.param == "postgres":
            url = request.getfixturevalue("pgvector_server")
            pool = await stack.enter_async_context(AsyncConnectionPool(url, min_size=1, max_size=4, open=False))
            client = Postgres(pool, schema=f"s{uuid4().hex}")
        else:
            client = AsyncQdrantClient(":memory:")
        opened = await Index.aopen(client=client, name="scenarios", splitter=SPLITTER)
        await opened.aadd(DOCUMENTS)
        await opened.abuild_tree(**TREE)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """One event loop for all tests, so that its threads are started once."""
    with asyncio.Runner() as opened:
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
            {
                **({"title": p.title} if p.title else {}),
                **({"headings": " > ".join(p.headings)} if p.headings else {}),
                **({"start_line": p.lines[0], "end_line": p.lines[1]} if p.lines else {}),
                **p.metadata,
            },
        )
        for p in passages
    ]


PLACE = ("doc_id", "start", "end")
SUMMARY = ("layer", "covers")


def found_in(metadata: dict[str, Any], keys: tuple[str, ...]) -> tuple[Any, ...] | None:
    """The values of these keys; either all of them exist, or no key does."""
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


def traces(answers: list[list[Passage]]) -> list[list[list[str]]]:
    return [[passage.trace.explain() for passage in passages] for passages in answers]


_answers: dict[tuple[Index, str], list[list[Passage]]] = {}


def ask(index: Index, scenario: Scenario) -> list[list[Passage]]:
    """What the core finds for all questions in one call; asked once, and compared with many times."""
    if (index, scenario.name) not in _answers:
        view = scenario.view(index)
        _answers[index, scenario.name] = view.retrieve_many(QUESTIONS, scenario.strategy, **scenario.limits)
    return _answers[index, scenario.name]


def every_passage_is_the_text_of_its_document_at_its_place(scenario: Scenario, passages: list[Passage]) -> None:
    assert passages
    pieces = [p for p in passages if not p.summary]
    for passage in pieces:
        assert TEXTS[passage.document_id][passage.start : passage.end] == passage.text
    places = [(p.document_id, c) for p in pieces for c in range(p.start, p.end)]
    assert len(places) == len(set(places))
    assert len({p.id for p in passages}) == len(passages)
    if scenario.best_first:
        assert [p.score for p in passages] == sorted((p.score for p in passages), reverse=True)


def every_summary_is_made_of_what_it_covers(scenario: Scenario, answers: list[list[Passage]]) -> None:
    summaries = [p for passages in answers for p in passages if p.summary]
    assert bool(summaries) == scenario.finds_summaries
    for summary in summaries:
        covered = "".join(TEXTS[run.document_id][run.start : run.end] for run in summary.summary.covers)
        assert set(summary.text.split()) <= set(covered.split())
        documents = {run.document_id for run in summary.summary.covers}
        assert {summary.document_id} == (documents if len(documents) == 1 else {""})


def limits_hold(scenario: Scenario, passages: list[Passage]) -> None:
    if "budget" in scenario.limits:
        assert len(passages) == 1 or sum(len(p.text.split()) for p in passages) <= scenario.limits["budget"]
    everything = "budget" in scenario.limits or scenario.all_by_default
    if not everything or "k" in scenario.limits:
        assert len(passages) <= scenario.limits.get("k", 5)


@every_scenario
def test_the_core_gives_what_it_must(forest: Index, shared_index: Index, scenario: Scenario):
    answers = ask(forest, scenario)
    for passages in answers:
        every_passage_is_the_text_of_its_document_at_its_place(scenario, passages)
        limits_hold(scenario, passages)
    every_summary_is_made_of_what_it_covers(scenario, answers)
    if scenario.expected:
        number, expected = scenario.expected
        found = [(p.id, p.score) for p in answers[number]]
        assert found == [(id_, pytest.approx(score, abs=5.1e-5)) for id_, score in expected.items()]
    if not scenario.tree:  # trees change nothing for what does not search them
        assert answers == ask(shared_index, scenario)


# Each way of asking is asked one or two of the questions.


def the_core_gives_the_same(index: Index, runner: asyncio.Runner, scenario: Scenario, expected: list[Any]) -> None:
    view = scenario.view(index)
    assert shown(view.retrieve(QUESTIONS[0], scenario.strategy, **scenario.limits)) == expected[0]

    async def together() -> list[list[Passage]]:
        calls = (view.aretrieve(question, scenario.strategy, **scenario.limits) for question in QUESTIONS[2:])
        return await asyncio.gather(*calls)

    assert [*map(shown, runner.run(together()))] == expected[2:]


def langchain_gives_the_same(index: Index, runner: asyncio.Runner, scenario: Scenario, expected: list[Any]) -> None:
    plain = scenario.in_langchain(index)
    assert seen_in_langchain(plain.invoke(QUESTIONS[0])) == expected[0]
    assert [*map(seen_in_langchain, runner.run(plain.abatch(QUESTIONS[2:])))] == expected[2:]


def llamaindex_gives_the_same(index: Index, runner: asyncio.Runner, scenario: Scenario, expected: list[Any]) -> None:
    plain = scenario.in_llamaindex(index)
    assert seen_in_llamaindex(plain.retrieve(QUESTIONS[0])) == expected[0]

    async def together() -> list[Any]:
        return await asyncio.gather(*(plain.aretrieve(question) for question in QUESTIONS[2:]))

    assert [*map(seen_in_llamaindex, runner.run(together()))] == expected[2:]


def both_hosts_explain_the_same(index: Index, runner: asyncio.Runner, scenario: Scenario, expected: list[Any]) -> None:
    langchain, llamaindex = scenario.in_langchain(index, explain=True), scenario.in_llamaindex(index, explain=True)
    answers = ask(index, scenario)
    explained = langchain.batch(QUESTIONS[1:3])
    assert [[document.metadata.pop("trace") for document in found] for found in explained] == traces(answers[1:3])
    assert [*map(seen_in_langchain, explained)] == expected[1:3]
    nodes = llamaindex.retrieve(QUESTIONS[1])
    assert seen_in_llamaindex(nodes) == expected[1]
    assert [[node.trace for node in nodes]] == traces(answers[1:2])


WAYS = [the_core_gives_the_same, langchain_gives_the_same, llamaindex_gives_the_same]


@pytest.mark.parametrize(("scenario", "way"), paired(SCENARIOS, [*WAYS, both_hosts_explain_the_same]), ids=named)
def test_every_way_of_asking_gives_the_same(forest: Index, runner: asyncio.Runner, scenario: Scenario, way: Way):
    way(forest, runner, scenario, [shown(passages) for passages in ask(forest, scenario)])


CLIENTS = ["memory_index", "server_index", "postgres_index", "qdrant_index"]


@pytest.mark.parametrize(("scenario", "way", "client"), paired(SCENARIOS, WAYS, CLIENTS), ids=named)
def test_other_clients_give_the_same(
    request: pytest.FixtureRequest, forest: Index, runner: asyncio.Runner, scenario: Scenario, way: Way, client: str
):
    other = request.getfixturevalue(client)
    expected = [shown(passages) for passages in ask(forest, scenario)]
    assert [*map(shown, ask(other, scenario))] == expected
    way(other, runner, scenario, expected)


@pytest.mark.parametrize("scenario", [each for each in SCENARIOS if each.expected or THOROUGH], ids=named)
@pytest.mark.asyncio(loop_scope="module")
async def test_an_asynchronous_client_gives_the_same(async_index: Index, forest: Index, scenario: Scenario):
    expected = [shown(passages) for passages in ask(forest, scenario)]
    together = await scenario.view(async_index).aretrieve_many(QUESTIONS, scenario.strategy, **scenario.limits)
    assert [*map(shown, together)] == expected
    langchain, llamaindex = scenario.in_langchain(async_index), scenario.in_llamaindex(async_index)
    assert [*map(seen_in_langchain, await langchain.abatch(QUESTIONS[:2]))] == expected[:2]
    assert [seen_in_llamaindex(await llamaindex.aretrieve(question)) for question in QUESTIONS[2:]] == expected[2:]
