"""Whose the collections are that an index's name stands for."""

from __future__ import annotations

import warnings
from typing import Any

from leafspan.errors import IndexMismatch
from leafspan.flows import Flow
from leafspan.store._chroma import Chroma
from leafspan.store._foreign import MADE_BY_LEAFSPAN, ForeignCollection, foreign_names, get_handle
from leafspan.store._naming import is_manifest, leaves_name, manifest_name

_MOST_NAMED = 10  # indexes in an error


def find_manifest(chroma: Chroma, name: str) -> Flow[Any]:
    """Chroma's handle of an index's manifest; None if there is no such index.

    Raises:
        IndexMismatch: if a collection that an index of this name has is somebody else's.
    """
    manifest = yield from get_handle(chroma, manifest_name(name))
    if manifest is not None:
        if not is_manifest(manifest.metadata):
            raise _refusal(manifest, (yield from ForeignCollection.of(chroma, manifest).maker()))
        return manifest
    leaves = yield from get_handle(chroma, leaves_name(name))
    if leaves is not None:
        # A process that was killed, or one at work right now, may have made the leaves only: they are empty, or leafspan's.
        found = ForeignCollection.of(chroma, leaves)
        maker = yield from found.maker()
        if maker is None and found.space == "cosine":
            return None
        if maker != MADE_BY_LEAFSPAN:
            raise _refusal(leaves, maker)
    return None


def index_names(chroma: Chroma) -> Flow[list[str]]:
    """The names of all indexes behind a client."""
    every = yield chroma.call("list_collections")
    return [
        name.removesuffix(manifest_name("")) for each in every if is_manifest(each.metadata) and (name := str(each.name))
    ]


def _refusal(handle: Any, maker: str | None) -> IndexMismatch:
    whose = f"its records were written by {maker}" if maker else "it is empty"
    return IndexMismatch(
        f"the Chroma collection {handle.name!r} was not made by leafspan ({whose}): choose another name for the index"
    )


def warn_of_namesake(chroma: Chroma, name: str) -> Flow[None]:
    """Warn if a collection that leafspan did not make has the very name of an index that is about to be made."""
    handle = yield from get_handle(chroma, name)
    if handle is not None and (maker := (yield from ForeignCollection.of(chroma, handle).maker())) is not None:
        warnings.warn(
            f"this makes an empty index {name!r} beside the Chroma collection {name!r}, whose records were written by "
            f"{maker}: to make an index of them, use leafspan.adopt, or the command leafspan adopt",
            UserWarning,
            stacklevel=2,
        )


def adoptable(chroma: Chroma) -> Flow[str]:
    """The end of an error message that says which collections there could be adopted, and which indexes there are."""
    said = ""
    if names := (yield from foreign_names(chroma)):
        listed = ", ".join(map(repr, names))
        said = f", but there are Chroma collections ({listed}): leafspan.adopt, or leafspan adopt, makes an index of one"
    indexes = yield from index_names(chroma)
    if own := sorted(name for name in indexes if name.rpartition(".")[0] not in indexes):  # without trees, such as kb.tree
        listed = ", ".join([*map(repr, own[:_MOST_NAMED]), *(["..."] if len(own) > _MOST_NAMED else [])])
        said += f"; there is {listed}" if len(own) == 1 else f"; there are {listed}"
    return said
