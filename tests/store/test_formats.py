"""An index that an earlier version of leafspan wrote opens, answers and goes on. These files are kept for good.

``format-1.zip`` was written by the code of 0.1.0 before its modules moved into rooms; ``format-1.json`` is what that code
read from it: texts, ids, summaries, numbers, and the answers to a question.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from math import log
from pathlib import Path
from typing import Any

import pytest

from leafspan import Document, F, Hybrid, Index, Tree
from leafspan.errors import IndexMismatch
from leafspan.trees import Abstractive
from leafspan.values import LeafId

FORMATS = Path(__file__).parent / "formats"


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    return json.loads((FORMATS / "format-1.json").read_text())


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    shutil.unpack_archive(FORMATS / "format-1.zip", tmp_path)
    with Index.open(tmp_path / "kb", create=False) as opened:
        yield opened


def fixture_summary(texts):
    return "In short: " + " ".join(text.split(".")[0].strip() + "." for text in texts)


def test_its_documents_leaves_and_summaries_are_read_as_they_were_written(index: Index, expected: dict[str, Any]):
    assert {info.id: index.get(info.id).text for info in index.documents()} == expected["documents"]
    assert [leaf.id for leaf in index.leaves()] == expected["leaves"]
    assert [[summary.id, summary.text] for summary in index.summaries()] == expected["summaries"]
    assert [info.id for info in index.scoped(F("tenant") == "acme").documents()] == expected["acme"]
    stats = index.stats()
    assert {name: getattr(stats, name) for name in expected["stats"]} == expected["stats"]


def test_it_answers_as_it_did(index: Index, expected: dict[str, Any]):
    as_then = Hybrid(
        weights=(0.7, 0.3), scales=(0, 0, 0), soft_matches=0, neighbour_bonus=0.4, references=0, calibrate=False
    )
    found = index.retrieve("Who decoded the dance of the bees?", as_then, k=3)
    # A single leaf now has its own id, where that code called it ...#1-1.
    then = [[str(LeafId.of_result(id_)), start, end] for id_, start, end, _ in expected["retrieved"]]
    assert [[each.id, each.start, each.end] for each in found] == then
    # A probability was exp(7.8 * score), divided by the same for all results.
    probabilities = [each[3] for each in expected["retrieved"]]
    raw = [found[0].score + log(each / probabilities[0]) / 7.8 for each in probabilities]
    assert [each.score for each in found] == pytest.approx(raw, abs=1e-6)


def test_its_passages_have_titles_and_once_a_document_is_written_again_lines(index: Index):
    (found,) = index.retrieve("Who decoded the dance of the bees?", Hybrid(), k=1)
    assert (found.title, found.lines) == (index.get("bees").title, None)
    bees = index.get("bees")
    index.add(Document("bees", "A new first line.\n" + bees.text, bees.title, bees.metadata))
    (found,) = index.retrieve("Who decoded the dance of the bees?", Hybrid(), k=1)
    assert (found.title, found.lines) == (bees.title, (2, 2))


def test_it_is_whole_and_its_trees_are_up_to_date(index: Index):
    assert index.repair() == []
    summarizer = Abstractive(generate=fixture_summary, prompt=None, name="fixture")
    built = index.build_tree(summarizer=summarizer, across_documents=True)
    assert (built.built, built.asked, built.failed) == ((), 0, ())


def test_adding_the_same_again_changes_nothing_and_a_changed_document_is_replaced(index: Index, expected: dict[str, Any]):
    bees = index.get("bees")
    assert index.add(bees).unchanged == 1
    assert index.add(Document("bees", bees.text + " Drones have no sting.", bees.title, bees.metadata)).replaced == (
        "bees",
    )
    assert index.get("bees").text.endswith("Drones have no sting.")
    assert any("sting" in each.text for each in index.retrieve("Do drones have a sting?", Tree()))
    assert index.delete(["tea"]) == ["tea"]
    assert "tea" not in {info.id for info in index.documents()}


def test_its_settings_are_remembered(index: Index, tmp_path: Path):
    with pytest.raises(
        IndexMismatch, match="context_sentences=1, it cannot go on with 0: open it without context_sentences="
    ):
        Index.open(tmp_path / "kb", context_sentences=0)
