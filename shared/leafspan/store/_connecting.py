"""Opens the store of an index, and makes its collections if they do not exist."""

from __future__ import annotations

import re
import stat
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from leafspan.checks import check_number, check_path, shown
from leafspan.documents import FORMAT
from leafspan.engines import FlowEngine, FlowTable, is_client, to_engine
from leafspan.engines.chroma import RESTORE, Chroma, check_there, folder_of, how_to_make, open_chroma, use_embedded_chroma
from leafspan.engines.local import deadline_after, disk_error, wait_for_lock
from leafspan.errors import DamagedIndex, IndexMismatch, IndexNotFound, InvalidArgument
from leafspan.flows import Call, Flow
from leafspan.store._change_log import last_position
from leafspan.store._damage import DamageRule
from leafspan.store._engine_store import EngineStore
from leafspan.store._folder import DEFAULT_DATABASE, Folder, folder_at
from leafspan.store._folder_store import FolderStore
from leafspan.store._naming import (
    LEAVES_NOTES,
    adoptable,
    find_manifest,
    leaves_name,
    manifest_name,
    read_settings,
    settings_with,
    warn_of_namesake,
)
from leafspan.store._rows_file import RowsFile, StoredIndex
from leafspan.store._store import Store

_NAME = re.compile(r"(?!.*\.\.)[a-zA-Z0-9][a-zA-Z0-9._-]{0,499}(?<!\.)")


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
    """Open the store of an index, or make the index."""
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
    """Whether there is an index of this name. This writes nothing."""
    _check_options(path, client, name, timeout)
    if client is not None:
        return (yield from find_manifest(to_engine(client, timeout), name)) is not None
    folder_path = _folder_path(path, create=True)
    if not check_there(folder_path):
        return False
    if name in RowsFile(folder_path, *DEFAULT_DATABASE, read_only=True).names():
        return True
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
            "name must be letters, digits, '_', '-' or single '.', start with a letter or digit, not end with '.', and "
            f"have at most 495 characters, got {shown(name)}"
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
    # Another program that has changed the database may have deleted the leaves.
    only_leafspan_wrote = (yield Call(folder.only_leafspan_wrote)) or folder.read_only
    index = yield Call(folder.rows.find, (name,))
    if index is not None and only_leafspan_wrote:
        return _store_of(folder, name, index, timeout, damage)
    if index is None and not create and not suggest and name.rpartition(".")[0] in (yield Call(folder.rows.names)):
        # It is the name of an index's trees, whose rows would be in the same file.
        raise IndexNotFound(f"there is no index {name!r} in {str(folder_path)!r}")
    if index is None and create:
        folder.check_writable()
    opened = yield Call(folder.reopened_reader, (deadline,))
    try:
        engine = Chroma(opened.client)
        leaves = yield from engine.table(leaves_name(name))
        if index is not None and leaves is not None and leaves.id == index.leaves:
            return _store_of(folder, name, index, timeout, damage)
        if index is not None and not folder.read_only:
            yield from _forget(folder, name, index, timeout)
        manifest = yield from find_manifest(engine, name)
        if manifest is not None and leaves is not None:
            settings = read_settings(manifest.notes)
            _check_format(settings)
            return FolderStore(folder, name, settings, leaves.id, timeout, damage=damage, was_served=True)
        if not create:
            others = (yield from adoptable(engine, folder.rows.names())) if suggest else ""
            raise IndexNotFound(f"there is no index {name!r} in {str(folder_path)!r}{others}")
        if suggest:
            yield from warn_of_namesake(engine, name)
    finally:
        opened.leave()
    index = yield from _make_in_folder(folder, name, settings, timeout)
    return _store_of(folder, name, index, timeout, damage)


def _forget(folder: Folder, name: str, index: StoredIndex, timeout: float) -> Flow[None]:
    """Remove an index whose leaves another program has deleted, since no later process may look for them."""
    lock = folder.writer_lock()
    try:
        yield from wait_for_lock(lock.try_acquire, timeout, repr(str(folder.path)), holder=lock.holder)
        if (yield Call(folder.rows.find, (name,))) == index:
            yield Call(folder.rows.forget, (name,), finish=True)
    finally:
        lock.release()


def _store_of(folder: Folder, name: str, index: StoredIndex, timeout: float, damage: DamageRule) -> FolderStore:
    settings = read_settings(index.notes)
    _check_format(settings)
    return FolderStore(folder, name, settings, index.leaves, timeout, damage=damage)


def _make_in_folder(folder: Folder, name: str, settings: Mapping[str, Any], timeout: float) -> Flow[StoredIndex]:
    """Make the leaves' collection and then the index, under the writer's lock."""
    lock = folder.writer_lock()
    try:
        try_writing = partial(folder.try_writing, lock, deadline_after(timeout))
        yield from wait_for_lock(try_writing, timeout, repr(str(folder.path)), holder=lock.holder)
        opened = folder.opened(deadline_after(timeout))
        make, use = opened.client.get_or_create_collection, opened.use(timeout)
        how = how_to_make(leaves_name(name), LEAVES_NOTES, searched=True)
        leaves = yield Call(use.call, (make, leaves_name(name)), how, finish=True)
        # Another process may have made the index while this process waited.
        index: StoredIndex | None = yield Call(folder.rows.find, (name,))
        if index is None or index.leaves != str(leaves.id):
            yield from _check_empty(Chroma(opened.client), name, folder.rows.path)
            notes = settings_with(settings, None)
            yield Call(folder.rows.make, (name, str(leaves.id), notes), finish=True)
            folder.advance(lock, deadline_after(timeout))
            index = yield Call(folder.rows.find, (name,))
        assert index is not None
        return index
    finally:
        folder.stop_writing(lock)


def _check_empty(engine: FlowEngine, name: str, where: Path | None = None) -> Flow[None]:
    """Check that an index that is about to be made has no leaves: if it has, its rows are lost or in a folder."""
    leaves = yield from engine.table(leaves_name(name))
    if leaves is None or not (yield from leaves.scan([])):
        return
    if where is not None:
        raise DamagedIndex(f"{str(where)!r} has no rows of the index {name!r}, but the index has leaves: {RESTORE}")
    raise DamagedIndex(
        f"the index {name!r} has leaves, but no rows {engine.described}: if it was made in a folder, copy it "
        f"(leafspan copy), or else restore a backup"
    )


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
        yield from _check_empty(engine, name)
        leaves: FlowTable | None = yield from engine.create(leaves_name(name), LEAVES_NOTES, searched=True)
        # Last, since the index exists once its manifest exists.
        manifest = yield from engine.create(manifest_name(name), settings_with(settings, None), searched=False)
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
