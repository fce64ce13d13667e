"""Opening an index's collections, or making them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from leafspan.checks import check_number
from leafspan.documents import FORMAT
from leafspan.engine import Call, Flow
from leafspan.errors import IndexMismatch, IndexNotFound, InvalidArgument
from leafspan.store._client_store import ClientStore, Connection, client_call
from leafspan.store._folder import Folder, folder_at
from leafspan.store._folder_store import FolderStore
from leafspan.store._naming import leaves_name, manifest_name, read_settings, settings_with
from leafspan.store._store import Store
from leafspan.store._waiting import wait_for_turn


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
    """The store of an index, made if there is none.

    Args:
        path: Folder of an embedded Chroma. Give either this or ``client``.
        client: A client that chromadb made.
        name: Name of the index.
        settings: What a new index is made with.
        create: Whether to make the index if there is none.
        timeout: Seconds to wait for another writer.
        cache: Folder for what is derived from an index behind a client.

    Raises:
        InvalidArgument: if neither or both of ``path`` and ``client`` are given, or one is out of its range.
        IndexNotFound: if there is none, and ``create`` is False.
        WriterBusy: if another writer takes longer than the timeout.
    """
    if (path is None) == (client is None):
        raise InvalidArgument(f"give either a path or a client, got path={path!r} and client={client!r}")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidArgument(
            f"name must be letters, digits, '.', '_' or '-', start with a letter or digit, and be at most 500, got {name!r}"
        )
    check_number("timeout", timeout, at_least=0, unit="seconds")
    if client is not None:
        if not hasattr(client, "get_or_create_collection"):
            raise InvalidArgument(f"client must be a client that chromadb makes, got {client!r}")
        native = _is_async(client)
        config = None if native else client.get_settings()
        if config is None or not config.is_persistent or "fastapi" in str(config.chroma_api_impl):
            return (yield from _behind_client(client, name, settings, create=create, native=native, cache=cache))
        path = config.persist_directory
    place = _folder_path(path, create=create)
    return (yield from _in_folder(place, client, name, settings, create=create, timeout=timeout))


def _folder_path(path: object, *, create: bool) -> Path:
    if not isinstance(path, str | Path):
        raise InvalidArgument(f"path must be a string or a pathlib.Path, got {path!r}")
    place = Path(path).expanduser()
    if not create and not (place / "chroma.sqlite3").exists():
        raise IndexNotFound(f"there is no index in {str(place)!r}")
    if place.exists() and not place.is_dir():
        raise InvalidArgument(f"path must be a folder, got the file {str(place)!r}")
    return place


def _in_folder(
    place: Path, client: Any, name: str, settings: Mapping[str, Any], *, create: bool, timeout: float
) -> Flow[Store]:
    folder = yield Call(_folder, (place, client))
    opened = yield Call(folder.reopened_reader)
    try:
        found = yield Call(_find, (opened.client, name))
    finally:
        opened.leave()
    if found is None:
        if not create:
            raise IndexNotFound(f"there is no index {name!r} in {str(place)!r}")
        found = yield from _make_in_folder(folder, name, settings, timeout)
    leaves = yield Call(folder.opened().client.get_collection, (leaves_name(name),), {"embedding_function": None})
    return FolderStore(folder, name, _checked(found), folder.path / "leafspan.mirror" / str(leaves.id))


def _make_in_folder(folder: Folder, name: str, settings: Mapping[str, Any], timeout: float) -> Flow[Mapping[str, Any]]:
    """Make the collections of an index under the writer's lock; the settings that it has then."""
    lock = folder.writer_lock()
    try:
        yield from wait_for_turn(partial(folder.try_writing, lock), timeout, repr(str(folder.path)))
        chroma = folder.opened().client
        found: Mapping[str, Any] | None = yield Call(_find, (chroma, name))  # made by another while this one waited
        if found is None:
            yield Call(chroma.get_or_create_collection, (leaves_name(name),), _LEAVES, finish=True)
            options = {"embedding_function": None, "metadata": settings_with(settings, None)}
            yield Call(chroma.get_or_create_collection, (manifest_name(name),), options, finish=True)
            folder.advance()
        return settings if found is None else found
    finally:
        folder.stop_writing(lock)


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
