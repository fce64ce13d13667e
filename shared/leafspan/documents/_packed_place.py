"""A leaf's place in its document, packed into one metadata value that is stored with the leaf.

Chroma has to read a row for each metadata key, so a single string holds the whole place:
``1|ordinal,start,end,words|first,last,children,start,end,words|...``, with one ancestor for each level, parents first. The
first number is the version of this format.
"""

from __future__ import annotations

from functools import lru_cache

from leafspan.errors import IndexMismatch
from leafspan.values import Ancestor, Leaf, LeafId

FORMAT = "1"


def pack_place(leaf: Leaf) -> str:
    """The leaf's place as a string. Document and version are left out, since the leaf's id has them."""
    parts = [FORMAT, f"{leaf.ordinal},{leaf.start},{leaf.end},{leaf.words}"]
    parts += map(_pack_ancestor, leaf.ancestors)
    return "|".join(parts)


@lru_cache(maxsize=1024)
def _pack_ancestor(ancestor: Ancestor) -> str:
    """An ancestor as a string. Cached, since all leaves below an ancestor share it."""
    return ",".join(map(str, ancestor))


def unpack_place(id_: LeafId, packed: str) -> Leaf:
    """The leaf with this id, from its packed place.

    Args:
        id_: Id of the leaf.
        packed: The result of ``pack_place``.

    Raises:
        IndexMismatch: if the string has another format.
    """
    format_, place, *levels = packed.split("|")
    if format_ != FORMAT:
        raise IndexMismatch(f"leaf {str(id_)!r} is stored in format {format_!r}, this version of leafspan reads {FORMAT!r}")
    ordinal, start, end, words = map(int, place.split(","))
    ancestors = tuple(map(_unpack_ancestor, levels))
    return Leaf(id_.document_id, id_.version, ordinal, start, end, words, ancestors)


@lru_cache(maxsize=8192)
def _unpack_ancestor(packed: str) -> Ancestor:
    """An ancestor from its string. Cached, since hits often stand close together and share ancestors."""
    return Ancestor(*map(int, packed.split(",")))
