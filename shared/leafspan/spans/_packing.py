"""Keeps results within a number of passages and a budget of words or tokens, and cuts one that is too long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TypeVar

from leafspan.checks import check_whole, function_failed, shown, unusable
from leafspan.errors import InvalidArgument
from leafspan.text import count_words
from leafspan.trace import CutToBudget, Trace
from leafspan.values import Candidate, LeafId, Passage, Span

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Budget:
    """The most words or tokens that all passages of a result may have together.

    Args:
        limit: Most words, or units of ``count``, >= 1.
        count: Function from a text to its length, such as the number of tokens of a tokenizer. Default: the number of
            words.

    Raises:
        InvalidArgument: if ``limit`` is not a whole number >= 1, or ``count`` is no function.
    """

    limit: int
    count: Callable[[str], int] = count_words

    def __post_init__(self) -> None:
        object.__setattr__(self, "limit", check_whole("budget", self.limit, 1))
        if not callable(self.count):
            raise InvalidArgument(f"count must be a function from a text to a number, got {shown(self.count)}")

    def length(self, text: str) -> int:
        """The length of a text.

        Raises:
            FunctionFailed: if ``count`` fails, or does not return a whole number >= 0.
        """
        try:
            length = self.count(text)
        except Exception as error:
            raise function_failed("count of the budget,", self.count, text, error) from error
        if not isinstance(length, int) or isinstance(length, bool) or length < 0:
            rule = "return a whole number >= 0 (such as len(tokenizer.encode(text)))"
            raise unusable("count of the budget,", self.count, rule, length, text)
        return length

    @property
    def words(self) -> int:
        """The budget in words. For tokens it is an estimate: a token counts as three quarters of a word."""
        return self.limit if self.count is count_words else max(1, self.limit * 3 // 4)


def longest_prefix(items: Iterable[T], sizes: Iterable[int], limit: int, *, least: int = 1) -> list[T]:
    """The longest prefix of the items that fits into a limit."""
    kept: list[T] = []
    left = limit
    for item, size in zip(items, sizes, strict=True):
        left -= size
        if len(kept) >= least and left < 0:
            break
        kept.append(item)
    return kept


def limit_per_document(candidates: Iterable[Candidate], most: int | None) -> list[Candidate]:
    """The candidates with at most ``most`` of each document, in their order. Summaries of several documents all stay."""
    if most is None:
        return list(candidates)
    seen: Counter[str] = Counter()
    kept = []
    for each in candidates:
        document = each.span.document_id
        if not document or seen[document] < most:
            seen[document] += 1
            kept.append(each)
    return kept


def shortlist(candidates: Sequence[Candidate], k: int | None, budget: Budget | None) -> tuple[list[Candidate], bool]:
    """The candidates that may be returned, decided before any text is fetched; and whether the budget left some out.

    These are the first ``k``. If the budget counts words, candidates over the budget are left out where lengths are known,
    except for the first one that can be cut to the rest. A summary that does not fit is skipped.
    """
    if budget is None:
        return list(candidates[:k]), False
    if budget.count is not count_words:
        # Some summaries may turn out too long, so they come in addition to the first k.
        ranks = accumulate(each.summary is None for each in candidates)
        return [each for each, rank in zip(candidates, ranks, strict=True) if k is None or rank <= k], False
    kept: list[Candidate] = []
    left = budget.limit
    for each in candidates:
        size = each.words or 0
        if len(kept) == k or (each.summary is not None and size > left):
            continue
        if size > left and kept:
            return kept + ([each] if each.span.size > 1 else []), True
        kept.append(each)
        left -= size
    return kept, left < 0


def within_budget(
    candidates: Sequence[Candidate], budget: Budget | None, texts: Mapping[LeafId, str]
) -> tuple[list[Candidate], bool]:
    """The candidates up to the first that does not fit into the budget, and whether the budget has no room for another.

    That candidate is cut to the leaves around its best hit that fit. If it is the first candidate, at least one leaf stays
    even if the leaf is over the budget. A summary that does not fit is skipped.
    """
    if budget is None:
        return list(candidates), False
    kept: list[Candidate] = []
    left = budget.limit
    for each in candidates:
        size = budget.length("".join(texts[id_] for id_ in each.span.leaf_ids))
        if size > left and each.summary is not None:
            continue
        if size > left:
            part = cut_to_fit(each, max(left, 1), budget.length, texts)
            fits = part is not each and budget.length("".join(texts[id_] for id_ in part.span.leaf_ids)) <= left
            return kept + ([part] if fits or not kept else []), True
        left -= size
        kept.append(each)
    return kept, left == 0


def joined(passages: Iterable[Passage]) -> str:
    """The texts of all passages as one text, in their order, stripped of white space and separated by blank lines."""
    return "\n\n".join(text for passage in passages if (text := passage.text.strip()))


def cut_to_fit(candidate: Candidate, limit: int, count: Callable[[str], int], texts: Mapping[LeafId, str]) -> Candidate:
    """The longest part of a run around its best hit that fits into a limit, grown in turns; at least the hit's leaf."""
    span = candidate.span
    if span.size == 1:
        return candidate
    pieces = [texts[id_] for id_ in span.leaf_ids]
    best = best_hit(span, candidate.trace)
    first = last = 0 if best is None else best - span.first
    grows = True
    while grows:
        grows = False
        if last + 1 < span.size and count("".join(pieces[first : last + 2])) <= limit:
            last, grows = last + 1, True
        if first > 0 and count("".join(pieces[first - 1 : last + 1])) <= limit:
            first, grows = first - 1, True
    ordinal, start = span.anchor
    start += sum(map(len, pieces[:first])) - sum(map(len, pieces[: ordinal - span.first]))
    kept = replace(span, first=span.first + first, last=span.first + last, anchor=(span.first + first, start))
    length = count("".join(pieces[first : last + 1]))
    cut = CutToBudget(kept.first, kept.last, span.first, span.last, length, count("".join(pieces)))
    return replace(candidate, span=kept, trace=candidate.trace + Trace(cut=cut), words=None)


def best_hit(span: Span, trace: Trace) -> int | None:
    """The ordinal of the best leaf that a search found, by its probability or else its score."""
    scores = [(each.probability, each.ordinal) for each in trace.calibrated]
    scores = scores or [(each.score, each.first) for each in trace.fused if each.first == each.last]
    if not scores:
        # Scores of different searches cannot be compared, so only the first search's scores count.
        hits = trace.hits
        scores = [(hit.score, hit.ordinal) for hit in hits if (hit.source, hit.query) == (hits[0].source, hits[0].query)]
    inside = [(-score, ordinal) for score, ordinal in scores if span.first <= ordinal <= span.last]
    return min(inside)[1] if inside else None
