"""Deletes the vault's records of documents that are no longer in the index."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from leafspan.flows import Call, Flow
from leafspan.private.pseudonyms import RECORD_KEY, Vault
from leafspan.store import Reader, Row, Store, read_consistently


def settle_records(store: Store, vault: Vault) -> Flow[int]:
    """Settle the records that writers left unsettled, unless somebody is writing. Return the number of deleted records.

    A record is unsettled from before its document is written or deleted until leafspan knows whether the index has it. So
    a killed writer loses no record, and leaves none behind permanently.
    """
    lock = vault.writers_lock()
    try:
        if not (yield Call(lock.take_alone, finish=True)):
            return 0
        unsettled: dict[str, list[str]] = yield Call(vault.unsettled, (store.id,))
        if not unsettled:
            return 0
        ids = sorted({id_ for stored_ids in unsettled.values() for id_ in stored_ids})
        rows = yield from read_consistently(store, partial(Reader.rows, ids=ids))
        needed = records_of(rows)
        # A damaged document's row does not name its record, so that no record may be deleted.
        damaged = {id_ for id_, row in rows.items() if row.damage is not None}
        gone = {record for record in unsettled.keys() - needed if damaged.isdisjoint(unsettled[record])}
        yield Call(vault.settle, (unsettled.keys() & needed, gone), finish=True)
        return len(gone)
    finally:
        lock.release()


def records_of(rows: Mapping[str, Row]) -> set[str]:
    """The records of the documents that the index has."""
    found = (row.metadata.get(RECORD_KEY) for row in rows.values() if row.version is not None)
    return {str(each) for each in found if each is not None}
