"""A leaf's place in its document, packed into the one metadata value that is stored with it.

Each metadata key is a row that Chroma must read, so everything about the structure stands in one string:
``1|ordinal,start,end,words|first,last,children,start,end,words|...``, an ancestor a level, parents first. The leading
number is the version of this format.
"""

from __future__ import annotations

from functools import lru_cache

from leafspan.errors import IndexMismatch
from leafspan.values import Ancestor, Leaf, LeafId

FORMAT = "1"


def pack_place(leaf: Leaf) -> str:
    """The leaf's place as a string; document and version are not in it, since the leaf's id holds them."""
    parts = [FORMAT, f"{leaf.ordinal},{leaf.start},{leaf.end},{leaf.words}"]
    parts += map(_pack_ancestor, leaf.ancestors)
    return "|".join(parts)


@lru_cache(maxsize=1024)
def _pack_ancestor(ancestor: Ancestor) -> str:
    """Cached, since all leaves below a node share it."""
    return ",".join(map(str, ancestor))


def unpack_place(id_: LeafId, packed: str) -> Leaf:
    """The leaf of that id, from its packed place.

    Raises:
        IndexMismatch: if the value is of another format.
    """
    form, place, *levels = packed.split("|")
    if form != FORMAT:
        raise IndexMismatch(f"leaf {str(id_)!r} is stored in format {form!r}, this version of leafspan reads {FORMAT!r}")
    ordinal, start, end, words = map(int, place.split(","))
    ancestors = tuple(map(_unpack_ancestor, levels))
    return Leaf(id_.document_id, id_.version, ordinal, start, end, words, ancestors)


@lru_cache(maxsize=8192)
def _unpack_ancestor(packed: str) -> Ancestor:
    """Cached, since hits stand close together, and the same ones come up again and again."""
    return Ancestor(*map(int, packed.split(",")))
