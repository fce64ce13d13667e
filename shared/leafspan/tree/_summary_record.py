"""The record that is stored with a summary: its place in the tree, and what lies below it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from leafspan.errors import IndexMismatch
from leafspan.values import Covered

FORMAT = 1
"""The version of the stored format."""


@dataclass(frozen=True, slots=True)
class SummaryRecord:
    """The record of a summary. All ids are those of the store.

    Attributes:
        layer: Number of layers above the leaves, >= 1.
        words: Length of its text in words.
        children: Ids of the leaves and summaries that it was made from.
        covers: Leaves below it: runs of leaves, or the id of a document for all of its leaves.
        key: Key under which its text is cached.
    """

    layer: int
    words: int
    children: tuple[str, ...]
    covers: tuple[Covered | str, ...]
    key: str

    def pack(self) -> str:
        """The record as a string."""
        return json.dumps(
            [FORMAT, self.layer, self.words, self.children, self.covers, self.key],
            ensure_ascii=False,
            separators=(",", ":"),
        )

    @classmethod
    def unpack(cls, packed: str) -> SummaryRecord:
        """The record from its string.

        Raises:
            IndexMismatch: if it has another format.
        """
        format_, *values = json.loads(packed)
        if format_ != FORMAT:
            raise IndexMismatch(f"a summary is stored in format {format_!r}, this version of leafspan reads {FORMAT!r}")
        layer, words, children, covers, key = values
        runs = tuple(each if isinstance(each, str) else Covered(*each) for each in covers)
        return cls(layer, words, tuple(children), runs, key)


def united(covers: Iterable[Covered]) -> tuple[Covered, ...]:
    """The leaves of all these runs together, as runs by document and position, no two of which overlap or touch."""
    runs: list[Covered] = []
    for run in sorted(covers):
        last = runs[-1] if runs else None
        if last is not None and run[:2] == last[:2] and run.first <= last.last + 1:
            runs[-1] = last._replace(last=max(last.last, run.last), end=max(last.end, run.end))
        else:
            runs.append(run)
    return tuple(runs)
