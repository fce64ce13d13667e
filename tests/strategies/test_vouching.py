"""The bonus of leaves whose documents others mention, as visible arithmetic."""

from __future__ import annotations

from math import e, exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan.strategies import Mention
from leafspan.strategies._hybrid_pool import EVIDENCE, Pool
from tests.strategies.answers import V, leaf, matches

ALONE = EVIDENCE._replace(words=1.0, neighbours=0.0)  # a leaf's weight is exp(its BM25 / the best one)


def vouched(words: dict[str, float], mentions: dict[str, list[Mention]], share: float = 0.6, best: int = 6):
    words = dict(sorted(words.items(), key=lambda item: -item[1]))
    pool = Pool(matches(words), (), ALONE)
    pool.note_mentions(pool.best_leaves(best), {leaf(name): each for name, each in mentions.items()}, share)
    return {
        f"{each.document_id}{each.ordinal}": (given.bonus, given.leaf.replace(f"#{V}#", ""))
        for each, given in pool.references.items()
    }


def mention(document_id: str, strength: float = 1.0, leaves: int = 9) -> Mention:
    return Mention(document_id, V, leaves, f"the {document_id}", strength)


def test_the_best_leaf_gets_all_and_the_others_half_by_their_own_weight():
    found = vouched({"a0": 1.0, "b3": 0.4, "b5": 0.1}, {"a0": [mention("b", 0.5)]})
    given_to_b = 0.6 * e * 0.5
    assert {name: found[name] for name in ("b3", "b5", "b6")} == {
        "b3": (pytest.approx(given_to_b), "a0"),
        "b5": (pytest.approx(given_to_b * 0.5 * exp(0.1) / exp(0.4)), "a0"),
        "b6": (pytest.approx(given_to_b * 0.5 / exp(0.4)), "a0"),  # a neighbour without evidence has the weight 1
    }


def test_the_first_leaf_gets_all_where_none_was_found():
    assert vouched({"a0": 1.0}, {"a0": [mention("b")]}) == {"b0": (pytest.approx(0.6 * e), "a0")}


def test_of_several_that_mention_a_document_the_most_counts():
    mentions = {"a0": [mention("c", 0.5)], "b0": [mention("c", 1.0)]}
    assert vouched({"a0": 1.0, "b0": 0.8}, mentions) == {"c0": (pytest.approx(0.6 * exp(0.8)), "b0")}


def test_there_is_one_step_only():
    found = vouched({"a0": 1.0, "b0": 0.1}, {"a0": [mention("b")], "b0": [mention("c")]})
    assert found["b0"] == (pytest.approx(0.6 * e), "a0")
    assert found["c0"] == (pytest.approx(0.6 * exp(0.1)), "b0")


@given(
    st.dictionaries(st.sampled_from(["a0", "a1", "b0", "b1", "c0"]), st.floats(0.1, 1), min_size=1),
    st.dictionaries(
        st.sampled_from(["a0", "b1", "c0"]), st.lists(st.builds(mention, st.sampled_from("abcd"), st.floats(0.1, 1)))
    ),
)
def test_no_bonus_is_negative_nor_more_than_the_share_of_the_best(words, mentions):
    for bonus, _ in vouched(words, mentions).values():
        assert 0 <= bonus <= 0.6 * e * (1 + 1e-9)
