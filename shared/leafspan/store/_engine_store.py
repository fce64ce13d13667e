"""The store of an index in an engine: in memory, or one that many processes use, such as a server."""

from __future__ import annotations

import hashlib
import math
import os
import re
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from leafspan.embedding import EmbedderIdentity
from leafspan.engines import FlowEngine, FlowTable, Record
from leafspan.engines.chroma import check_process
from leafspan.engines.local import wait_for_lock
from leafspan.errors import DamagedIndex, StorageReadOnly
from leafspan.flows import Flow
from leafspan.store._catalogue import Catalogue, Visibility
from leafspan.store._change_log import DELETED, SPARE_ID, LogWriter, Position, changed_since, last_position
from leafspan.store._damage import ReadHistory
from leafspan.store._manifest import Row, unpack_rows
from leafspan.store._naming import (
    EDITION_OF,
    Editions,
    TableNames,
    WantedIndex,
    family,
    read_embedder,
    read_settings,
    settings_with,
    spare_written,
    warn_of_spare,
)
from leafspan.store._reader import Reader
from leafspan.store._writer import Copies, Writer

T = TypeVar("T")


class EngineStore:
    """The store of an index in the tables of an engine. Each reader asks the manifest.

    Writers of other processes are not locked out, so a writer only changes the documents that it was given, and replaces
    each as a whole. Readers never see a killed writer's leftovers. The next ``add`` of the document or ``Index.repair``
    deletes them. If the engine has no locks, two processes must not write the same document at the same time.
    """

    def __init__(
        self,
        engine: FlowEngine,
        leaves: FlowTable,
        manifest: FlowTable,
        position: Position,
        wanted: WantedIndex,
        cache: Path | None,
    ) -> None:
        self._engine = engine
        self._wanted = wanted
        self.name = wanted.name
        self.base = manifest.notes.get(EDITION_OF, wanted.base)  # the name of the index, and of its first edition
        self._was_spare = position.spare is not None or wanted.spare is not None
        self._asked_at = -math.inf  # when leafspan last asked whether the index has changed
        self._process = os.getpid()
        self.id = leaves.id
        self.described = f"{self.base!r} {engine.described}"
        self.product = engine.product
        self.cache_folder = None if cache is None else cache / _folder_name(self.id)
        self.home: Path | None = None
        self.settings = read_settings(manifest.notes)
        self.damage = wanted.damage
        self.batch = engine.batch
        self.leaves = leaves
        self._manifest = manifest
        self._names = TableNames.of(self.name)
        self._beside: dict[str, FlowTable] = {}  # tables that are made at their first use
        segments = partial(self._table_beside, self._names.segments)
        # The table with the segments, for clients on other machines. Called with True, it makes the table; called with
        # False, it returns None if the table does not exist. None in memory.
        self.segments_table: Callable[[bool], Flow[FlowTable | None]] | None = None if engine.is_local else segments
        self._mutex = threading.Lock()
        self.copies: Copies | None = None
        self._log = LogWriter(manifest)
        weakref.finalize(self, engine.close)  # an index that was re-embedded is left to those who still read it
        self.last_token = position.token
        self._latest = _ReadCatalogue(Position(), Catalogue({}))

    embedded = False
    interrupted = False  # behind a server a writer leaves no mark
    cache_read_only = False
    catalogue = None
    has_changed = None

    @property
    def client(self) -> Any:
        return self._engine.thing

    def reader(self, history: ReadHistory, *, scope: Visibility | None = None, again: bool = False) -> Flow[Reader]:
        check_process(self._process)
        yield from ()  # makes it a flow, as in the other store
        if again:
            self._latest = self._latest._replace(failures=self._latest.failures + 1)
        return Reader(self.leaves, self._manifest, self, history, scope=scope, rule=self.damage)

    def start_writing(self, timeout: float, ids: Sequence[str] | None) -> Flow[Writer]:
        check_process(self._process)
        self._check_writable()
        locks = ExitStack()  # first the mutex that all writers share, then the engine's locks on documents

        def try_acquire() -> bool:
            if is_held := self._mutex.acquire(blocking=False):
                locks.callback(self._mutex.release)
            return is_held

        try:
            yield from wait_for_lock(try_acquire, timeout, f"{self._names.manifest!r}")
            # Earlier, abandoned writes must not overwrite later ones: they are sent or dropped first.
            if late := self._engine.caller.late_writes:
                what = f"a request to write {self._names.manifest!r}, which was late,"
                yield from wait_for_lock(lambda: not late, timeout, what)
            locks.callback((yield from self._engine.lock(self.id, ids, timeout, f"{self._names.manifest!r}")))
            read = self._manifest.scan if ids is None else partial(self._manifest.get, [*ids, SPARE_ID])
            records = yield from read(["metadata"])
            if SPARE_ID in records and self._wanted.spare is None:
                raise spare_written(self.name)
        except BaseException:
            locks.close()
            raise
        return Writer(
            self.leaves,
            self._manifest,
            rows=unpack_rows(records),
            advance=self._advance,
            stop=lambda _: locks.close(),
            copies=self.copies,
            catalogue=self.load,
        )

    def embedder(self) -> Flow[EmbedderIdentity | None]:
        manifest = yield from self._engine.table(self._names.manifest)
        if manifest is None:
            raise DamagedIndex(f"the index {self.described} was deleted after it was opened: open it again")
        return read_embedder(manifest.notes)

    def record_embedder(self, identity: EmbedderIdentity) -> Flow[None]:
        yield from self._manifest.annotate(settings_with(self.settings, identity))

    def _manifest_of(self, edition: str) -> Flow[FlowTable | None]:
        return self._engine.table(TableNames.of(edition).manifest)

    def editions(self) -> Flow[Editions]:
        manifest = yield from self._manifest_of(self.base)
        return Editions(self.base) if manifest is None else Editions.read(manifest.notes, self.base)

    def record_editions(self, editions: Editions) -> Flow[None]:
        # A process that is killed in between leaves an index that can be written.
        for name in family(editions.current):
            if (now := (yield from self._manifest_of(name))) is not None:
                yield from now.delete([SPARE_ID])
        if (base := (yield from self._manifest_of(self.base))) is not None:
            yield from base.annotate({**base.notes, **editions.notes})
        for name in editions.silent:
            if (spare := (yield from self._manifest_of(name))) is not None:
                yield from spare.put([Record(SPARE_ID, metadata={"id": SPARE_ID})])

    def drop(self, edition: str) -> Flow[None]:
        for name in family(edition):
            # The manifest stays, for those who have it open, and since the first one says which edition is current.
            if (manifest := (yield from self._manifest_of(name))) is not None:
                yield from manifest.put([Record(SPARE_ID, metadata={"id": DELETED})])
                yield from manifest.delete(sorted((yield from manifest.scan([])).keys() - {SPARE_ID}))
            for table in TableNames.of(name):
                if table != TableNames.of(name).manifest:
                    yield from self._engine.drop(table)

    has_lost = False

    def lost_vectors(self) -> None:
        return None  # leafspan cannot read a server's files

    def check_database(self) -> Flow[None]:
        yield from ()

    def check_files(self, timeout: float, *, repair: bool) -> Flow[dict[str, str]]:
        yield from ()
        return {}

    def rows(self) -> Flow[Mapping[str, Row]]:
        return unpack_rows((yield from self._manifest.scan(["metadata"])))

    def vectors_found(self, catalogue: Catalogue) -> Flow[None]:
        yield from ()

    def close(self) -> None:
        self._engine.close()

    def read_texts(self, use: Callable[[FlowTable], Flow[T]]) -> Flow[T | None]:
        table = yield from self._table_beside(self._names.texts, False)
        return None if table is None else (yield from use(table))

    def write_texts(self, use: Callable[[FlowTable], Flow[T]], timeout: float) -> Flow[T]:
        # writers of texts do not wait for each other
        self._check_writable()
        if self._was_spare and self._wanted.spare is None:
            raise spare_written(self.name)
        table = yield from self._table_beside(self._names.texts, True)
        assert table is not None
        return (yield from use(table))

    def _table_beside(self, name: str, write: bool) -> Flow[FlowTable | None]:
        """An optional table of the index, or None if it does not exist and ``write`` is False."""
        if name not in self._beside:
            table = yield from (self._engine.create(name, {}, searched=False) if write else self._engine.table(name))
            if table is None:
                return None
            self._beside[name] = table
        return self._beside[name]

    def _check_writable(self) -> None:
        if self._wanted.read_only:
            raise StorageReadOnly(
                f"the index {self.described} was opened to be read only: open it without read_only=True to write"
            )

    def load(self) -> Flow[Catalogue]:
        """The catalogue. Only changed documents are read again if the log names them."""
        earlier = self._latest
        if self._is_fresh and not earlier.failures:
            return earlier.catalogue
        began = time.monotonic()
        position = yield from last_position(self._manifest)
        if position.spare == DELETED:
            raise DamagedIndex(f"{self.described} was deleted meanwhile: open it again")
        if position.spare is not None and not self._was_spare:
            self._was_spare = True
            warn_of_spare(self.described)
        self.last_token = position.token
        if position.is_settled and position.token == earlier.position.token and not earlier.failures:
            self._asked_at = began
            return earlier.catalogue
        since = yield from changed_since(self._manifest, earlier.position, position)
        if since.documents is None or earlier.failures > 1:
            catalogue = Catalogue(unpack_rows((yield from self._manifest.scan(["metadata"]))))
        else:
            catalogue = yield from self._brought_up_to_date(earlier.catalogue, since.documents, is_new=since.is_new)
        self._latest = _ReadCatalogue(since.position, catalogue)
        self._asked_at = began
        return catalogue

    @property
    def _is_fresh(self) -> bool:
        """Whether the catalogue is still fresh enough to be used without asking."""
        return time.monotonic() < self._asked_at + self._wanted.freshness

    def _brought_up_to_date(self, earlier: Catalogue, documents: Set[str], *, is_new: bool) -> Flow[Catalogue]:
        """Read these documents again. Return the same catalogue, with its caches, if no document has changed."""
        rows = unpack_rows((yield from self._manifest.get(list(documents), ["metadata"]))) if documents else {}
        if not is_new and all(rows.get(id_) == earlier.rows.get(id_) for id_ in documents):
            return earlier
        return Catalogue({**{id_: row for id_, row in earlier.rows.items() if id_ not in documents}, **rows})

    def is_behind(self, catalogue: Catalogue) -> Flow[bool]:
        # writers announce a change before they delete leaves that were current
        latest = self._latest
        if latest.catalogue is not catalogue:
            return True
        if self._is_fresh:
            return False
        token = latest.position.token
        return token is None or token != (yield from last_position(self._manifest)).token

    def _advance(self, changed: Set[str], *, settled: bool) -> Flow[None]:
        self._asked_at = -math.inf
        self.last_token = yield from self._log.write(changed, settled=settled)


class _ReadCatalogue(NamedTuple):
    position: Position  # how far the log was read before the catalogue
    catalogue: Catalogue
    failures: int = 0  # attempts to read that have failed since


def _folder_name(table_id: str) -> str:
    """Return the name of a folder for a table's id, which any server may have chosen."""
    is_name = re.fullmatch(r"[a-zA-Z0-9][a-zA-Z0-9_-]{0,99}", table_id)
    return table_id if is_name else hashlib.blake2b(table_id.encode(errors="replace"), digest_size=16).hexdigest()
