"""Opening an index's collections, or making them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from leafspan.engine import Call, Flow
from leafspan.errors import IndexMismatch, IndexNotFound, InvalidArgument
from leafspan.store.client_store import ClientStore, Connection, client_call
from leafspan.store.folder import Folder, folder_at
from leafspan.store.folder_store import FolderStore
from leafspan.store.naming import leaves_name, manifest_name, read_settings, settings_with
from leafspan.store.store import Store
from leafspan.store.waiting import waiting
from leafspan.structure import FORMAT


def open_store(
    path: str | Path | None,
    client: Any,
    name: str,
    *,
    settings: Mapping[str, Any],
    create: bool,
    timeout: float,
    cache: str | Path | None = None,
) -> Flow[Store]:
    """The store of the index ``name`` in a folder or behind a client, made with ``settings`` where there is none.

    Raises:
        InvalidArgument: if neither or both of ``path`` and ``client`` are given.
        IndexNotFound: if there is none, and ``create`` is off.
        WriterBusy: if somebody else is making it and takes too long.
    """
    if (path is None) == (client is None):
        raise InvalidArgument(f"give either a path or a client, got path={path!r} and client={client!r}")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidArgument(
            f"name must be letters, digits, '.', '_' or '-', start with a letter or digit, and be at most 500, got {name!r}"
        )
    if not isinstance(timeout, int | float) or timeout < 0:
        raise InvalidArgument(f"timeout must be a number of seconds >= 0, got {timeout!r}")
    if client is not None:
        if not hasattr(client, "get_or_create_collection"):
            raise InvalidArgument(f"client must be a client that chromadb makes, got {client!r}")
        native = _is_async(client)
        config = None if native else client.get_settings()
        if config is None or not config.is_persistent or "fastapi" in str(config.chroma_api_impl):
            return (yield from _behind_client(client, name, settings, create=create, native=native, cache=cache))
        path = config.persist_directory
    if not isinstance(path, str | Path):
        raise InvalidArgument(f"path must be a string or a pathlib.Path, got {path!r}")
    place = Path(path).expanduser()
    if not create and not (place / "chroma.sqlite3").exists():
        raise IndexNotFound(f"there is no index in {str(place)!r}")
    if place.exists() and not place.is_dir():
        raise InvalidArgument(f"path must be a folder, got the file {str(place)!r}")
    folder = yield Call(_folder, (place, client))
    opened = yield Call(folder.reopened_reader)
    try:
        found = yield Call(_find, (opened.client, name))
    finally:
        opened.leave()
    if found is None:
        if not create:
            raise IndexNotFound(f"there is no index {name!r} in {str(place)!r}")
        lock = folder.writer_lock()
        try:
            yield from waiting(partial(folder.try_writing, lock), timeout, repr(str(place)))
            chroma = folder.opened().client
            found = yield Call(_find, (chroma, name))  # made by another while this one waited
            if found is None:
                yield Call(chroma.get_or_create_collection, (leaves_name(name),), _LEAVES, finish=True)
                options = {"embedding_function": None, "metadata": settings_with(settings, None)}
                yield Call(chroma.get_or_create_collection, (manifest_name(name),), options, finish=True)
                found = settings
                folder.advance()
        finally:
            folder.stop_writing(lock)
    chroma = folder.opened().client
    leaves = yield Call(chroma.get_collection, (leaves_name(name),), {"embedding_function": None})
    return FolderStore(folder, name, _checked(found), folder.path / "leafspan.mirror" / str(leaves.id))


_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,499}")

# Chroma's own ef_search of 100 finds 95 % of the nearest 24 of 48,000 leaves, 200 finds 98 % for 15 % more time. It writes
# its vectors to disk after every thousandth record, and adds a tenth faster where it does so once a batch.
_HNSW = {"space": "cosine", "ef_search": 200, "sync_threshold": 5_000}
_LEAVES = {"embedding_function": None, "configuration": {"hnsw": _HNSW}}


def _folder(place: Path, client: Any) -> Folder:
    from chromadb.errors import ChromaError

    try:
        return folder_at(place, client)
    except ChromaError as error:
        raise IndexMismatch(f"what is in {str(place)!r} cannot be opened as a Chroma database: {error}") from error


def _find(client: Any, name: str) -> dict[str, Any] | None:
    """The settings of the index, None where there is none: the manifest is made last."""
    from chromadb.errors import NotFoundError

    try:
        return read_settings(client.get_collection(manifest_name(name), embedding_function=None).metadata)
    except NotFoundError:
        return None


def _behind_client(
    client: Any, name: str, settings: Mapping[str, Any], *, create: bool, native: bool, cache: str | Path | None
) -> Flow[Store]:
    from chromadb.errors import NotFoundError

    plain = {"embedding_function": None}
    try:
        leaves = yield client_call(client, "get_collection", (leaves_name(name),), plain, native=native)
        manifest = yield client_call(client, "get_collection", (manifest_name(name),), plain, native=native)
    except NotFoundError:
        if not create:
            raise IndexNotFound(f"there is no index {name!r} behind this client") from None
        leaves = yield client_call(client, "get_or_create_collection", (leaves_name(name),), _LEAVES, native=native)
        options = {"embedding_function": None, "metadata": settings_with(settings, None)}
        manifest = yield client_call(client, "get_or_create_collection", (manifest_name(name),), options, native=native)
    batch = yield client_call(client, "get_max_batch_size", (), {}, native=native)
    connection = Connection(client, native=native, batch=int(batch), leaves=leaves, manifest=manifest)
    in_memory = not native and "fastapi" not in str(client.get_settings().chroma_api_impl)
    place = Path(cache).expanduser() if cache is not None else None if in_memory else user_cache_path("leafspan")
    folder = place / str(leaves.id) if place else None
    return ClientStore(client, name, _checked(read_settings(manifest.metadata)), connection, folder)


def _checked(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    if settings.get("format") != FORMAT:
        raise IndexMismatch(
            f"the index is stored in format {settings.get('format')!r}, this version of leafspan reads {FORMAT!r}: "
            f"{json.dumps(dict(settings))}"
        )
    return settings


def _is_async(client: Any) -> bool:
    from chromadb.api.async_api import AsyncClientAPI

    return isinstance(client, AsyncClientAPI)
