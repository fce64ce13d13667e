"""The seal of a vault: a keyed sum of its rows, which shows whether somebody changed, removed or moved rows.

A seal is the encrypted sum of keyed digests of all rows. A writer adds and subtracts the digests of the rows that it
changes, in the same transaction. So a write costs the same in a large vault. After a change from outside, the seal does
not match, also after further writes (an incremental multiset hash: Clarke et al., ASIACRYPT 2003).
"""

from __future__ import annotations

import hmac
import os
import sqlite3
from functools import lru_cache
from hashlib import blake2b, sha256
from typing import Any, NamedTuple, Never

from leafspan.errors import InvalidArgument, MissingExtra

_MODULUS = 1 << 256
_COLUMNS = {
    "entries": ("pseudonym", "content"),
    "records": ("record", "home", "owner", "stored_ids", "document", "alias", "settled", "content"),
    "uses": ("record", "pseudonym"),
}


class Seal(NamedTuple):
    """The numbers that describe the whole vault."""

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
        for event, statements in (("INSERT", added), ("DELETE", removed), ("UPDATE", removed + added)):
            made.append(f"CREATE TEMP TRIGGER tally_{table}_{event} AFTER {event} ON main.{table} BEGIN {statements} END")
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


_NONCE = 12  # random bytes for each encryption; AES-GCM allows four billion encryptions with one key
_PURPOSE = b"leafspan vault 2: key of keys"


class VaultKeys(NamedTuple):
    """The keys of a vault."""

    data: bytes
    pseudonyms: bytes

    @classmethod
    def new(cls) -> VaultKeys:
        """Make new random keys."""
        return cls(os.urandom(32), os.urandom(32))

    def with_new_data_key(self) -> VaultKeys:
        """Make another key for the entries, and keep the key for pseudonyms."""
        return VaultKeys(os.urandom(32), self.pseudonyms)

    def locked(self, key: Key, salt: bytes, bound_to: bytes) -> bytes:
        """Encrypt both keys with the user's key."""
        return encrypt(key.derived(salt, _PURPOSE), self.data + self.pseudonyms, bound_to)

    @classmethod
    def unlocked(cls, locked: bytes, key: Key, salt: bytes, bound_to: bytes) -> VaultKeys | None:
        """Decrypt both keys. Return None if another key encrypted them."""
        both = decrypt(key.derived(salt, _PURPOSE), locked, bound_to)
        return None if both is None else cls(both[:32], both[32:])


def encrypt(key: bytes, content: bytes, bound_to: bytes) -> bytes:
    """Encrypt the content by AES-256-GCM."""
    nonce = os.urandom(_NONCE)
    return bytes(nonce + _aes(key).encrypt(nonce, content, bound_to))


def decrypt(key: bytes, content: bytes, bound_to: bytes) -> bytes | None:
    """Decrypt what this key encrypted for this place. Return None if key or place differ, or the content was changed."""
    aes = _aes(key)
    from cryptography.exceptions import InvalidTag

    if len(content) < _NONCE:
        return None
    try:
        return bytes(aes.decrypt(content[:_NONCE], content[_NONCE:], bound_to))
    except InvalidTag:
        return None


def _aes(key: bytes) -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as error:
        raise MissingExtra.of("a vault needs the package cryptography", "pii") from error
    return AESGCM(key)


_SHORTEST = 32  # bytes
_FEWEST_DIFFERENT = 8  # 32 random hexadecimal digits have about 14; only one key in 25 million has fewer than 8


class Key:
    """The secret that locks a vault. It is never stored, shown or pickled.

    Make one with ``python -c "import secrets; print(secrets.token_urlsafe(32))"``, and keep it where passwords are kept,
    not beside the vault.

    Args:
        secret: At least 32 random bytes, or a text of at least 32 characters.

    Raises:
        InvalidArgument: if the secret is shorter, has few different bytes, or has another type. The message does not show
            it.
    """

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes | str) -> None:
        if not isinstance(secret, bytes | str):
            raise InvalidArgument(f"a key must be bytes or a text, got {type(secret).__name__}")
        self._secret = secret.encode() if isinstance(secret, str) else bytes(secret)
        if len(self._secret) < _SHORTEST or len(set(self._secret)) < _FEWEST_DIFFERENT:
            raise InvalidArgument(
                f"a key must be at least {_SHORTEST} random bytes or characters, got {len(self._secret)}, "
                f"{len(set(self._secret))} of them different: make one with secrets.token_urlsafe(32)"
            )

    @classmethod
    def from_environment(cls, name: str) -> Key:
        """Read the key from an environment variable, without white space around it.

        Raises:
            InvalidArgument: if the variable is not set, or does not contain a key.
        """
        if not isinstance(name, str) or not name:
            raise InvalidArgument(f"the name of an environment variable must be a text, got {type(name).__name__}")
        value = os.environ.get(name, "").strip()
        if not value:
            raise InvalidArgument(f"the environment variable {name} must have the key of a vault, but is not set")
        try:
            return cls(value)
        except InvalidArgument as error:
            raise InvalidArgument(f"the environment variable {name}: {error}") from None

    def derived(self, salt: bytes, purpose: bytes) -> bytes:
        """Derive 32 bytes for one purpose. The key cannot be computed from them (HKDF with SHA-256, RFC 5869)."""
        extracted = hmac.digest(salt, self._secret, sha256)
        return hmac.digest(extracted, purpose + b"\x01", sha256)

    def __repr__(self) -> str:
        return "Key(...)"

    def __reduce__(self) -> Never:
        """Raise a TypeError: pickling would store the key."""
        raise TypeError("a Key cannot be pickled or copied: make it again from where it is kept")


def to_key(key: object) -> Key:
    """Return a key, or make one from its secret."""
    return key if isinstance(key, Key) else Key(key)  # type: ignore[arg-type]
