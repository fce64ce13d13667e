"""Leaves of other lengths, each in a separate index."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from leafspan import BM25, Document, HierarchicalSplitter, Index, InvalidArgument
from leafspan.lab import Question, atune, tune
from leafspan.lab.tuning import _tune

NUMBERS = range(44)
LATER = 44  # no time of opening is the number of a station, which is a word of its own
SPLITTER = HierarchicalSplitter(leaf_words=5, parent_words=(16, 40))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """Facts of two sentences. The second one does not say what it is about, so a leaf must have both to be found."""
    with Index.open(tmp_path_factory.mktemp("facts") / "kb", splitter=SPLITTER, title_weight=0.0) as opened:
        facts = [f"Visitors like station{n} very much. It is opened at {n + LATER} sharp." for n in NUMBERS]
        opened.add(Document("stations", " ".join(facts)))
        yield opened


QUESTIONS = [Question(f"When is station{n} opened?", [f"opened at {n + LATER} sharp"]) for n in NUMBERS]
OPTIONS = {"leaf_words": [12], "budgets": [12], "rounds": 1}


def test_longer_leaves_are_found_where_they_are_better(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "here").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "here"))
    tuning = tune(index, QUESTIONS, BM25(), **OPTIONS)
    assert tuning.is_better
    assert tuning.changes["leaf_words"] == (5, 12)
    assert list((tmp_path / "here").iterdir()) == []

    # All else is as it was. What is written is for a new index, and refused by the one with shorter leaves.
    tuning.save(tmp_path / "tuned.yaml")
    with Index.open(tmp_path / "kb", config=tmp_path / "tuned.yaml", title_weight=0.0) as longer:
        longer.add([index.get("stations")])
        assert longer.stats().splitter == HierarchicalSplitter(leaf_words=12, parent_words=(16, 40)).describe()
        assert f"at {7 + LATER} sharp" in longer.retrieve("When is station7 opened?", k=1)[0].text
    assert "A new index must be made of the documents" in str(tuning)


def test_leaves_stay_as_they_are_where_others_are_no_better(index: Index):
    tuning = tune(index, QUESTIONS, BM25(), **{**OPTIONS, "leaf_words": [6]})
    assert "leaf_words" not in tuning.changes
    assert tuning.config.splitter is None
    assert "new index" not in str(tuning)


def test_parents_that_are_no_longer_than_a_leaf_are_left_out(index: Index):
    tuning = tune(index, QUESTIONS, BM25(), **{**OPTIONS, "leaf_words": [20]})
    assert tuning.tuned.splitter in (None, HierarchicalSplitter(leaf_words=20, parent_words=(40,)))
    assert "leaf_words" in tune(index, QUESTIONS, BM25(), **OPTIONS).changes


def test_asyncio_finds_the_same(index: Index):
    assert asyncio.run(atune(index, QUESTIONS, BM25(), **OPTIONS)) == tune(index, QUESTIONS, BM25(), **OPTIONS)


def test_nothing_is_left_behind_after_a_failure(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    original = _tune.measure

    def failing(ask, judged, config, *arguments, **options):
        if config.splitter is not None:
            assert list(tmp_path.iterdir())
            raise KeyboardInterrupt
        return original(ask, judged, config, *arguments, **options)

    monkeypatch.setattr(_tune, "measure", failing)
    with pytest.raises(KeyboardInterrupt):
        tune(index, QUESTIONS, BM25(), **OPTIONS)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", ["45", 45, [0], [45.5], [True]])
def test_lengths_are_whole_numbers(index: Index, value):
    with pytest.raises(InvalidArgument, match="leaf_words must be"):
        tune(index, QUESTIONS, BM25(), leaf_words=value)


def test_a_splitter_of_ones_own_has_no_length(tmp_path: Path):
    with (
        Index.open(tmp_path / "kb", splitter=lambda text: []) as opened,
        pytest.raises(InvalidArgument, match=r"leaf_words needs an index with a HierarchicalSplitter, got leaf_words="),
    ):
        tune(opened, QUESTIONS, BM25(), leaf_words=[30])
