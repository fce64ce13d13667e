"""What a host's retriever returned, recognised as leaves of the index."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence, Set

from leafspan.engine import Flow
from leafspan.errors import NotALeaf
from leafspan.filters import Where
from leafspan.retrieval._leaf_reader import LeafReader
from leafspan.store import Reader
from leafspan.strategies import AskHost, HostResult
from leafspan.values import Candidate, LeafId, scored


def recognise(request: AskHost, results: Sequence[HostResult], reader: Reader, leaves: LeafReader) -> Flow[list[Candidate]]:
    """The leaves that a host's retriever returned, as far as the filter matches, each once, at its best place.

    A scoped view does not tell apart what it does not show and what does not exist: it leaves out both, and no rank or
    score of the others reveals it.

    Raises:
        NotALeaf: if a result is no leaf of the index.
        StaleRead: if a leaf is missing that may just have been replaced.
    """
    scoped = reader.scope is not None
    ids = [_leaf_id(request, rank, result, quote=not scoped) for rank, result in enumerate(results, start=1)]
    stored = yield from reader.fetch_leaves(ids)
    for id_ in ids:
        if id_ not in stored and not scoped:
            reader.doubt(id_)
            raise NotALeaf(
                f"the results of {request.name} must be leaves of this index, but {id_!r} is not in it (any more): give "
                f"that retriever the leaves as they are now, {_HOW}"
            )
    matching = yield from _matching(request.where, reader, {each.leaf.document_id for each in stored.values()})
    wanted = [
        (id_, result)
        for id_, result in zip(ids, results, strict=True)
        if id_ in stored and stored[id_].leaf.document_id in matching
    ]
    found: dict[str, Candidate] = {}
    for (id_, _), score in zip(wanted, _scores([result for _, result in wanted]), strict=True):
        found.setdefault(id_, scored(leaves.candidate(stored[id_]), score, request.name))
    return list(found.values())


_HOW = "from leaf_documents(index) of langchain_ext or leaf_nodes(index) of llamaindex_ext"


def _leaf_id(request: AskHost, rank: int, result: HostResult, *, quote: bool) -> str:
    """The id of a result, which must be a leaf."""
    leaf = LeafId.of_result(result.id)
    if leaf is not None:
        return str(leaf)
    text = f", text {result.text[:60]!r}" if quote else ""
    raise NotALeaf(
        f"the results of {request.name} must be leaves of this index, but number {rank} is not: id {result.id!r}{text}; "
        f"build that retriever {_HOW}"
    )


def _matching(where: Where | None, reader: Reader, documents: Set[str]) -> Flow[Set[str]]:
    """The documents that the filter matches."""
    if where is None or not documents:
        return documents
    rows = yield from reader.rows_met(documents)
    return {id_ for id_ in documents if id_ in rows and where.matches(rows[id_].metadata, id_)}


def _scores(results: Sequence[HostResult]) -> Iterator[float]:
    """The results' own scores, if each has one and none rises above the one before; else by rank."""
    scores = [float(result.score) for result in results if result.score is not None and math.isfinite(result.score)]
    if len(scores) == len(results) and all(a >= b for a, b in itertools.pairwise(scores)):
        return iter(scores)
    return iter([1 / rank for rank in range(1, len(results) + 1)])
