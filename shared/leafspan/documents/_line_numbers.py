"""The lines on which a document's leaves start, packed into one string that is stored with the document."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise

from leafspan.splitting import LINE_END
from leafspan.values import Leaf


def pack_lines(text: str, leaves: Sequence[Leaf]) -> str:
    """Pack the first lines of all leaves: for each leaf, the number of lines after the previous leaf's first line."""
    line_ends = [match.end() for match in LINE_END.finditer(text)]
    lines = [bisect_right(line_ends, leaf.start) for leaf in leaves]
    return ",".join(str(line - before) for before, line in pairwise([0, *lines]))


def moved_down(packed: str, lines: int) -> str:
    """Return the result of ``pack_lines``, moved down by the lines of the file before the text."""
    first, comma, others = packed.partition(",")
    return f"{int(first) + lines}{comma}{others}" if first else packed


def lines_of(packed: str, first: int, text: str) -> tuple[int, int] | None:
    """Return the first and the last line of a run of leaves that are not blank, counted from 1 as in an editor."""
    if not packed:
        return None
    begin = _unpacked(packed)[first]
    blank = len(text) - len(text.lstrip())
    start = begin + _line_ends(text[:blank])
    return start, max(start, begin + _line_ends(text.rstrip()))


def _line_ends(text: str) -> int:
    return sum(1 for _ in LINE_END.finditer(text))


@lru_cache(maxsize=128)
def _unpacked(packed: str) -> tuple[int, ...]:
    """Return the first line of each leaf. Cached, since all leaves of a document are often listed."""
    return tuple(accumulate(map(int, packed.split(",")), initial=1))[1:]
