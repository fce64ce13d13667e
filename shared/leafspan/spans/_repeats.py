"""No text twice: a summary is left out if all of its leaves are among the results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from leafspan.values import Candidate


def without_repeats(found: Sequence[Candidate], *, results: int | None = None, words: int | None = None) -> list[Candidate]:
    """The results in their order, without the summaries whose leaves are all among them.

    A caller that will use only the first results says so by ``results`` and ``words``. No summary is then left out because
    of leaves behind the first result that does not fit. So the results that are used do not depend on later ones.
    """
    kept: dict[str, Candidate] = {}
    leaves: set[str] = set()
    summaries = _KeptSummaries()
    leaf_count = sum(each.span.size for each in found if each.summary is None)
    used = 0
    full = False
    for each in found:
        missing: set[str] = set()
        # A summary of more leaves than there are among the results cannot repeat them, so its leaves are not listed.
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
    """The summaries that were kept, and which of their leaves are not among the results yet."""

    def __init__(self) -> None:
        self._missing: dict[str, set[str]] = {}  # by summary
        self._summaries_of: dict[str, list[str]] = {}  # by missing leaf

    def add(self, summary: str, missing: Iterable[str]) -> None:
        """Add a summary with its missing leaves. Without any, it is never completed."""
        self._missing[summary] = set(missing)
        for leaf in self._missing[summary]:
            self._summaries_of.setdefault(leaf, []).append(summary)

    def completed_by(self, leaves: Iterable[str]) -> Iterator[str]:
        """The summaries that have no missing leaf any more once these leaves are among the results."""
        for leaf in leaves:
            for summary in self._summaries_of.pop(leaf, ()):
                self._missing[summary].discard(leaf)
                if not self._missing[summary]:
                    yield summary
