"""The citation of a passage, under the metadata keys that the results of both frameworks have."""

from __future__ import annotations

from leafspan.values import Passage


def citation(passage: Passage) -> dict[str, object]:
    """The ``doc_id``, ``start`` and ``end`` of a passage.

    A summary also has its ``layer`` (above 0), and ``covers``, a list of [doc_id, start, end]. If it covers more than one
    document, it has no ``doc_id``, ``start`` and ``end``.
    """
    place = {"doc_id": passage.document_id, "start": passage.start, "end": passage.end}
    if passage.summary is None:
        return place
    covers = [[run.document_id, run.start, run.end] for run in passage.summary.covers]
    return {**(place if passage.document_id else {}), "layer": passage.layer, "covers": covers}
