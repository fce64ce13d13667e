"""``read``: a range of a document, or what surrounds a passage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import Document, DocumentNotFound, Index, InvalidArgument
from leafspan.agents import AgentTool, agent_tools
from leafspan.text import count_words
from tests.corpus import TEXTS
from tests.profiles import examples

BEES, HARBOUR = TEXTS["bees"], TEXTS["harbour"]


@pytest.fixture(scope="module")
def read(shared_index: Index) -> AgentTool:
    return agent_tools(shared_index)[1]


def test_a_citation_is_read_with_what_surrounds_it(read):
    start = BEES.index("Karl von Frisch")
    found = read.call({"citation": f"bees:{start}-{start + 15}", "budget": 60}).content
    assert "Karl von Frisch decoded the dance" in found["text"]
    assert found["start"] < start
    assert BEES[found["start"] : found["end"]] == found["text"]
    assert found["citation"] == f"bees:{found['start']}-{found['end']}"
    assert (found["title"], found["characters"]) == ("Honey bees", len(BEES))
    assert count_words(found["text"]) <= 60


def test_what_is_read_can_be_cited_and_read_again(read):
    found = read.call({"citation": "bees:300-310", "budget": 40}).content
    again = read.call({"citation": found["citation"], "budget": 40}).content
    assert again == found


def test_a_document_is_read_in_pieces_that_join_to_its_text(read):
    pieces, start = [], 0
    while start is not None:
        found = read.call({"document_id": "harbour", "start": start, "budget": 40}).content
        assert found["start"] == start
        assert count_words(found["text"]) <= 40
        pieces.append(found["text"])
        start = found.get("next_start")
    assert len(pieces) > 3
    assert "".join(pieces) == HARBOUR


def test_a_piece_ends_where_a_leaf_ends(read, shared_index):
    found = read.call({"document_id": "harbour", "budget": 40}).content
    assert found["end"] in {leaf.end for leaf in shared_index.leaves("harbour")}


def test_a_range_is_widened_to_whole_words(read):
    start = BEES.index("decoded")
    found = read.call({"document_id": "bees", "start": start + 3, "end": start + 10}).content
    assert found["text"] == "decoded the"


def test_the_place_of_a_text_is_named(read):
    start = HARBOUR.index("Salt, timber")
    found = read.call({"document_id": "harbour", "start": start, "end": start + 30}).content
    assert found["headings"] == ["The harbour", "Trade"]
    first = HARBOUR[:start].count("\n") + 1
    assert found["lines"][0] <= first <= found["lines"][1]


def test_a_text_over_several_sections_has_the_headings_that_they_share(read):
    assert read.call({"document_id": "harbour"}).content["headings"] == ["The harbour"]


def test_an_empty_document_is_read_as_an_empty_text(tmp_path):
    with Index.open(tmp_path / "kb") as index:
        index.add(Document("empty", ""))
        read = agent_tools(index)[1]
        found = read.call({"document_id": "empty"}).content
        assert found == {"document_id": "empty", "start": 0, "end": 0, "characters": 0, "text": ""}
        with pytest.raises(InvalidArgument, match="start must be less than the document's 0 characters, got 0"):
            read.call({"citation": "empty:0-1"})


def test_ids_may_look_like_citations(tmp_path):
    with Index.open(tmp_path / "kb") as index:
        index.add([Document("a:1-2", "Tea is hot."), Document("b:\n#x", "Tea is cold.")])
        read = agent_tools(index)[1]
        assert read.call({"citation": "a:1-2:0-3"}).content["text"] == "Tea is hot."
        assert read.call({"document_id": "a:1-2"}).content["citation"] == "a:1-2:0-11"
        assert read.call({"citation": "b:\n#x:0-3"}).content["text"] == "Tea is cold."


@given(
    text=st.text(alphabet="ab \n日.", max_size=400),
    start=st.integers(0, 400),
    budget=st.integers(20, 60),
    around=st.booleans(),
)
@examples(60)
def test_what_is_read_is_always_a_piece_of_the_text(laws, text, start, budget, around):
    laws.add(Document("law", text))
    read = agent_tools(laws)[1]
    arguments = {"citation": f"law:{start}-{start + 5}"} if around else {"document_id": "law", "start": start}
    if start >= len(text) and (around or start):
        with pytest.raises(InvalidArgument, match="start must be less than"):
            read.call({**arguments, "budget": budget})
        return
    found = read.call({**arguments, "budget": budget}).content
    assert found["text"] == text[found["start"] : found["end"]]
    assert count_words(found["text"]) <= budget
    if around and "next_start" not in found and found["start"] == 0:
        assert found["text"] == text
    assert found["start"] <= start
    assert found["end"] > start or not text
    assert found.get("next_start", len(text)) == found["end"]


@pytest.fixture(scope="module")
def laws(tmp_path_factory: pytest.TempPathFactory):
    with Index.open(tmp_path_factory.mktemp("laws") / "kb", embedder=lambda texts: [[1.0, 0.0] for _ in texts]) as index:
        yield index


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "read must be given either citation or document_id"),
        ({"citation": "bees:0-9", "document_id": "bees"}, "read must be given either citation or document_id"),
        ({"citation": "bees"}, "citation must be like handbook.md:120-480, as search returns it, got 'bees'"),
        ({"citation": "bees:9-3"}, "citation must be like"),
        ({"citation": "bees:0-٣"}, "citation must be like"),
        ({"citation": f"bees:0-{10**30}"}, "citation must be like"),
        ({"citation": "bees:0-9", "start": 4}, "start and end must be given with document_id"),
        ({"document_id": "bees", "start": 9, "end": 9}, "start must be less than end, got 9 and 9"),
        ({"document_id": "bees", "start": 10_000}, f"start must be less than the document's {len(BEES)} characters"),
        ({"document_id": "bees", "start": -1}, "start must be a whole number >= 0, got -1"),
        ({"document_id": 7}, "document_id must be a string, got 7"),
    ],
)
def test_what_is_refused(read, arguments, message):
    with pytest.raises(InvalidArgument, match=message):
        read.call(arguments)


@pytest.mark.parametrize("arguments", [{"document_id": "cats"}, {"citation": "cats:0-9"}])
def test_a_document_that_is_not_there(read, arguments):
    with pytest.raises(DocumentNotFound, match="there is no document 'cats' in the index"):
        read.call(arguments)
