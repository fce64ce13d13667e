"""No argument of a tool leads out of its view's scope, or reveals what else is in the index."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from leafspan import Document, F, Index, LeafspanError, View
from leafspan.agents import AgentTool, agent_tools, usual_strategies
from tests.corpus import BEES, SPLITTER, TEA

A, B = F("tenant") == "a", F("tenant") == "b"
SECRET = "xyzzy"
"""A word that only documents of b have: in texts, titles, headings, metadata and ids."""

OF_B = [
    Document("plan", f"# {SECRET} plan\n\nBees dance at the {SECRET} vault.\n", f"The {SECRET} plan"),
    Document(f"{SECRET}.md", f"# Bees\n\nHoney bees and {SECRET}. Tea for {SECRET}.\n", "Bees", {SECRET: SECRET}),
]


@pytest.fixture(scope="module")
def views(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[View, View, list[str]]]:
    """The documents of a, in an index with and without the documents of b, and the ids of b's documents there."""
    folder: Path = tmp_path_factory.mktemp("scope")
    with Index.open(folder / "both", splitter=SPLITTER) as both, Index.open(folder / "alone", splitter=SPLITTER) as alone:
        for index in (both, alone):
            index.scoped(A).add([Document("bees", BEES, "Honey bees"), Document("plan", TEA, "Our plan")])
        both.scoped(B).add(OF_B)
        both.add(Document("of nobody", f"Bees know {SECRET}.", metadata={"tenant": "c"}))
        for index in (both, alone):
            index.build_tree(across_documents=True)
        stored = [info.id for info in both.documents() if info.metadata["tenant"] != "a"]
        yield both.scoped(A), alone.scoped(A), stored


def said(tool: AgentTool, arguments: dict[str, object]) -> str:
    try:
        return tool.call(arguments).text
    except LeafspanError as error:
        return f"{type(error).__name__}: {error}"


def calls(stored: list[str]) -> Iterator[tuple[str, dict[str, object]]]:
    """Calls of every tool with every argument, as somebody makes them who knows all ids of b."""
    ids = [*stored, f"{SECRET}.md", "of nobody", "plan", "bees", "nobody's", "", "*", "../kb", "%"]
    wheres = [
        None,
        'F("tenant") == "b"',
        'F("tenant") != "a"',
        '~(F("tenant") == "a")',
        '(F("tenant") == "a") | (F("tenant") == "b")',
        'F("tenant").not_in([])',
        f'F("{SECRET}").exists()',
        f'F("doc_id") == "{stored[0]}"',
        {"tenant": {"$ne": "a"}},
        {"$or": [{"tenant": "b"}, {"tenant": "c"}]},
        {"operator": "NOT", "conditions": [{"field": "tenant", "operator": "==", "value": "a"}]},
    ]
    for question, where, strategy in product(
        [f"{SECRET} vault", "the danec of the bees and the xyzyz valut"], wheres, usual_strategies()
    ):
        yield "search", {"question": question, "where": where, "strategy": strategy, "budget": 3000}
    for each in ids:
        for start, end in ((0, None), (0, 5), (10**6, None)):
            yield "read", {"document_id": each, "start": start, "end": end}
        for citation in (f"{each}:0-9", f"{each}:0-999999", f"{each}#90795de0#0", f"{each}:0"):
            yield "read", {"citation": citation}
        for summaries in (False, True):
            yield "outline", {"document_id": each, "summaries": summaries}
        yield "grep", {"pattern": ".", "document_id": each}
        yield "delete", {"document_id": each + " of b"}
    for pattern, where, regex in product([SECRET, ".", "(?i)vault|bees"], wheres, (False, True)):
        yield "grep", {"pattern": pattern, "where": where, "regex": regex, "limit": 200}
    for summaries, start in product((False, True), range(4)):
        yield "outline", {"summaries": summaries, "start": start, "limit": 1}
    yield "outline", {"limit": 200}
    for key in (SECRET, "tenant", "doc_id", "title", "*", "leafspan"):
        yield "outline", {"key": key, "limit": 200}


def test_everything_that_a_tool_says_is_what_it_says_without_the_other_documents(views):
    both, alone, stored = views
    tools = {tool.name: tool for tool in agent_tools(both, writable=True)}
    tools_alone = {tool.name: tool for tool in agent_tools(alone, writable=True)}
    tried = 0
    for name, arguments in calls(stored):
        answer = said(tools[name], arguments)
        assert answer == said(tools_alone[name], arguments), arguments
        asked = json.dumps(arguments)
        assert SECRET not in answer or SECRET in asked, arguments
        tried += 1
    assert tried > 250


def test_an_id_outside_is_not_found_in_the_words_for_one_that_does_not_exist(views):
    view, _, stored = views
    for tool in agent_tools(view)[1:]:
        pattern = {"pattern": "bees"} if tool.name == "grep" else {}
        there, not_there = (said(tool, {"document_id": id_, **pattern}) for id_ in (stored[0], "cats"))
        assert there == not_there.replace("cats", stored[0])
        assert there.startswith("DocumentNotFound: there is no document ")


def test_the_same_id_is_another_document_in_each_scope(views):
    view, _, _ = views
    read = agent_tools(view)[1]
    assert read.call({"document_id": "plan"}).content["text"] == TEA


def test_no_document_outside_can_be_replaced_or_deleted(tmp_path):
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as index:
        index.scoped(B).add(OF_B)
        index.add(Document("of nobody", "Bees."))
        before = {info.id: index.get(info.id) for info in index.documents()}
        *_, add, delete = agent_tools(index.scoped(A), writable=True)
        for each in [*before, "plan", f"{SECRET}.md"]:
            assert delete.call({"document_id": each}).content == {"deleted": []}
            assert add.call({"document_id": each, "text": "Overwritten."}).content["done"] == "added"
            assert delete.call({"document_id": each}).content == {"deleted": [each]}
        assert {info.id: index.get(info.id) for info in index.documents()} == before
