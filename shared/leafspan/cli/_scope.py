"""What a command that serves an index shows of it."""

from __future__ import annotations

from leafspan.cli._console import console, plain
from leafspan.cli._options import parse_filter
from leafspan.flows import run
from leafspan.index import Index
from leafspan.view import View


def served_view(index: Index, where: str | None) -> View:
    """The documents that match the filter of ``--where``, or all. If there are none, a line on standard error says so.

    Raises:
        IndexMismatch: if the index was made with another embedder.
        InvalidArgument: if it is no filter.
    """
    run(index._embedder.confirm(record=False))
    scope = parse_filter(where)
    view = index if scope is None else index.scoped(scope)
    if view.count() == 0:
        reason = "the index has no documents yet" if index.count() == 0 else f"no document matches --where {where}"
        console(stderr=True).print(plain(f"{reason}: nothing will be found", "yellow"))
    return view
