"""The documents that a summary of several covers."""

from __future__ import annotations

from collections.abc import Sequence

from htpy import Node, span

from leafspan.lab.pictures._text import name
from leafspan.values import Covered

_NAMED = 4


def covered_documents(runs: Sequence[Covered]) -> Node:
    """The ids of the documents, in the order of the runs. If there are many, only the first ids."""
    ids = list(dict.fromkeys(run.document_id for run in runs))
    more = len(ids) - _NAMED
    return [
        span(".ls-title")[f"{len(ids)} documents: "],
        [[", " if number else "", name(id_)] for number, id_ in enumerate(ids[:_NAMED])],
        more > 0 and f" and {more} more",
    ]
