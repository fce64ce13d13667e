"""A summary as a passage."""

from __future__ import annotations

from leafspan.values import Candidate, Passage


def summary_passage(found: Candidate, text: str) -> Passage:
    """The passage of a summary, whose id is its own; where it covers one document, from where to where."""
    assert found.summary is not None
    covers = found.summary.covers
    one = len({run.document_id for run in covers}) == 1
    document_id, start, end = (covers[0].document_id, covers[0].start, covers[-1].end) if one else ("", 0, 0)
    return Passage(found.id, document_id, start, end, text, found.score, dict(found.metadata), found.trace, found.summary)
