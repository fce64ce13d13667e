"""The content of the pictures of each kind of value."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import chromadb
import pytest

from leafspan import Document, F, Index, Passage
from leafspan.lab.pictures import embedded, page, passage_picture, results_picture, tree_picture
from leafspan.lab.pictures._results import Entry, lists_of
from leafspan.lab.pictures._strip import Block, found_leaves, leaves_named, pieces_of, runs_named, strip
from leafspan.trace import Merge, Reference, Trace, TracedHit
from leafspan.trees import Summaries
from leafspan.values import Covered, Section, Summary
from tests.lab.pictures.values import fused, outline, passage


def test_what_nothing_was_asked_for_has_no_score():
    assert "ls-score" in str(passage_picture(passage()))
    listed = str(passage_picture(passage(score=0.0, trace=Trace())))
    assert "ls-score" not in listed.partition("</style>")[2]
    assert "score 0.000" not in listed


def test_the_leaves_that_were_found_are_marked_without_the_white_space_after_them():
    found = passage("one  two  three", outline=outline(ends=(5, 10, 15)))  # leaf 3 was found
    assert [piece.is_hit for piece in pieces_of(found)] == [False, True, False]
    assert ">two</mark>  three" in str(passage_picture(found))


def test_a_passage_of_a_single_leaf_needs_no_mark():
    single = passage("one", outline=outline(runs=((3, 3),), ends=(3,)))
    assert pieces_of(single) == []


def test_leaves_of_another_text_are_not_marked():
    assert pieces_of(passage("somebody has changed it", outline=outline(ends=(5, 10, 15)))) == []
    assert pieces_of(passage("no document is known", outline=None)) == []


def test_a_leaf_is_found_by_several():
    trace = Trace(hits=(TracedHit(3, 0.5, "vector", 2), TracedHit(3, 7.0, "bm25", 1), TracedHit(4, 0.1)))
    assert found_leaves(trace) == {
        3: "leaf 3 was found; vector: rank 2, score 0.500; bm25: rank 1, score 7.000",
        4: "leaf 4 was found; vector: score 0.100",
    }
    assert found_leaves(Trace(hits=(TracedHit(3, 0.5),), layer=1)) == {}  # summaries are numbered by themselves


def test_lists_have_the_ranks_of_what_was_returned():
    first = passage(trace=Trace(fused=(fused(3, ("vector", 2, 0.9, 0.3), ("bm25", 1, 5.0, 0.1)),)))
    second = passage(trace=Trace(fused=(fused(8, ("vector", 1, 0.95, 0.2)),)))
    assert lists_of([first, second]) == {
        ("vector", None): [Entry(1, 2, "leaf 8", 0.95, 0.2 / 0.2), Entry(2, 1, "leaf 3", 0.9, 0.3 / (0.3 + 0.1))],
        ("bm25", None): [Entry(1, 1, "leaf 3", 5.0, 0.1 / (0.3 + 0.1))],
    }


def test_a_strip_has_a_row_for_each_depth_and_for_nodes_that_would_cover_each_other():
    sections = (Section(0, 9, 1, "Everything"), Section(0, 4, 2, "Half"), Section(0, 1, 3, "Fifth"))
    plain = str(strip(outline(), []))
    drawn = str(
        strip(outline(sections=sections), [Block(((2, 4),), "1", "", (3,), ((2, 4, "a"), (0, 4, "b"), (6, 7, "c")))])
    )
    assert 'height="23"' in plain  # a bar of 22
    assert 'height="77"' in drawn  # two rows of 17 for headings, the bar, and two rows of 7 and 3
    assert "Everything" not in drawn
    assert drawn.count("ls-found") == 1


@pytest.mark.parametrize("leaves", [1, 2, 150, 151, 100_000])
def test_a_strip_is_small_however_long_the_document_is(leaves: int):
    last = leaves - 1
    sections = tuple(Section(each, each, 2, f"Heading {each}") for each in range(min(leaves, 5_000)))
    drawn = str(strip(outline(leaves, sections=sections, runs=((last, last),)), [Block(((last, last),), "1", "")]))
    assert len(drawn) < 60_000
    assert "ls-block" in drawn


def test_runs_in_words():
    assert leaves_named(3, 3) == "leaf 3"
    assert runs_named([(1, 1), (4, 7)]) == "leaf 1, leaves 4 to 7"


def test_a_merge_shows_its_children():
    trace = Trace(merges=(Merge(2, 2, 4, 3, 4, 0.5),))
    assert "■■■□" in str(passage_picture(passage(trace=trace)))
    huge = Trace(merges=(Merge(1, 0, 9_999, 5_000, 10_000, 0.5),))
    drawn = str(passage_picture(passage(trace=huge)))
    assert drawn.count("■") == drawn.count("□") == 12  # of 24 boxes, half


def test_what_mentions_the_document_of_a_passage_is_named_once():
    steps = [replace(fused(leaf), reference=Reference("notes#00000000#7", "The <tea>", 0.5)) for leaf in (2, 3)]
    drawn = str(passage_picture(passage(trace=Trace(fused=tuple(steps)))))
    said = 'mentioned as <bdi dir="auto">&#39;The &lt;tea&gt;&#39;</bdi> in <bdi dir="auto">notes#00000000#7</bdi>'
    assert drawn.count(said) == 1


def test_scores_of_any_size_are_drawn():
    scores = [float("inf"), float("nan"), -3.0, 0.0, 1e300]
    drawn = str(results_picture([passage(score=score) for score in scores]))
    assert "width:100%" in drawn
    assert "inf" in drawn
    assert "-3.000" in drawn


def test_what_is_very_long_is_cut_and_says_so():
    assert "and 5,000 more characters" in str(passage_picture(passage("x" * 25_000)))
    assert "and 10 more passages" in str(results_picture([passage()] * 60))
    assert "and 60 more steps" in str(passage_picture(passage(trace=Trace(notes=tuple(map(str, range(100)))))))
    assert "and 80,000 more characters" in Document("a", "x" * 100_000)._repr_html_()


def test_a_document_of_an_index_has_its_headings_and_leaves(shared_index: Index):
    document = shared_index.get("harbour")
    html = document._repr_html_()
    leaves = shared_index.leaves("harbour")
    assert document.outline.ends == tuple(leaf.end for leaf in leaves)
    assert [section.text for section in document.outline.sections] == ["The harbour", "Trade", "The lighthouse"]
    assert f"text, in {len(leaves)} leaves" in html
    assert "Trade" in html
    assert "topic" in html
    assert document == Document("harbour", document.text, document.title, document.metadata)  # equal without it


def test_a_document_that_is_in_no_index_is_drawn_too():
    assert "11 characters" in Document("a", "Hello, you.")._repr_html_()
    assert "empty" in Document("empty", "")._repr_html_()


def test_a_document_can_be_added_with_its_outline(tmp_path: Path, shared_index: Index):
    with Index.open(tmp_path / "kb") as index:
        assert index.add(shared_index.get("harbour")).added == ("harbour",)
        assert index.add(index.get("harbour")).unchanged == 1
        assert index.add(asdict(index.get("harbour"))).unchanged == 1


def test_an_outline_costs_nothing_to_compare(shared_index: Index):
    (found,) = shared_index.retrieve("pier", k=1)
    assert found.outline.runs[0][0] <= found.outline.runs[0][1] < found.outline.leaves
    assert found.outline.ends[-1] == len(found.text)
    assert shared_index.get("harbour").text[found.start : found.end] == found.text


def test_an_index_and_a_view_of_it_are_drawn(shared_index: Index):
    html = shared_index._repr_html_()
    assert "3 documents" in html
    assert "Honey bees" in html
    view = shared_index.scoped(F("topic") == "food")._repr_html_()
    assert "1 document," in view
    assert "Honey bees" not in view


def test_a_closed_index_says_so(tmp_path: Path):
    with Index.open(tmp_path / "kb") as index:
        pass
    assert "this index is closed" in index._repr_html_()


async def test_an_index_with_an_asynchronous_client_says_so(chroma_server: tuple[str, int]):
    host, port = chroma_server
    client = await chromadb.AsyncHttpClient(host, port, settings=chromadb.Settings(anonymized_telemetry=False))
    index = await Index.aopen(client=client, name="drawn")
    assert "asynchronous client" in index._repr_html_()


def test_summaries_are_drawn_as_trees(tmp_path: Path, shared_index: Index):
    with Index.open(tmp_path / "kb") as index:
        index.add(shared_index.get("harbour"))
        assert "there are no summaries" in index.summaries()._repr_html_()
        index.build_tree()
        summaries, whole = index.summaries("harbour"), index.summaries("harbour", leaves=True)
        assert isinstance(summaries, Summaries)
        assert whole == [*summaries, *index.leaves("harbour")]
        assert summaries._repr_html_().count("<details") == len(summaries)
        assert "not drawn" in summaries._repr_html_()
        assert "not drawn" not in whole._repr_html_()
        assert whole._repr_html_().count('<li class="ls-leaf">') == len(index.leaves("harbour"))


def test_a_tree_that_leads_back_to_itself_ends():
    covers = (Covered("doc", "00000000", 2, 4, 10, 25),)
    one = passage(id="doc#t#0", summary=Summary(1, ("doc#t#1",), covers))
    two = passage(id="doc#t#1", summary=Summary(1, ("doc#t#0",), covers))
    top = passage(id="doc#t#2", summary=Summary(2, ("doc#t#0",), covers))
    assert len(str(tree_picture([one, two, top]))) < 5_000_000


def test_a_passage_of_another_source_says_what_it_is():
    row = Passage("1", "", None, None, "id: 1", 1.0, {}, Trace(), kind="row")
    assert ">row</bdi>" in str(passage_picture(row))


def test_a_page_needs_nothing_from_elsewhere():
    html = page("A title", [passage_picture(passage())])
    assert html.startswith(
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="generator" content="leafspan">'
    )
    assert "default-src &#39;none&#39;" in html
    assert "http" not in html.replace("http-equiv", "")
    assert type(html) is str
    assert type(embedded(passage_picture(passage()))) is str
