"""Texts and ids of an index, to fill a LightRAG with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from leafspan.checks import check_flag
from leafspan.values import Passage


class HasLeaves(Protocol):
    """An index, or a view of one."""

    def leaves(self) -> Iterable[Passage]:
        """All leaves."""
        ...


def lightrag_inputs(index: HasLeaves, *, whole: bool = False) -> dict[str, list[str]]:
    """Return an index's leaves or documents as arguments of ``LightRAG.ainsert``, so that results can be cited.

    LightRAG asks its language model about each chunk. Each leaf becomes a chunk, and a result is exactly this leaf. Whole
    documents make fewer and larger chunks, which cost less. A result is then the span of leaves that holds the chunk. If
    several texts are the same, LightRAG keeps one of them.

    Args:
        index: The index, or a view of one.
        whole: Whether to give whole documents. Default: False, the leaves.

    Raises:
        InvalidArgument: if ``whole`` is not a bool.
    """
    check_flag("whole", whole)
    texts: dict[str, str] = {}
    for leaf in index.leaves():
        id_ = leaf.document_id if whole else leaf.id
        texts[id_] = texts.get(id_, "") + leaf.text
    texts = {id_: text for id_, text in texts.items() if text.strip()}  # LightRAG refuses blank texts
    return {"input": list(texts.values()), "ids": list(texts), "file_paths": list(texts)}
