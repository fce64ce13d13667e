"""The log of an index behind a client. It lists the documents of each change, so that readers read only these again."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from leafspan.engines import FlowTable, Record
from leafspan.flows import Flow
from leafspan.store._manifest import CHANGES_ID, token_record, unpack_token

_ENTRY = f"{CHANGES_ID}:"  # an entry's id is this prefix and the token
_LOG_ID = f"{CHANGES_ID}/log"
SPARE_ID = f"{CHANGES_ID}/spare"  # the id of a record that only the manifest of a spare edition has
DELETED = "deleted"  # its value where only this record is left
_KEY = "log"  # the metadata key by which readers find the entries
_MOST = 48  # number of finished entries at which a writer begins a new log
_BEGUN = "begun:"  # prefix of a token while a writer is at work
_ONE_IN = 16  # a writer counts the entries after one in 16 changes on average


class Position(NamedTuple):
    token: str | None = None  # of the last change; None if there was no change or it is damaged
    log: str | None = None  # the log's id; None for the first log of an index
    entries: frozenset[str] = frozenset()  # ids of all entries that the log had
    open: Mapping[str, frozenset[str]] = {}  # documents of unfinished changes, by entry id
    spare: str | None = None  # None unless the index is a spare edition: whether it was deleted

    @property
    def is_settled(self) -> bool:
        """Whether the last token says that no writer is at work, and that no writer was killed at work."""
        return self.token is not None and not self.token.startswith(_BEGUN)


class Since(NamedTuple):
    """What has changed since a position."""

    position: Position
    documents: frozenset[str] | None  # those that may have changed; None if the whole manifest must be read
    is_new: bool  # whether there is a new change, not only one that is still open


def last_position(manifest: FlowTable) -> Flow[Position]:
    """Read the last token and its log. Read them before the rows, so that the rows are at least as new."""
    records = yield from manifest.get([CHANGES_ID, _LOG_ID, SPARE_ID], ["metadata"])
    log = (records[_LOG_ID].metadata or {}).get("id") if _LOG_ID in records else None
    spare = (records[SPARE_ID].metadata or {}).get("id") if SPARE_ID in records else None
    return Position(unpack_token(records), log, spare=spare)


def changed_since(manifest: FlowTable, before: Position, now: Position) -> Flow[Since]:
    """Find the documents that changed between two positions. The caller has just read the later position.

    The whole manifest must be read if a new log has begun, if an entry is gone, or if the last token has no entry. So
    writers need no order among themselves, and readers notice a database that was restored from a backup.
    """
    ids = frozenset((yield from manifest.find(_KEY, ["change"])))
    goes_on = now.log == before.log and before.token is not None and before.entries <= ids
    if goes_on and _ENTRY + str(now.token) in ids:
        entries = yield from _read(manifest, ids - before.entries)
        if entries is not None:
            changed = frozenset().union(*before.open.values(), *(each.documents for each in entries.values()))
            position = now._replace(entries=ids, open=_still_open(before.open, entries))
            return Since(position, changed, bool(entries))
    # The manifest has all that finished changes have written, and the caller reads it after this.
    entries = {} if now.is_settled else (yield from _read(manifest, ids))
    return Since(now._replace(entries=ids, open=_still_open({}, entries or {})), None, True)


def unlogged_change() -> list[Record]:
    """The records that a writer in a folder puts into the manifest. They make readers behind a server read all rows."""
    return [token_record(uuid.uuid4().hex), _log_record()]


class LogWriter:
    def __init__(self, manifest: FlowTable) -> None:
        self._manifest = manifest
        self._begun: list[str] = []  # ids of the entries since the last settled one

    def write(self, documents: Iterable[str], *, settled: bool) -> Flow[str]:
        """Write a new unique token with its entry to the manifest, and return the token."""
        token = ("" if settled else _BEGUN) + uuid.uuid4().hex
        entry = json.dumps({"documents": sorted(documents), "ends": self._begun if settled else []}, ensure_ascii=False)
        id_ = _ENTRY + token
        yield from self._manifest.put([Record(id_, metadata={_KEY: "change", "entry": entry}), token_record(token)])
        self._begun = [] if settled else [*self._begun, id_]
        if settled and int(token[:8], 16) % _ONE_IN == 0:
            yield from self._begin_new_log(id_)
        return token

    def _begin_new_log(self, last: str) -> Flow[None]:
        """Delete the entries of finished changes except the last one, if there are many."""
        ids = yield from self._manifest.find(_KEY, ["change"])
        if len(ids) <= _MOST:
            return
        entries = (yield from _read(self._manifest, ids)) or {}
        finished = ids - _still_open({}, entries).keys() - {last}
        if len(finished) >= _MOST:
            yield from self._manifest.put([_log_record()])
            yield from self._manifest.delete(sorted(finished))


def _log_record() -> Record:
    return Record(_LOG_ID, metadata={"id": uuid.uuid4().hex})


class _Entry(NamedTuple):
    documents: frozenset[str]
    ends: frozenset[str]


def _read(manifest: FlowTable, ids: Collection[str]) -> Flow[dict[str, _Entry] | None]:
    """Read entries by id. Return None if one is damaged or gone."""
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
