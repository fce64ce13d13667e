"""A client of Chroma as an engine, whose requests to a server end."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from leafspan.checks import STRUCTURE_KEY
from leafspan.engines._port import Notes
from leafspan.engines._tables import PlainEngine
from leafspan.engines.chroma._caller import caller_of, server_of
from leafspan.engines.chroma._collection import Collection
from leafspan.engines.chroma._failures import CollectionGone
from leafspan.engines.chroma._forks import use_embedded_chroma
from leafspan.flows import Call, Flow

NODE_KEY = "_node_content"
"""The metadata key under which LlamaIndex stores a node without its text, as JSON."""

_BATCH = 5_000  # somewhat less than Chroma takes at once
_LATER = 0.5  # seconds that a request has longer than who waits for it, whose error says what the timeout was

# Of the nearest 24 of 48,000 leaves, an ef_search of 100 (Chroma's default) finds 95 %, and one of 200 finds 98 % in 15 %
# more time. By default, Chroma writes its vectors to disk after every thousandth record. Doing so more seldom makes adding
# faster, by up to a tenth. But each write reads all records that are not on the disk yet: with five thousand of them, one
# of a hundred records, as asynchronous writes are divided into, takes twice as long.
_HNSW = {"space": "cosine", "ef_search": 200, "sync_threshold": 3_000}
_SEARCHED = {"embedding_function": None, "configuration": {"hnsw": _HNSW}}

# Of texts that are written without a change being counted, no vectors go to files, which two processes would overwrite.
_UNCOUNTED: dict[str, Any] = {"embedding_function": None, "configuration": {"hnsw": {"sync_threshold": 1_000_000}}}

_SPELLINGS = 64
_openings = count()


class Chroma(PlainEngine):
    """A client of Chroma: see ``FlowEngine``."""

    def __init__(self, client: Any, timeout: float = 30.0, batch: int = _BATCH) -> None:
        self.thing = client
        self.batch = batch
        self.caller = caller_of(client, timeout)
        self.is_local = self.caller.in_process
        self.described = "behind a client"
        self.kind = "Chroma collection"
        self._client = client if self.caller.timeout is None else _with_timeout(client, self.caller.timeout + _LATER)

    def tables(self) -> Flow[Mapping[str, Notes]]:
        """See FlowEngine."""
        every = yield self.call("list_collections")
        return {str(getattr(each, "name", each)): dict(getattr(each, "metadata", None) or {}) for each in every}

    def table(self, name: str) -> Flow[Collection | None]:
        """See FlowEngine."""
        try:
            handle = yield self.call("get_collection", name, embedding_function=None)
        except CollectionGone:
            return None
        return Collection(handle, self.batch, caller=self.caller)

    def create(self, name: str, notes: Notes, *, searched: bool) -> Flow[Collection]:
        """See FlowEngine."""
        handle = yield self.call("get_or_create_collection", name, **how_to_make(name, notes, searched=searched))
        return Collection(handle, self.batch, caller=self.caller)

    def maker(self, name: str) -> Flow[str | None]:
        """See FlowEngine."""
        found = yield from self.table(name)
        record = None if found is None else (yield from found.first("metadata"))
        return None if record is None else maker_of(record.metadata or {})

    def adoptable(self) -> Flow[list[str]]:
        """See FlowEngine."""
        return foreign_names((yield from self.tables()))

    def ask_batch(self) -> Flow[None]:
        """Ask a server how many records it takes at once."""
        self.batch = int((yield self.call("get_max_batch_size")))

    def call(self, method: str, *arguments: Any, **options: Any) -> Call:
        """The call of one of the client's methods."""
        named = f" {arguments[0]!r}" if arguments else ""
        return self.caller.call(f"{method.replace('_', ' ')}{named}", getattr(self._client, method), arguments, options)


def how_to_make(name: str, notes: Notes, *, searched: bool) -> dict[str, Any]:
    """The options with which a collection is made."""
    how: dict[str, Any] = {"embedding_function": None}
    if searched:
        how = _SEARCHED
    elif name.endswith((".texts", ".segments")):
        how = _UNCOUNTED
    return {**how, "metadata": dict(notes)} if notes else dict(how)


def maker_of(metadata: Mapping[str, Any]) -> str:
    """Who has written a record, as far as its metadata shows it."""
    if STRUCTURE_KEY in metadata:
        return MADE_BY_LEAFSPAN
    return "LlamaIndex" if NODE_KEY in metadata else "LangChain, or by means of Chroma alone"


MADE_BY_LEAFSPAN = "leafspan"


def foreign_names(names: Iterable[str]) -> list[str]:
    """Those of the names of all tables that do not belong to an index, sorted."""
    every = set(names)
    indexes = [name.removesuffix(".manifest") for name in every if name.endswith(".manifest")]
    own = {f"{name}{suffix}" for name in indexes for suffix in (".leaves", ".manifest", ".texts", ".segments")}
    return sorted(every - own)


def folder_of(client: Any) -> str | None:
    """The folder of a client of an embedded Chroma; None for one that is behind a server or in memory."""
    from chromadb.api.async_api import AsyncClientAPI

    if isinstance(client, AsyncClientAPI):
        return None
    config = client.get_settings()
    if not config.is_persistent or "fastapi" in str(config.chroma_api_impl):
        return None
    return str(config.persist_directory)


def fresh_client(path: Path, **database: str) -> Any:
    """A client of the Chroma in a folder, which shares no state with other clients."""
    use_embedded_chroma()
    import chromadb
    from chromadb.config import Settings

    # In one process, Chroma shares its state among all clients with the same spelling of the path. A spelling that no other
    # client uses gives a fresh state, and leaves the others alone.
    spelling = str(path) + "/." * (1 + next(_openings) % _SPELLINGS)
    return chromadb.PersistentClient(spelling, settings=Settings(anonymized_telemetry=False), **database)


def _with_timeout(client: Any, timeout: float) -> Any:
    """A copy of a client, which gives up its requests after so many seconds in which nothing was sent or received.

    Chroma's own waits for ever: what nobody waits for any more would keep a thread and a connection each. The client itself
    is the user's, and stays as it is. A client of another make is returned as it is.
    """
    server = server_of(client)
    session: Any = getattr(server, "_session", None)
    if not hasattr(client, "_server") or not hasattr(session, "request") or not hasattr(session, "timeout"):
        return client
    if any(seconds is not None for seconds in session.timeout.as_dict().values()):
        return client  # the user's own
    twin, server = copy.copy(client), copy.copy(server)
    server._session = _Session(session, timeout)
    twin._server = server
    return twin


class _Session:
    """A session of httpx with a timeout."""

    def __init__(self, session: Any, timeout: float) -> None:
        self._session = session
        self._timeout = timeout

    def request(self, *arguments: Any, **options: Any) -> Any:
        """Send a request."""
        return self._session.request(*arguments, timeout=self._timeout, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)
