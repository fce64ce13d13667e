"""Makes passages of leaves and their manifest rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from leafspan.documents import lines_of
from leafspan.files import place_in_file
from leafspan.spans import best_hit
from leafspan.store._manifest import PARTS_KEY, Row
from leafspan.trace import EMPTY_TRACE, Trace
from leafspan.values import Ancestor, Outline, Passage, Span


def leaf_passage(
    span: Span,
    texts: Mapping[str, str],
    row: Row,
    metadata: Mapping[str, object],
    *,
    score: float = 0.0,
    trace: Trace | None = None,
    ancestors: Sequence[Ancestor] = (),
) -> Passage:
    """Make a passage of a span. Leaves partition the text, so one leaf's place gives the place of every other leaf."""
    pieces = [texts[id_] for id_ in span.leaf_ids]
    ordinal, place = span.anchor
    start = place - sum(len(piece) for piece in pieces[: ordinal - span.first])
    text = "".join(pieces)
    lines, parts = lines_of(row.lines, span.first, text), row.extra.get(PARTS_KEY)
    best = best_hit(span, trace) if parts and trace else None
    lines_of_best = None if best is None else lines_of(row.lines, best, pieces[best - span.first])
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
        lines=lines if parts is None else None,
        place=None if parts is None or lines is None else place_in_file(parts, lines, lines_of_best),
        outline=outline_of(row, ((span.first, span.last),), pieces, ancestors),
        hidden=row.hidden,
    )


def outline_of(
    row: Row, runs: tuple[tuple[int, int], ...], pieces: Iterable[str] = (), ancestors: Iterable[Ancestor] = ()
) -> Outline:
    """The shape of a document, from its row and the pieces' texts."""
    return Outline(
        row.leaves,
        row.characters,
        row.sections,
        runs,
        tuple(accumulate(map(len, pieces))),
        tuple([(node.first, node.last) for node in ancestors]),
    )
