"""``outline``: the list of documents, and the outline of one document."""

from __future__ import annotations

import pytest

from leafspan import Document, DocumentNotFound, Index
from leafspan.agents import AgentTool, agent_tools
from tests.corpus import TEXTS

HARBOUR = TEXTS["harbour"]


@pytest.fixture(scope="module")
def outline(shared_index: Index) -> AgentTool:
    return agent_tools(shared_index)[2]


def test_documents_are_listed_with_their_metadata(outline):
    found = outline.call({}).content
    assert [each["document_id"] for each in found["documents"]] == ["bees", "harbour", "tea"]
    assert found["documents"][1] == {
        "document_id": "harbour",
        "title": "The harbour of Skarvik",
        "words": len(HARBOUR.split()),
        "characters": len(HARBOUR),
        "metadata": {"tags": ["sea", "trade"], "topic": "places", "year": 1887},
    }
    assert found["total"] == 3
    assert "next_start" not in found


def test_the_list_is_read_page_by_page(outline):
    first = outline.call({"limit": 2}).content
    assert (len(first["documents"]), first["next_start"]) == (2, 2)
    second = outline.call({"limit": 2, "start": first["next_start"]}).content
    assert [each["document_id"] for each in second["documents"]] == ["tea"]
    assert "next_start" not in second
    assert outline.call({"start": 100}).content == {"documents": [], "total": 3}


def test_the_headings_of_a_document_say_what_stands_below_them(outline):
    found = outline.call({"document_id": "harbour"}).content
    trade, lighthouse = HARBOUR.index("## Trade"), HARBOUR.index("## The lighthouse")
    assert found["headings"] == [
        {"heading": "The harbour", "depth": 1, **place(0, len(HARBOUR))},
        {"heading": "Trade", "depth": 2, **place(trade, lighthouse)},
        {"heading": "The lighthouse", "depth": 2, **place(lighthouse, len(HARBOUR))},
    ]
    assert (found["title"], found["characters"]) == ("The harbour of Skarvik", len(HARBOUR))


def place(start: int, end: int) -> dict[str, object]:
    return {"citation": f"harbour:{start}-{end}", "start": start, "end": end}


def test_a_heading_that_comes_again_is_listed_again(tmp_path):
    with Index.open(tmp_path / "kb") as index:
        index.add(Document("log", "# Day\n\nTea.\n\n## Noon\n\nBees.\n\n# Day\n\nRain.\n"))
        found = agent_tools(index)[2].call({"document_id": "log"}).content["headings"]
        assert [(each["depth"], each["heading"]) for each in found] == [(1, "Day"), (2, "Noon"), (1, "Day")]


def test_a_document_without_headings_says_so(outline):
    found = outline.call({"document_id": "tea"}).content
    assert (found["headings"], found["total"]) == ([], 0)
    assert "no headings" in found["note"]


def test_summaries_are_listed_where_some_have_been_built(index):
    outline = agent_tools(index)[2]
    assert outline.call({"summaries": True}).content == {"summaries": [], "total": 0}
    index.build_tree()
    found = outline.call({"summaries": True, "document_id": "harbour"}).content["summaries"]
    assert found[0]["layer"] == max(each["layer"] for each in found)
    assert found[0]["text"]
    assert all(cited.startswith("harbour:") for each in found for cited in each["covers"])
    page = outline.call({"summaries": True, "limit": 1}).content
    assert (len(page["summaries"]), page["next_start"]) == (1, 1)


@pytest.mark.parametrize("arguments", [{}, {"summaries": True}])
def test_a_document_that_is_not_there(outline, arguments):
    with pytest.raises(DocumentNotFound, match="there is no document 'cats'"):
        outline.call({"document_id": "cats", **arguments})
