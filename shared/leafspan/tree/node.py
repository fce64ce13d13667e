"""A summary's place in its tree, as it is stored with it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from leafspan.errors import IndexMismatch
from leafspan.values import Covered

FORMAT = 1
VERSION_MARK = "t"
"""How the version of a tree begins; those of documents are hexadecimal."""


@dataclass(frozen=True, slots=True)
class Node:
    """A summary as it is stored; all ids are those stored.

    ``covers``: what is below it, a document's id alone where it is all of it. ``key``: what its text is kept under.
    """

    layer: int
    words: int
    children: tuple[str, ...]
    covers: tuple[Covered | str, ...]
    key: str

    def pack(self) -> str:
        """The node as a string."""
        return json.dumps(
            [FORMAT, self.layer, self.words, self.children, self.covers, self.key],
            ensure_ascii=False,
            separators=(",", ":"),
        )

    @classmethod
    def unpack(cls, packed: str) -> Node:
        """The node from its string.

        Raises:
            IndexMismatch: if it is of another format.
        """
        form, *values = json.loads(packed)
        if form != FORMAT:
            raise IndexMismatch(f"a summary is stored in format {form!r}, this version of leafspan reads {FORMAT!r}")
        layer, words, children, covers, key = values
        runs = tuple(each if isinstance(each, str) else Covered(*each) for each in covers)
        return cls(layer, words, tuple(children), runs, key)


def is_tree(version: str) -> bool:
    """Whether this is the version of a tree, and not of a document."""
    return version.startswith(VERSION_MARK)


def is_summary(id_: str) -> bool:
    """Whether this is the id of a summary, and not of a leaf."""
    return is_tree(id_.rsplit("#", 2)[1])


def united(covers: Iterable[Covered]) -> tuple[Covered, ...]:
    """What several cover together: runs in the order of documents and leaves, no two of which overlap or touch."""
    runs: list[Covered] = []
    for run in sorted(covers):
        last = runs[-1] if runs else None
        if last is not None and run[:2] == last[:2] and run.first <= last.last + 1:
            runs[-1] = last._replace(last=max(last.last, run.last), end=max(last.end, run.end))
        else:
            runs.append(run)
    return tuple(runs)


def leaf_ids(covers: Sequence[Covered]) -> list[str]:
    """The ids of the leaves that are covered."""
    return [f"{run.document_id}#{run.version}#{n}" for run in covers for n in range(run.first, run.last + 1)]
