"""Chroma collections that leafspan did not make. leafspan only reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from leafspan.checks import shown
from leafspan.engines.chroma._chroma import (
    MADE_BY_LEAFSPAN,
    Chroma,
    foreign_names,
    fresh_client,
    has_own_notes,
    maker_of,
    with_notes,
)
from leafspan.engines.chroma._collection import Collection
from leafspan.engines.chroma._failures import CollectionGone, caller_of
from leafspan.errors import IndexNotFound, InvalidArgument
from leafspan.flows import Flow

_PAGE = 1_000  # records per read


class ForeignCollection(Collection):
    def __init__(self, handle: Any, timeout: float = 30.0) -> None:
        super().__init__(handle, _PAGE, caller=caller_of(handle, timeout))

    @property
    def space(self) -> str:
        """The distance of its vectors: ``"cosine"``, ``"l2"`` (Chroma's default) or ``"ip"``."""
        configuration = getattr(self._handle, "configuration_json", None) or {}
        kinds = (configuration.get("hnsw") or configuration.get("spann") or {}, self.notes)
        return str(kinds[0].get("space") or kinds[1].get("hnsw:space") or "l2")

    def maker(self) -> Flow[str | None]:
        """Return who wrote the records, as far as a record shows it, or None if the collection is empty."""
        if has_own_notes(self.notes):
            return MADE_BY_LEAFSPAN
        record = yield from self.first("metadata")
        return None if record is None else maker_of(record.metadata or {})


def find_collection(
    client: Any, name: str | None, *, place: str = "behind this client", timeout: float = 30.0
) -> Flow[ForeignCollection]:
    chroma = Chroma(client, timeout)
    every = yield from chroma.tables()
    names = foreign_names(every)
    if name is None and len(names) == 1:
        name = names[0]
    listed = f"; there are {', '.join(map(repr, names))}" if names else "; there are no collections"
    if every and not names:
        listed += " except an index's own: open the index itself, it needs no adopting"
    if name is None:
        raise IndexNotFound(f"collection must say which Chroma collection {place} to adopt{listed}")
    try:
        handle = yield chroma.call("get_collection", name, embedding_function=None, read=with_notes)
    except CollectionGone:
        raise IndexNotFound(f"there is no Chroma collection {shown(name)} {place}{listed}") from None
    return ForeignCollection(handle, timeout)


def open_chroma(folder: str | Path) -> Any:
    """Return a client of the Chroma in a folder. leafspan itself writes no file there. Close the client when done."""
    from chromadb.errors import ChromaError

    path = Path(folder).expanduser().resolve()
    if not (path / "chroma.sqlite3").exists():
        raise IndexNotFound(f"there is no Chroma in {str(path)!r}")
    try:
        return fresh_client(path)
    except ChromaError as error:
        raise InvalidArgument(f"what is in {str(path)!r} cannot be opened as a Chroma database: {error}") from error
