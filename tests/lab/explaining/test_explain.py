"""An explanation as values, as sentences and as JSON."""

from __future__ import annotations

import json
import pickle
import re
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from leafspan import (
    BM25,
    AutoMerging,
    Browse,
    Budget,
    Document,
    DocumentNotFound,
    F,
    HierarchicalSplitter,
    Hybrid,
    Index,
    InvalidArgument,
    MultiQuery,
    Passage,
    RelevantSegments,
    Rerank,
    RetrievalTimeout,
    SentenceWindow,
    Strategy,
    Tree,
    Vector,
)
from leafspan.errors import FunctionFailed
from leafspan.lab import aexplain, explain
from leafspan.private import private_view
from leafspan.retrieval import Answers
from leafspan.sources import SQL
from leafspan.spans import windows_around
from leafspan.strategies import Filtered, RetrievalContext, outside_candidate
from leafspan.trace import Trace
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER
from tests.private.views.people import fixed_vault

QUESTION = QUESTIONS[0]


def ranked(index: Index) -> list[Passage]:
    """All leaves by their similarity to the question."""
    return index.retrieve(QUESTION, Vector(), k=10_000, candidates=10_000)


def piece(leaf: Passage) -> dict[str, object]:
    return {"document_id": leaf.document_id, "start": leaf.start, "end": leaf.end}


def test_a_piece_that_is_returned_has_the_passage_that_holds_it_and_its_trace(shared_index: Index):
    best = ranked(shared_index)[0]
    explained = explain(shared_index, QUESTION, Vector(), **piece(best))
    assert explained.returned
    assert explained.obstacles == ()
    assert explained.holding == (shared_index.retrieve(QUESTION, Vector())[0],)
    assert f"is returned, in passage 1, '{best.id}' (score {best.score:.3f})" in explained.lines[0]
    assert explained.lines[1] == f"- {explained.holding[0].trace.explain()[0]}"
    assert explained.retrievals == 1


def test_k_is_the_rank_that_a_leaf_has(shared_index: Index):
    leaf = ranked(shared_index)[8]
    explained = explain(shared_index, QUESTION, Vector(), **piece(leaf), k=4)
    [obstacle] = explained.obstacles
    assert (obstacle.kind, obstacle.option, obstacle.value, obstacle.needed) == ("k", "k", 4, 9)
    assert obstacle.sentence == "only the 4 best passages are returned, and it comes at place 9: k=9 lets it in"
    assert explained.passage == shared_index.retrieve(QUESTION, Vector(), k=9)[8]
    [standing] = explained.standings
    assert (standing.source, standing.rank, standing.results) == ("vector", 9, len(ranked(shared_index)))
    assert standing.score == pytest.approx(leaf.score)


class Joined(Strategy):
    """The ``k`` best hits, joined where they touch."""

    finds_spans = True

    def retrieve(self, queries, context):
        rows = yield from Hybrid().retrieve(queries, context.for_base)
        return [windows_around(row[: context.k], before=0, after=1) for row in rows]


def test_where_k_also_decides_what_is_joined_the_sentence_says_so(shared_index: Index):
    leaf = ranked(shared_index)[-1]
    explained = explain(shared_index, QUESTION, Joined(), **piece(leaf), k=1)
    [obstacle] = explained.obstacles
    needed = obstacle.needed
    assert isinstance(needed, int)
    found = shared_index.retrieve(QUESTION, Joined(), k=needed)
    place = found.index(explained.passage) + 1
    assert place < needed
    assert obstacle.sentence == (
        f"only the 1 best passages are returned: k={needed} lets it in, at place {place}, "
        "since k also decides how many leaves are looked at and joined into passages"
    )


def test_a_piece_can_be_named_by_its_words(shared_index: Index):
    text = shared_index.get("bees").text
    start = text.index("Karl von Frisch")
    named = {"document_id": "bees", "k": 1}
    by_words = explain(shared_index, QUESTIONS[1], Vector(), text="Karl\n von  Frisch", **named)
    assert by_words.lines == explain(shared_index, QUESTIONS[1], Vector(), start=start, end=start + 15, **named).lines
    assert by_words.elsewhere == ()


async def test_of_several_places_of_the_words_the_first_one_is_explained_and_the_others_are_named(shared_index: Index):
    text = shared_index.get("bees").text
    places = [(found.start(), found.end()) for found in re.finditer("the", text)]
    view = shared_index.scoped(F("topic") == "animals")
    explained = await aexplain(view, QUESTION, Vector(), document_id="bees", text="the", k=1)
    assert explained.elsewhere == tuple(places[1:])
    first = explained.lines[0]
    start, end = places[1]
    assert first == (
        f"The text is {len(places)} times in document 'bees', and this is about the first one: "
        f"for the next one, give start={start} and end={end}"
    )
    one = explain(shared_index, QUESTION, Vector(), document_id="bees", start=places[0][0], end=places[0][1], k=1)
    assert one.start == explained.start


def test_the_default_of_k_was_not_given(shared_index: Index):
    [obstacle] = explain(shared_index, QUESTION, Vector(), **piece(ranked(shared_index)[6])).obstacles
    assert (obstacle.value, obstacle.needed) == (None, 7)
    assert obstacle.sentence.startswith("only the 5 best passages are returned")


def test_candidates_come_before_k(shared_index: Index):
    leaf = ranked(shared_index)[11]
    explained = explain(shared_index, QUESTION, Vector(), **piece(leaf), candidates=8, k=3)
    assert [(each.option, each.needed) for each in explained.obstacles] == [("candidates", 12), ("k", 12)]
    assert explained.changes == {"candidates": 12, "k": 12}
    assert explained.lines[0].endswith("is not returned, for 2 reasons:")
    assert explained.lines[1] == "1. it is not among the 8 candidates that are looked at: candidates=12 lets it in"


def test_a_budget_is_the_sum_of_what_comes_before(shared_index: Index):
    before = ranked(shared_index)[:7]
    words = [len(each.text.split()) for each in before]
    [obstacle] = explain(shared_index, QUESTION, Vector(), **piece(before[-1]), budget=20).obstacles
    assert (obstacle.kind, obstacle.value, obstacle.needed) == ("budget", 20, sum(words))
    tokens = sum(len(each.text) for each in before)
    counted = explain(shared_index, QUESTION, Vector(), **piece(before[-1]), budget=Budget(100, count=len))
    assert [(each.value, each.needed) for each in counted.obstacles] == [(100, tokens)]


def test_a_filter_is_quoted_with_what_the_document_has_instead(shared_index: Index):
    where = (F("topic") == "food") & ((F("year") > 2000) | (F("lang") == "de"))
    explained = explain(shared_index, QUESTION, Vector(), document_id="bees", where=where)
    [obstacle] = explained.obstacles
    assert (obstacle.kind, obstacle.value, obstacle.needed) == ("filter", where, None)
    assert obstacle.sentence == (
        "the filter leaves out its document: its topic is 'animals', which does not match F('topic') == 'food'; "
        "its year is 1973, which does not match F('year') > 2000; it has no lang, which does not match F('lang') == 'de'"
    )
    assert explained.changes == {"where": None}


def test_a_filter_that_matches_is_no_obstacle_and_stays(shared_index: Index):
    animals = F("topic") == "animals"
    leaf = [each for each in ranked(shared_index) if each.document_id == "bees"][6]
    explained = explain(shared_index, QUESTION, Vector(), **piece(leaf), where=animals)
    assert [(each.option, each.needed) for each in explained.obstacles] == [("k", 7)]


def test_a_filter_inside_of_a_strategy_is_named(shared_index: Index):
    strategy = Filtered(Vector(), F("topic") == "food")
    explained = explain(shared_index, QUESTION, strategy, document_id="bees")
    [obstacle] = explained.obstacles
    assert (obstacle.kind, obstacle.option) == ("strategy", "")
    assert obstacle.sentence.endswith(
        "its filter F('topic') == 'food' leaves out the document: its topic is 'animals', "
        "which does not match F('topic') == 'food'"
    )


def test_a_score_is_named_so_that_it_is_enough(shared_index: Index):
    leaf = ranked(shared_index)[9]
    [obstacle] = explain(shared_index, QUESTION, Vector(), **piece(leaf), min_score=0.9).obstacles
    assert (obstacle.kind, obstacle.value) == ("min_score", 0.9)
    assert isinstance(obstacle.needed, float)
    assert ranked(shared_index)[10].score < obstacle.needed <= leaf.score
    assert obstacle.sentence.startswith(f"its score of {leaf.score:.6g} is below min_score=0.9: ")


def test_where_no_option_helps_the_searches_say_why(shared_index: Index):
    explained = explain(shared_index, "zzz", RelevantSegments(base=BM25()), document_id="bees")
    [obstacle] = explained.obstacles
    assert (obstacle.kind, obstacle.option, explained.passage) == ("strategy", "", None)
    assert (
        obstacle.sentence == "RelevantSegments keeps it out, and no looser limit lets it in: none of its searches finds it"
    )
    assert "- bm25: not among the 0 leaves that have a word of the question" in explained.lines


def test_what_is_found_but_dropped_afterwards_says_where_it_was_found(shared_index: Index):
    @dataclass(frozen=True)
    class OnlyTea(Strategy):
        """A strategy of one's own, which keeps what it keeps."""

        base: Strategy

        def retrieve(self, queries, context):
            rows = yield from self.base.retrieve(queries, context)
            return [[each for each in row if each.span.document_id == "tea"] for row in rows]

    explained = explain(shared_index, QUESTION, OnlyTea(Vector()), document_id="bees", start=0, end=5)
    [obstacle] = explained.obstacles
    [place] = [
        number
        for number, each in enumerate(ranked(shared_index), start=1)
        if each.id.endswith("#0") and each.document_id == "bees"
    ]
    where = f"at rank {place} of vector, at rank {place} of base: Vector"
    assert obstacle.sentence == (
        f"OnlyTea keeps it out, and no looser limit lets it in: it is found ({where}), but left out of the results"
    )


def test_what_searches_other_sources_says_so(shared_index: Index, tmp_path: Path):
    with closing(sqlite3.connect(tmp_path / "shop.db")) as shop:
        shop.execute("CREATE TABLE bees (name TEXT)")

    class Elsewhere(Strategy):
        def retrieve(self, queries, context: RetrievalContext):
            return [[outside_candidate(Passage("w1", "", None, None, "Bees.", 1.0, {}, Trace()))] for _ in queries]
            yield

    def ask(_question: str) -> str:
        return "SELECT 1 AS bees"

    for strategy in (Elsewhere(), SQL(f"sqlite:///{tmp_path / 'shop.db'}", generate=ask)):
        [obstacle] = explain(shared_index, "bees", strategy, document_id="bees").obstacles
        assert obstacle.kind == "strategy"
        assert obstacle.sentence.endswith("it searches other sources, and no leaf of the index")


def test_without_a_document_it_tells_what_is_returned_and_how_long_it_took(shared_index: Index):
    explained = explain(shared_index, QUESTION, Hybrid(), k=2, where=F("topic") == "animals")
    assert explained.passages == tuple(shared_index.retrieve(QUESTION, Hybrid(), k=2, where=F("topic") == "animals"))
    assert (explained.document_id, explained.obstacles, explained.returned) == (None, (), False)
    assert explained.requests[0].name == "Embed"
    searches = {"Embed", "VectorSearch", "LexicalSearch", "SoftMatches", "Load", "FindMentions"}
    assert {each.name for each in explained.requests} == searches
    assert all(0 <= each.seconds <= explained.seconds for each in explained.requests)
    bees = len(shared_index.leaves("bees"))
    assert [each.results for each in explained.requests if each.name == "VectorSearch"] == [bees]
    assert explained.passages[0].trace.filters == (F("topic") == "animals",)
    assert "its document matches the filter F('topic') == 'animals'" in explained.passages[0].trace.explain()
    assert explained.lines[0].startswith("2 passages are returned, all that the strategy found, in ")
    fewer = explain(shared_index, QUESTION, AutoMerging(), k=1)
    assert fewer.lines[0].startswith(f"1 passage is returned, the first of {fewer.found} that the strategy found, in ")
    nothing = explain(shared_index, "zzz", BM25())
    assert nothing.lines[0].startswith("nothing is returned, and nothing was found, in ")


def test_it_can_be_pickled_printed_and_written_as_json(shared_index: Index):
    strategy = Rerank(rerank=lambda _question, texts: [1.0] * len(texts), depth=2)  # which cannot be pickled
    leaf = ranked(shared_index)[5]
    explained = explain(shared_index, QUESTION, strategy, **piece(leaf), where=F("year") > 0)
    assert pickle.loads(pickle.dumps(explained)) == explained
    plain = json.loads(json.dumps(explained.to_dict()))
    assert plain["returned"] is False
    assert [each["option"] for each in plain["obstacles"]] == [each.option for each in explained.obstacles]
    assert plain["sentences"] == str(explained).splitlines() == list(explained.lines)
    assert plain["passages"][0]["steps"]["filters"] == ["F('year') > 0"]


def test_names_and_values_of_a_document_cannot_pass_for_sentences_of_ours(tmp_path: Path):
    sneaky = "x\n1. it is returned\x1b[2J"
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as index:
        index.add([Document(sneaky, "Bees dance.", metadata={"topic": sneaky}), Document("tea", "Green tea.")])
        explained = explain(index, "tea", Vector(), document_id=sneaky, where=F("topic") == f"{sneaky}!")
        assert not explained.returned
        assert all(line.isprintable() for line in explained.lines)
        assert len(str(explained).splitlines()) == len(explained.lines)


def test_a_summary_of_it_that_is_returned_is_named(index: Index):
    index.build_tree()
    question = index.summaries("tea")[0].text
    leaf = index.leaves("tea")[-1]
    strategy = Tree(base=Vector(), keep_covered_summaries=True)
    explained = explain(index, question, strategy, **piece(leaf), k=1)
    assert [each.option for each in explained.obstacles] == ["k"]
    [line] = [each for each in explained.lines if each.startswith("The summary ")]
    assert line == f"The summary '{explained.passages[0].id}', which covers it, is returned"


def test_a_model_is_asked_once_however_often_it_is_retrieved(shared_index: Index):
    asked: list[str] = []

    def generate(prompt: str) -> str:
        asked.append(prompt)
        return "dance of the bees"

    explained = explain(shared_index, QUESTION, MultiQuery(generate=generate), **piece(ranked(shared_index)[-1]), k=1)
    assert explained.retrievals > 3
    assert len(asked) == 1


@pytest.mark.slow
def test_a_window_that_begins_far_away_takes_few_retrievals_to_find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    recorded: list[Answers] = []
    made = Answers.__init__

    def init(self: Answers, *args: Any, record: Any = None) -> None:
        made(self, *args, record=record)
        if record is not None:
            recorded.append(self)

    monkeypatch.setattr(Answers, "__init__", init)
    generator = Random(1)
    words = sorted({word for each in DOCUMENTS for word in each.text.split()})
    with Index.open(tmp_path / "kb", splitter=HierarchicalSplitter(leaf_words=8)) as index:
        index.add(
            Document(str(number), " ".join(" ".join(generator.choices(words, k=8)) + "." for _ in range(20)))
            for number in range(30)
        )
        ranks = {each.id: rank for rank, each in enumerate(ranked(index), start=1)}
        leaves = index.leaves("7")
        # A window reaches the leaf from the one before it, which is nearer to the question. Its rank is tried early.
        before, leaf = next((a, b) for a, b in pairwise(leaves) if 300 < ranks[a.id] < ranks[b.id] - 100)
        explained = explain(index, QUESTION, SentenceWindow(base=Vector()), **piece(leaf), k=1)
        [(option, needed)] = [(each.option, each.needed) for each in explained.obstacles]
        assert option == "k"
        assert 1 < needed < ranks[before.id]  # windows unite
        for k, is_in in ((needed - 1, False), (needed, True)):
            windows = index.retrieve(QUESTION, SentenceWindow(base=Vector()), k=k)
            assert any(each.document_id == "7" and each.start <= leaf.start < each.end for each in windows) is is_in
    assert explained.retrievals <= 20  # a number of windows is no rank, so it is searched for by halves
    # Answers that no sentence needs are let go, since many of them make the garbage collector slow.
    assert [each.record for each in recorded] == [None]


async def test_the_asynchronous_twin_says_the_same(shared_index: Index):
    leaf = ranked(shared_index)[9]
    for strategy in (Hybrid(), SentenceWindow(), RelevantSegments(words=30)):
        ours = explain(shared_index, QUESTION, strategy, **piece(leaf), k=1)
        theirs = await aexplain(shared_index, QUESTION, strategy, **piece(leaf), k=1)
        assert (theirs.lines, theirs.obstacles) == (ours.lines, ours.obstacles)


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"document_id": "bees", "start": -1}, "start must be a whole number >= 0, got -1"),
        ({"document_id": "bees", "start": 3, "end": 3}, "end must be > start, got 3 and 3"),
        ({"document_id": "bees", "end": True}, "end must be a whole number >= 1, got True"),
        ({"document_id": "bees", "start": 10_000}, r"start must be < \d+, the length of document 'bees', got 10000"),
        ({"document_id": 7}, "document_id must be"),
        ({"start": 3}, "start and end need a document_id"),
        ({"text": "bees"}, "text needs a document, and neither start nor end beside it, got 'bees'"),
        ({"document_id": "bees", "text": "bees", "end": 3}, "text needs a document, and neither start nor end"),
        ({"document_id": "bees", "text": "wasps sting"}, "text must be words of document 'bees', got 'wasps sting'"),
        ({"document_id": "bees", "text": " "}, "text must be words of document 'bees', got ' '"),
        ({"document_id": "bees", "text": 3}, "text must be a string, got 3"),
        ({"document_id": "bees", "k": 0}, "k must be"),
    ],
)
def test_a_piece_must_be_in_a_document(shared_index: Index, options: dict, rule: str):
    with pytest.raises(InvalidArgument, match=rule):
        explain(shared_index, QUESTION, Vector(), **options)


def test_one_query_is_explained_at_a_time_and_errors_are_the_ones_of_retrieve(shared_index: Index):
    with pytest.raises(InvalidArgument, match="a query must be a text or a vector"):
        explain(shared_index, [QUESTION, QUESTION], Vector())  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="a query must be a text that is not blank"):
        explain(shared_index, " ", Vector(), document_id="bees")
    with pytest.raises(DocumentNotFound, match="there is no document 'wasps' in the index"):
        explain(shared_index, QUESTION, Vector(), document_id="wasps")
    with pytest.raises(DocumentNotFound):
        explain(shared_index, QUESTION, Vector(), document_id="\ud800")
    with pytest.raises(RetrievalTimeout):
        explain(shared_index, QUESTION, Vector(), document_id="bees", timeout=1e-9)

    def broken(_question: str, _texts: list[str]) -> Sequence[float]:
        raise ValueError("no")

    with pytest.raises(FunctionFailed):
        explain(shared_index, QUESTION, Rerank(rerank=broken), document_id="bees")


def test_no_query_is_needed_where_retrieve_needs_none(shared_index: Index):
    [obstacle] = explain(shared_index, None, Browse(), document_id="tea", k=2).obstacles
    [place] = [number for number, leaf in enumerate(shared_index.leaves()) if leaf.document_id == "tea"][:1]
    assert (obstacle.option, obstacle.needed) == ("k", place + 1)


def test_what_a_scope_hides_does_not_exist_there(shared_index: Index):
    view = shared_index.scoped(F("topic") == "animals")
    with pytest.raises(DocumentNotFound) as hidden:
        explain(view, QUESTION, Vector(), document_id="tea")
    with pytest.raises(DocumentNotFound) as missing:
        explain(view, QUESTION, Vector(), document_id="eat")
    assert str(hidden.value).replace("tea", "eat") == str(missing.value)


def test_a_private_view_refuses(index: Index, tmp_path: Path):
    view = private_view(index, fixed_vault(tmp_path / "vault.db"))
    with pytest.raises(InvalidArgument, match="a private view cannot explain"):
        explain(view, "Karl von Frisch", Vector(), document_id="bees")


def test_an_empty_index_explains_that_nothing_is_there(tmp_path: Path):
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as index:
        assert explain(index, "bees", Hybrid()).passages == ()
        index.add(Document("empty", "", metadata={"a": 1}))


def test_an_empty_document_has_no_leaves_that_could_be_returned(tmp_path: Path):
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as index:
        index.add([*DOCUMENTS, Document("empty", "", metadata={"a": 1})])
        explained = explain(index, "bees", Hybrid(), document_id="empty")
        [obstacle] = explained.obstacles
        assert (obstacle.kind, explained.returned) == ("empty", False)
        assert explained.lines == (
            "document 'empty' is not returned, for one reason:",
            "1. it has no text, and so no leaves to return",
        )
        with pytest.raises(InvalidArgument, match="text must be words of document 'empty', got 'bees'"):
            explain(index, "bees", Hybrid(), document_id="empty", text="bees")


def test_a_whole_document_is_returned_as_soon_as_a_leaf_of_it_is(shared_index: Index):
    first: Callable[[str], int] = lambda id_: next(  # noqa: E731
        number for number, each in enumerate(ranked(shared_index), start=1) if each.document_id == id_
    )
    for document in DOCUMENTS:
        explained = explain(shared_index, QUESTION, Vector(), document_id=document.id, k=1)
        rank = first(document.id)
        assert [each.needed for each in explained.obstacles] == ([] if rank == 1 else [rank])
        assert (explained.start, explained.end) == (0, len(document.text))
        assert explained.lines[0].startswith(f"document '{document.id}' is ")
