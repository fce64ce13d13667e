"""A ``repr`` is one line: what it is, its id, its score, its first words."""

from __future__ import annotations

from pathlib import Path

import chromadb
import pytest

import llamaindex_ext
from leafspan import Added, Document, F, Index, Outline, Passage, Query, Skipped, Summary, Synced, Trace, TracedHit
from leafspan.values import Covered, short_id
from leafspan.words import first_words
from tests.pictures.values import passage


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Three little words", "'Three little words'"),
        ("  on\n\nseveral \t lines ", "'on several lines'"),
        ("word " * 30, f"'{'word ' * 10}word...'"),
        ("x" * 100, f"'{'x' * 57}...'"),
        ("it's", '"it\'s"'),
        ("", "''"),
        ("\x1b[31m\u202e", "'\\x1b[31m\\u202e'"),
        (" " * 10_000 + "late", "'...'"),
    ],
)
def test_first_words(text: str, expected: str):
    assert first_words(text) == expected


def test_of_a_long_id_both_ends_are_shown():
    assert short_id("a" * 80) == repr("a" * 80)
    assert short_id(f"{'a' * 100}#90795de0#4") == repr(f"{'a' * 38}...{'a' * 27}#90795de0#4")


COVERS = (Covered("a", "00000000", 0, 3, 0, 9), Covered("b", "00000000", 1, 1, 0, 9))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (passage(), "Passage('doc#00000000#2-4', score=0.500, 'one, two, three')"),
        (passage(score=0.0, trace=Trace()), "Passage('doc#00000000#2-4', 'one, two, three')"),
        (passage(score=0.0, trace=Trace(notes=("x",))), "Passage('doc#00000000#2-4', score=0.000, 'one, two, three')"),
        (passage(kind="row"), "Passage('doc#00000000#2-4', score=0.500, kind='row', 'one, two, three')"),
        (Document("a", "Some text."), "Document('a', 10 characters, 'Some text.')"),
        (Document("a", "Some text.", "T"), "Document('a', title='T', 10 characters, 'Some text.')"),
        (Summary(1, ("x", "y"), COVERS), "Summary(layer=1, 2 children, 5 leaves of 2 documents)"),
        (Trace(), "Trace()"),
        (Trace(hits=(TracedHit(1, 0.5),), window=(0, 2)), "Trace(1 hits, window=(0, 2))"),
        (Query("What?"), "Query('What?')"),
        (Query(None, (0.5,) * 256), "Query(vector of 256 dimensions)"),
        (Query("What?", None, ("a", "b")), "Query('What?', 2 embedding_texts)"),
        (Added(("a",), (), 2), "Added(1 added, 0 replaced, 2 unchanged)"),
        (Added(("a",), (), 2, (Skipped("x", "y"),)), "Added(1 added, 0 replaced, 2 unchanged, 1 skipped)"),
        (Synced((), ("a",), (), ("b",), ()), "Synced(0 added, 1 replaced, 0 deleted, 1 unchanged)"),
        (Outline(80, 900, (), ((3, 4),)), "Outline(80 leaves, 0 headings, runs=((3, 4),))"),
    ],
)
def test_values(value: object, expected: str):
    assert repr(value) == expected


def test_an_index_says_what_it_is_called_and_where_it_lies(tmp_path: Path):
    with Index.open(tmp_path / "kb") as index:
        place = f"'kb' in the folder {str((tmp_path / 'kb').resolve())!r}"
        assert repr(index) == f"Index({place})"
        assert repr(index.scoped(F("tenant") == "a")) == f"View({place}, F('tenant') == 'a')"
        index.add(Document("a", "Some text."))
        assert repr(index.documents()) == "[DocumentInfo('a', 1 leaves, 2 words)]"
        assert repr(index.stats()).startswith("Stats(1 documents, 1 leaves, 2 words, embedder='WordLlama")
    with Index.open(client=chromadb.EphemeralClient(chromadb.Settings(anonymized_telemetry=False)), name="mine") as index:
        assert repr(index) == "Index('mine' behind a client)"


def test_a_retriever_of_llamaindex_shows_the_options_that_differ_from_their_defaults(shared_index: Index):
    plain = llamaindex_ext.SentenceWindowRetriever(shared_index)
    assert repr(plain) == f"SentenceWindowRetriever(index={shared_index!r})"
    other = llamaindex_ext.SentenceWindowRetriever(shared_index, before=3, similarity_top_k=2)
    assert repr(other).endswith(", similarity_top_k=2, before=3)")


def test_no_repr_of_a_retriever_fails(shared_index: Index):
    class Odd:
        def __eq__(self, other: object) -> bool:
            raise ValueError

        __hash__ = None

    retriever = llamaindex_ext.VectorRetriever(shared_index)
    retriever.where = Odd()
    assert "where=" in repr(retriever)


def test_a_passage_in_an_assertion_still_compares_all_of_it():
    assert passage() != passage("another text")
    assert isinstance(passage(), Passage)
