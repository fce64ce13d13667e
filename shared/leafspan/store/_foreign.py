"""Collections of a Chroma that leafspan did not make. They are only read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from leafspan.checks import shown
from leafspan.errors import IndexNotFound, InvalidArgument
from leafspan.flows import Flow
from leafspan.reserved import STRUCTURE_KEY
from leafspan.store._caller import Caller
from leafspan.store._chroma import Chroma
from leafspan.store._collection import Collection
from leafspan.store._failures import CollectionGone
from leafspan.store._folder import fresh_client
from leafspan.store._naming import is_manifest

NODE_KEY = "_node_content"
"""The metadata key under which LlamaIndex stores a node without its text, as JSON."""

MADE_BY_LEAFSPAN = "leafspan"

_PAGE = 1_000  # records that are read at a time


class ForeignCollection:
    """A collection that leafspan did not make."""

    def __init__(self, handle: Any, timeout: float = 30.0) -> None:
        self._collection = Collection(handle, _PAGE, caller=Caller.of(handle, timeout))
        self._handle = handle

    @classmethod
    def of(cls, chroma: Chroma, handle: Any) -> ForeignCollection:
        """A collection of a client."""
        return cls(handle, chroma.caller.timeout or 30.0)

    @property
    def id(self) -> str:
        """The id that Chroma has given it."""
        return str(self._handle.id)

    @property
    def name(self) -> str:
        """Its name."""
        return self._collection.name

    @property
    def space(self) -> str:
        """How it compares vectors: ``"cosine"``, ``"l2"`` (Chroma's default) or ``"ip"``."""
        configuration = getattr(self._handle, "configuration_json", None) or {}
        kinds = (configuration.get("hnsw") or configuration.get("spann") or {}, self._collection.metadata)
        return str(kinds[0].get("space") or kinds[1].get("hnsw:space") or "l2")

    def ids(self) -> Flow[list[str]]:
        """The ids of all records."""
        return list((yield from self._collection.scan([])))

    def read(self, ids: Sequence[str], *columns: str) -> Flow[dict[str, dict[str, Any]]]:
        """The records with these ids, by id. The columns are ``documents``, ``metadatas`` and ``embeddings``."""
        return self._collection.get(ids, columns)

    def pages(self, ids: Sequence[str]) -> Iterator[Sequence[str]]:
        """The ids in pages of a size that can be kept in memory."""
        return (ids[start : start + _PAGE] for start in range(0, len(ids), _PAGE))

    def maker(self) -> Flow[str | None]:
        """Who has written its records, as far as a record shows it; None if it has none."""
        record = yield from self._collection.first("metadatas")
        if record is None:
            return None
        metadata = record["metadata"] or {}
        if STRUCTURE_KEY in metadata or is_manifest(self._collection.metadata):
            return MADE_BY_LEAFSPAN
        return "LlamaIndex" if NODE_KEY in metadata else "LangChain, or by means of Chroma alone"


def find_collection(
    client: Any, name: str | None, *, place: str = "behind this client", timeout: float = 30.0
) -> Flow[ForeignCollection]:
    """A collection of a client.

    Raises:
        IndexNotFound: if there is none of that name, or no single one to choose.
    """
    chroma = Chroma(client, timeout)
    names = yield from foreign_names(chroma)
    if name is None and len(names) == 1:
        name = names[0]
    listed = f"; there are {', '.join(map(repr, names))}" if names else "; there is none"
    if not names and (yield from _all_names(chroma)):
        listed += " but those of an index, which needs no adopting: open it as it is"
    if name is None:
        raise IndexNotFound(f"collection must say which Chroma collection {place} to adopt{listed}")
    handle = yield from get_handle(chroma, name)
    if handle is None:
        raise IndexNotFound(f"there is no Chroma collection {shown(name)} {place}{listed}")
    return ForeignCollection.of(chroma, handle)


def foreign_names(chroma: Chroma) -> Flow[list[str]]:
    """The names of the collections that do not belong to an index, sorted."""
    names = yield from _all_names(chroma)
    indexes = [name.removesuffix(".manifest") for name in names if name.endswith(".manifest")]
    own = {f"{name}{suffix}" for name in indexes for suffix in (".leaves", ".manifest", ".texts")}
    return sorted(names - own)


def _all_names(chroma: Chroma) -> Flow[set[str]]:
    every = yield chroma.call("list_collections")
    return {str(getattr(each, "name", each)) for each in every}


def get_handle(chroma: Chroma, name: str) -> Flow[Any]:
    """Chroma's handle of a collection; None if there is none."""
    try:
        return (yield chroma.call("get_collection", name, embedding_function=None))
    except CollectionGone:
        return None


def open_chroma(folder: str | Path) -> Any:
    """A client of the Chroma in a folder. Leafspan itself writes no file there. Close it when done.

    Raises:
        IndexNotFound: if there is no Chroma in the folder.
        InvalidArgument: if it cannot be opened.
    """
    from chromadb.errors import ChromaError

    path = Path(folder).expanduser().resolve()
    if not (path / "chroma.sqlite3").exists():
        raise IndexNotFound(f"there is no Chroma in {str(path)!r}")
    try:
        return fresh_client(path)
    except ChromaError as error:
        raise InvalidArgument(f"what is in {str(path)!r} cannot be opened as a Chroma database: {error}") from error
