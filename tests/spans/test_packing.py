from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import Budget, InvalidArgument, Passage
from leafspan.errors import FunctionFailed
from leafspan.spans import joined, shortlist, within_budget
from leafspan.spans._packing import longest_prefix
from leafspan.text import count_words
from leafspan.trace import Calibrated, CutToBudget, Trace, TracedHit
from leafspan.values import Candidate, Span, Summary

V = "00000000"


def found(*leaves: str, document_id: str = "d", best: int = 0, summary: bool = False, **trace) -> tuple[Candidate, dict]:
    """A run of leaves with these texts, whose best hit has this ordinal; and their texts by id."""
    span = Span(document_id, V, 0, len(leaves) - 1, (0, 0))
    words = sum(len(leaf.split()) for leaf in leaves)
    hits = tuple(TracedHit(n, 0.9 if n == best else 0.1) for n in range(len(leaves)))
    candidate = Candidate(
        span, 1.0, Trace(hits=hits, **trace), {}, words=words, summary=Summary(1, (), ()) if summary else None
    )
    return candidate, dict(zip(span.leaf_ids, leaves, strict=True))


def several(*texts: str) -> tuple[list[Candidate], dict]:
    """A leaf of a document of its own with each text; and the texts by id."""
    made = [found(text, document_id=f"d{number}") for number, text in enumerate(texts)]
    return [each for each, _ in made], {id_: text for _, texts in made for id_, text in texts.items()}


def test_the_first_passage_that_does_not_fit_ends_the_list():
    leaves, texts = several("one two", "three four five", "six")
    assert within_budget(leaves, Budget(5), texts) == (leaves[:2], True)
    assert within_budget(leaves, Budget(4), texts) == (leaves[:1], True)
    assert within_budget(leaves, Budget(7), texts) == (leaves, False)
    assert within_budget(leaves, Budget(6), texts) == (leaves, True)  # there is no room left


def test_what_fits_exactly_is_on_the_shortlist():
    leaves, _ = several("one two", "three four five", "six")
    assert shortlist(leaves, None, Budget(5)) == (leaves[:2], True)
    assert shortlist(leaves, None, Budget(6)) == (leaves, False)


def test_a_single_leaf_is_returned_first_even_if_it_is_over_the_budget():
    leaves, texts = several("one two three", "four")
    assert within_budget(leaves, Budget(1), texts) == (leaves[:1], True)


def test_a_budget_may_count_tokens():
    leaves, texts = several("abcd", "ef")
    assert within_budget(leaves, Budget(5, count=len), texts) == (leaves[:1], True)


def test_a_budget_of_tokens_is_kept_to_by_their_number_and_not_by_words():
    a_token_each = Budget(2, count=lambda text: 1)
    leaves, texts = several("one two three four", "five six", "seven")
    assert within_budget(leaves, a_token_each, texts) == (leaves[:2], True)  # 6 words
    # Before there are texts, nothing is known of tokens: what has too many words for the budget is not left out.
    assert shortlist(leaves, None, a_token_each) == (leaves, False)
    assert shortlist(leaves, 2, a_token_each) == (leaves[:2], False)
    assert shortlist(leaves, None, Budget(2)) == (leaves[:1], True)


def test_what_has_an_unknown_length_is_not_left_out_before_its_text_is_there():
    leaves, _ = several("one", "two")
    unknown = [replace(each, words=None) for each in leaves]
    assert shortlist(unknown, None, Budget(1)) == (unknown, False)


def test_of_a_budget_of_tokens_summaries_come_besides_the_first_k():
    summary, _ = found("a summary", document_id="s", summary=True)
    leaves, _ = several("one", "two", "three")
    both = [leaves[0], summary, *leaves[1:]]
    assert shortlist(both, 2, Budget(9, count=len)) == ([leaves[0], summary, leaves[1]], False)


def test_a_passage_is_cut_by_tokens_where_the_budget_counts_them():
    run, texts = found("aaaa ", "bb ", "c ", "dddd", best=1)
    #                   5 + 3 + 2 + 4 characters, in 4 words
    [cut], _ = within_budget([run], Budget(5, count=len), texts)
    assert (cut.span.first, cut.span.last) == (1, 2)  # 3 + 2
    [cut], _ = within_budget([run], Budget(10, count=len), texts)
    assert (cut.span.first, cut.span.last) == (0, 2)  # 3 + 2 + 5: the last leaf no longer fits


def test_a_passage_behind_others_is_cut_to_what_they_have_left_or_left_out():
    first, its_texts = found("aa", document_id="a")
    run, texts = found("bbb ", "cc ", "d", best=0)
    texts = {**texts, **its_texts}
    kept, full = within_budget([first, run], Budget(9, count=len), texts)
    assert ([(each.span.first, each.span.last) for each in kept], full) == ([(0, 0), (0, 1)], True)  # 2 + 4 + 3
    kept, full = within_budget([first, run], Budget(5, count=len), texts)
    assert (kept, full) == ([first], True)  # 3 characters are left, and the best leaf has 4


def test_a_budget_is_estimated_in_words():
    assert Budget(100).words == 100
    assert Budget(100, count=len).words == 100 * 3 // 4
    assert Budget(1, count=len).words == 1  # and never none


@pytest.mark.parametrize("wrong", [None, 7, "len"])
def test_what_counts_is_a_function(wrong):
    with pytest.raises(InvalidArgument, match=f"count must be a function from a text to a number, got {wrong!r}"):
        Budget(5, count=wrong)


@pytest.mark.parametrize("wrong", [-1, 1.5, None, "7"])
def test_what_is_counted_is_a_whole_number(wrong):
    rule = "must return a whole number >= 0 (such as len(tokenizer.encode(text)))"
    with pytest.raises(
        InvalidArgument, match=f"^count of the budget, .*<lambda> {re.escape(rule)}, got {wrong!r}; it was given"
    ):
        Budget(5, count=lambda text: wrong).length("text")
    assert Budget(5, count=lambda text: 0).length("text") == 0


def test_what_counts_and_fails_is_named_with_the_text():
    def broken(text):
        raise ZeroDivisionError("boom")

    with pytest.raises(
        FunctionFailed, match=r"^count of the budget, .*broken failed with ZeroDivisionError: boom; it was given 'text'$"
    ):
        Budget(5, count=broken).length("text")


def test_joined_texts_are_stripped_and_blank_ones_leave_no_gap():
    passages = [Passage("", "d", 0, 0, text, 1.0, {}, Trace()) for text in (" one\n", " \n ", "two three ", "")]
    assert joined(passages) == "one\n\ntwo three"
    assert joined([]) == ""


def test_nothing_stays_nothing():
    leaves, texts = several("x")
    assert within_budget([], Budget(1), {}) == ([], False)
    assert within_budget(leaves, None, texts) == (leaves, False)


@pytest.mark.parametrize(
    ("best", "limit", "kept"),
    [
        (1, 3, (1, 2)),  # 2 + 1 words: the leaf behind the best hit comes before the one in front of it
        (1, 5, (1, 3)),  # 2 + 1 + 2
        (1, 8, (0, 3)),  # 3 + 2 + 1 + 2
        (0, 4, (0, 0)),  # 3, and 2 more would not fit
        (3, 1, (3, 3)),  # the best hit itself, of 2 words
    ],
)
def test_a_first_passage_of_several_leaves_is_cut_around_its_best_hit(best, limit, kept):
    run, texts = found("a b c ", "d e ", "f ", "g h ", "i j k l", best=best)
    [cut], full = within_budget([run], Budget(limit), texts)
    assert (cut.span.first, cut.span.last, full) == (*kept, True)
    assert cut.words is None  # no longer the run's words
    assert cut.span.anchor == (kept[0], len("".join(list(texts.values())[: kept[0]])))
    lengths = [count_words(text) for text in texts.values()]
    assert cut.trace.cut == CutToBudget(*kept, 0, 4, sum(lengths[kept[0] : kept[1] + 1]), sum(lengths))


def test_the_best_hit_is_the_most_probable_one():
    calibrated = (Calibrated(0, 0.2, 0.9), Calibrated(2, 0.7, 0.9))
    run, texts = found("a ", "b ", "c", best=1, calibrated=calibrated)
    [cut], _ = within_budget([run], Budget(1), texts)
    assert (cut.span.first, cut.span.last) == (2, 2)


def test_a_summary_that_alone_is_over_the_budget_is_passed_over():
    summary, its_text = found("a summary of five words", summary=True)
    leaves, texts = several("one two", "three")
    both = [summary, *leaves]
    assert within_budget(both, Budget(4), {**texts, **its_text}) == (leaves, False)
    assert shortlist(both, None, Budget(4)) == (leaves, False)
    assert shortlist(both, 1, Budget(4)) == (leaves[:1], False)
    assert shortlist(both, None, Budget(2)) == (leaves[:1], True)
    assert shortlist(both, 2, None) == (both[:2], False)


def test_one_that_does_not_fit_is_left_in_the_list_where_it_can_be_cut_to_what_is_left():
    first, _ = found("a b", document_id="a")
    run, _ = found("c ", "d e f")
    single, _ = found("g h i j", document_id="c")
    assert shortlist([first, run, single], None, Budget(4)) == ([first, run], True)
    assert shortlist([first, single, run], None, Budget(4)) == ([first], True)
    assert shortlist([run, first], None, Budget(2)) == ([run], True)  # the first of all, which will be cut


def test_the_place_of_what_is_cut_is_right_wherever_its_anchor_is():
    run, texts = found("a ", "bb ", "ccc ", "d ", "e", best=3)
    anchored = replace(run, span=replace(run.span, anchor=(2, 105)))  # leaf 2 begins at 105, so leaf 0 at 100
    [cut], _ = within_budget([anchored], Budget(2), texts)
    assert (cut.span.first, cut.span.last, cut.span.anchor) == (3, 4, (3, 109))
    [cut], _ = within_budget([anchored], Budget(4), texts)
    assert (cut.span.first, cut.span.last, cut.span.anchor) == (1, 4, (1, 102))


@given(st.lists(st.integers(0, 9)), st.integers(1, 30))
def test_what_is_kept_is_the_longest_prefix_that_fits(sizes, limit):
    kept = longest_prefix(sizes, sizes, limit)
    assert kept == sizes[: len(kept)]
    assert len(kept) <= 1 or sum(kept) <= limit
    assert len(kept) == len(sizes) or sum(sizes[: len(kept) + 1]) > limit


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "many"])
def test_a_budget_is_a_positive_whole_number(wrong):
    with pytest.raises(InvalidArgument, match=f"budget must be a whole number >= 1, got {wrong!r}"):
        Budget(wrong)
