"""A summary's place in its tree, as it is stored with it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from leafspan.errors import IndexMismatch
from leafspan.values import Covered

FORMAT = 1


@dataclass(frozen=True, slots=True)
class SummaryRecord:
    """A summary as it is stored. All ids are those of the store.

    Attributes:
        layer: Number of layers above the leaves, >= 1.
        words: Length of its text in words.
        children: Ids of the leaves and summaries that it was made of.
        covers: What lies below it: runs of leaves, or the id of a document for all of its leaves.
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
            IndexMismatch: if it is of another format.
        """
        form, *values = json.loads(packed)
        if form != FORMAT:
            raise IndexMismatch(f"a summary is stored in format {form!r}, this version of leafspan reads {FORMAT!r}")
        layer, words, children, covers, key = values
        runs = tuple(each if isinstance(each, str) else Covered(*each) for each in covers)
        return cls(layer, words, tuple(children), runs, key)


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
