"""The bonus of leaves whose documents others mention, as visible arithmetic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan.strategies import Mention
from leafspan.strategies._hybrid_pool import reference_bonuses
from leafspan.values import LeafId

V = "00000000"


def leaf(name: str) -> LeafId:
    return LeafId(name[0], V, int(name[1:]))


def vouched(sums: dict[str, float], mentions: dict[str, list[Mention]], share: float = 0.6, best: int = 6):
    scores = {leaf(name): score for name, score in sums.items()}
    order = sorted(scores, key=lambda each: -scores[each])[:best]
    found = reference_bonuses(scores, order, {leaf(name): each for name, each in mentions.items()}, share)
    return {
        f"{each.document_id}{each.ordinal}": (given.bonus, given.leaf.replace(f"#{V}#", ""))
        for each, given in found.items()
    }


def mention(document_id: str, strength: float = 1.0, leaves: int = 9) -> Mention:
    return Mention(document_id, V, leaves, f"the {document_id}", strength)


def test_the_best_leaf_gets_all_and_the_others_half_by_their_own_score():
    found = vouched({"a0": 1.0, "b3": 0.4, "b5": 0.1}, {"a0": [mention("b", 0.5)]})
    given_to_b = 0.6 * 1.0 * 0.5
    assert found == {
        "b3": (pytest.approx(given_to_b), "a0"),
        "b5": (pytest.approx(given_to_b * 0.5 * 0.1 / 0.4), "a0"),
    }


def test_the_first_leaf_gets_all_where_none_was_found():
    assert vouched({"a0": 1.0}, {"a0": [mention("b")]}) == {"b0": (0.6, "a0")}
    # A leaf behind the last one was only guessed to be there.
    assert vouched({"a0": 1.0, "b2": 0.4}, {"a0": [mention("b", leaves=2)]}) == {"b0": (0.6, "a0")}


def test_of_several_that_mention_a_document_the_most_counts():
    mentions = {"a0": [mention("c", 0.5)], "b0": [mention("c", 1.0)]}
    assert vouched({"a0": 1.0, "b0": 0.6}, mentions) == {"c0": (pytest.approx(0.6 * 0.6), "b0")}


def test_there_is_one_step_only():
    mentions = {"a0": [mention("b")], "b0": [mention("c")]}
    found = vouched({"a0": 1.0, "b0": 0.1}, mentions)
    assert found == {"b0": (0.6, "a0"), "c0": (pytest.approx(0.6 * 0.1), "b0")}


@given(
    st.dictionaries(st.sampled_from(["a0", "a1", "b0", "b1", "c0"]), st.floats(-1, 1), min_size=1),
    st.dictionaries(
        st.sampled_from(["a0", "b1", "c0"]), st.lists(st.builds(mention, st.sampled_from("abcd"), st.floats(0.1, 1)))
    ),
)
def test_no_bonus_is_negative_nor_more_than_the_share_of_the_best(sums, mentions):
    for bonus, _ in vouched(sums, mentions).values():
        assert 0 <= bonus <= 0.6 * max(sums.values())
