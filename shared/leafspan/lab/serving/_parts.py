"""Splits long texts into parts, one for each page."""

from __future__ import annotations

from collections.abc import Sequence

MOST_TEXT = 20_000
"""Largest number of a document's characters on one page."""


def parts_of(length: int, ends: Sequence[int], most: int = MOST_TEXT) -> list[tuple[int, int]]:
    """The parts of a text, as (start, end). They end where leaves end. Only a leaf that is longer than a part is cut."""
    parts = []
    start = 0
    last = 0  # the end of the last leaf that fits into the part
    for end in [*ends, length]:
        if end > length:
            continue
        if end - start > most and last > start:
            parts.append((start, last))
            start = last
        while end - start > most:
            parts.append((start, start + most))
            start += most
        last = end
    return [*parts, (start, length)] if start < length or not parts else parts
