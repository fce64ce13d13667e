"""Soft matches: words with about the same meaning as the question's words."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan.search._soft_matches import WORD_VECTORS, WordVectors
from leafspan.search._soft_matches import soft_matches as soft_matches_of_vectors

WORDS = st.lists(st.sampled_from(["bee", "bees", "honey", "harbour", "port", "tax", "the"]), max_size=5)
WEIGHTS = st.dictionaries(st.sampled_from(["bee", "port", "money"]), st.floats(0.1, 9), max_size=3)


def soft_matches(question: Mapping[str, float], texts: Sequence[Sequence[str]]) -> list[float]:
    """The scores of texts, given by their words."""
    vectors = WORD_VECTORS.of([word for words in texts for word in words])
    return soft_matches_of_vectors(question, vectors, [len(words) for words in texts])


def test_the_best_word_counts_for_each_word_of_the_question():
    same, near, other, none = soft_matches({"car": 1.0}, [["a", "car"], ["a", "vehicle"], ["honey"], []])
    assert same == pytest.approx(1)
    assert 1 > near > other >= none == 0


def test_a_word_counts_by_its_weight():
    heavy, light = (soft_matches({"bee": weight, "tax": 1.0}, [["bee"]])[0] for weight in (9.0, 1.0))
    assert heavy > light


@given(WEIGHTS, st.lists(WORDS, max_size=4))
def test_each_text_is_scored_by_itself_in_0_to_1(question, texts):
    scores = soft_matches(question, texts)
    assert all(-1e-6 <= score <= 1 + 1e-6 for score in scores)
    assert scores == pytest.approx([soft_matches(question, [text])[0] for text in texts], abs=1e-6)


@given(WEIGHTS, WORDS, WORDS)
def test_more_words_never_match_less(question, text, more):
    assert soft_matches(question, [text + more])[0] >= soft_matches(question, [text])[0] - 1e-6


def test_vectors_that_do_not_fit_any_more_are_made_again():
    kept = WordVectors(most=4)
    first = kept.of(["honey", "tax", "port"])
    kept.of(["ship", "sail", "wind", "ship"])
    assert set(kept._rows) == {"ship", "sail", "wind"}
    np.testing.assert_array_equal(kept.of(["honey", "tax", "port"]), first)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows does not fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_goes_on_while_another_thread_makes_vectors():
    with WORD_VECTORS._lock:
        if not (child := os.fork()):
            os._exit(0 if WORD_VECTORS._lock.acquire(timeout=5) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_threads_share_the_vectors():
    kept = WordVectors()
    texts = [[f"word{number}", "honey", f"thing{number % 7}"] for number in range(60)]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(kept.of, texts))
    for vectors, text in zip(found, texts, strict=True):
        np.testing.assert_array_equal(vectors, WordVectors().of(text))
