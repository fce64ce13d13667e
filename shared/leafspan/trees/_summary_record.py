"""The record that is stored with a summary: its place in the tree, and the leaves below it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from leafspan.checks import shown
from leafspan.errors import IndexMismatch
from leafspan.values import Covered, LeafId

FORMAT = 1
"""The version of the stored format."""


@dataclass(frozen=True, slots=True)
class SummaryRecord:
    """The record of a summary. All ids are stored ids.

    Attributes:
        layer: Number of layers above the leaves, >= 1.
        words: Length of its text in words.
        children: Ids of the leaves and summaries that it was made from.
        covers: Leaves below it: runs of leaves, or the id of a document for all of its leaves.
        key: Cache key of its text.
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
        """Read a record from its string.

        Raises:
            IndexMismatch: if the record has another format.
            ValueError: if the string is not a record. The message says why.
        """
        try:
            stored = json.loads(packed)
        except (ValueError, RecursionError):
            raise ValueError("its record is not valid JSON") from None
        if not isinstance(stored, list) or not stored:
            raise ValueError(f"its record must be a list, got {shown(stored)}")
        format_, *values = stored
        if format_ != FORMAT:
            raise IndexMismatch(f"a summary is stored in format {format_!r}, this version of leafspan reads {FORMAT!r}")
        if len(values) != _FIELDS:
            raise ValueError(f"its record must have {_FIELDS} values, got {shown(values)}")
        layer, words, children, covers, key = values
        if not (_is_count(layer) and layer >= 1 and _is_count(words) and isinstance(key, str)):
            raise ValueError(f"its record has an impossible layer, number of words or key: {shown([layer, words, key])}")
        if not (_are_ids(children) and len(children) >= 1):
            raise ValueError(f"its record must say what it was made of, got {shown(children)}")
        if not isinstance(covers, list) or not covers or not all(map(_is_cover, covers)):
            raise ValueError(f"its record must say which leaves it covers, got {shown(covers)}")
        runs = tuple(each if isinstance(each, str) else Covered(*each) for each in covers)
        return cls(layer, words, tuple(children), runs, key)


_FIELDS = 5


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _are_ids(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(each, str) and LeafId.of(each) is not None for each in values)


def _is_cover(value: Any) -> bool:
    """Whether the value is a document's id or a run of leaves."""
    if isinstance(value, str):
        return bool(value)
    if not isinstance(value, list) or len(value) != len(Covered._fields):
        return False
    document_id, version, first, last, start, end = value
    names = isinstance(document_id, str) and isinstance(version, str)
    return names and all(map(_is_count, (first, last, start, end))) and first <= last and start <= end


def united(covers: Iterable[Covered]) -> tuple[Covered, ...]:
    """The leaves of all runs, as runs sorted by document and position. Runs that overlap or touch are joined."""
    runs: list[Covered] = []
    for run in sorted(covers):
        last = runs[-1] if runs else None
        if last is not None and run[:2] == last[:2] and run.first <= last.last + 1:
            runs[-1] = last._replace(last=max(last.last, run.last), end=max(last.end, run.end))
        else:
            runs.append(run)
    return tuple(runs)
