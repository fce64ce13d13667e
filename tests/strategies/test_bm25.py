"""Search by words, as a strategy."""

from __future__ import annotations

from leafspan import BM25, BM25Settings, Index
from tests.corpus import QUESTIONS


def test_no_more_than_k_are_found_however_many_are_asked_for(shared_index: Index):
    every = shared_index.retrieve(QUESTIONS[0], BM25(), k=9)
    assert len(every) > 2
    assert shared_index.retrieve(QUESTIONS[0], BM25(k=2)) == every[:2]
    assert shared_index.retrieve(QUESTIONS[0], BM25(k=2), k=9) == every[:2]


def test_the_library_rank_bm25_finds_the_same(shared_index: Index):
    okapi = BM25Settings(variant="okapi")
    ours, theirs = (
        shared_index.retrieve(QUESTIONS[0], BM25(bm25=okapi, engine=engine), k=9) for engine in ("postings", "rank-bm25")
    )
    assert [each.id for each in theirs] == [each.id for each in ours]


def test_where_no_leaf_could_score_above_0_the_share_is_0(index: Index):
    # In okapi a word of most leaves has a negative idf, which epsilon=0 replaces by 0.
    nothing = BM25Settings(variant="okapi", epsilon=0)
    index.add([{"id": f"tea{number}", "text": "Oolong."} for number in range(200)])
    found = index.retrieve("oolong", BM25(bm25=nothing, scale=True), k=3)
    assert [each.score for each in found] == [0, 0, 0]
