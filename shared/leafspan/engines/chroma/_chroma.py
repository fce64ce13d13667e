"""A Chroma client as an engine, whose requests to a server have a timeout; and one that is open for its readers."""

from __future__ import annotations

import copy
import os
import sys
import threading
import weakref
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from leafspan.checks import STRUCTURE_KEY, check_number, shown
from leafspan.engines._caller import LEAST_SECONDS, Caller
from leafspan.engines._port import Notes
from leafspan.engines._tables import FlowEngine
from leafspan.engines.chroma._collection import Collection
from leafspan.engines.chroma._failures import CollectionGone, caller_of, not_opened, server_of, translated
from leafspan.engines.chroma._files import Files, Use
from leafspan.engines.local._file_lock import held
from leafspan.errors import ForkedProcess, InvalidArgument
from leafspan.flows import Call, Flow

NODE_KEY = "_node_content"  # the metadata key under which LlamaIndex stores a node without its text, as JSON
_LATER = 0.5  # seconds added to a request's own timeout, so that leafspan's error, which names the timeout, comes first

# The graph is built in 56 % of the time that Chroma's default takes (ef_construction 100). Of the nearest 24 of 78,612
# leaves, this ef_search finds 96.5 % (200: 95.1 %; the default graph 97.1 %). Chroma writes its files after 1,500
# records: the files of a million leaves take .6 s, and each other write reads all records that are not in the files yet.
_HNSW = {"space": "cosine", "ef_construction": 50, "ef_search": 300, "sync_threshold": 1_500}
_SEARCHED = {"embedding_function": None, "configuration": {"hnsw": _HNSW}}

# Texts are written without counting the change, so their vectors stay out of files, which two processes would overwrite.
_UNCOUNTED: dict[str, Any] = {"embedding_function": None, "configuration": {"hnsw": {"sync_threshold": 1_000_000}}}

_SPELLINGS = 64
_openings = count()


class Chroma(FlowEngine):
    batch = 5_000  # a little less than Chroma's limit
    described = "behind a client"
    kind = "Chroma collection"
    product = "Chroma"

    def __init__(self, client: Any, timeout: float = 30.0) -> None:
        self.thing = client
        self.caller = caller_of(client, timeout)
        self.is_local = self.caller.in_process
        self._client = client if self.caller.timeout is None else _with_timeout(client, self.caller.timeout + _LATER)

    def tables(self) -> Flow[Mapping[str, Notes]]:
        return (yield self.call("list_collections", read=_notes_by_name))  # type: ignore[no-any-return]

    def table(self, name: str) -> Flow[Collection | None]:
        try:
            handle = yield self.call("get_collection", name, embedding_function=None, read=with_notes)
        except CollectionGone:
            return None
        return Collection(handle, self.batch, caller=self.caller)

    def create(self, name: str, notes: Notes, *, searched: bool) -> Flow[Collection]:
        how = how_to_make(name, notes, searched=searched)
        handle = yield self.call("get_or_create_collection", name, read=with_notes, **how)
        return Collection(handle, self.batch, caller=self.caller)

    def drop(self, name: str) -> Flow[None]:
        if name in (yield from self.tables()):
            yield self.call("delete_collection", name)

    def maker(self, name: str) -> Flow[str | None]:
        table = yield from self.table(name)
        record = None if table is None else (yield from table.first("metadata"))
        return None if record is None else maker_of(record.metadata or {})

    def adoptable(self) -> Flow[list[str]]:
        return foreign_names((yield from self.tables()))

    def ask_batch(self) -> Flow[None]:
        self.batch = max(1, (yield self.call("get_max_batch_size", read=int)))

    def call(self, method: str, *arguments: Any, read: Callable[[Any], Any] | None = None, **options: Any) -> Call:
        doing = f"{method.replace('_', ' ')}{f' {arguments[0]!r}' if arguments else ''}"
        return self.caller.call(doing, getattr(self._client, method), arguments, options, read=read)


def _notes_by_name(collections: Any) -> dict[str, Notes]:
    return {str(getattr(each, "name", each)): dict(getattr(each, "metadata", None) or {}) for each in collections}


def with_notes(handle: Any) -> Any:
    """Return a collection if its notes can be read."""
    dict(handle.metadata or {})
    return handle


def how_to_make(name: str, notes: Notes, *, searched: bool) -> dict[str, Any]:
    how: dict[str, Any] = {"embedding_function": None}
    if searched:
        how = _SEARCHED
    elif name.endswith((".texts", ".segments")):
        how = _UNCOUNTED
    return {**how, "metadata": dict(notes)} if notes else dict(how)


def maker_of(metadata: Mapping[str, Any]) -> str:
    """Return who wrote a record, as far as its metadata shows it."""
    if STRUCTURE_KEY in metadata:
        return MADE_BY_LEAFSPAN
    return "LlamaIndex" if NODE_KEY in metadata else "LangChain, or by means of Chroma alone"


MADE_BY_LEAFSPAN = "leafspan"


def foreign_names(tables: Mapping[str, Notes]) -> list[str]:
    """Return the sorted names of the tables that do not belong to an index."""
    indexes = [name.removesuffix(".manifest") for name in tables if name.endswith(".manifest")]
    own = {f"{name}{suffix}" for name in indexes for suffix in (".leaves", ".manifest", ".texts", ".segments")}
    return sorted(name for name, notes in tables.items() if name not in own and not has_own_notes(notes))


def has_own_notes(notes: Notes) -> bool:
    """Whether a table with these notes is the manifest or the leaves of an index."""
    return "leafspan" in notes or notes.get("made_by") == MADE_BY_LEAFSPAN


def folder_of(client: Any) -> str | None:
    """Return the folder of an embedded Chroma's client, or None for a client of a server or of a Chroma in memory."""
    from chromadb.api.async_api import AsyncClientAPI

    if isinstance(client, AsyncClientAPI):
        return None
    config = client.get_settings()
    if not config.is_persistent or "fastapi" in str(config.chroma_api_impl):
        return None
    return str(config.persist_directory)


def fresh_client(path: Path, **database: str) -> Any:
    """Return a client of the Chroma in a folder. It shares no state with other clients."""
    use_embedded_chroma()
    import chromadb
    from chromadb.config import Settings

    # Within a process, all Chroma clients with the same spelling of the path share state. A new spelling gets fresh state.
    spelling = str(path) + "/." * (1 + next(_openings) % _SPELLINGS)
    return chromadb.PersistentClient(spelling, settings=Settings(anonymized_telemetry=False), **database)


def _with_timeout(client: Any, timeout: float) -> Any:
    """Return a copy of a client that gives up a request after ``timeout`` seconds without traffic.

    Chroma's own client waits for ever: each abandoned request would keep a thread and a connection. The user's client
    itself stays unchanged. A client of an unknown kind is returned as it is.
    """
    server = server_of(client)
    session: Any = getattr(server, "_session", None)
    if not hasattr(client, "_server") or not hasattr(session, "request") or not hasattr(session, "timeout"):
        return client
    if any(seconds is not None for seconds in session.timeout.as_dict().values()):
        return client  # the user's own
    twin, server = copy.copy(client), copy.copy(server)
    twin._server, server._session = server, _Session(session, timeout)
    return twin


class _Session:
    """An httpx session with a timeout. A copy of the session would go on after the user closed the client."""

    def __init__(self, session: Any, timeout: float) -> None:
        self._session = session
        self._timeout = timeout

    def request(self, *arguments: Any, **options: Any) -> Any:
        return self._session.request(*arguments, timeout=self._timeout, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


_SCHEMES = {"http": 8000, "https": 443}  # with each scheme's default port


def connect(address: str, timeout: float) -> Flow[tuple[Any, str | None]]:
    """Connect to an address. Return the client, and the index name in the address, or None if it names no index.

    Chroma reads everything else, such as credentials, from its own environment variables.
    """
    check_number("timeout", timeout, at_least=0, unit="seconds")
    try:
        parts = urlsplit(address)
        name = unquote(parts.path.strip("/"))
        port = parts.port or _SCHEMES[parts.scheme]
    except ValueError:
        parts, name, port = urlsplit(""), "", 0
    if not port or not parts.hostname or "/" in name or parts.query or parts.fragment or parts.username is not None:
        raise InvalidArgument(
            f"the address of an index must be http://host:port/name, got {shown(address)}; credentials come from Chroma's "
            "environment variables, or pass a client that chromadb makes"
        )
    place = f"the Chroma server at {parts.scheme}://{parts.hostname}:{port}"
    caller = Caller(place, timeout=max(timeout, LEAST_SECONDS), translate=translated)
    client = yield caller.call("connect", _client, (parts.hostname, port, parts.scheme == "https"))
    return client, name or None


def _client(host: str, port: int, ssl: bool) -> Any:
    import chromadb
    from chromadb.config import Settings

    return chromadb.HttpClient(host, port, ssl, settings=Settings(anonymized_telemetry=False))


_REMEDY = (
    "open indexes after the fork only (gunicorn without --preload), or start processes that are not forked "
    '(multiprocessing.set_start_method("spawn")), or use a Chroma server. A forked process can only read an index in a '
    "folder, and only while the folder's segments are complete: call index.warm() before the fork"
)
_users: list[int] = []  # the first process that used an embedded Chroma


def use_embedded_chroma() -> None:
    """Register this process as a user of an embedded Chroma."""
    if _users and _users[0] != os.getpid():
        raise ForkedProcess(
            f"this process was forked from process {_users[0]}, which had used Chroma in a folder or in memory: {_REMEDY}"
        )
    _users[:] = [os.getpid()]


def check_process(process: int) -> None:
    """Check that an index is used in the process that opened it."""
    if os.getpid() != process:
        raise ForkedProcess(
            f"an index cannot be used in a forked process, this one was opened in process {process}: {_REMEDY}"
        )


def _note_what_the_parent_used() -> None:
    """In a forked process: register the parent's embedded Chromas, including those that leafspan did not open."""
    import ctypes

    shared = getattr(sys.modules.get("chromadb.api.shared_system_client"), "SharedSystemClient", None)
    systems = list(getattr(shared, "_identifier_to_system", {}).values())
    embedded = [system for system in systems if "fastapi" not in str(system.settings.chroma_api_impl)]
    if not _users and embedded:
        _users[:] = [os.getppid()]
    for system in embedded:
        for component in list(getattr(system, "_instances", {}).values()):
            # Never deleted: Chroma's objects wait for their threads when Python deletes them at exit.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(getattr(component, "bindings", None)))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_what_the_parent_used)


class Opened:
    """An open Chroma client with its collections. It is closed when it is retired and its last reader has left."""

    def __init__(self, client: Any, files: Files, *, owned: bool) -> None:
        self.client = client
        self.batch = int(client.get_max_batch_size())
        self.collections: dict[str, Collection] = {}
        self._failed = threading.Event()  # a call has failed: a later one can hang
        self._files = files
        self._loading = threading.Lock()
        self._readers = 0
        self._retired = False
        self._mutex = threading.Lock()
        self.process = os.getpid()
        self._close = weakref.finalize(self, _close, client if owned else None, self._failed, self.process)

    def collection(self, name: str, deadline: float) -> Collection:
        """Return the collection with this name. Loading takes a while if ``collections`` does not have it yet."""
        with held(self._loading, deadline, f"loading {name!r}"):
            if name not in self.collections:
                with self._files.locked(deadline, opening=True):
                    handle = self._load(name)
                if isinstance(handle, Exception):
                    try:
                        raise handle
                    finally:
                        del handle  # it refers to this frame: the cycle would keep the files open until garbage collection
                self.collections[name] = Collection(handle, self.batch)
            return self.collections[name]

    def _load(self, name: str) -> Any:
        """Load a collection and return Chroma's handle, or the error if that fails; an error leaves the files unchanged."""
        try:
            handle = self.client.get_collection(name, embedding_function=None)
            handle.get(limit=1, include=[])  # Chroma loads the vectors at first use
        except BaseException as error:
            damage = not_opened(error, name, str(self._files.path))
            if isinstance(damage, CollectionGone):
                damage.__cause__ = error
                try:
                    return damage
                finally:
                    del damage  # as above
            self._failed.set()
            if explained := self._files.explain(error, f"open {name!r}") or damage:
                raise explained from error
            raise
        return handle

    def use(self, timeout: float) -> Use:
        """Return a use of Chroma's files for writing. Each write waits at most ``timeout`` seconds for other processes."""
        return Use(self._files, self._failed, timeout)

    @property
    def failed(self) -> bool:
        """Whether a call has failed. Chroma can hang at a later call then, so leafspan must replace this client."""
        return self._failed.is_set()

    def enter(self) -> None:
        with self._mutex:
            self._readers += 1

    def leave(self) -> None:
        """Count one reader less, and close a retired client after its last reader."""
        with self._mutex:
            self._readers -= 1
            unused = self._retired and self._readers == 0
        if unused:
            self._close()

    def retire(self) -> None:
        """Close the client as soon as it has no readers, because a newer client has replaced it."""
        with self._mutex:
            self._retired = True
            unused = self._readers == 0
        if unused:
            self._close()


def _close(client: Any, failed: threading.Event, process: int) -> None:
    if os.getpid() != process:
        return  # a forked process must not close it
    if client is not None and failed.is_set():  # closing it may hang, too
        threading.Thread(target=client.close, name="leafspan: closing", daemon=True).start()
    elif client is not None:
        client.close()
