"""The part of an index that a serving command shows."""

from __future__ import annotations

from leafspan.cli._console import console, plain
from leafspan.cli._options import parse_filter
from leafspan.flows import run
from leafspan.index import Index
from leafspan.view import View


def served_view(index: Index, where: str | None) -> View:
    """Return the documents that match the filter of ``--where``, or all. Without documents, warn on standard error.

    Raises:
        IndexMismatch: if another embedder made the index.
        InvalidArgument: if the filter is not valid.
    """
    run(index._embedder.confirm(record=False))
    scope = parse_filter(where)
    view = index if scope is None else index.scoped(scope)
    if view.count() == 0:
        reason = "the index has no documents yet" if index.count() == 0 else f"no document matches --where {where}"
        console(stderr=True).print(plain(f"{reason}: nothing will be found", "yellow"))
    return view
