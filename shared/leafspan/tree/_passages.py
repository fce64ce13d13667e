"""Summaries as passages."""

from __future__ import annotations

from leafspan.values import Candidate, Passage


def summary_passage(candidate: Candidate, text: str) -> Passage:
    """A summary as a passage, under its own id.

    If it covers one document, the passage has that document's id and the characters from the first to the last leaf that it
    covers. Otherwise its document id is empty, and start and end are 0.
    """
    summary = candidate.summary
    assert summary is not None
    covers = summary.covers
    covers_one_document = len({run.document_id for run in covers}) == 1
    document_id, start, end = "", 0, 0
    if covers_one_document:
        document_id, start, end = covers[0].document_id, covers[0].start, covers[-1].end
    metadata = dict(candidate.metadata)
    return Passage(candidate.id, document_id, start, end, text, candidate.score, metadata, candidate.trace, summary)
