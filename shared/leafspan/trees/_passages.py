"""Summaries as passages."""

from __future__ import annotations

from leafspan.store import Row, outline_of
from leafspan.values import Candidate, Passage


def document_of(candidate: Candidate) -> str:
    """The id of a candidate's document. Empty for a summary of several documents, and for other sources."""
    if candidate.outside is not None:
        return ""
    if candidate.summary is None:
        return candidate.span.document_id
    documents = {run.document_id for run in candidate.summary.covers}
    return documents.pop() if len(documents) == 1 else ""


def summary_passage(candidate: Candidate, text: str, row: Row | None) -> Passage:
    """A summary as a passage, under its own id.

    If it covers one document, the passage has that document's id, title and headings, and the characters from its first to
    its last leaf. Otherwise its document id is empty, and start and end are None.
    """
    summary = candidate.summary
    assert summary is not None
    covers = summary.covers
    document_id = document_of(candidate)
    return Passage(
        candidate.id,
        document_id,
        covers[0].start if document_id else None,
        covers[-1].end if document_id else None,
        text,
        candidate.score,
        dict(candidate.metadata),
        candidate.trace,
        summary,
        title=row.title if row else None,
        headings=row.headings((run.first, run.last) for run in covers) if row else (),
        kind="summary",
        outline=outline_of(row, tuple([(run.first, run.last) for run in covers])) if row else None,
        hidden=row.hidden if row else (),
    )
