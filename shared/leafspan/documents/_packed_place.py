"""A leaf's place in its document, packed into one metadata value that is stored with the leaf.

An engine may have to read a row for each metadata key, so a single string holds the whole place:
``1|ordinal,start,end,words|first,last,children,start,end,words|...``, with one ancestor for each level, parents first. The
first number is the version of this format.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from leafspan.errors import IndexMismatch
from leafspan.values import Ancestor, Leaf, LeafId

FORMAT = "1"

# Whole numbers >= 0 as ``pack_place`` writes them, with no more digits than fit into 64 bits.
_NUMBER = "(0|[1-9][0-9]{0,17})"
_PLACE = re.compile(",".join([_NUMBER] * 4))
_ANCESTOR = re.compile(",".join([_NUMBER] * 6))
_FIRST_NUMBERS = re.compile(rf"{FORMAT}\|(\d+)(?:[^|]*\|(\d+))?(?:[^|]*\|(\d+))?")


def pack_place(leaf: Leaf) -> str:
    """Return the leaf's place as a string, without document and version, which the leaf's id has."""
    parts = [FORMAT, f"{leaf.ordinal},{leaf.start},{leaf.end},{leaf.words}"]
    parts += map(_pack_ancestor, leaf.ancestors)
    return "|".join(parts)


@lru_cache(maxsize=1024)
def _pack_ancestor(ancestor: Ancestor) -> str:
    """Return an ancestor as a string. Cached, since all leaves below an ancestor share it."""
    return ",".join(map(str, ancestor))


def unpack_place(id_: LeafId, packed: object, *, checked: bool = False) -> Leaf:
    """Return the leaf with this id, from its packed place."""
    if not isinstance(packed, str):
        raise ValueError("its place is missing")
    format_, _, rest = packed.partition("|")
    if format_ != FORMAT:
        raise IndexMismatch(f"leaf {str(id_)!r} is stored in format {format_!r}, this version of leafspan reads {FORMAT!r}")
    place, _, above = rest.partition("|")
    if checked:
        ordinal, start, end, words = map(int, place.split(","))
        return Leaf(id_.document_id, id_.version, ordinal, start, end, words, _ancestors_as_written(above) if above else ())
    numbers = _PLACE.fullmatch(place)
    if numbers is None:
        raise ValueError(f"its place must be 4 whole numbers, got {place!r}")
    ordinal, start, end, words = map(int, numbers.groups())
    ancestors = _unpack_ancestors(above) if above else ()
    if ordinal != id_.ordinal:
        raise ValueError(f"its place belongs to leaf {ordinal}")
    if start > end:
        raise ValueError(f"its place ends before it starts, at {start} and {end}")
    if ancestors:
        first, last, _, parent_start, parent_end, _ = ancestors[0]
        if not (
            (parent_start == start if ordinal == first else first < ordinal and parent_start < start)
            and (parent_end == end if ordinal == last else ordinal < last and end < parent_end)
        ):
            raise ValueError(f"its place, {place!r}, is not within its parent's place, {above.partition('|')[0]!r}")
    return Leaf(id_.document_id, id_.version, ordinal, start, end, words, ancestors)


def ordinal_and_firsts(packed: str) -> tuple[int, list[int]]:
    """Return a leaf's ordinal, and the ordinals of the first leaves below its parent and its grandparent, if any.

    This is much faster than ``unpack_place``, and checks nothing. A summary has no parent, like the only leaf of a
    document, so its stored value is not read.
    """
    found = _FIRST_NUMBERS.match(packed)
    if found is None:
        return 0, []
    ordinal, *above = found.groups()
    return int(ordinal), [int(first) for first in above if first is not None]


@lru_cache(maxsize=8192)
def _ancestors_as_written(packed: str) -> tuple[Ancestor, ...]:
    """Like ``_unpack_ancestors``, for a place that is known to be unchanged."""
    return tuple([Ancestor._make(map(int, each.split(","))) for each in packed.split("|")])


@lru_cache(maxsize=8192)
def _unpack_ancestors(packed: str) -> tuple[Ancestor, ...]:
    """Return a leaf's ancestors from their strings. Cached, since all leaves below a parent have the same."""
    ancestors = tuple(map(_unpack_ancestor, packed.split("|")))
    for below, above in pairwise(ancestors):
        if not (
            above.first <= below.first
            and below.last <= above.last
            and above.start <= below.start
            and below.end <= above.end
        ):
            raise ValueError(f"its ancestors are not within each other: {packed!r}")
    if ancestors[-1].first != 0 or ancestors[-1].start != 0:
        raise ValueError(f"its last ancestor does not begin where the document does: {packed!r}")
    return ancestors


@lru_cache(maxsize=8192)
def _unpack_ancestor(packed: str) -> Ancestor:
    """Return an ancestor from its string. Cached, since leaves of one document share the upper ones."""
    numbers = _ANCESTOR.fullmatch(packed)
    if numbers is None:
        raise ValueError(f"one of its ancestors must be 6 whole numbers, got {packed!r}")
    ancestor = Ancestor(*map(int, numbers.groups()))
    first, last, children, start, end, _ = ancestor
    if first > last or start > end or not 1 <= children <= last - first + 1:
        raise ValueError(f"one of its ancestors is impossible: {packed!r}")
    return ancestor
