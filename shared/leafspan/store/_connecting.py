"""Opens the store of an index, and makes its collections if they do not exist."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from leafspan.checks import check_number, check_path, shown
from leafspan.documents import FORMAT
from leafspan.engines import FlowEngine, FlowTable, Notes, is_client, to_engine
from leafspan.engines.chroma import RESTORE, Chroma, check_there, folder_of, how_to_make, open_chroma, use_embedded_chroma
from leafspan.engines.local import deadline_after, disk_error, wait_for_lock
from leafspan.errors import DamagedIndex, IndexMismatch, IndexNotFound, InvalidArgument
from leafspan.flows import Call, Flow
from leafspan.store._catalogue_records import KnownIndex
from leafspan.store._change_log import last_position
from leafspan.store._damage import DamageRule, Met
from leafspan.store._engine_store import EngineStore
from leafspan.store._folder import Folder, folder_at
from leafspan.store._folder_store import FolderStore, known_without_chroma
from leafspan.store._naming import LEAVES_NOTES, leaves_name, manifest_name, read_settings, settings_with
from leafspan.store._ownership import adoptable, find_manifest, warn_of_namesake
from leafspan.store._store import Store


def open_store(
    path: str | Path | None,
    client: Any,
    name: str,
    *,
    settings: Mapping[str, Any],
    create: bool,
    timeout: float,
    cache_dir: str | Path | None = None,
    suggest: bool = False,
    read_only: bool = False,
    freshness: float = 0.0,
    damage: DamageRule | None = None,
) -> Flow[Store]:
    """Open the store of an index, or make the index.

    Raises:
        InvalidArgument: if neither or both of ``path`` and ``client`` are given, or one is out of its range.
        IndexNotFound: if there is no such index, and ``create`` is False.
        IndexMismatch: if the collections are not a leafspan index, or are stored in another format.
        WriterBusy: if another writer takes longer than the timeout.
        ServerTimeout: if a server does not answer in time.
        StorageFailed: if the storage cannot be reached, or fails.
    """
    _check_options(path, client, name, timeout)
    check_number("freshness", freshness, at_least=0, unit="seconds")
    rule = DamageRule() if damage is None else damage
    if client is not None:
        if not hasattr(client, "get_or_create_collection") or (folder := folder_of(client)) is None:
            how: dict[str, Any] = {
                "cache_dir": cache_dir,
                "read_only": read_only,
                "suggest": suggest,
                "freshness": freshness,
            }
            return (yield from _in_engine(to_engine(client, timeout), name, settings, create=create, damage=rule, **how))
        path = folder
    folder_path = _folder_path(path, create=create)
    place = partial(_in_folder, folder_path, client, name, settings, read_only=read_only)
    return (yield from place(create=create, timeout=timeout, suggest=suggest, damage=rule))


def has_index(path: str | Path | None, client: Any, name: str, timeout: float) -> Flow[bool]:
    """Whether there is an index of this name. This writes nothing. See ``open_store`` for the arguments.

    Raises:
        InvalidArgument: as ``open_store``.
        IndexMismatch: if another program made a collection with a name that this index would use.
    """
    _check_options(path, client, name, timeout)
    if client is not None:
        return (yield from find_manifest(to_engine(client, timeout), name)) is not None
    if not check_there(_folder_path(path, create=True)):
        return False
    opened = yield Call(open_chroma, (path,))
    try:
        return (yield from find_manifest(Chroma(opened), name)) is not None
    finally:
        yield Call(opened.close)


def _both_or_neither(path: object) -> str:
    """The end of an error message: what was given, and what to give. With both, the path is often meant as the name."""
    if path is None:
        return 'neither: such as path="kb", a folder, which is made'
    place = str(path) if isinstance(path, Path) else path
    return f"both: behind a client, the index has a name, name={shown(place)}, and no path"


def _check_options(path: object, client: Any, name: object, timeout: object) -> None:
    if path is not None:
        check_path("path", path)
    if (path is None) == (client is None):
        raise InvalidArgument(f"give either a path or a client, got {_both_or_neither(path)}")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidArgument(
            "name must be letters, digits, '_', '-' or single '.', start with a letter or digit, not end with "
            "'.', and have "
            f"at most 495 characters, got {shown(name)}"
        )
    check_number("timeout", timeout, at_least=0, unit="seconds")
    if client is not None and not is_client(client):
        raise InvalidArgument(
            "client must be a client of chromadb, a pool of psycopg_pool, a client of qdrant_client, or an engine, got "
            f"{shown(client)}"
        )


def _folder_path(path: Any, *, create: bool) -> Path:
    folder_path = Path(path).expanduser()
    try:
        is_something_else = not stat.S_ISDIR(folder_path.stat().st_mode)
    except FileNotFoundError:
        is_something_else = False
    except OSError as error:
        raise disk_error(error, f"open {str(folder_path)!r}") from error
    if is_something_else:
        raise InvalidArgument(f"path must be a folder, got the file {str(folder_path)!r}")
    if not create and not check_there(folder_path):
        raise IndexNotFound(f"there is no index in {str(folder_path)!r}")
    return folder_path


def _in_folder(
    folder_path: Path,
    client: Any,
    name: str,
    settings: Mapping[str, Any],
    *,
    read_only: bool,
    create: bool,
    timeout: float,
    suggest: bool,
    damage: DamageRule,
) -> Flow[Store]:
    deadline = deadline_after(timeout)
    folder = yield Call(folder_at, (folder_path, client, deadline), {"read_only": read_only})
    folder.check()
    if (kept := (yield from _known(folder, name, timeout))) is not None:
        _check_format(kept.settings)
        return FolderStore(folder, name, kept.settings, kept.id, timeout, kept.embedder, damage=damage)
    if (yield Call(folder.lacks, (name,))):
        if not create and not suggest:
            raise IndexNotFound(f"there is no index {name!r} in {str(folder_path)!r}")
        if create:
            folder.check_writable()
    opened = yield Call(folder.reopened_reader, (deadline,))
    try:
        known = yield from _stored_settings(opened.client, name)
        if known is None and not create:
            others = (yield from adoptable(Chroma(opened.client))) if suggest else ""
            raise IndexNotFound(f"there is no index {name!r} in {str(folder_path)!r}{others}")
        if known is None and suggest:
            yield from warn_of_namesake(Chroma(opened.client), name)
    finally:
        opened.leave()
    stored_settings = known if known is not None else (yield from _make_in_folder(folder, name, settings, timeout))
    # Another thread may have replaced and closed the first client.
    opened = yield Call(folder.reopened_reader, (deadline_after(timeout),))
    try:
        leaves = yield Chroma(opened.client).call("get_collection", leaves_name(name), embedding_function=None)
    finally:
        opened.leave()
    _check_format(stored_settings)
    store = FolderStore(folder, name, stored_settings, str(leaves.id), timeout, damage=damage)
    if known is None:
        yield from store.reader(Met())  # keeps the catalogue, so that processes that only read need no Chroma
    return store


def _known(folder: Folder, name: str, timeout: float) -> Flow[KnownIndex | None]:
    """The index as known without Chroma, or None if somebody other than leafspan wrote the database: it may be deleted."""
    if not (yield Call(folder.is_as_left)):
        return None
    found = yield from known_without_chroma(folder, name, timeout)
    return None if found is None else found[1]


def _make_in_folder(folder: Folder, name: str, settings: Mapping[str, Any], timeout: float) -> Flow[Mapping[str, Any]]:
    """Make the collections of an index under the writer's lock, and return the index's settings."""
    lock = folder.writer_lock()
    try:
        try_writing = partial(folder.try_writing, lock, deadline_after(timeout))
        yield from wait_for_lock(try_writing, timeout, repr(str(folder.path)), holder=lock.holder)
        opened = folder.opened(deadline_after(timeout))
        make, use = opened.client.get_or_create_collection, opened.use(timeout)
        # Another process may have made the index while this process waited.
        stored_settings: Mapping[str, Any] | None = yield from _stored_settings(opened.client, name)
        if stored_settings is None:
            for table, notes, searched in _tables_of(name, settings):
                yield Call(use.call, (make, table), how_to_make(table, notes, searched=searched), finish=True)
            folder.advance(lock, deadline_after(timeout))
        return settings if stored_settings is None else stored_settings
    finally:
        folder.stop_writing(lock)


_NAME = re.compile(r"(?!.*\.\.)[a-zA-Z0-9][a-zA-Z0-9._-]{0,499}(?<!\.)")


def _tables_of(name: str, settings: Mapping[str, Any]) -> Iterator[tuple[str, Notes, bool]]:
    """The name, notes and searchability of each table of an index. The index exists once its last table exists."""
    yield leaves_name(name), LEAVES_NOTES, True
    yield manifest_name(name), settings_with(settings, None), False


def _stored_settings(client: Any, name: str) -> Flow[dict[str, Any] | None]:
    """The index's settings, or None if there is no index. They are in the manifest, since it is made last."""
    manifest = yield from find_manifest(Chroma(client), name)
    return None if manifest is None else read_settings(manifest.notes)


def _in_engine(
    engine: FlowEngine,
    name: str,
    settings: Mapping[str, Any],
    *,
    create: bool,
    cache_dir: str | Path | None,
    suggest: bool,
    read_only: bool,
    freshness: float,
    damage: DamageRule,
) -> Flow[Store]:
    if isinstance(engine, Chroma):
        if engine.is_local:
            use_embedded_chroma()
        yield from engine.ask_batch()
    manifest = yield from find_manifest(engine, name)
    if manifest is None:
        if not create:
            others = (yield from adoptable(engine)) if suggest else ""
            raise IndexNotFound(f"there is no index {name!r} {engine.described}{others}")
        if suggest:
            yield from warn_of_namesake(engine, name)
        made: list[FlowTable | None] = []
        for table, notes, searched in _tables_of(name, settings):
            made.append((yield from engine.create(table, notes, searched=searched)))
        leaves, manifest = made
    else:
        leaves = yield from engine.table(leaves_name(name))
    assert manifest is not None
    if leaves is None:
        raise DamagedIndex(f"there is no {engine.kind} {leaves_name(name)!r}, which the index needs: {RESTORE}")
    stored_settings = read_settings(manifest.notes)
    _check_format(stored_settings)
    position = yield from last_position(manifest)
    cache = _cache_path(engine, cache_dir)
    how: dict[str, Any] = {"read_only": read_only, "freshness": freshness, "damage": damage}
    return EngineStore(engine, name, stored_settings, leaves, manifest, position, cache, **how)


def _cache_path(engine: FlowEngine, cache_dir: str | Path | None) -> Path | None:
    """The folder for derived data of an engine's indexes, or None to keep it in memory."""
    if cache_dir is not None:
        check_path("cache_dir", cache_dir)
        return Path(cache_dir).expanduser()
    return None if engine.is_local else user_cache_path("leafspan")


def _check_format(settings: Mapping[str, Any]) -> None:
    if settings.get("format") != FORMAT:
        raise IndexMismatch(
            f"the index is stored in format {settings.get('format')!r}, and this version of leafspan reads format "
            f"{FORMAT!r}: open it with the version that wrote it, or add the documents to a new index"
        )
