"""The seal of a vault: a keyed sum of its rows, which shows whether somebody changed, removed or moved rows.

A seal is the encrypted sum of keyed digests of all rows. A writer adds and subtracts the digests of the rows that it
changes, in the same transaction. So a write costs the same in a large vault. After a change from outside, the seal does
not match, also after further writes (an incremental multiset hash: Clarke et al., ASIACRYPT 2003).
"""

from __future__ import annotations

import hmac
import sqlite3
from functools import lru_cache
from hashlib import blake2b, sha256
from typing import Any, NamedTuple

from leafspan.private.pseudonyms._envelope import VaultKeys, decrypt, encrypt

_MODULUS = 1 << 256
_COLUMNS = {
    "entries": ("pseudonym", "content"),
    "records": ("record", "home", "owner", "stored_ids", "document", "alias", "settled", "content"),
    "uses": ("record", "pseudonym"),
}


class Seal(NamedTuple):
    """The numbers that describe the whole vault.

    Attributes:
        writes: The number of transactions that changed the vault.
        rows: The sum of the digests of its rows.
    """

    writes: int = 0
    rows: int = 0

    def locked(self, keys: VaultKeys, vault: bytes, generation: int) -> bytes:
        """Encrypt the seal."""
        plain = self.writes.to_bytes(8, "big") + self.rows.to_bytes(32, "big")
        return encrypt(keys.data, plain, _bound(vault, generation))

    @classmethod
    def unlocked(cls, locked: object, keys: VaultKeys, vault: bytes, generation: int) -> Seal | None:
        """Decrypt a seal. Return None if it was changed."""
        plain = decrypt(keys.data, locked, _bound(vault, generation)) if isinstance(locked, bytes) else None
        return None if plain is None else cls(int.from_bytes(plain[:8], "big"), int.from_bytes(plain[8:], "big"))


def sum_of_rows(database: sqlite3.Connection, keys: VaultKeys) -> int:
    """The sum of the digests of all rows."""
    key, total = _key(keys), 0
    for table, columns in _COLUMNS.items():
        rows = database.execute(f"SELECT {','.join(columns)} FROM main.{table}")
        total += sum(_digest(key, table, row) for row in rows)
    return total % _MODULUS


class Tally:
    """Adds up the changes that a transaction makes to the seal, from the moment when the tally is made."""

    def __init__(self, database: sqlite3.Connection, keys: VaultKeys) -> None:
        self._key = _key(keys)
        self._total = 0
        self.has_changes = False
        database.create_function("leafspan_tally", -1, self._add)
        for statement in _triggers():
            database.execute(statement)

    def _add(self, sign: int, table: str, *row: Any) -> None:
        self.has_changes = True
        self._total += sign * _digest(self._key, table, row)

    def after(self, seal: Seal) -> Seal:
        """The seal after the transaction, from the seal before it."""
        return Seal(seal.writes + 1, (seal.rows + self._total) % _MODULUS)


@lru_cache(maxsize=1)
def _triggers() -> list[str]:
    """The statements that make this connection report each row that it adds or removes to a tally."""
    made = []
    for table, columns in _COLUMNS.items():
        added, removed = (
            f"SELECT leafspan_tally({sign}, '{table}', {', '.join(f'{row}.{column}' for column in columns)});"
            for sign, row in ((1, "NEW"), (-1, "OLD"))
        )
        for event, told in (("INSERT", added), ("DELETE", removed), ("UPDATE", removed + added)):
            made.append(f"CREATE TEMP TRIGGER tally_{table}_{event} AFTER {event} ON main.{table} BEGIN {told} END")
    return made


def _key(keys: VaultKeys) -> bytes:
    return hmac.digest(keys.data, b"rows", sha256)


def _digest(key: bytes, table: str, row: tuple[Any, ...]) -> int:
    """The keyed digest of a row. Its last value, the content, may be long; the values before it have no zero byte."""
    content = row[-1] if type(row[-1]) is bytes else None
    head = repr((table, row[:-1], row[-1] if content is None else True)).encode()
    return int.from_bytes(blake2b(head + b"\0" + (content or b""), key=key, digest_size=32).digest(), "big")


def _bound(vault: bytes, generation: int) -> bytes:
    return vault + b"seal\0%d" % generation
