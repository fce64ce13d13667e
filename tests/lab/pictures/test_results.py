"""A result is a list like any other, and draws itself."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
from pathlib import Path

import pytest

import leafspan
from leafspan import AutoMerging, Browse, Document, HostRetriever, Hybrid, Index, Passages, Query
from leafspan.private import Key, Vault, private_view
from leafspan.strategies import HostResult

QUESTION = "Who decoded the dance of the bees?"


@pytest.fixture(scope="module")
def found(shared_index: Index) -> Passages:
    result = shared_index.retrieve(QUESTION, Hybrid(), k=3)
    assert isinstance(result, Passages)
    return result


def test_it_is_equal_to_a_list(found: Passages):
    assert found == list(found)
    assert list(found) == found
    assert isinstance(found, list)
    assert len(found) == 3


def test_a_part_of_it_knows_the_question(found: Passages):
    assert isinstance(found[:2], Passages)
    assert found[:2] == list(found)[:2]
    assert found[::-1].question == QUESTION
    assert found[-1] == list(found)[-1]


def test_it_can_be_sorted_joined_and_changed_like_a_list(found: Passages):
    by_id = sorted(found, key=lambda passage: passage.id)
    again = found[:]
    again.sort(key=lambda passage: passage.id)
    assert again == by_id
    assert found + found == [*found, *found]
    again.append(found[0])
    assert len(again) == 4
    assert [*reversed(found)] == found[::-1]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda found: pickle.loads(pickle.dumps(found))])
def test_copies_are_equal_and_know_the_question(found: Passages, copied):
    again = copied(found)
    assert again == found
    assert type(again) is Passages
    assert again.question == QUESTION
    assert again._repr_html_() == found._repr_html_()


def test_json_has_it_as_an_array(found: Passages):
    ids = found.of([])
    ids.extend(passage.id for passage in found)
    assert json.loads(json.dumps(ids)) == [passage.id for passage in found]


def test_a_repr_has_a_line_for_each_passage(found: Passages):
    lines = repr(found).splitlines()
    assert len(lines) == len(found)
    assert lines[0].startswith(f"[Passage({found[0].id!r}, score={found[0].score:.3f}, ")
    assert repr(found.of([])) == "[]"


def test_each_of_several_questions_has_its_own(shared_index: Index):
    rows = shared_index.retrieve_many([QUESTION, "When did the pier burn down?"], Hybrid(), k=1)
    assert [row.question for row in rows] == [QUESTION, "When did the pier burn down?"]


def test_a_vector_and_a_filter_have_no_question(shared_index: Index):
    (vector,) = shared_index._embedder.embedder.queries(["bees"])[:1]
    assert shared_index.retrieve(Query(vector=tuple(map(float, vector))), leafspan.Vector(), k=1).question is None
    assert shared_index.retrieve(None, Browse(), k=2).question is None


def test_asynchronous_results_and_results_of_other_sources_are_the_same(shared_index: Index, found: Passages):
    awaited = asyncio.run(shared_index.aretrieve(QUESTION, Hybrid(), k=3))
    assert awaited == found
    assert isinstance(awaited, Passages)
    results = [HostResult("a", "Karl danced", 1.0)]

    async def aask(_question: str) -> list[HostResult]:
        return results

    outside = leafspan.retrieve(QUESTION, HostRetriever("mine", lambda _question: results, aask))
    assert isinstance(outside, Passages)
    assert 'Karl <strong class="ls-word">danced</strong>' in outside._repr_html_()


def test_words_of_the_question_stand_out_in_any_form(found: Passages):
    text = "The bees dance, and dances of the BEE were decoded."
    assert [text[start:end] for start, end in found.words(text)] == ["bees", "dance", "dances", "BEE", "decoded"]
    assert '<strong class="ls-word">dance</strong>' in found._repr_html_()


def test_the_picture_says_what_was_found_where(found: Passages):
    html = found._repr_html_()
    assert "Who decoded the dance of the bees?" in html
    assert "3 passages of " in html
    assert 'aria-label="document of' in html
    for passage in found:
        assert passage.id in html


def test_a_result_without_passages_says_so(shared_index: Index):
    assert "nothing was found" in shared_index.retrieve(QUESTION, k=1, where={"topic": "none"})._repr_html_()


def test_a_merge_is_drawn(shared_index: Index):
    merged = shared_index.retrieve("harbour pier ships", AutoMerging(), k=5)
    (first, *_) = [passage for passage in merged if passage.trace.merges]
    merge = first.trace.merges[0]
    html = first._repr_html_()
    assert f"{merge.present} of {merge.children} children were found" in html
    assert "■" * merge.present + "□" * (merge.children - merge.present) in html


def test_lists_that_were_fused_stand_side_by_side(found: Passages):
    html = found._repr_html_()
    sources = {part.source for passage in found for fused in passage.trace.fused for part in fused.contributions}
    assert {"bm25", "vector"} < sources
    assert html.count('<figure class="ls-leg">') == len(sources)
    best = found[0].trace.fused[0]
    for part in best.contributions:
        assert f'<li value="{part.rank}">' in html


def test_pictures_of_a_private_view_show_no_more_than_it_does(tmp_path: Path):
    pytest.importorskip("presidio_analyzer")
    vault = Vault.open(tmp_path / "vault", Key("for-this-test-only-0123456789-abcdefghijkl"))
    with Index.open(tmp_path / "kb") as index:
        masked = private_view(index, vault, known={"PERSON": ["Ada Lovelace"]})
        text = "# Ada Lovelace\n\nAda Lovelace wrote a program. It was the first one.\n\n## Ada Lovelace again\n\nNothing else."
        masked.add(Document("note of Ada Lovelace", text, "Ada Lovelace"))
        masked.build_tree()
        for view, is_shown in ((masked, False), (masked.revealing(), True)):
            found = view.retrieve("What did Ada Lovelace write?", k=1)
            document = view.get(view.documents()[0].id)
            drawn = [found, found[0], document, view, view.summaries(leaves=True)]
            for each in drawn:
                assert ("Lovelace" in each._repr_html_()) == is_shown
            assert found[0].outline.ends[-1] == len(found[0].text)
            assert document.outline.ends[-1] == len(document.text)
            assert document.outline.characters == len(document.text)
