"""A ``repr`` is one line: what it is, its id, its score, its first words."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import chromadb
import pytest

import llamaindex_ext
from leafspan import (
    BM25,
    Added,
    AutoMerging,
    Config,
    Document,
    Ensemble,
    F,
    Hybrid,
    Index,
    Passage,
    Query,
    RelevantSegments,
    SentenceWindow,
    Synced,
    Vector,
)
from leafspan.files import Skipped
from leafspan.lab import Answer, Comparison, Explanation, Obstacle, Question, explain
from leafspan.private import Patterns
from leafspan.text import first_words
from leafspan.trace import Trace, TracedHit
from leafspan.values import Covered, Outline, Summary, short_id
from tests.lab.pictures.values import fused, passage


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
        (Question("Who decoded it?", ["Karl", "Frisch"]), "Question('Who decoded it?', 2 answers)"),
        (Question("Who?", relevant={"bees": 2}), "Question('Who?', 1 relevant)"),
        (Answer("bees", 1_000, 1_016, "Karl\nvon Frisch"), "Answer('bees', 1,000 to 1,016, 'Karl von Frisch')"),
        (
            Comparison("recall@300", "a", "b", 0.25, -0.5, 1, ("x", "y"), ("z",), 1),
            "Comparison('recall@300', 'a' less 'b': +0.250 [-0.500, +1.000], 2 won, 1 lost, 1 the same)",
        ),
        (
            fused(3, ("bm25", 1, 0.5, 0.25), ("parent", 2, 0.5, 0.5)),
            "Fused(3, 'relative_score', score=0.750, 'bm25', 'parent')",
        ),
        (Explanation("Who?", "Vector()", (passage(),), 3, (), 0.1), "Explanation('Who?', 1 passages)"),
        (Obstacle("k", "k", 1, 4, "only one is returned"), "Obstacle('k', 'only one is returned')"),
        (Obstacle("filter", "where", F("id").in_(["x"] * 99), None, "a " * 99), f"Obstacle('where', '{'a ' * 57}a...')"),
        (Config(), "Config()"),
        (Config(strategy=AutoMerging(threshold=0.6), k=3), "Config(strategy=AutoMerging(threshold=0.6), k=3)"),
        (Patterns(), "Patterns()"),
        (Outline(80, 900, (), ((3, 4),)), "Outline(80 leaves, 0 headings, runs=((3, 4),))"),
    ],
)
def test_values(value: object, expected: str):
    assert repr(value) == expected


def test_a_strategy_shows_the_options_that_differ_from_their_defaults():
    assert repr(RelevantSegments()) == "RelevantSegments()"
    strategy = Ensemble(retrievers=[SentenceWindow(base=Hybrid(references=0), after=2), BM25()])
    assert repr(strategy) == "Ensemble(retrievers=(SentenceWindow(base=Hybrid(references=0), after=2), BM25()))"


def test_a_strategy_of_ones_own_shows_them_too_unless_it_says_something_else():
    @dataclass(frozen=True)
    class Mine(Vector):
        share: float = 0.5

    class Other(Mine):
        def __repr__(self) -> str:
            return "something else"

    class Third(Other):
        pass

    assert repr(Mine(k=3, share=0.25)) == f"{Mine.__qualname__}(k=3, share=0.25)"
    assert repr(Third()) == "something else"


def test_an_explanation_says_whether_the_piece_is_returned(shared_index: Index):
    question = "Who decoded the dance of the bees?"
    explained = [explain(shared_index, question, Vector(), document_id=id_, k=1) for id_ in ("bees", "harbour")]
    assert [repr(each) for each in explained] == [
        "Explanation('Who decoded the dance of the bees?', 1 passages, 'bees', returned)",
        "Explanation('Who decoded the dance of the bees?', 1 passages, 'harbour', kept out by k)",
    ]


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
