"""The text around a passage, for any strategy and any form of the passage."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import chromadb
import pytest
from chromadb.config import Settings
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document as LangChainDocument
from langchain_core.messages import AIMessage
from llama_index.core.base.llms.types import CitationBlock

from leafspan import (
    AutoMerging,
    Document,
    DocumentNotFound,
    F,
    HierarchicalSplitter,
    Hybrid,
    Index,
    InvalidArgument,
    Passage,
    SentenceWindow,
    Vector,
)
from tests.corpus import QUESTIONS, TEXTS
from tests.profiles import examples

STRATEGIES = [Vector(), Hybrid(), SentenceWindow(), AutoMerging(threshold=0.2), None]
COUNT = 60
NUMBERS = "".join(f"This is number {n}.\n" for n in range(COUNT))  # 4 words and a line a leaf


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory):
    with Index.open(tmp_path_factory.mktemp("numbers") / "kb", splitter=HierarchicalSplitter(4, (40,))) as index:
        index.add(Document("n#1", NUMBERS, "Numbers", {"kind": "list"}))
        assert len(index.leaves()) == COUNT
        yield index


def leaf(index: Index, number: int) -> Passage:
    return index.leaves()[number]


def ordinals(passage: Passage) -> tuple[int, int]:
    first, _, last = passage.id.rsplit("#", 1)[1].partition("-")
    return int(first), int(last or first)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
async def test_a_passage_of_any_strategy_is_shown_with_its_neighbours(shared_index: Index, strategy):
    for passage in shared_index.retrieve(QUESTIONS[1], strategy):
        first, last = ordinals(passage)
        count = len(shared_index.leaves(passage.document_id))
        around = shared_index.surroundings(passage, before=2, after=1)
        assert ordinals(around) == (max(0, first - 2), min(count - 1, last + 1))
        assert around.text == TEXTS[around.document_id][around.start : around.end]
        assert passage.text in around.text
        assert (around.metadata, around.title, around.score) == (passage.metadata, passage.title, 0)
        assert await shared_index.asurroundings(passage.id, before=2, after=1) == around


def test_by_default_there_are_two_leaves_on_each_side(numbers: Index):
    around = numbers.surroundings(leaf(numbers, 10))
    assert (ordinals(around), around.lines, around.title) == ((8, 12), (9, 13), "Numbers")
    assert ordinals(numbers.surroundings(leaf(numbers, 0))) == (0, 2)
    assert ordinals(numbers.surroundings(leaf(numbers, 59))) == (57, 59)
    assert ordinals(numbers.surroundings(leaf(numbers, 10), after=0)) == (8, 10)


def test_with_no_surroundings_it_is_the_passage_itself(numbers: Index):
    assert numbers.surroundings(leaf(numbers, 10), before=0, after=0) == leaf(numbers, 10)


@pytest.mark.parametrize(
    ("number", "limits", "expected"),
    [
        (10, {"words": 1}, (10, 10)),  # it is never cut
        (10, {"words": 8}, (9, 10)),  # 4 + 4
        (10, {"words": 12}, (9, 11)),
        (10, {"words": 15}, (9, 11)),
        (1, {"words": 20}, (0, 4)),  # where one side ends, the other goes on
        (58, {"words": 20}, (55, 59)),
        (10, {"words": 20, "before": 0}, (10, 14)),
        (10, {"words": 20, "before": 1, "after": 2}, (9, 12)),
        (30, {"words": 4 * 41}, (10, 50)),  # beyond what is read at first
        (30, {"words": 10_000}, (0, 59)),
    ],
)
def test_both_sides_grow_evenly_up_to_a_number_of_words(numbers: Index, number, limits, expected):
    around = numbers.surroundings(leaf(numbers, number), **limits)
    assert ordinals(around) == expected
    assert around.text == NUMBERS[around.start : around.end]


@examples(60)
@given(st.integers(0, COUNT - 1), st.integers(0, 9), st.integers(1, 300))
def test_more_words_never_give_less_text_and_no_more_fit(numbers: Index, number: int, size: int, words: int):
    first, last = number, min(COUNT - 1, number + size)
    id_ = leaf(numbers, first).id + f"-{last}"
    around = numbers.surroundings(id_, words=words)
    count = len(around.text.split())
    begin, end = ordinals(around)
    assert (begin, end) == (first, last) or count <= words
    assert (begin, end) == (0, COUNT - 1) or count + 4 > words


def test_in_a_view_the_surroundings_come_from_the_documents_that_it_shows(index: Index):
    a, b = index.scoped(F("tenant") == "a"), index.scoped(F("tenant") == "b")
    a.add(Document("plan", "# Plan\n\nThe budget. " * 9))
    b.add(Document("plan", "The merger."))
    (passage,) = a.retrieve("budget", SentenceWindow(before=0, after=0), k=1)
    around = a.surroundings(passage, before=99, after=99)
    assert (around.document_id, around.text) == ("plan", a.get("plan").text)
    with pytest.raises(DocumentNotFound, match="document 'plan' has been replaced"):
        b.surroundings(passage)
    (stored,) = (each.id for each in index.leaves() if "merger" in each.text)
    with pytest.raises(
        DocumentNotFound, match=r"there is no document 'plan@\w+' in the index \(any more\): retrieve again"
    ):
        a.surroundings(stored)


def test_a_passage_of_a_version_that_was_replaced_says_what_to_do(index: Index):
    (passage,) = index.retrieve(QUESTIONS[0], Vector(), k=1)
    document = index.get(passage.document_id)
    index.add(Document(document.id, document.text + " And so on.", document.title, document.metadata))
    version = passage.id.split("#")[1]
    with pytest.raises(
        DocumentNotFound,
        match=rf"^document 'bees' has been replaced, version {version} is not in the index any more: retrieve again$",
    ):
        index.surroundings(passage)
    index.delete([document.id])
    with pytest.raises(DocumentNotFound, match=r"^there is no document 'bees' in the index \(any more\): retrieve again$"):
        index.surroundings(passage)


def cited(source: str, text: object = None) -> list[object]:
    """What models' answers have for a citation: in Anthropic's API, in LangChain and in LlamaIndex."""
    location = {"type": "search_result_location", "source": source, "cited_text": text, "search_result_index": 0}
    message = AIMessage(
        content=[{"type": "text", "text": "So it is.", "citations": [location]}],
        response_metadata={"model_provider": "anthropic"},
    )
    block = CitationBlock(cited_content=text, source=source, title="t", additional_location_info={})
    return [location, message.content_blocks[0]["annotations"][0], block]  # type: ignore[typeddict-item]


def test_a_citation_is_a_place_and_a_quotation_the_leaves_that_have_it(shared_index: Index):
    leaves = shared_index.leaves("bees")
    third, last = leaves[2], leaves[-1]
    source = f"bees:{third.start}-{last.end}"
    assert shared_index.surroundings(source, before=0, after=0) == shared_index.surroundings(
        SimpleNamespace(metadata={"doc_id": "bees", "start": third.start, "end": last.end}), before=0, after=0
    )
    for each in cited(source, last.text.strip()):
        assert shared_index.surroundings(each, before=0, after=0) == last
        assert shared_index.surroundings(each, before=1, after=0).start == leaves[-2].start
    for each in cited(source, "What no document says."):  # such as a table's header, which is not in the text there
        assert shared_index.surroundings(each, before=0, after=0).start == third.start


def test_citations_of_what_is_not_there_are_refused(shared_index: Index):
    with pytest.raises(DocumentNotFound, match="there is no document 'wasps'"):
        shared_index.surroundings("wasps:0-10")
    with pytest.raises(InvalidArgument, match="document 'bees' has"):
        shared_index.surroundings("bees:100000-100010")
    for other in ("bees:10-10", "bees:10", {"source": 3}, {"source": "bees", "extras": {"source": "bees:0-10"}}, {}):
        with pytest.raises(InvalidArgument, match="or a citation, got"):
            shared_index.surroundings(other)


def test_a_scope_hides_what_is_cited(shared_index: Index):
    with pytest.raises(DocumentNotFound):
        shared_index.scoped(F("year") > 9999).surroundings("bees:0-10")


def test_a_summary_has_no_surroundings_but_its_leaves_have(index: Index):
    index.build_tree()
    summary = index.summaries("bees")[0]
    with pytest.raises(
        InvalidArgument, match=r"^a summary has no surroundings, got 'bees#t\w{7}#\d+': pass a leaf that it covers"
    ):
        index.surroundings(summary)
    assert index.surroundings(summary.summary.leaf_ids[0], before=0, after=99).text == TEXTS["bees"]


@pytest.mark.parametrize(
    "passage", ["bees", "bees#1", "bees#1#x", "", None, 3, Document("a#b", "c"), ["bees#1#2"]], ids=repr
)
def test_what_is_no_passage_is_refused(shared_index: Index, passage):
    with pytest.raises(
        InvalidArgument,
        match="passage must be a Passage of a document of the index, a Document or node that leafspan has made of one",
    ):
        shared_index.surroundings(passage)


def test_options_out_of_range_and_leaves_that_are_not_there_are_refused(numbers: Index):
    id_ = leaf(numbers, 59).id
    for option, least in (("before", 0), ("after", 0), ("words", 1)):
        with pytest.raises(InvalidArgument, match=f"^{option} must be a whole number >= {least}, got -1$"):
            numbers.surroundings(id_, **{option: -1})
    for wrong in (f"{id_}-60", f"{id_}-3"):
        with pytest.raises(InvalidArgument, match=r"^document 'n#1' has 60 leaves, got 59 to "):
            numbers.surroundings(wrong)


@pytest.mark.usefixtures("leaves_from_chroma")
def test_it_costs_one_fetch_and_behind_a_client_the_row_of_the_document(numbers: Index, calls: Counter):
    passage = leaf(numbers, 30)
    calls.clear()
    numbers.surroundings(passage, before=9, after=9)
    assert calls == Counter({("kb.leaves", "get"): 1})
    with Index.open(client=chromadb.EphemeralClient(Settings(anonymized_telemetry=False)), name="around") as index:
        index.add(Document("a", NUMBERS))
        (passage,) = index.retrieve("7", Vector(), k=1)
        calls.clear()
        index.surroundings(passage)
        # The row is read for its leaves, and once more to see that they are current.
        assert calls == Counter({("around.manifest", "get"): 2, ("around.leaves", "get"): 1})


def test_what_a_host_has_given_another_id_is_known_by_its_citation(shared_index: Index):
    [passage] = shared_index.retrieve("dance", Vector(), k=1)
    cited = LangChainDocument(
        page_content="Source 1: " + passage.text,
        metadata={"doc_id": passage.document_id, "start": passage.start, "end": passage.end},
    )
    assert shared_index.surroundings(cited) == shared_index.surroundings(passage)
    with pytest.raises(DocumentNotFound, match="there is no document 'nobody'"):
        shared_index.surroundings(LangChainDocument(page_content="", metadata={"doc_id": "nobody", "start": 0, "end": 1}))
    with pytest.raises(InvalidArgument, match="characters, got 99999 to 100000"):
        shared_index.surroundings(
            LangChainDocument(page_content="", metadata={"doc_id": passage.document_id, "start": 99999, "end": 100000})
        )
