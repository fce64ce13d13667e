"""What fills a LightRAG from an index."""

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
    """The leaves or documents of an index, as arguments of ``LightRAG.ainsert``. Results lead back to the index.

    LightRAG asks its language model about each chunk. Each leaf becomes a chunk, which leads back exactly. Whole
    documents become fewer and larger chunks, which costs less; each leads back to the span that holds it. Of equal
    texts, LightRAG keeps one.

    Args:
        index: The index, or a view of one.
        whole: Whether to give whole documents. Default: False, the leaves.

    Raises:
        InvalidArgument: if ``whole`` is no bool.
    """
    check_flag("whole", whole)
    texts: dict[str, str] = {}
    for leaf in index.leaves():
        id_ = leaf.document_id if whole else leaf.id
        texts[id_] = texts.get(id_, "") + leaf.text
    texts = {id_: text for id_, text in texts.items() if text.strip()}  # LightRAG refuses blank texts
    return {"input": list(texts.values()), "ids": list(texts), "file_paths": list(texts)}
