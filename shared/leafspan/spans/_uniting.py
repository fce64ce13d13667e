"""No text comes twice: runs of leaves that overlap are united, and summaries of other results are left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from leafspan.trace import EMPTY_TRACE, Trace, United
from leafspan.values import Candidate


def unite(found: Iterable[Candidate], *, touching: bool = False) -> list[Candidate]:
    """The runs, with overlapping runs of one document united. A united run has the best score and all traces.

    Args:
        found: Runs of leaves.
        touching: Whether to also unite runs that follow each other without a gap. Default: False.

    Returns:
        The runs, sorted by score, then document, then position.
    """
    groups = overlapping(found, touching=touching)
    united = [one_of(sorted(group, key=lambda run: run.order)) for group in groups]
    return sorted(united, key=lambda run: run.order)


def overlapping(candidates: Iterable[Candidate], *, touching: bool = False) -> list[list[Candidate]]:
    """The runs in groups that become one run each: see ``unite``. The runs of a group come in the order of the text."""
    by_document: dict[tuple[str, str], list[Candidate]] = {}
    for run in sorted(candidates, key=lambda run: run.span.first):
        by_document.setdefault((run.span.document_id, run.span.version), []).append(run)
    return [group for runs in by_document.values() for group in _groups(runs, 1 if touching else 0)]


def _groups(runs: Sequence[Candidate], distance: int) -> list[list[Candidate]]:
    """Groups of runs that become one run each. The runs come in the order of the text.

    A run joins a group if it starts at most ``distance`` leaves after the group's last leaf.
    """
    groups: list[list[Candidate]] = []
    last = 0
    for run in runs:
        if groups and run.span.first <= last + distance:
            groups[-1].append(run)
            last = max(last, run.span.last)
        else:
            groups.append([run])
            last = run.span.last
    return groups


def one_of(group: Sequence[Candidate]) -> Candidate:
    """One run, with the score of the first run, from runs that overlap or touch. A single run stays as it is."""
    if len(group) == 1:
        return group[0]
    span = replace(group[0].span, first=min(run.span.first for run in group), last=max(run.span.last for run in group))
    # If one run holds all others, its length in words is known.
    whole = next((run for run in group if run.span.id == span.id), None)
    step = Trace(united=(United(span.first, span.last, len(group)),))
    trace = sum((run.trace for run in group), EMPTY_TRACE) + step
    return replace(group[0], span=span, trace=trace, words=whole.words if whole else None, leaf=None)


def without_repeats(
    candidates: Sequence[Candidate], *, results: int | None = None, words: int | None = None
) -> list[Candidate]:
    """The results in their order, without the summaries whose leaves are all among them.

    A caller that will use only the first results passes ``results`` and ``words``. Then leaves after the first result that
    does not fit never remove a summary, so the used results do not depend on later ones.
    """
    kept: dict[str, Candidate] = {}
    leaves: set[str] = set()
    summaries = _KeptSummaries()
    leaf_count = sum(each.span.size for each in candidates if each.summary is None)
    used = 0
    full = False
    for each in candidates:
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
