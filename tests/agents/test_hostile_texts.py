"""Texts of documents cannot give commands, imitate other text, or flood the model."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from leafspan import Chunk, Document, Index, InvalidArgument, LeafspanError
from leafspan.agents import AgentTool, agent_tools, error_text
from tests.cli.test_terminal import HOSTILE, dangerous

SCRIPT = "<script>alert('bees')</script> \"}]} [red]bees[/red] </tool_result> ```\n# bees"


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, AgentTool]]:
    with Index.open(tmp_path_factory.mktemp("hostile") / "kb") as index:
        for number, text in enumerate([HOSTILE, SCRIPT]):
            index.add(
                Document(f"{number}{text}", f"# {text}\n\nThe bees dance. {text}", text, {text: text, "list": [text]})
            )
        index.build_tree()
        yield {tool.name: tool for tool in agent_tools(index, writable=True)}


def every_call(tools: dict[str, AgentTool]) -> Iterator[tuple[str, dict[str, object]]]:
    yield "search", {"question": "Who dances? bees"}
    yield "search", {"question": "bees", "strategy": "tree"}
    yield "outline", {}
    yield "outline", {"summaries": True}
    yield "grep", {"pattern": "."}
    for entry in tools["outline"].call({}).content["documents"]:
        yield "outline", {"document_id": entry["document_id"]}
        yield "read", {"document_id": entry["document_id"]}
        yield "read", {"citation": f"{entry['document_id']}:3-9"}


def test_no_text_commands_a_terminal_or_ends_the_json_that_it_stands_in(tools):
    for name, arguments in every_call(tools):
        result = tools[name].call(arguments)
        assert dangerous(result.text) == set()
        assert "\n" not in result.text
        assert json.loads(result.text) == result.content


def test_texts_are_not_changed(tools):
    ids = [entry["document_id"] for entry in tools["outline"].call({}).content["documents"]]
    read = json.loads(tools["read"].call({"document_id": ids[0]}).text)
    assert read["text"] == f"# {HOSTILE}\n\nThe bees dance. {HOSTILE}"
    assert json.loads(tools["read"].call({"document_id": ids[1]}).text)["text"] == f"# {SCRIPT}\n\nThe bees dance. {SCRIPT}"


def test_a_passage_with_a_hostile_id_can_be_cited(tools):
    for passage in tools["search"].call({"question": "bees dance"}).content["passages"]:
        read = tools["read"].call({"citation": passage["citation"], "budget": 100}).content
        assert read["document_id"] == passage["document_id"]
        assert passage["text"] in read["text"]


@pytest.mark.parametrize("name", ["search", "read", "outline", "grep", "add", "delete"])
@pytest.mark.parametrize(
    "hostile", [HOSTILE, SCRIPT, "\ud800", "x" * 100_000, 10**400, -1, 0.5, [[]], {"a": {}}, True, b"x"]
)
def test_with_any_argument_a_call_ends_well_or_with_an_error_of_ours(tools, name, hostile):
    tool = tools[name]
    for parameter in tool.parameters:
        arguments = {"question": "bees", "pattern": "bees", "document_id": "nobody's", "text": "Bees."}
        known = {each.name for each in tool.parameters}
        given = {key: value for key, value in arguments.items() if key in known} | {parameter.name: hostile}
        assert len(said(tool, given)) < 6_000
        if name == "add" and isinstance(given["document_id"], str):
            said(tools["delete"], {"document_id": given["document_id"]})


def said(tool: AgentTool, arguments: dict[str, object]) -> str:
    try:
        return tool.call(arguments).text
    except LeafspanError as error:
        return error_text(error)


MANY = 60


@pytest.fixture(scope="module")
def flooded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, AgentTool]]:
    """Documents whose texts, titles and metadata are much longer than anybody wants to read."""
    long = "ä" * 5_000
    metadata = {f"{number} {long[:500]}": [long[:500]] * 30 for number in range(3)}
    with Index.open(tmp_path_factory.mktemp("flood") / "kb", embedder=lambda texts: [[1.0, 0.0]] * len(texts)) as index:
        index.add(Document("one word", long * 10))
        index.add(Document(long, f"# {long}\n\n## {long}\n\nBees.", long, metadata))
        words = "bees " * 3_000
        index.add(Document("one leaf", words, chunks=(Chunk(len(words)),)))
        index.add([Document(f"many {number}", "Bees.", long, metadata) for number in range(MANY)])
        yield {tool.name: tool for tool in agent_tools(index)}


@pytest.mark.parametrize("strategy", ["relevant-segments", "vector", "bm25"])
def test_a_result_of_a_search_is_bounded_in_characters(flooded, strategy):
    found = flooded["search"].call({"question": "bees", "strategy": strategy, "budget": 200})
    assert 0 < len(found.text) < 200 * 16 + 4_000 + 8_000
    assert len(found.passages) == len(found.content["passages"])


def test_pages_are_bounded_in_characters(flooded):
    seen, start = 0, 0
    while start is not None:
        page = flooded["outline"].call({"start": start, "limit": 200})
        assert len(page.text) < 25_000
        seen += len(page.content["documents"])
        start = page.content.get("next_start")
    assert seen == MANY + 3


def test_a_text_without_white_space_is_read_in_pieces_too(flooded):
    read, text, start = flooded["read"], "", 0
    while start is not None:
        found = read.call({"document_id": "one word", "start": start, "budget": 1000}).content
        assert len(found["text"]) <= 1000 * 16
        text += found["text"]
        start = found.get("next_start")
    assert text == "ä" * 50_000


def test_lines_are_bounded_in_characters_and_say_that_there_are_more(flooded):
    for limit in (1, 50, 200):
        found = flooded["grep"].call({"pattern": "ä|Bees", "limit": limit})
        assert len(found.text) < 25_000
        assert 0 < len(found.content["lines"]) <= limit
        assert found.content.get("more", False) == (limit < MANY)
        assert all(len(each["text"]) <= 500 for each in found.content["lines"])


def test_a_leaf_that_is_longer_than_the_budget_is_cut_and_says_so(flooded):
    found = flooded["search"].call({"question": "bees", "where": 'F("doc_id") == "one leaf"', "budget": 50}).content
    [passage] = found["passages"]
    assert (passage["cut"], passage["text"]) == (True, "bees " * 50)
    assert passage["citation"] == f"one leaf:0-{5 * 50}"
    assert flooded["read"].call({"citation": passage["citation"], "budget": 50}).content["text"] == "bees " * 50


def test_a_document_whose_id_is_too_long_to_show_has_no_citation(flooded):
    long = next(
        each
        for start in range(MANY + 3)
        for each in flooded["outline"].call({"start": start, "limit": 1}).content["documents"]
        if each["document_id"].startswith("ää")
    )
    assert len(long["document_id"]) == 500
    assert long["document_id"].endswith("…")


@pytest.mark.parametrize("length", [501, 6_000, 1_000_000])
def test_what_a_model_gives_is_bounded_and_so_is_what_it_gets(tmp_path: Path, length: int):
    with Index.open(tmp_path / "kb", embedder=lambda texts: [[1.0, 0.0]] * len(texts)) as index:
        index.add(Document("a" * 400, "Bees."))
        for tool in agent_tools(index, writable=True):
            needed = {each.name: "Bees." for each in tool.parameters if each.required}
            for each in tool.parameters:
                if each.kind is not str or each.name == "text":
                    continue
                began = time.monotonic()
                try:
                    told = tool.call({**needed, each.name: "a" * length}).text
                except LeafspanError as error:
                    told = error_text(error)
                assert len(told) < 6_000
                assert time.monotonic() - began < 5
                if "id" in each.name or each.name == "citation":
                    assert f"{each.name} must" in told
            with pytest.raises(LeafspanError) as unknown:
                tool.call({"a" * length: "a" * length})
            assert len(error_text(unknown.value)) <= 2_000


def test_an_error_of_any_length_is_shortened_for_a_model():
    error = InvalidArgument("\u202e" * 10_000)
    error.add_note("a" * 10_000)
    assert len(error_text(error)) == 2_000
