"""What a result says of damaged documents and trees that it was found without."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from leafspan.values import Passage


def without_damaged(found: list[list[Passage]], documents: Collection[str], trees: Collection[str]) -> list[list[Passage]]:
    """The passages, whose traces say what was left out.

    Args:
        found: The passages for each query.
        documents: Ids of the documents that were left out.
        trees: Ids of the documents whose trees were left out, and of summaries of several documents.
    """
    if not documents and not trees:
        return found
    notes = tuple(f"the tree of {id_!r} was left out, since what is stored of it is damaged" for id_ in trees)
    return [[_noted(passage, tuple(documents), notes) for passage in row] for row in found]


def _noted(passage: Passage, documents: tuple[str, ...], notes: tuple[str, ...]) -> Passage:
    trace = passage.trace
    return replace(passage, trace=replace(trace, left_out=(*trace.left_out, *documents), notes=(*trace.notes, *notes)))
