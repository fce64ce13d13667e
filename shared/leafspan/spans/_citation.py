"""Where a passage comes from, under the names that both frameworks' results carry."""

from __future__ import annotations

from leafspan.values import Passage


def citation(passage: Passage) -> dict[str, object]:
    """``doc_id``, ``start`` and ``end`` of a piece of a document.

    Of a summary also its ``layer`` (above 0) and what it ``covers``: a list of [doc_id, start, end]. It has the first three
    only where all of that is in one document.
    """
    where = {"doc_id": passage.document_id, "start": passage.start, "end": passage.end}
    if passage.summary is None:
        return where
    covers = [[run.document_id, run.start, run.end] for run in passage.summary.covers]
    return {**(where if passage.document_id else {}), "layer": passage.layer, "covers": covers}
