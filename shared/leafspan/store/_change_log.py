"""The log of an index behind a client: which documents each change is about, so that readers read only these again."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from leafspan.engines import FlowTable, Record
from leafspan.flows import Flow
from leafspan.store._manifest import CHANGES_ID, token_record, unpack_token

_ENTRY = f"{CHANGES_ID}:"  # start of the id of an entry, before its token
_LOG_ID = f"{CHANGES_ID}/log"
_KEY = "log"  # the metadata key by which readers find the entries
_MOST = 48  # finished entries from which on a writer begins a new log
_BEGUN = "begun:"  # start of a token while a writer is at work
_ONE_IN = 16  # changes after which a writer counts the entries, on average


class Position(NamedTuple):
    """How far a reader has read the log.

    Attributes:
        token: The token of the last change; None if there was none, or if it is damaged.
        log: What tells this log from earlier ones; None for the first one.
        entries: The ids of all entries that were there.
        open: The documents of the changes that a writer has begun and not finished, by the id of their entry.
    """

    token: str | None = None
    log: str | None = None
    entries: frozenset[str] = frozenset()
    open: Mapping[str, frozenset[str]] = {}

    @property
    def is_settled(self) -> bool:
        """Whether no writer is at work, and none was killed at work, as far as the last token says."""
        return self.token is not None and not self.token.startswith(_BEGUN)


class Since(NamedTuple):
    """What has happened since a position.

    Attributes:
        position: The position now.
        documents: The ids of the documents that may have changed; None if only the whole manifest tells.
        is_new: Whether there was a change, and not only one that goes on.
    """

    position: Position
    documents: frozenset[str] | None
    is_new: bool


def last_position(manifest: FlowTable) -> Flow[Position]:
    """The last token and the log that it belongs to. Read them before what they are to be true for."""
    records = yield from manifest.get([CHANGES_ID, _LOG_ID], ["metadata"])
    log = (records[_LOG_ID].metadata or {}).get("id") if _LOG_ID in records else None
    return Position(unpack_token(records), log)


def changed_since(manifest: FlowTable, before: Position, now: Position) -> Flow[Since]:
    """Read which documents changed between two positions. The caller has just read the later position.

    The manifest must be read as a whole if another log has begun, if an entry is gone, and if the last token has none. So
    writers need no order among them, and a database that was put back from a backup is noticed.
    """
    ids = frozenset((yield from manifest.find(_KEY, ["change"])))
    goes_on = now.log == before.log and before.token is not None and before.entries <= ids
    if goes_on and _ENTRY + str(now.token) in ids:
        entries = yield from _read(manifest, ids - before.entries)
        if entries is not None:
            changed = frozenset().union(*before.open.values(), *(each.documents for each in entries.values()))
            position = now._replace(entries=ids, open=_still_open(before.open, entries))
            return Since(position, changed, bool(entries))
    # What a finished change has written is in the manifest, which is read after this.
    entries = {} if now.is_settled else (yield from _read(manifest, ids))
    return Since(now._replace(entries=ids, open=_still_open({}, entries or {})), None, True)


def unlogged_change() -> list[Record]:
    """The records that a writer in a folder puts into the manifest. They tell readers behind a server to read all rows."""
    return [token_record(uuid.uuid4().hex), _log_record()]


class LogWriter:
    """Writes the entries of one store."""

    def __init__(self, manifest: FlowTable) -> None:
        self._manifest = manifest
        self._begun: list[str] = []  # entries since the last that was settled

    def write(self, documents: Iterable[str], *, settled: bool) -> Flow[str]:
        """Give the manifest a new token, which no writer has used before, with its entry. Returns the token."""
        token = ("" if settled else _BEGUN) + uuid.uuid4().hex
        entry = json.dumps({"documents": sorted(documents), "ends": self._begun if settled else []}, ensure_ascii=False)
        id_ = _ENTRY + token
        yield from self._manifest.put([Record(id_, metadata={_KEY: "change", "entry": entry}), token_record(token)])
        self._begun = [] if settled else [*self._begun, id_]
        if settled and int(token[:8], 16) % _ONE_IN == 0:
            yield from self._begin_new_log(id_)
        return token

    def _begin_new_log(self, last: str) -> Flow[None]:
        """Delete the entries of finished changes but the last one, if they have become many."""
        ids = yield from self._manifest.find(_KEY, ["change"])
        if len(ids) <= _MOST:
            return
        entries = (yield from _read(self._manifest, ids)) or {}
        finished = ids - _still_open({}, entries).keys() - {last}
        if len(finished) >= _MOST:
            yield from self._manifest.put([_log_record()])
            yield from self._manifest.delete(sorted(finished))


def _log_record() -> Record:
    """The record of a new log."""
    return Record(_LOG_ID, metadata={"id": uuid.uuid4().hex})


class _Entry(NamedTuple):
    documents: frozenset[str]
    ends: frozenset[str]


def _read(manifest: FlowTable, ids: Collection[str]) -> Flow[dict[str, _Entry] | None]:
    """Entries by id. None if one of them is damaged, or gone by now."""
    records = (yield from manifest.get(list(ids), ["metadata"])) if ids else {}
    try:
        entries = {id_: _unpacked(record.metadata) for id_, record in records.items()}
    except (ValueError, TypeError, KeyError):
        return None
    return entries if len(entries) == len(ids) else None


def _unpacked(metadata: Any) -> _Entry:
    entry = json.loads(metadata["entry"])
    return _Entry(frozenset(entry["documents"]), frozenset(entry["ends"]))


def _still_open(before: Mapping[str, frozenset[str]], entries: Mapping[str, _Entry]) -> dict[str, frozenset[str]]:
    begun = {id_: each.documents for id_, each in entries.items() if id_.startswith(_ENTRY + _BEGUN)}
    ended = {id_ for each in entries.values() for id_ in each.ends}
    return {id_: documents for id_, documents in {**before, **begun}.items() if id_ not in ended}
