"""Texts of leaves that are stored in a metadata value in the place of Chroma's documents, and back."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from leafspan.reserved import STRUCTURE_KEY

# Behind the place, which has no line breaks. A value of its own would take Chroma a tenth longer to write.
_BEFORE_TEXT = "\n"
# Chroma's database has an index of all values, in their order. One that comes behind all earlier ones is appended to it, in
# the place of being sorted in, which takes Chroma a tenth less time. So a value begins with its turn: the time in
# milliseconds, and its number among those of one write. Nothing else depends on it: if the clock is set back, values are
# sorted in. No place looks like it, since every place has a bar.
_TURN = re.compile(r"[0-9a-f]{15}\n")
_LAST = 0xFFFF  # the greatest number; if more are written at once, the rest have it, too


def packed_texts(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Columns of records as they are written: each text is in the metadata, behind its turn and its place."""
    columns = dict(columns)
    texts = columns.pop("documents", None)
    if texts is not None:
        now = f"{time.time_ns() // 1_000_000:011x}"
        columns["metadatas"] = [
            {**metadata, STRUCTURE_KEY: f"{now}{min(number, _LAST):04x}\n{metadata[STRUCTURE_KEY]}{_BEFORE_TEXT}{text}"}
            for number, (metadata, text) in enumerate(zip(columns["metadatas"], texts, strict=True))
        ]
    return columns


def columns_to_read(include: Sequence[str]) -> list[str]:
    """The columns to ask Chroma for, of these."""
    asked = ["metadatas" if name == "documents" else name for name in include]
    return list(dict.fromkeys(asked))


def unpacked_texts(answer: Mapping[str, Any], include: Sequence[str]) -> dict[str, Any]:
    """An answer of Chroma's as if each text were a document.

    Args:
        answer: The answer. Its columns may be lists of lists, one for each query.
        include: The columns that are wanted.
    """
    if "documents" not in include and "metadatas" not in include:
        return dict(answer)
    pairs = _unpacked(answer["metadatas"])
    return {**answer, "documents": _each(pairs, 1), "metadatas": _each(pairs, 0)}


def _unpacked(column: Sequence[Any]) -> list[Any]:
    """A pair of metadata and text for each record."""
    return [_unpacked(each) if isinstance(each, list) else _pair(each) for each in column]


def _each(pairs: Sequence[Any], which: int) -> list[Any]:
    return [_each(each, which) if isinstance(each, list) else each[which] for each in pairs]


def _pair(metadata: Mapping[str, Any] | None) -> tuple[Mapping[str, Any] | None, str | None]:
    packed = None if metadata is None else metadata.get(STRUCTURE_KEY)
    if metadata is None or not isinstance(packed, str):
        return metadata, None  # damaged: the text is missing
    turn = _TURN.match(packed)
    place, found, text = packed[turn.end() if turn else 0 :].partition(_BEFORE_TEXT)
    return {**metadata, STRUCTURE_KEY: place}, text if found else None
