"""The user's source: a vector store of LangChain or LlamaIndex, a Chroma collection, or a folder with one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leafspan.checks import check_path, is_unicode, shown
from leafspan.engines.chroma import MADE_BY_LEAFSPAN, ForeignCollection, find_collection, open_chroma
from leafspan.errors import InvalidArgument
from leafspan.flows import Call, Flow


@dataclass(frozen=True, slots=True)
class Source:
    """A collection to adopt."""

    collection: ForeignCollection
    embedder: Any = None  # the vector store's embedder. None if unknown
    docstore: Any = None  # LlamaIndex's store of the documents or nodes. None without such a store
    opened: Any = None  # Chroma client to close at the end. None if the user opened it

    def close(self) -> None:
        """Close the client that was opened for it."""
        if self.opened is not None:
            self.opened.close()


def open_source(thing: Any, collection: str | None, docstore: Any, timeout: float) -> Flow[Source]:
    """Return the collection that a user means. It is recognised by its methods, so that no framework must be installed."""
    if collection is not None and (not isinstance(collection, str) or not is_unicode(collection)):
        raise InvalidArgument(f"collection must be the name of a collection, got {shown(collection)}")
    if docstore is not None and not hasattr(docstore, "get_document"):
        raise InvalidArgument(f"docstore must be a docstore of LlamaIndex, got {shown(docstore)}")
    source = yield from _found(thing, collection, docstore, timeout)
    try:
        if (yield from source.collection.maker()) == MADE_BY_LEAFSPAN:
            name = source.collection.name
            raise InvalidArgument(f"the collection {name!r} belongs to an index already: open it with Index.open")
    except BaseException:
        source.close()
        raise
    return source


def _found(thing: Any, collection: str | None, docstore: Any, timeout: float) -> Flow[Source]:
    if isinstance(thing, str | Path):
        check_path("source", thing)
        client = yield Call(open_chroma, (thing,))
        try:
            found = yield from find_collection(client, collection, place=f"in {str(thing)!r}")
        except BaseException:
            client.close()
            raise
        return Source(found, docstore=docstore, opened=client)
    if hasattr(thing, "get_collection") and hasattr(thing, "list_collections"):
        return Source((yield from find_collection(thing, collection, timeout=timeout)), docstore=docstore)
    if collection is not None:
        raise InvalidArgument(f"collection must only be given with a folder or a client, got {shown(collection)}")
    embedder = None
    if hasattr(thing, "vector_store"):  # LlamaIndex's StorageContext or VectorStoreIndex
        embedder = getattr(thing, "_embed_model", None)
        docstore = thing.docstore if docstore is None else docstore
        thing = thing.vector_store
    handle = getattr(thing, "_collection", thing)
    if not _has(handle, ("get", "query", "count", "name")):
        raise InvalidArgument(
            "source must be a Chroma of LangChain, a ChromaVectorStore, StorageContext or VectorStoreIndex of LlamaIndex, "
            f"a collection or client of chromadb, or a folder, got {type(thing).__name__}"
        )
    return Source(ForeignCollection(handle, timeout), getattr(thing, "embeddings", None) or embedder, docstore)


def _has(thing: object, names: Iterable[str]) -> bool:
    return all(hasattr(thing, name) for name in names)
