"""Errors of Chroma, a server, SQLite and the disk become errors of leafspan's."""

from __future__ import annotations

import asyncio
import errno
import gc
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import chromadb.errors
import httpx
import pytest
from chromadb.config import Settings

from leafspan import (
    DamagedIndex,
    Document,
    Finding,
    Index,
    IndexNotFound,
    InvalidArgument,
    LeafspanError,
    StorageFailed,
    Vector,
)
from leafspan.engines import StaleRead
from leafspan.engines._caller import Caller
from leafspan.engines.chroma._collection import Collection
from leafspan.engines.chroma._failures import CollectionGone, LeafGone, translated
from leafspan.engines.local._disk import chroma_disk_error
from leafspan.errors import ConcurrentUpdate, ServerTimeout, StorageFull, StorageReadOnly
from leafspan.flows import arun, run
from tests.corpus import DOCUMENTS, SPLITTER

FOLDER = Caller("the folder 'kb'", translate=translated)
SERVER = Caller("the Chroma server at http://somewhere", timeout=5, translate=translated)


def sqlite_error(code: int, words: str) -> sqlite3.Error:
    error = sqlite3.OperationalError(words)
    error.sqlite_errorcode = code
    return error


def internal(words: str) -> chromadb.errors.InternalError:
    return chromadb.errors.InternalError(words)


class Panic(BaseException):
    """As pyo3 makes it."""


Panic.__module__, Panic.__name__ = "pyo3_runtime", "PanicException"
REQUEST = httpx.Request("GET", "http://somewhere")

# What is raised, what becomes of it in a folder, and of a server.
ERRORS: list[tuple[BaseException, type[BaseException], type[BaseException]]] = [
    (internal("error returned from database: (code: 13) database or disk is full"), StorageFull, StorageFull),
    (internal("Error: No space left on device (os error 28)"), StorageFull, StorageFull),
    (OSError(errno.ENOSPC, "No space left on device"), StorageFull, StorageFull),
    (OSError(errno.EDQUOT, "Disk quota exceeded"), StorageFull, StorageFull),
    (sqlite_error(sqlite3.SQLITE_FULL, "database or disk is full"), StorageFull, StorageFull),
    (
        internal("error returned from database: (code: 8) attempt to write a readonly database"),
        StorageReadOnly,
        StorageReadOnly,
    ),
    (internal("(code: 14) unable to open database file"), StorageReadOnly, StorageReadOnly),
    (OSError(errno.EROFS, "Read-only file system"), StorageReadOnly, StorageReadOnly),
    (PermissionError(errno.EACCES, "Permission denied"), StorageReadOnly, StorageReadOnly),
    (sqlite_error(sqlite3.SQLITE_READONLY, "attempt to write a readonly database"), StorageReadOnly, StorageReadOnly),
    (internal("(code: 11) database disk image is malformed"), DamagedIndex, StorageFailed),
    (internal("(code: 26) file is not a database"), DamagedIndex, StorageFailed),
    (sqlite3.DatabaseError("database disk image is malformed"), DamagedIndex, StorageFailed),
    (sqlite_error(sqlite3.SQLITE_BUSY, "database is locked"), StorageFailed, StorageFailed),
    (internal("Error executing plan: Error finding id"), LeafGone, LeafGone),
    (internal("something else"), StorageFailed, StorageFailed),
    (Panic("range end index 5 out of range"), StorageFailed, StorageFailed),
    (chromadb.errors.NotFoundError("Collection [kb.leaves] does not exist"), CollectionGone, CollectionGone),
    (
        chromadb.errors.InvalidArgumentError("Collection expecting embedding with dimension of 256, got 2"),
        InvalidArgument,
        InvalidArgument,
    ),
    (chromadb.errors.InvalidDimensionException("3 is not 2"), InvalidArgument, InvalidArgument),
    (chromadb.errors.RateLimitError("slower"), StorageFailed, StorageFailed),
    (httpx.ConnectError("refused"), StorageFailed, StorageFailed),
    (httpx.ReadTimeout("late", request=REQUEST), ServerTimeout, ServerTimeout),
    (httpx.PoolTimeout("late"), ServerTimeout, ServerTimeout),
    (httpx.RemoteProtocolError("nonsense"), StorageFailed, StorageFailed),
    (json.JSONDecodeError("Expecting value", "", 0), StorageFailed, StorageFailed),
    (Exception("<html>\n<h1>502</h1></html>"), StorageFailed, StorageFailed),
    (KeyError("ids"), StorageFailed, StorageFailed),
    (RuntimeError("Cannot send a request, as the client has been closed."), StorageFailed, StorageFailed),
]


@pytest.mark.parametrize(("error", "in_folder", "of_server"), ERRORS, ids=lambda each: str(each)[:40])
def test_every_failure_is_an_error_of_ours_with_its_cause_in_one_line(error, in_folder, of_server):
    def fail() -> None:
        raise error

    async def afail() -> None:
        raise error

    def flow(caller: Caller, function: Any):
        return (yield caller.call("read the rows", function))

    native = Caller(SERVER.place, native=True, timeout=5, translate=translated)
    for wanted, place, ask in (
        (in_folder, FOLDER.place, lambda: run(flow(FOLDER, fail))),
        (of_server, SERVER.place, lambda: run(flow(SERVER, fail))),
        (of_server, SERVER.place, lambda: asyncio.run(arun(flow(native, afail)))),
    ):
        with pytest.raises(wanted) as caught:
            ask()
        assert type(caught.value) is wanted
        assert isinstance(caught.value, LeafspanError)
        assert caught.value.__cause__ is error
        said = str(caught.value)
        assert said.startswith(f"could not read the rows in {place}: ")
        assert "\n" not in said
        assert "; " in said  # and what to do
        assert "whether it was written" not in said  # nothing was


@pytest.mark.parametrize(
    "error",
    [
        KeyError("ids"),
        IndexError("list index out of range"),
        TypeError("string indices must be integers"),
        AttributeError("'NoneType' object has no attribute 'get'"),
        json.JSONDecodeError("Expecting value", "", 0),
    ],
    ids=lambda each: type(each).__name__,
)
def test_an_answer_that_chromas_client_cannot_read_is_named_as_such(error):
    doing, place = "read the rows", SERVER.place
    told = str(translated(error, doing, place, server=True, writing=False))
    assert told == (
        "could not read the rows in the Chroma server at http://somewhere: its answer is not one of Chroma's; check that "
        "the server runs, is reachable, and has a Chroma version that this client supports"
    )


def test_a_write_that_fails_in_a_folder_says_what_it_was():
    class Use:
        def call(self, function: Any, **options: Any) -> None:
            raise internal("the cause")

    handle = SimpleNamespace(id="1", name="kb.leaves", metadata=None, delete=None)
    with pytest.raises(StorageFailed, match=r"^could not delete records of 'kb.leaves' in the folder 'kb': the cause; "):
        run(Collection(handle, 5, caller=FOLDER).written_by(Use()).delete(["a"]))


def test_what_chroma_does_not_open_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: Any, **__: Any) -> None:
        raise internal("the cause")

    monkeypatch.setattr("leafspan.store._folder.fresh_client", fail)
    with pytest.raises(StorageFailed, match=r"^what is in '.*kb' cannot be opened as a Chroma database: the cause$"):
        Index.open(tmp_path / "kb")


def test_a_panic_of_chroma_when_it_opens_a_database_is_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: Any, **__: Any) -> None:
        raise Panic("index\nout of bounds")

    monkeypatch.setattr("leafspan.store._folder.fresh_client", fail)
    said = r"^what is in '.*kb' cannot be opened as a Chroma database \(index out of bounds\): try again; if it fails again, put"
    with pytest.raises(DamagedIndex, match=said):
        Index.open(tmp_path / "kb")


@pytest.mark.parametrize(("characters", "shown"), [(500, 500), (501, 500)])
def test_of_the_words_of_an_error_500_characters_are_shown(characters: int, shown: int):
    told = translated(OSError("x" * characters), "read the rows", "here", server=False, writing=False)
    assert str(told).startswith(f"could not read the rows in here: {'x' * shown}; ")


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), SystemExit(1), StaleRead(), InvalidArgument("a rule"), MemoryError()]
)
def test_what_is_no_failure_of_chroma_passes_as_it_is(error):
    def fail() -> None:
        raise error

    def flow(caller: Caller):
        return (yield caller.call("read the rows", fail))

    for caller in (FOLDER, SERVER):
        with pytest.raises(type(error)) as caught:
            run(flow(caller))
        assert caught.value is error
        assert caught.value.__cause__ is None


async def test_a_cancelled_call_is_cancelled_and_not_failed():
    async def wait() -> None:
        await asyncio.sleep(20)

    def flow():
        return (yield Caller("here", native=True, timeout=10).call("wait", wait))

    task = asyncio.create_task(arun(flow()))
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def failing(monkeypatch: pytest.MonkeyPatch, method: str, times: int, error: Exception) -> list[str]:
    """The first ``times`` calls of this method of Chroma fail."""
    failed: list[str] = []
    original = Collection._call

    def call(self: Collection, name: str, options: dict[str, Any], **how: Any) -> Any:
        if name == method and len(failed) < times:
            failed.append(name)

            def fail(**_: Any) -> None:
                raise error

            return self._caller.call(name, fail, (), options, **how)
        return original(self, name, options, **how)

    monkeypatch.setattr(Collection, "_call", call)
    return failed


@pytest.fixture
def behind_a_client() -> Index:
    """An index that asks Chroma for the nearest leaves."""
    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
    index = Index.open(client=client, name=f"gone-{uuid4().hex}", splitter=SPLITTER)
    index.add(DOCUMENTS)
    return index


def test_a_leaf_that_goes_while_chroma_looks_for_it_is_looked_for_again(
    behind_a_client: Index, monkeypatch: pytest.MonkeyPatch
):
    expected = behind_a_client.retrieve("How do bees dance?", Vector())
    failed = failing(monkeypatch, "query", 3, internal("Error executing plan: Error finding id"))
    assert behind_a_client.retrieve("How do bees dance?", Vector()) == expected
    assert len(failed) == 3


def test_a_leaf_that_goes_each_time_is_an_error_that_says_so(behind_a_client: Index, monkeypatch: pytest.MonkeyPatch):
    failing(monkeypatch, "query", 1_000, internal("Error executing plan: Error finding id"))
    with pytest.raises(ConcurrentUpdate) as caught:
        behind_a_client.retrieve("How do bees dance?", Vector())
    assert "Error finding id" in str(caught.value.__cause__)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("(code: 13) database or disk is full", StorageFull),
        ("(code: 8) attempt to write a readonly database", StorageReadOnly),
        ("(code: 11) database disk image is malformed", DamagedIndex),
        ("something else", StorageFailed),
    ],
)
@pytest.mark.parametrize("method", ["add", "delete"])
def test_a_write_that_fails_says_why_and_the_next_one_finishes_it(
    index: Index, monkeypatch: pytest.MonkeyPatch, method: str, words: str, kind: type[Exception]
):
    failing(monkeypatch, method, 1, internal(words))
    changed = Document("tea", "Tea is another thing now. It is drunk cold.")
    with pytest.raises(kind, match=r"could not .* in the folder '.*kb'"):
        index.add(changed)
    index.add(changed)
    assert index.get("tea").text == changed.text
    assert index.repair() == []


def test_a_collection_that_is_deleted_behind_a_client_is_said_to_be_gone():
    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
    index = Index.open(client=client, name="soon-gone")
    index.add(Document("a", "Bees dance."))
    client.delete_collection("soon-gone.leaves")
    with pytest.raises(DamagedIndex, match=r"could not query records of 'soon-gone.leaves'.*does not exist"):
        index.retrieve("bees", Vector())
    client.delete_collection("soon-gone.manifest")
    with pytest.raises(DamagedIndex, match="the collection does not exist, or was deleted after the index was opened"):
        index.count()


# What Chroma cannot open


def altered(folder: Path, *statements: str) -> Path:
    """An index of one document, whose database is altered behind Chroma's back."""
    with Index.open(folder, embedding_cache=False) as index:
        index.add(Document("a", "A text about rivers."))
    gc.collect()
    with closing(sqlite3.connect(folder / "chroma.sqlite3")) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return folder


_LEAVES = "(select id from collections where name = 'kb.leaves')"


def test_a_collection_that_chroma_cannot_open_is_damage(tmp_path: Path):
    place = altered(tmp_path / "kb", f"delete from segments where scope = 'METADATA' and collection = {_LEAVES}")
    shutil.rmtree(place / "leafspan.segments")
    with Index.open(place, embedding_cache=False) as index:
        assert index.count() == 1  # which the manifest says
        for ask in (lambda: index.retrieve("rivers"), lambda: index.get("a"), index.repair):
            with pytest.raises(DamagedIndex, match=r"Chroma cannot open 'kb\.leaves' in .* put the whole folder back"):
                ask()


def test_an_index_whose_leaves_were_deleted_is_gone(tmp_path: Path):
    place = altered(
        tmp_path / "kb",
        f"delete from segments where collection = {_LEAVES}",
        "delete from collections where name = 'kb.leaves'",
    )
    with pytest.raises(IndexNotFound, match=r"there is no index 'kb'"):
        Index.open(place, embedding_cache=False, create=False)
    with Index.open(place, embedding_cache=False) as index:
        assert index.count() == 0
        index.add(Document("b", "A text about lakes."))
        assert [each.id for each in index.documents()] == ["b"]


def test_a_doctor_says_what_is_wrong_with_a_database_that_chroma_cannot_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    place = altered(tmp_path / "kb", f"delete from segments where scope = 'METADATA' and collection = {_LEAVES}")
    monkeypatch.setattr("leafspan.store._folder_store.check_pages", lambda _: "Page 7 is never used")
    with Index.open(place, embedding_cache=False) as index:
        assert index.repair() == [
            Finding(
                "chroma.sqlite3",
                "the database is damaged (Page 7 is never used): put the whole folder back from a backup, or add the "
                "documents to a new one",
                False,
            )
        ]


def test_what_chroma_says_on_a_disk_that_is_nearly_full_is_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    words = "Error in compaction: Failed to apply logs to the metadata segment"
    left = {"free": 240_000}
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(**left))
    full = chroma_disk_error(internal(words), "write", tmp_path, 0)
    assert isinstance(full, StorageFull)
    assert "nearly so (240,000 bytes are free); make space, then try again" in str(full)
    left["free"] = 10**9
    assert chroma_disk_error(internal(words), "write", tmp_path, 0) is None
