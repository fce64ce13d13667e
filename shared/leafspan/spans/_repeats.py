"""Drops a summary if all of its leaves are among the results, so that no text comes twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from leafspan.values import Candidate


def without_repeats(found: Sequence[Candidate], *, results: int | None = None, words: int | None = None) -> list[Candidate]:
    """The results in their order, without the summaries whose leaves are all among them.

    A caller that will use only the first results passes ``results`` and ``words``. Then leaves after the first result that
    does not fit never remove a summary, so the used results do not depend on later ones.
    """
    kept: dict[str, Candidate] = {}
    leaves: set[str] = set()
    summaries = _KeptSummaries()
    leaf_count = sum(each.span.size for each in found if each.summary is None)
    used = 0
    full = False
    for each in found:
        missing: set[str] = set()
        # A summary with more leaves than the results have cannot repeat them, so its leaves are not listed.
        if each.summary is not None and each.summary.size <= leaf_count:
            missing.update(each.summary.leaf_ids)
            missing -= leaves
            if not missing:
                continue
        size = each.words or 0
        if kept and not full and (len(kept) == results or (words is not None and used + size > words)):
            full = True
        kept[each.span.id] = each
        used += size
        if each.summary is None:
            leaves.update(each.span.leaf_ids)
        if full:
            continue
        if each.summary is not None:
            summaries.add(each.span.id, missing)
        else:
            for repeated in summaries.completed_by(each.span.leaf_ids):
                used -= kept.pop(repeated).words or 0
    return list(kept.values())


class _KeptSummaries:
    """The kept summaries, with their leaves that are not among the results yet."""

    def __init__(self) -> None:
        self._missing: dict[str, set[str]] = {}  # by summary
        self._summaries_of: dict[str, list[str]] = {}  # by missing leaf

    def add(self, summary: str, missing: Iterable[str]) -> None:
        """Add a summary with its missing leaves. Without missing leaves it is never completed."""
        self._missing[summary] = set(missing)
        for leaf in self._missing[summary]:
            self._summaries_of.setdefault(leaf, []).append(summary)

    def completed_by(self, leaves: Iterable[str]) -> Iterator[str]:
        """The summaries whose last missing leaves these are."""
        for leaf in leaves:
            for summary in self._summaries_of.pop(leaf, ()):
                self._missing[summary].discard(leaf)
                if not self._missing[summary]:
                    yield summary
