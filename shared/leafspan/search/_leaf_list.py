"""Lists leaves in order, without a query."""

from __future__ import annotations

from leafspan.flows import Flow
from leafspan.store import Reader
from leafspan.strategies import ListLeaves
from leafspan.values import Hit, LeafId


def page_of_leaves(reader: Reader, request: ListLeaves) -> Flow[list[Hit]]:
    """One page of the visible leaves whose documents match a filter. Each leaf has a score of 1.

    The order is by document id, then position.
    """
    visible = yield from reader.whole_catalogue(request.where)
    matching = visible.select(request.where).ids
    hits: list[Hit] = []
    skip = request.offset
    for document_id, row in sorted(visible.rows.items()):
        if len(hits) >= request.count:
            break
        if visible.stored_id(document_id) not in matching:
            continue
        if skip >= row.leaves:
            skip -= row.leaves
            continue
        stop = min(row.leaves, skip + request.count - len(hits))
        hits += [Hit(LeafId(document_id, row.version or "", ordinal), 1.0) for ordinal in range(skip, stop)]
        skip = 0
    return hits
