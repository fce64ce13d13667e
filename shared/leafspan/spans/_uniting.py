"""Uniting: runs of leaves that meet become one, so that no text comes twice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from leafspan.trace import Trace
from leafspan.values import Candidate


def unite(found: Iterable[Candidate], *, touching: bool = False) -> list[Candidate]:
    """The runs, those of one document that overlap made one, with the best score among them and the traces of all.

    ``touching``: runs that follow each other without a gap are made one too. A run that meets no other stays as it is.
    Sorted by score, then document, then position.
    """
    of_document: dict[tuple[str, str], list[Candidate]] = {}
    for run in sorted(found, key=lambda run: run.span.first):
        of_document.setdefault((run.span.document_id, run.span.version), []).append(run)
    united = [_united(group) for runs in of_document.values() for group in _meeting(runs, 1 if touching else 0)]
    return sorted(united, key=lambda run: run.order)


def _meeting(runs: Sequence[Candidate], distance: int) -> list[list[Candidate]]:
    """Runs in the order of the text, in groups whose members meet."""
    groups: list[list[Candidate]] = []
    reach = 0
    for run in runs:
        if groups and run.span.first <= reach + distance:
            groups[-1].append(run)
            reach = max(reach, run.span.last)
        else:
            groups.append([run])
            reach = run.span.last
    return groups


def _united(group: Sequence[Candidate]) -> Candidate:
    if len(group) == 1:
        return group[0]
    best_first = sorted(group, key=lambda run: run.order)
    span = replace(best_first[0].span, first=group[0].span.first, last=max(run.span.last for run in group))
    # One of them may hold all others, and its length is then known.
    whole = next((run for run in best_first if run.span.id == span.id), None)
    trace = sum((run.trace for run in best_first), Trace())
    return replace(best_first[0], span=span, trace=trace, words=whole.words if whole else None, leaf=None)
