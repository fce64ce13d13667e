"""The words of each leaf, forwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan.lexical import Analyzer, LeafWords, build_leaf_words, keeps_leaf_words, merge_leaf_words, plain_words_of

TEXTS = st.lists(st.text(st.sampled_from("ab é\ud800'中文."), max_size=12), max_size=6)


def words(arrays: Mapping[str, Any], leaf: int) -> list[str]:
    leaves = LeafWords(arrays)
    numbers, counts = leaves.of([leaf])
    assert counts == [len(numbers)]
    return [leaves.word(number).decode("utf-8", "surrogatepass") for number in numbers.tolist()]


def test_each_leaf_has_its_words_once_in_the_order_of_its_text():
    arrays = build_leaf_words(["The bee, the bees!", "", "Bees' honey"])
    assert words(arrays, 0) == ["the", "bee", "bees"]
    assert words(arrays, 1) == []
    assert words(arrays, 2) == ["bees", "honey"]


@given(TEXTS)
def test_what_is_kept_are_the_words_of_each_text(texts: Sequence[str]):
    arrays = build_leaf_words(texts)
    assert [words(arrays, leaf) for leaf in range(len(texts))] == [plain_words_of(text) for text in texts]


@given(TEXTS, st.randoms(use_true_random=False))
def test_several_leaves_are_looked_up_at_once_in_any_order(texts: Sequence[str], random: Any):
    leaves = LeafWords(build_leaf_words(texts))
    asked = random.choices(range(len(texts)), k=4) if texts else []
    numbers, counts = leaves.of(asked)
    found = iter([leaves.word(number).decode("utf-8", "surrogatepass") for number in numbers.tolist()])
    assert [[next(found) for _ in range(count)] for count in counts] == [plain_words_of(texts[leaf]) for leaf in asked]


@given(st.lists(st.tuples(TEXTS, st.booleans()), max_size=4), st.randoms(use_true_random=False))
def test_merged_arrays_match_the_leaves_that_are_kept(parts: Sequence[tuple[list[str], bool]], random: Any):
    given_parts, kept = [], []
    for texts, all_kept in parts:
        mask = None if all_kept else np.array([random.random() < 0.5 for _ in texts], bool)
        kept += texts if mask is None else [text for text, is_kept in zip(texts, mask, strict=True) if is_kept]
        given_parts.append((build_leaf_words(texts), mask))
    merged = merge_leaf_words(given_parts)
    assert [words(merged, leaf) for leaf in range(len(kept))] == [plain_words_of(text) for text in kept]
    used = {word for text in kept for word in plain_words_of(text)}
    assert LeafWords(merged).words == len(used)  # words of leaves that are gone are gone, too


@pytest.mark.parametrize(
    ("analyzer", "kept"),
    [(Analyzer(), True), (Analyzer(language="german"), False), (lambda texts: [[] for _ in texts], False), (None, False)],
)
def test_words_are_kept_in_the_language_of_the_vectors(analyzer: Any, kept: bool):
    assert keeps_leaf_words(analyzer) is kept
