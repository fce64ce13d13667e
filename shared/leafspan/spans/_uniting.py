"""No text comes twice: runs of leaves that overlap are united, and summaries of other results are left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from leafspan.trace import EMPTY_TRACE, Trace, United
from leafspan.values import Candidate, LeafId


def unite(runs: Iterable[Candidate], *, touching: bool = False) -> list[Candidate]:
    """The runs by score, then document, then position, with overlapping runs (and ``touching`` ones) of a document united.

    A united run has the best score and all traces.
    """
    groups = overlapping(runs, touching=touching)
    united = [one_of(sorted(group, key=lambda run: run.order)) for group in groups]
    return sorted(united, key=lambda run: run.order)


def overlapping(candidates: Iterable[Candidate], *, touching: bool = False) -> list[list[Candidate]]:
    """The runs in groups that become one run each, by document. The runs of a group come in the order of the text."""
    groups: list[list[Candidate]] = []
    document: tuple[str, str] | None = None
    last = 0
    for run in sorted(candidates, key=lambda run: (run.span.document_id, run.span.version, run.span.first)):
        span = run.span
        if document == (span.document_id, span.version) and span.first <= last + (1 if touching else 0):
            groups[-1].append(run)
            last = max(last, span.last)
        else:
            groups.append([run])
            document, last = (span.document_id, span.version), span.last
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
    leaves: set[LeafId] = set()
    missing_of: dict[str, set[LeafId]] = {}  # leaves of a kept summary that are not among the results yet
    summaries_with: dict[LeafId, list[str]] = {}  # the kept summaries that miss a leaf
    leaf_count = sum(each.span.size for each in candidates if each.summary is None)
    used = 0
    full = False
    for each in candidates:
        missing: set[LeafId] = set()
        # A summary with more leaves than the results have cannot repeat them, so its leaves are not listed.
        if each.summary is not None and each.summary.size <= leaf_count:
            missing = {leaf for run in each.summary.covers for leaf in run.leaves} - leaves
            if not missing:
                continue
        size = each.words or 0
        if kept and not full and (len(kept) == results or (words is not None and used + size > words)):
            full = True
        kept[each.span.id] = each
        used += size
        own = () if each.summary is not None else each.span.leaf_ids
        leaves.update(own)
        if full:
            continue
        missing_of[each.span.id] = missing
        for leaf in missing:
            summaries_with.setdefault(leaf, []).append(each.span.id)
        for leaf in own:
            for summary in summaries_with.pop(leaf, ()):
                missing_of[summary].discard(leaf)
                if not missing_of[summary]:
                    used -= kept.pop(summary).words or 0
    return list(kept.values())
