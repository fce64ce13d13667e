"""Whose the collections are that an index's name stands for."""

from __future__ import annotations

import warnings
from typing import Any

from leafspan.engine import Flow
from leafspan.errors import IndexMismatch
from leafspan.store._foreign import MADE_BY_LEAFSPAN, ForeignCollection, foreign_names, get_handle
from leafspan.store._naming import is_manifest, leaves_name, manifest_name


def find_manifest(client: Any, name: str, *, native: bool) -> Flow[Any]:
    """Chroma's handle of an index's manifest; None if there is no such index.

    Args:
        client: The Chroma client.
        name: Name of the index.
        native: Whether the client is asynchronous.

    Raises:
        IndexMismatch: if a collection that an index of this name has is somebody else's.
    """
    manifest = yield from get_handle(client, manifest_name(name), native=native)
    if manifest is not None:
        if not is_manifest(manifest.metadata):
            raise _refusal(manifest, (yield from ForeignCollection(manifest).maker()))
        return manifest
    leaves = yield from get_handle(client, leaves_name(name), native=native)
    if leaves is not None:
        # A process that was killed, or one at work right now, may have made the leaves only: they are empty, or leafspan's.
        found = ForeignCollection(leaves)
        maker = yield from found.maker()
        if maker is None and found.space == "cosine":
            return None
        if maker != MADE_BY_LEAFSPAN:
            raise _refusal(leaves, maker)
    return None


def _refusal(handle: Any, maker: str | None) -> IndexMismatch:
    whose = f"its records were written by {maker}" if maker else "it is empty"
    return IndexMismatch(
        f"the Chroma collection {handle.name!r} was not made by leafspan ({whose}): choose another name for the index"
    )


def warn_of_namesake(client: Any, name: str, *, native: bool) -> Flow[None]:
    """Warn if a collection that leafspan did not make has the very name of an index that is about to be made."""
    handle = yield from get_handle(client, name, native=native)
    if handle is not None and (maker := (yield from ForeignCollection(handle).maker())) is not None:
        warnings.warn(
            f"this makes an empty index {name!r} beside the Chroma collection {name!r}, whose records were written by "
            f"{maker}: to make an index of them, use Index.adopt, or the command leafspan adopt",
            UserWarning,
            stacklevel=2,
        )


def adoptable(client: Any, *, native: bool) -> Flow[str]:
    """The end of an error message that says which collections there could be adopted."""
    names = yield from foreign_names(client, native=native)
    if not names:
        return ""
    listed = ", ".join(map(repr, names))
    return f", but there are Chroma collections ({listed}): Index.adopt, or leafspan adopt, makes an index of one"
