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
from leafspan.embedding import EmbedderIdentity
from leafspan.engines import FlowEngine, FlowTable, is_client, to_engine
from leafspan.engines.chroma import (
    RESTORE,
    Chroma,
    Opened,
    check_there,
    folder_of,
    how_to_make,
    open_chroma,
    use_embedded_chroma,
)
from leafspan.engines.local import deadline_after, disk_error
from leafspan.errors import DamagedIndex, IndexNotFound, InvalidArgument
from leafspan.flows import Call, Flow
from leafspan.store._change_log import last_position
from leafspan.store._damage import DamageRule
from leafspan.store._engine_store import EngineStore
from leafspan.store._folder import DEFAULT_DATABASE, Folder, folder_at
from leafspan.store._folder_store import FolderStore
from leafspan.store._naming import LEAVES_NOTES, TableNames, WantedIndex, adoptable, find_manifest, warn_of_namesake
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
    spare: EmbedderIdentity | None = None,
    base: str | None = None,
) -> Flow[Store]:
    """Open the store of an index, or make the index.

    ``spare`` is the embedder of a spare edition, which is opened to be written, and ``base`` the name of its index.
    """
    _check_options(path, client, name, timeout)
    check_number("freshness", freshness, at_least=0, unit="seconds")
    rule, base = damage or DamageRule(), base or name
    wanted = WantedIndex(name, settings, create, timeout, cache_dir, suggest, read_only, freshness, rule, base, spare)
    if client is not None:
        if not hasattr(client, "get_or_create_collection") or (folder := folder_of(client)) is None:
            return (yield from _in_engine(to_engine(client, timeout), wanted))
        path = folder
    return (yield from _in_folder(_folder_path(path, create=create), client, wanted))


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


def _check_options(path: object, client: Any, name: object, timeout: object) -> None:
    if path is not None:
        check_path("path", path)
    if (path is None) == (client is None):
        both = f"both: behind a client, the index has a name, name={shown(str(path))}, and no path"
        neither = 'neither: such as path="kb", a folder, which is made'
        raise InvalidArgument(f"give either a path or a client, got {neither if path is None else both}")
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


def _in_folder(path: Path, client: Any, wanted: WantedIndex) -> Flow[Store]:
    name, timeout = wanted.name, wanted.timeout
    folder: Folder = yield Call(folder_at, (path, client, deadline_after(timeout)), {"read_only": wanted.read_only})
    folder.check()
    # Another program that has changed the database may have deleted the leaves.
    only_leafspan_wrote = (yield Call(folder.only_leafspan_wrote)) or folder.read_only
    index: StoredIndex | None = yield Call(folder.rows.find, (name,))
    if index is not None and (edition := wanted.current(index.notes)) != wanted:
        return (yield from _in_folder(path, client, edition))
    if index is not None and only_leafspan_wrote:
        return FolderStore(folder, index, wanted)
    if index is None and not wanted.create:
        if not wanted.suggest and name.rpartition(".")[0] in (yield Call(folder.rows.names)):
            # It is the name of an index's trees, whose rows would be in the same file.
            raise IndexNotFound(f"there is no index {name!r} in {str(path)!r}")
    elif index is None:
        folder.check_writable()

    def existing(opened: Opened) -> Flow[Store | None]:
        """The store of the index, or None if it can be made."""
        engine = Chroma(opened.client)
        leaves = yield from engine.table(TableNames.of(name).leaves)
        if index is not None and leaves is not None and leaves.id == index.leaves:
            return FolderStore(folder, index, wanted)
        if index is not None and not folder.read_only:
            yield from _forget(folder, index, wanted)
        manifest = yield from find_manifest(engine, name)
        if manifest is not None and leaves is not None:
            return FolderStore(folder, StoredIndex(0, leaves.id, manifest.notes), wanted, was_served=True)
        if not wanted.create:
            others = (yield from adoptable(engine, folder.rows.names())) if wanted.suggest else ""
            raise IndexNotFound(f"there is no index {name!r} in {str(path)!r}{others}")
        if wanted.suggest:
            yield from warn_of_namesake(engine, name)
        return None

    store = yield from folder.with_client(existing, timeout)
    return store or FolderStore(folder, (yield from _make_in_folder(folder, wanted)), wanted)


def _forget(folder: Folder, index: StoredIndex, wanted: WantedIndex) -> Flow[None]:
    """Remove an index whose leaves another program has deleted, since no later process may look for them."""
    lock = folder.writer_lock()
    try:
        yield from folder.wait_for(lock, lock.try_acquire, wanted.timeout)
        if (yield Call(folder.rows.find, (wanted.name,))) == index:
            yield Call(folder.rows.forget, (wanted.name,), finish=True)
    finally:
        lock.release()


def _make_in_folder(folder: Folder, wanted: WantedIndex) -> Flow[StoredIndex]:
    """Make the leaves' collection and then the index, under the writer's lock."""
    name, timeout = wanted.name, wanted.timeout
    lock = folder.writer_lock()
    try:
        yield from folder.wait_for(lock, partial(folder.try_writing, lock, deadline_after(timeout)), timeout)
        opened = folder.opened(deadline_after(timeout))
        make, use, table = opened.client.get_or_create_collection, opened.use(timeout), TableNames.of(name).leaves
        how = how_to_make(table, LEAVES_NOTES, searched=True)
        leaves = yield Call(use.call, (make, table), how, finish=True)
        # Another process may have made the index while this process waited.
        index: StoredIndex | None = yield Call(folder.rows.find, (name,))
        if index is None or index.leaves != str(leaves.id):
            yield from _check_empty(Chroma(opened.client), name, folder.rows.path)
            yield Call(folder.rows.make, (name, str(leaves.id), wanted.notes), finish=True)
            folder.advance(lock, deadline_after(timeout))
            index = yield Call(folder.rows.find, (name,))
        assert index is not None
        return index
    finally:
        folder.stop_writing(lock)


def _check_empty(engine: FlowEngine, name: str, where: Path | None = None) -> Flow[None]:
    """Check that an index that is about to be made has no leaves: if it has, its rows are lost or in a folder."""
    leaves = yield from engine.table(TableNames.of(name).leaves)
    if leaves is None or not (yield from leaves.scan([])):
        return
    if where is not None:
        raise DamagedIndex(f"{str(where)!r} has no rows of the index {name!r}, but the index has leaves: {RESTORE}")
    raise DamagedIndex(
        f"the index {name!r} has leaves, but no rows {engine.described}: if it was made in a folder, copy it "
        f"(leafspan copy), or else restore a backup"
    )


def _in_engine(engine: FlowEngine, wanted: WantedIndex) -> Flow[Store]:
    name, names = wanted.name, TableNames.of(wanted.name)
    if isinstance(engine, Chroma):
        if engine.is_local:
            use_embedded_chroma()
        yield from engine.ask_batch()
    manifest = yield from find_manifest(engine, name)
    if manifest is None:
        if not wanted.create:
            others = (yield from adoptable(engine)) if wanted.suggest else ""
            raise IndexNotFound(f"there is no index {name!r} {engine.described}{others}")
        if wanted.suggest:
            yield from warn_of_namesake(engine, name)
        yield from _check_empty(engine, name)
        leaves: FlowTable | None = yield from engine.create(names.leaves, LEAVES_NOTES, searched=True)
        # Last, since the index exists once its manifest exists.
        manifest = yield from engine.create(names.manifest, wanted.notes, searched=False)
    elif (edition := wanted.current(manifest.notes)) != wanted:
        return (yield from _in_engine(engine, edition))
    else:
        leaves = yield from engine.table(names.leaves)
    assert manifest is not None
    if leaves is None:
        raise DamagedIndex(f"there is no {engine.kind} {names.leaves!r}, which the index needs: {RESTORE}")
    position = yield from last_position(manifest)
    return EngineStore(engine, leaves, manifest, position, wanted, _cache_path(engine, wanted.cache_dir))


def _cache_path(engine: FlowEngine, cache_dir: str | Path | None) -> Path | None:
    """The folder for derived data of an engine's indexes, or None to keep it in memory."""
    if cache_dir is not None:
        check_path("cache_dir", cache_dir)
        return Path(cache_dir).expanduser()
    return None if engine.is_local else user_cache_path("leafspan")
