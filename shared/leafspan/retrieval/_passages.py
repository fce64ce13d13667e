"""Candidates as passages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from leafspan.store import Row, StaleRead, leaf_passage
from leafspan.trees import document_of, summary_passage
from leafspan.values import Candidate, Passage


def to_passage(found: Candidate, texts: Mapping[str, str], rows: Mapping[str, Row]) -> Passage:
    """The candidate with its text, and what the row of its document says of it.

    Raises:
        StaleRead: if the document was replaced meanwhile.
    """
    if found.outside is not None:
        return replace(found.outside, score=found.score, trace=found.trace)
    row = rows.get(document_of(found))
    if found.summary is not None:
        return summary_passage(found, texts[found.id], row)
    if row is None or row.version != found.span.version:
        raise StaleRead
    # What belongs to a single chunk, such as its page, is not true of a wider passage.
    metadata = found.metadata if found.span.size == 1 else row.metadata
    ancestors = found.leaf.ancestors if found.leaf is not None else ()
    return leaf_passage(found.span, texts, row, metadata, score=found.score, trace=found.trace, ancestors=ancestors)
