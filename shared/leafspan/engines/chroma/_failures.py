"""Turns errors of Chroma, its server, SQLite and the disk into leafspan's errors, without loading Chroma."""

from __future__ import annotations

import json
import os
import sqlite3
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from leafspan.engines._caller import LEAST_SECONDS, Caller, in_one_line, late_answer
from leafspan.engines._port import StaleRead
from leafspan.engines.chroma._database import RESTORE
from leafspan.engines.local._disk import is_full, is_read_only, too_many_files
from leafspan.errors import DamagedIndex, InvalidArgument, LeafspanError, StorageFailed, StorageFull, StorageReadOnly


def caller_of(thing: Any, timeout: float = 30.0) -> Caller:
    native = iscoroutinefunction(getattr(thing, "get_collection", None) or getattr(thing, "get", None))
    server = server_of(thing)
    if hasattr(server, "get_api_url"):
        place = f"the Chroma server at {_address(server.get_api_url())}"
        return Caller(place, native, max(timeout, LEAST_SECONDS), translate=translated)
    settings: Any = getattr(getattr(server, "_system", None), "settings", None)
    if getattr(settings, "is_persistent", False):
        place = f"the folder {os.path.normpath(settings.persist_directory)!r}"
        return Caller(place, native, translate=translated)
    return Caller("this Chroma", native, translate=translated)


def server_of(thing: Any) -> Any:
    """Return the object that sends the requests of a client or a collection."""
    return getattr(thing, "_server", None) or getattr(thing, "_client", None)


def _address(url: str) -> str:
    """Return a server's address without its secrets."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}"


_PANIC = ("pyo3_runtime", "PanicException")  # a panic of Chroma's Rust code; derives from BaseException

_NOT_UNDERSTOOD = (KeyError, IndexError, AttributeError, TypeError, json.JSONDecodeError)

# Chroma raises InternalError for most failures, so leafspan looks at the message.
_WORDS_DAMAGED = (
    "database disk image is malformed",
    "file is not a database",
    "malformed database schema",
    "no such table",
    "no such column",
    "(code: 11)",
    "(code: 26)",
)
_WORDS_GONE = ("error finding id", "failed to find id")  # another process has just deleted a leaf
_WORDS_REFUSED = ("failed to apply logs", "failed to pull logs")

_CHECK = "run repair(), and if that fails, restore the folder from a backup or add the documents to a new one"
_SPACE = "make space, then do it again: what was written before is whole"
_RIGHTS = "let this process write the folder and all files in it, or open the index where it may"
_SERVER = "check that the server runs and is reachable, and what its log says, then try again"
_REFUSED = (
    "Chroma logged a record that it cannot store. In a folder, leafspan drops the record: try again; if that fails, leave "
    "out the document with the most metadata. A server accepts no writes until it is stopped and `leafspan repair` has "
    "dropped the record from its folder"
)
_OTHER_SERVER = "check that the server runs, is reachable, and has a Chroma version that this client supports"
_AGAIN = "try again; if it fails again, run repair()"


class CollectionGone(DamagedIndex):
    """Chroma has no such collection."""


class LeafGone(StorageFailed, StaleRead):
    """Chroma has found a record that another process has deleted meanwhile. A reader starts again."""


def chroma_failure(error: BaseException) -> str | None:
    """Return Chroma's failure in one line, or None if the error comes from elsewhere."""
    if _is_chromas(error) or isinstance(error, sqlite3.Error):
        return f"Chroma failed: {in_one_line(error)}"
    return None


def is_refused(error: BaseException) -> bool:
    """Whether Chroma's tables have refused a write in its log, which blocks all later writes."""
    words = in_one_line(error.__cause__ or error).lower()
    return any(each in words for each in _WORDS_REFUSED)


def translated(error: BaseException, doing: str, place: str, *, server: bool, writing: bool) -> BaseException | None:
    """Return the matching leafspan error, or None for an error that must pass unchanged, such as an interruption."""
    if isinstance(error, LeafspanError | StaleRead | MemoryError | RecursionError):
        return None
    if not isinstance(error, Exception) and not _is_chromas(error):
        return None
    words = in_one_line(error)
    message = f"could not {doing} in {place}: {words}"
    lower = words.lower()
    if not server and (explained := too_many_files(error, f"{doing} in {place}")):
        return explained
    kinds = _kinds(error)
    if ("chromadb", "NotFoundError") in kinds:
        return CollectionGone(f"{message}; the collection does not exist, or was deleted after the index was opened")
    if any(each in lower for each in _WORDS_GONE):
        return LeafGone(f"{message}; {_AGAIN}")
    if isinstance(error, TimeoutError) or ("httpx", "TimeoutException") in kinds:
        return late_answer(doing, place, words, writing=writing)
    if is_full(error):
        return StorageFull(f"{message}; {_SERVER if server else _SPACE}")
    if is_read_only(error):
        return StorageReadOnly(f"{message}; {_SERVER if server else _RIGHTS}")
    if ("chromadb", "InvalidDimensionException") in kinds or (
        ("chromadb", "InvalidArgumentError") in kinds and "dimension" in lower
    ):
        return InvalidArgument(f"{message}; give vectors as long as the index's vectors")
    if is_refused(error):
        return StorageFailed(f"{message}; {_REFUSED}")
    if server and isinstance(error, _NOT_UNDERSTOOD):  # Chroma's client could not parse the answer
        return StorageFailed(f"could not {doing} in {place}: its answer is not one of Chroma's; {_OTHER_SERVER}")
    if server:
        return StorageFailed(f"{message}; {_SERVER}")
    if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
        return DamagedIndex(f"{message}; {_CHECK}")
    if any(each in lower for each in _WORDS_DAMAGED):
        return DamagedIndex(f"{message}; {_CHECK}")
    return StorageFailed(f"{message}; {_AGAIN}")


def not_opened(error: BaseException, name: str, folder: str) -> LeafspanError | None:
    """Return the error for a collection that Chroma cannot open, or None for an error that passes unchanged."""
    doing, place = f"open {name!r}", f"the folder {folder!r}"
    if explained := too_many_files(error, f"{doing} in {place}"):
        return explained
    translation = translated(error, doing, place, server=False, writing=False)
    if isinstance(translation, CollectionGone):
        return CollectionGone(f"there is no collection {name!r} in {folder!r}, which the index needs: {RESTORE}")
    if type(translation) is StorageFailed and not is_refused(error):
        why = f"Chroma cannot open {name!r} in {folder!r} ({in_one_line(error)})"
        return DamagedIndex(f"{why}: try again; if it fails again, {RESTORE}")
    return translation if isinstance(translation, LeafspanError) else None


def refused_database(error: BaseException, path: Path) -> LeafspanError | None:
    """Return the error to raise if Chroma refuses to open the database, or None for other failures."""
    if chroma_failure(error) is None:
        return None
    from chromadb.errors import ChromaError

    said = f"what is in {str(path)!r} cannot be opened as a Chroma database"
    if isinstance(error, ChromaError):
        return StorageFailed(f"{said}: {error}")
    # Chroma's Rust code panics at a damaged page, and a panic is not an Exception.
    return DamagedIndex(f"{said} ({in_one_line(error)}): try again; if it fails again, {RESTORE}")


def _kinds(error: BaseException) -> set[tuple[str, str]]:
    """Return the packages and names of an error's classes."""
    return {(kind.__module__.split(".")[0], kind.__name__) for kind in type(error).__mro__}


def _is_chromas(error: BaseException) -> bool:
    return any(kind == _PANIC or kind[0] == "chromadb" for kind in _kinds(error))
