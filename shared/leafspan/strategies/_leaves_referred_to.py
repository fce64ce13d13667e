"""The leaves of documents and passages that are referred to by their ids."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from leafspan.filters import F, Where
from leafspan.strategies._query_vectors import query_vectors
from leafspan.strategies._requests import ListLeaves, Load, Similarities, StrategyFlow
from leafspan.values import Candidate, Hit, Query, leaf_ids, run_of_id, scored


def nearest_leaves_of(
    asked: Sequence[tuple[int, str]], queries: Sequence[Query], where: Where | None, most: int, instruction: str
) -> StrategyFlow[dict[tuple[int, str], list[Candidate]]]:
    """The leaves of each document or passage that are nearest to a query: all that are asked for in one comparison.

    Documents are listed before they are read, so that no id leads to what the view or the filter does not show.

    Args:
        asked: Pairs of the number of a query and the id of a document or passage.
        queries: The queries.
        where: Filter on the documents, None for all.
        most: Most leaves of each pair, >= 1.
        instruction: Text before each query when it is embedded.

    Returns:
        A list of leaves, best first, for each pair whose id is that of something.
    """
    names = list(dict.fromkeys(name for _, name in asked))
    runs = {name: run for name in names if (run := run_of_id(name)) is not None}
    documents = F("doc_id").in_(list(dict.fromkeys([*names, *(leaf.document_id for leaf, _ in runs.values())])))
    listed: list[Hit] = yield ListLeaves(0, sys.maxsize, documents if where is None else where & documents)
    there = {hit.id for hit in listed}
    leaves: dict[str, list[str]] = {}
    for hit in listed:
        leaves.setdefault(hit.leaf.document_id, []).append(hit.id)
    for name, (first, last) in runs.items():
        if name not in leaves and first.ordinal <= last < first.ordinal + len(there):
            ids = leaf_ids(first.document_id, first.version, range(first.ordinal, last + 1))
            if all(id_ in there for id_ in ids):
                leaves[name] = ids
    pairs = [(number, name) for number, name in asked if name in leaves]
    if not pairs:
        return {}
    ids = list(dict.fromkeys(id_ for _, name in pairs for id_ in leaves[name]))
    numbers = list(dict.fromkeys(number for number, _ in pairs))
    vectors = yield from query_vectors([queries[number] for number in numbers], instruction)
    cosines = yield Similarities(vectors, tuple(ids))
    column = {id_: place for place, id_ in enumerate(ids)}
    row = {number: place for place, number in enumerate(numbers)}
    nearest: dict[tuple[int, str], list[tuple[str, float]]] = {}
    for number, name in pairs:
        compared = [(id_, float(cosines[row[number]][column[id_]])) for id_ in leaves[name]]
        nearest[number, name] = sorted(compared, key=lambda each: -each[1])[:most]  # ties in the order of the text
    loaded = yield Load(tuple(dict.fromkeys(id_ for found in nearest.values() for id_, _ in found)))
    return {
        each: [scored(loaded[id_], cosine, "vector", rank) for rank, (id_, cosine) in enumerate(found, start=1)]
        for each, found in nearest.items()
    }
