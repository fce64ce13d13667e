"""Leaves as passages, with what the manifest knows of them."""

from __future__ import annotations

from collections.abc import Mapping

from leafspan.documents import lines_of
from leafspan.store._manifest import Row
from leafspan.trace import EMPTY_TRACE, Trace
from leafspan.values import Passage, Span


def leaf_passage(
    span: Span,
    texts: Mapping[str, str],
    row: Row,
    metadata: Mapping[str, object],
    *,
    score: float = 0.0,
    trace: Trace | None = None,
) -> Passage:
    """A span with its text. Leaves partition the text, so the place of one leaf gives that of every other.

    Args:
        span: The leaves.
        texts: Their texts by id.
        row: Row of their document.
        metadata: Metadata of the document.
        score: Score of the passage. Default: 0.
        trace: How it came about. Default: an empty trace.
    """
    pieces = [texts[id_] for id_ in span.leaf_ids]
    ordinal, place = span.anchor
    start = place - sum(len(piece) for piece in pieces[: ordinal - span.first])
    text = "".join(pieces)
    return Passage(
        span.id,
        span.document_id,
        start,
        start + len(text),
        text,
        score,
        dict(metadata),
        trace or EMPTY_TRACE,
        title=row.title,
        headings=row.headings([(span.first, span.last)]),
        lines=lines_of(row.lines, span.first, text),
        whole=span.size == row.leaves,
    )
