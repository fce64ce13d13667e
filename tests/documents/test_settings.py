"""The settings that an index stores, and their values when it is opened again."""

from __future__ import annotations

import pytest

from leafspan import Analyzer, BM25Settings, DamagedIndex, HierarchicalSplitter, InvalidArgument
from leafspan.documents import IndexSettings, OpenOptions
from leafspan.errors import IndexMismatch

SPLITTER = HierarchicalSplitter(leaf_words=8, parent_words=(24, 80), unit="characters")
GIVEN = OpenOptions(
    splitter=SPLITTER,
    context_sentences=2,
    title_weight=0.5,
    analyzer=Analyzer(language="german"),
    bm25=BM25Settings(k1=1.5, b=0.75, variant="okapi"),
)


def by_sentence(text):
    """A splitter of a user's own."""
    return []


def by_space(text):
    """An analyzer of a user's own."""
    return text.split()


def test_the_settings_are_stored_in_this_form():
    record = IndexSettings.made(GIVEN).record()
    assert {name: record[name] for name in record if not name.startswith("analyzer")} == {
        "format": "4",
        "splitter": "HierarchicalSplitter(leaf_words=8, parent_words=(24, 80), unit=characters)",
        "splitter_options": {"leaf_words": 8, "parent_words": [24, 80], "unit": "characters"},
        "context_sentences": 2,
        "title_weight": 0.5,
        "bm25": {"k1": 1.5, "b": 0.75, "variant": "okapi", "delta": None, "epsilon": 0.25},
    }
    assert record["analyzer_options"] == GIVEN.analyzer.options()


def test_an_index_opened_again_has_the_settings_it_was_made_with():
    made = IndexSettings.made(GIVEN)
    assert IndexSettings.recorded(made.record(), OpenOptions()) == made
    assert IndexSettings.recorded(made.record(), GIVEN) == made
    default = IndexSettings.made(OpenOptions())
    assert IndexSettings.recorded(default.record(), OpenOptions()) == default
    assert (default.context_sentences, default.title_weight, default.bm25) == (0, 0.3, BM25Settings())
    assert default.splitter == HierarchicalSplitter()
    assert IndexSettings.made(OpenOptions(title_weight=0, context_sentences=0)).title_weight == 0.0


def test_functions_are_not_stored_and_have_to_be_given_again():
    made = IndexSettings.made(OpenOptions(splitter=by_sentence, analyzer=by_space))
    record = made.record()
    assert (record["splitter_options"], record["analyzer_options"]) == (None, None)
    again = IndexSettings.recorded(record, OpenOptions())
    assert (again.splitter, again.analyzer) == (None, None)
    again = IndexSettings.recorded(record, OpenOptions(splitter=by_sentence, analyzer=by_space))
    assert (again.splitter, again.analyzer) == (by_sentence, by_space)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("splitter", HierarchicalSplitter(leaf_words=9, parent_words=(24, 80), unit="characters")),
        ("splitter", by_sentence),
        ("context_sentences", 0),
        ("title_weight", 0.6),
        ("analyzer", by_space),
        ("analyzer", Analyzer(language="english")),
        ("bm25", BM25Settings(k1=1.5, b=0.7, variant="okapi")),
    ],
)
def test_an_option_that_differs_is_refused_by_name(name, value):
    record = IndexSettings.made(GIVEN).record()
    with pytest.raises(IndexMismatch, match=f"the index was made with {name}=.* open it without {name}=, or make another"):
        IndexSettings.recorded(record, OpenOptions(**{name: value}))


def test_the_trees_of_an_index_are_not_opened_as_one():
    with pytest.raises(IndexMismatch, match="these are the trees of another index; open that one"):
        IndexSettings.recorded({"format": "4", "kind": "tree"}, OpenOptions())


def test_settings_that_are_damaged_are_all_named():
    record = {**IndexSettings.made(OpenOptions()).record(), "title_weight": "much", "context_sentences": None}
    with pytest.raises(
        DamagedIndex,
        match=r"^the settings of the index are damaged \(context_sentences, title_weight\), got .*: restore the index from a "
        r"backup, or add the documents to a new one$",
    ):
        IndexSettings.recorded(record, OpenOptions())
    record = {**IndexSettings.made(OpenOptions()).record(), "splitter_options": {"leaf_words": 0}}
    with pytest.raises(DamagedIndex, match=r"are damaged \(leaf_words and parent_words must be positive"):
        IndexSettings.recorded(record, OpenOptions())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"context_sentences": -1}, "context_sentences must be a whole number >= 0, got -1"),
        ({"title_weight": -0.1}, "title_weight must be a number >= 0, got -0.1"),
        ({"analyzer": 7}, "analyzer must be an Analyzer or a function from a text to its terms, got 7"),
        ({"analyzer": Analyzer}, "analyzer must be an Analyzer or a function from a text to its terms, got <class"),
        ({"bm25": {"k1": 1}}, "bm25 must be BM25Settings, got {'k1': 1}"),
    ],
)
def test_options_out_of_their_range_are_refused(wrong, message):
    with pytest.raises(InvalidArgument, match=message):
        OpenOptions(**wrong)


def test_a_splitter_with_a_function_as_its_unit_is_described_by_the_functions_name():
    splitter = HierarchicalSplitter(leaf_words=8, parent_words=(24,), unit=by_space)
    assert splitter.describe() == "HierarchicalSplitter(leaf_words=8, parent_words=(24,), unit=by_space)"
    assert splitter.options() is None
    assert HierarchicalSplitter(**SPLITTER.options()) == SPLITTER
