"""No tool shows what a document hides from models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from leafspan import Document, HostRetriever, Index, View
from leafspan.agents import AgentTool, agent_tools
from leafspan.private import Vault, private_view
from leafspan.strategies import HostResult
from tests.corpus import SPLITTER, TEA

SECRET = "xyzzy"
"""A word that only hidden values have."""

HIDING = Document(
    "tea",
    f"# Tea\n\n{TEA}",
    f"The {SECRET} tea",
    {"path": f"/home/{SECRET}/tea.md", "topic": "tea"},
    hidden=("path", "title"),
)
KNOWN = {"PERSON": ["Karl von Frisch"]}
ONLY_HIDDEN = Document("bees", "Bees dance.", metadata={"path": f"/home/{SECRET}/bees.md"}, hidden=("path",))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with Index.open(tmp_path_factory.mktemp("hidden") / "kb", splitter=SPLITTER) as opened:
        opened.add([HIDING, ONLY_HIDDEN])
        opened.build_tree()
        yield opened


@pytest.fixture(params=["the index", "a view"])
def view(index: Index, request: pytest.FixtureRequest) -> View:
    return index if request.param == "the index" else index.scoped({"topic": "tea"})


def by_name(view: View, **options: object) -> dict[str, AgentTool]:
    return {tool.name: tool for tool in agent_tools(view, **options)}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("search", {"question": "green tea"}),
        ("search", {"question": "green tea", "strategy": "tree"}),
        ("read", {"citation": "tea:7-30"}),
        ("read", {"document_id": "tea"}),
        ("outline", {}),
        ("outline", {"document_id": "tea"}),
        ("outline", {"summaries": True}),
        ("grep", {"pattern": "tea"}),
    ],
)
def test_no_tool_says_what_a_document_hides(view, name, arguments):
    result = by_name(view)[name].call(arguments)
    assert "tea" in result.text
    assert SECRET not in result.text


def test_what_is_not_hidden_is_said(index):
    tools = by_name(index)
    (best, *_) = tools["search"].call({"question": "green tea", "k": 1}).content["passages"]
    assert best["metadata"] == {"topic": "tea"}
    bees, tea = tools["outline"].call({}).content["documents"]
    assert tea["metadata"] == {"topic": "tea"}
    assert "metadata" not in bees  # all of it is hidden


def test_the_passages_for_code_have_everything(index):
    (passage, *_) = by_name(index)["search"].call({"question": "green tea", "k": 1}).passages
    assert (passage.title, passage.metadata, passage.hidden) == (HIDING.title, HIDING.metadata, ("title", "path"))


def test_a_private_view_hides_it_too(tmp_path: Path):
    vault = Vault.open(tmp_path / "vault.db", bytes(range(32)))
    with Index.open(tmp_path / "kb") as index:
        private = private_view(index, vault, known=KNOWN, finder=())
        private.add(Document("bees", "Karl von Frisch asked bees.", metadata={"path": SECRET}, hidden=("path",)))
        for reveal in (False, True):
            tools = by_name(private_view(index, vault, known=KNOWN, finder=(), reveal=reveal))
            said = tools["search"].call({"question": "bees"}).text + tools["outline"].call({}).text
            assert "bees" in said
            assert SECRET not in said


def test_lines_of_a_private_view_have_pseudonyms_unless_it_reveals_names(tmp_path: Path):
    vault = Vault.open(tmp_path / "vault.db", bytes(range(32)))
    with Index.open(tmp_path / "kb") as index:
        private = private_view(index, vault, known=KNOWN, finder=())
        private.add(Document("bees", "Karl von Frisch asked bees.", metadata={"by": "Karl von Frisch"}))
        lines = {}
        for reveal in (False, True):
            grep = by_name(private_view(index, vault, known=KNOWN, finder=(), reveal=reveal))["grep"]
            assert [each["line"] for each in grep.call({"pattern": "asked"}).content["lines"]] == [1]
            lines[reveal] = [
                *grep.call({"pattern": "Frisch"}).content["lines"],
                *grep.call({"pattern": "asked", "where": 'F("by") == "Karl von Frisch"'}).content["lines"],
            ]
        assert "Frisch" not in str(lines[False])
        assert [each["text"] for each in lines[True]] == ["Karl von Frisch asked bees."] * 2


def test_what_a_result_of_another_source_hides_is_not_said(index):
    result = HostResult("web 1", "Tea is hot.", 1.0, {"url": SECRET, "topic": "tea"}, hidden=("url",))

    async def aask(_: str) -> list[HostResult]:
        return [result]

    tools = by_name(index, strategies=HostRetriever("web", lambda _: [result], aask))
    (found,) = tools["search"].call({"question": "tea"}).content["passages"]
    assert found["metadata"] == {"topic": "tea"}


def test_what_a_document_of_another_index_hides_is_not_said(index, tmp_path):
    with Index.open(tmp_path / "kb") as other:
        result = by_name(other, strategies=index.as_strategy())["search"].call({"question": "green tea"})
    assert "eighty degrees" in result.text
    assert SECRET not in result.text
