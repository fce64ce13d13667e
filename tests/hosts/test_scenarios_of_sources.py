"""The table of scenarios for other sources than an index, and for private views: the core and both hosts answer alike."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from llama_index.core.graph_stores import SimplePropertyGraphStore

import leafspan
from leafspan import Index, Passage, View
from leafspan.private import private_view
from tests.corpus import SPLITTER
from tests.hosts.contract import HOSTS, Host, LangChain, WritingLLM
from tests.private.views.people import DOCUMENTS as PEOPLE
from tests.private.views.people import KNOWN, fixed_vault
from tests.public import STRATEGIES
from tests.sources.graphs.scripted import QUESTION, filled_thread, maker, property_graph, small_index
from tests.sources.sql.shop import SQLITE


@dataclass(frozen=True)
class Source:
    """What a strategy needs besides its options.

    Attributes:
        options: Options that name the source.
        view: The view that is asked, or None.
    """

    options: dict[str, Any] = field(default_factory=dict)
    view: View | None = None


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Attributes:
        name: Its name.
        adapter: Name of the retriever.
        source: Name of the source, a fixture.
        questions: What is asked.
        kinds: The kinds of what is found.
        options: Further options of the strategy.
        limits: Limits of the retrieval.
        answer: What a language model answers.
    """

    name: str
    adapter: str
    source: str
    questions: tuple[str, ...]
    kinds: set[str]
    options: dict[str, Any] = field(default_factory=dict)
    limits: dict[str, Any] = field(default_factory=dict)
    answer: str | None = None

    def core(self, source: Source) -> leafspan.Strategy:
        model = {} if self.answer is None else {"generate": lambda _: self.answer}
        kind: Callable[..., leafspan.Strategy] = STRATEGIES[self.adapter.removesuffix("Retriever")]
        return kind(**source.options, **self.options, **model)

    def retriever(self, host: Host, source: Source) -> Any:
        models = FakeListChatModel(responses=[str(self.answer)]), WritingLLM(write=lambda _: self.answer)
        model = {} if self.answer is None else {"llm": models[0] if isinstance(host, LangChain) else models[1]}
        return host.make(self.adapter, source.view, **source.options, **self.options, **model, **self.limits, explain=True)


CHEAP = ("SELECT title, price FROM products WHERE price < 20 ORDER BY price", "SELECT name FROM customers ORDER BY id")
NAMES = ("What did Alice Smith write about the harbour?", "Who read the report on the pier?", "Zoë Łuczak's forests")

TABLE = [
    Row("rows", "SQLRetriever", "shop", CHEAP, {"row"}),
    Row("two rows", "SQLRetriever", "shop", CHEAP, {"row"}, limits={"k": 2}),
    Row("rows of some columns", "SQLRetriever", "shop", CHEAP[:1], {"row"}, {"extract": ["title"], "return_query": True}),
    Row("rows above a score", "SQLRetriever", "shop", CHEAP, {"row"}, limits={"min_score": 0.5}),
    Row("filtered rows", "SQLRetriever", "shop", CHEAP[:1], {"row"}, limits={"where": {"title": "Cup"}}),
    Row("a table", "SQLRetriever", "shop", CHEAP, {"table"}, {"result": "table"}),
    Row("rows of a question", "SQLRetriever", "shop", ("What is cheap?",), {"row"}, answer=CHEAP[0]),
    Row("chunks of a graph", "LightRAGRetriever", "light_rag", (QUESTION,), {"text"}, {"kinds": ["chunk"]}),
    Row("a graph", "LightRAGRetriever", "light_rag", (QUESTION,), {"text", "entity", "relation"}, limits={"k": 9}),
    Row("a graph without its index", "LightRAGRetriever", "light_rag_alone", (QUESTION,), {"chunk"}, {"kinds": ["chunk"]}),
    Row("a property graph", "PropertyGraphRetriever", "property_graph", (QUESTION,), {"text", "entity", "relation"}),
    Row(
        "a property graph by keywords",
        "PropertyGraphRetriever",
        "property_graph",
        ("Where is he from?",),
        {"text", "entity", "relation"},
        limits={"k": 9},
        answer="Vienna",
    ),
    Row("entities", "PropertyGraphRetriever", "property_graph_alone", (QUESTION,), {"entity"}, {"kinds": ["entity"]}),
    Row("names, masked", "PIIAwareRetriever", "masked", NAMES, {"text"}),
    Row("names, restored", "PIIAwareRetriever", "restored", NAMES, {"text"}, limits={"k": 3}),
    Row(
        "names by other weights", "PIIAwareRetriever", "restored", NAMES, {"text"}, {"weights": (3, 1), "rank_constant": 5}
    ),
    Row("private segments", "RelevantSegmentsRetriever", "restored", NAMES, {"text"}, limits={"budget": 40}),
    Row("private windows, masked", "SentenceWindowRetriever", "masked", NAMES, {"text"}),
]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Source]]:
    folder = tmp_path_factory.mktemp("sources")
    with sqlite3.connect(folder / "shop.db") as shop:
        shop.executescript(SQLITE)
    shop.close()
    index = small_index(folder / "sentences")
    light_rag = filled_thread(maker(folder / "light_rag"), index)
    graph = property_graph(index, SimplePropertyGraphStore())
    people = Index.open(folder / "people", splitter=SPLITTER)
    private = private_view(people, fixed_vault(folder / "vault.db"), known=KNOWN)
    private.add(PEOPLE)
    yield {
        "shop": Source({"database": f"sqlite:///{folder / 'shop.db'}"}),
        "light_rag": Source({"instance": light_rag}, index),
        "light_rag_alone": Source({"instance": light_rag}),
        "property_graph": Source({"graph": graph}, index),
        "property_graph_alone": Source({"graph": graph}),
        "masked": Source({}, private),
        "restored": Source({}, private.revealing(True)),
    }
    light_rag.close()
    index.close()
    people.close()


every_row = pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)


def ask(row: Row, source: Source) -> list[list[Passage]]:
    retrieve_many = leafspan.retrieve_many if source.view is None else source.view.retrieve_many
    return retrieve_many(list(row.questions), row.core(source), **row.limits)


def shown(passage: Passage) -> tuple[Any, ...]:
    return passage.id, passage.text, pytest.approx(passage.score, abs=1e-6), passage.trace.explain()


@every_row
async def test_the_core_finds_what_the_row_says_in_every_way_of_asking(sources, row: Row):
    source = sources[row.source]
    answers = ask(row, source)
    assert {passage.kind for passages in answers for passage in passages} == row.kinds
    for passage in (each for passages in answers for each in passages):
        assert passage.text
        assert (passage.start is None) == (passage.kind != "text") == (passage.document_id == "")
    retrieve = leafspan.retrieve if source.view is None else source.view.retrieve
    aretrieve_many = leafspan.aretrieve_many if source.view is None else source.view.aretrieve_many
    expected = [[shown(each) for each in passages] for passages in answers]
    one = retrieve(row.questions[0], row.core(source), **row.limits)
    assert [shown(each) for each in one] == expected[0]
    many = await aretrieve_many(list(row.questions), row.core(source), **row.limits)
    assert [[shown(each) for each in passages] for passages in many] == expected


@every_row
@pytest.mark.parametrize("host", HOSTS, ids=repr)
async def test_both_hosts_give_the_same(sources, host: Host, row: Row):
    source = sources[row.source]
    retriever = row.retriever(host, source)
    for question, passages in zip(row.questions, ask(row, source), strict=True):
        found = await host.both(retriever, question)
        assert [(each.id, each.text, each.score, each.trace) for each in found] == [shown(each) for each in passages]
        for result, passage in zip(found, passages, strict=True):
            place = {name: result.metadata.get(name) for name in ("doc_id", "start", "end")}
            if passage.kind == "text":
                assert tuple(place.values()) == (passage.document_id, passage.start, passage.end)
            else:
                assert result.metadata == {**passage.metadata, "kind": passage.kind}
