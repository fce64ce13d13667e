"""Soft matches, from the words that an index stores for its leaves."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from leafspan import Analyzer, Document, Hybrid, Index
from leafspan.lexical import build_leaf_words
from leafspan.search import _soft_matches
from leafspan.search._soft_matches import SoftMatcher, WordVectors, soft_matches_of

TEXTS = ["Bees make honey.", "", "A harbour is a port.", "The tax is due, the bee is not.", "Wax and honey."]
WORDS = {"honey": 2.0, "insect": 1.0}


def matcher(*parts: list[str]) -> SoftMatcher:
    return SoftMatcher([{**build_leaf_words(texts)} for texts in parts])


@pytest.mark.parametrize("parts", [[TEXTS], [TEXTS[:2], [], TEXTS[2:]], [[text] for text in TEXTS]])
def test_kept_words_give_the_scores_of_the_texts(parts: list[list[str]]):
    rows = [4, 0, 1, 3, 0]
    expected = soft_matches_of(WORDS, [TEXTS[row] for row in rows])
    assert matcher(*parts).scores(WORDS, rows) == pytest.approx(expected, abs=1e-6)


def test_vectors_that_were_dropped_are_made_again(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_soft_matches, "WORD_VECTORS", WordVectors(most=6))
    found = matcher(TEXTS)
    first = [found.scores(WORDS, [row]) for row in range(len(TEXTS))]
    assert [found.scores(WORDS, [row]) for row in range(len(TEXTS))] == first
    assert _soft_matches.WORD_VECTORS.rows_of([]).age > 0


def test_threads_share_a_matcher(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_soft_matches, "WORD_VECTORS", WordVectors(most=40))
    texts = [f"honey of hive{number % 13} and meadow{number}" for number in range(60)]
    found = matcher(texts)
    with ThreadPoolExecutor(8) as threads:
        scores = list(threads.map(lambda row: found.scores(WORDS, [row]), range(60)))
    assert scores == [pytest.approx(soft_matches_of(WORDS, [text]), abs=1e-6) for text in texts]


def test_in_another_language_nothing_is_kept_and_nothing_matches_softly(tmp_path: Path):
    with Index.open(tmp_path / "kb", analyzer=Analyzer(language="german")) as index:
        index.add([Document("a", "Bienen machen Honig."), Document("b", "Ein Hafen hat Schiffe.")])
        (found, *_) = index.retrieve("Honig", Hybrid(), k=1)
    sources = {each.source for fused in found.trace.fused for each in fused.contributions}
    assert "bm25" in sources
    assert "soft matches" not in sources
