"""The vault: the originals of pseudonyms, encrypted, in one file for each tenant."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from base64 import b32encode
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from hmac import compare_digest, digest
from pathlib import Path
from typing import Any, Never

from leafspan.checks import check_flag, check_number, shown
from leafspan.errors import DamagedVault, InvalidArgument, VaultNotFound, WrongKey
from leafspan.private.pseudonyms._entities import pseudonym
from leafspan.private.pseudonyms._seal import Key, Seal, Tally, VaultKeys, decrypt, encrypt, sum_of_rows, to_key
from leafspan.private.pseudonyms._vault_file import VaultFile, WritersLock

_FORMAT = 2
_AT_ONCE = 500  # parameters of one statement


@dataclass(frozen=True, slots=True)
class VaultRecord:
    """The notes on what was masked in one version of a document."""

    id: str  # also in the masked document's metadata. Empty if nothing was masked
    home: str  # the index that the document is in
    stored_ids: tuple[str, ...]  # that the document can have there, masked; the first says which document it is
    notes: Mapping[str, Any]  # the originals in each part of the document, as plain values
    originals: Mapping[str, str]  # of each pseudonym in the document
    document: str = ""  # its masked id, as views show it
    alias: str = ""  # ``Vault.alias`` of the clear id, if the id was masked


class Vault:
    """A SQLite file with the originals of pseudonyms, encrypted by AES-256-GCM. Open it with ``Vault.open``.

    Give each tenant a separate vault and key. Threads and processes can share a vault's file. Without the key, the file
    reveals only how many pseudonyms and documents there are, and how long the originals are. If somebody changes the file
    without the key, or replaces it by an older one, the next read raises ``DamagedVault``.
    """

    def __init__(self, file: VaultFile, key: Key, keys: VaultKeys, generation: int, vault: bytes, timeout: float) -> None:
        self._file = file
        self._key = key
        self._keys = {generation: keys}  # by the number of rotations, since another thread may be rotating
        self._pseudonyms = keys.pseudonyms
        self._id = vault
        self._timeout = timeout
        self._writes = 0  # the highest number of writes that was seen
        self._checked: tuple[bytes, tuple[object, ...]] | None = None  # the last seal and file that matched

    @classmethod
    def open(cls, path: str | Path, key: Key | bytes | str, *, create: bool = True, timeout: float = 30.0) -> Vault:
        """Open the vault in a file.

        Args:
            path: The file.
            key: The key that locks it, which the caller keeps: a ``Key``, or its secret.
            create: Whether to make the vault if the file does not exist. Default: True.
            timeout: Time to wait for other processes, >= 0. Unit: seconds. Default: 30.

        Raises:
            InvalidArgument: if an option is out of its range.
            VaultNotFound: if the file does not exist, and ``create`` is False.
            WrongKey: if another key locked the vault. The vault is not changed.
            DamagedVault: if the file is not a vault, is incomplete, was changed without its key, or is an older copy.
            MissingExtra: if the package cryptography is not installed.
        """
        if not isinstance(path, str | Path) or not str(path):
            raise InvalidArgument(f"path must be the path of a file, got {shown(path)}")
        check_flag("create", create)
        check_number("timeout", timeout, at_least=0, unit="seconds")
        checked_key = to_key(key)
        place = Path(path).expanduser()
        if place.is_dir():
            raise InvalidArgument(f"path must be the path of a file, got the folder {str(place)!r}")
        file = VaultFile(place, timeout)
        if not place.exists():
            if not create:
                raise VaultNotFound(f"there is no vault {str(place)!r}")
            if file.mark.exists():
                raise DamagedVault(
                    f"the vault {str(place)!r} is gone, and {str(file.mark)!r} shows that it existed; restore it from a "
                    "backup, or delete that file to begin with an empty vault"
                )
            file.make(_header(checked_key, VaultKeys.new(), os.urandom(16), 1))
        with file.reading() as database:
            keys, generation, vault = _unlocked(file, database, checked_key)
        opened = cls(file, checked_key, keys, generation, vault, timeout)
        with opened._reading():  # this checks all rows
            return opened

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    def rotate(self, new_key: Key | bytes | str) -> None:
        """Lock the vault with another key, and encrypt all of its content again. Pseudonyms, and so indexes, stay the same.

        The rotation is complete or has no effect, even if the process is killed. Other processes that have the vault open
        get a ``WrongKey`` afterwards. Earlier copies of the file still open with the old key.

        Raises:
            InvalidArgument: if ``new_key`` is not a key.
            WrongKey: if another process rotated the key in the meantime.
            WriterBusy: if another process writes for longer than the timeout.
        """
        checked_key = to_key(new_key)
        generation: int | None = None
        try:
            with self._file.writing() as database:
                old = self._unlocked(database)
                self._check(old)
                keys, generation = old.keys.with_new_data_key(), old.generation + 1
                new = replace(old, keys=keys, generation=generation)
                for table, column in (("entries", "pseudonym"), ("records", "record")):
                    _encrypt_again(table, column, old, new)
                header = _header(
                    checked_key, keys, self._id, generation, Seal(old.seal.writes + 1, sum_of_rows(database, keys))
                )
                database.execute("DELETE FROM header")
                database.execute(f"INSERT INTO header VALUES (1,{','.join('?' * len(header))})", header)
                self._keys[generation] = keys  # other threads need it as soon as the transaction ends
                self._file.make_mark()
            self._written(old.seal.writes + 1)
        except BaseException:
            self._keys.pop(generation or 0, None)
            raise
        self._key = checked_key
        self._keys = {generation: keys}

    def pseudonym(self, kind: str, value: str) -> str:
        """Make the pseudonym of an entity, which does not depend on whether the vault has the entity."""
        return pseudonym(self._pseudonyms, kind, value)

    def record_id(self, content: object) -> str:
        """Make an id for a record of this content. The id reveals nothing about the content."""
        canonical = json.dumps(content, ensure_ascii=True, sort_keys=True).encode()
        return self._digest(b"record\0" + canonical)

    def alias(self, document_id: str) -> str:
        """Make the stored form of a document's clear id, by which the document can be found."""
        return self._digest(b"id\0" + document_id.encode(errors="surrogatepass"))

    def _digest(self, content: bytes) -> str:
        return b32encode(digest(self._pseudonyms, content, sha256)[:15]).decode().lower()

    @property
    def timeout(self) -> float:
        """Seconds to wait for other users of the vault."""
        return self._timeout

    def writers_lock(self) -> WritersLock:
        """Make a lock for writers of documents. It is not acquired yet.

        Writers share the lock, so that their unsettled records are not cleaned up. A cleaner takes the lock alone.
        """
        return WritersLock(self.path)

    def save(self, records: Iterable[VaultRecord]) -> None:
        """Save records before an index has their documents. Existing records, and records without notes, are skipped.

        They are unsettled until the index has their documents; so are other records of the same documents from now on.

        Raises:
            WrongKey, DamagedVault, WriterBusy: as ``open``.
        """
        new = list(records)
        if not new:
            return
        with self._writing() as vault:
            database = vault.database
            for each in new:
                owner = each.stored_ids[0]
                others = "UPDATE records SET settled = 0 WHERE home = ? AND owner = ? AND record <> ?"
                database.execute(others, (each.home, owner, each.id))
                is_there = database.execute("SELECT 1 FROM records WHERE record = ?", (each.id,)).fetchone()
                if is_there or not each.notes:
                    continue
                content = json.dumps(each.notes, ensure_ascii=True).encode()
                database.execute(
                    "INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, 0, ?)",
                    (
                        *(each.id, each.home, owner, json.dumps(each.stored_ids), each.document, each.alias),
                        vault.encrypted("records", each.id, content),
                    ),
                )
                database.executemany("INSERT INTO uses VALUES (?, ?)", ((each.id, word) for word in each.originals))
                select = "SELECT pseudonym, 1 FROM entries WHERE pseudonym"
                present = {word for word, _ in _chosen(database, select, each.originals)}
                unknown = ((word, original) for word, original in each.originals.items() if word not in present)
                database.executemany(
                    "INSERT INTO entries VALUES (?, ?)",
                    ((word, vault.encrypted("entries", word, original.encode())) for word, original in unknown),
                )

    def notes(self, records: Collection[str]) -> dict[str, dict[str, Any]]:
        """The notes of these records, by record. Missing records are left out."""
        with self._reading() as vault:
            rows = _chosen(vault.database, "SELECT record, content FROM records WHERE record", records)
            return {name: json.loads(vault.decrypted("records", name, content)) for name, content in rows}

    def originals(self, pseudonyms: Collection[str]) -> dict[str, str]:
        """The originals of these pseudonyms, in their first spelling. Missing pseudonyms are left out."""
        with self._reading() as vault:
            rows = _chosen(vault.database, "SELECT pseudonym, content FROM entries WHERE pseudonym", pseudonyms)
            return {name: vault.decrypted("entries", name, content).decode() for name, content in rows}

    def masked_ids(self, home: str, document_ids: Collection[str]) -> dict[str, str]:
        """The masked ids of an index's documents with these clear ids. Ids that were not masked are left out."""
        with self._reading() as vault:
            ids = {}
            for document_id in document_ids:
                row = vault.database.execute(
                    "SELECT document FROM records WHERE home = ? AND alias = ? LIMIT 1", (home, self.alias(document_id))
                ).fetchone()
                if row is not None:
                    ids[document_id] = row[0]
            return ids

    def unsettle(self, records: Collection[str]) -> None:
        """Mark the records of documents that are about to be deleted as unsettled."""
        with self._writing() as vault:
            vault.database.executemany("UPDATE records SET settled = 0 WHERE record = ?", ((each,) for each in records))

    def unsettle_all(self, home: str) -> None:
        """Mark all records of an index as unsettled, since any document may be gone."""
        with self._writing() as vault:
            vault.database.execute("UPDATE records SET settled = 0 WHERE home = ?", (home,))

    def unsettled(self, home: str) -> dict[str, list[str]]:
        """The unsettled records of an index, with their documents' ids: the index may have these documents or not."""
        with self._reading() as vault:
            select = "SELECT record, stored_ids FROM records WHERE home = ? AND NOT settled"
            rows = vault.database.execute(select, (home,))
            return {record: json.loads(stored_ids) for record, stored_ids in rows}

    def settle(self, kept: Collection[str], gone: Collection[str]) -> None:
        """Settle the records in ``kept``. Delete the records in ``gone``, and entries that only they used."""
        with self._writing() as vault:
            database = vault.database
            database.executemany("UPDATE records SET settled = 1 WHERE record = ?", ((each,) for each in kept))
            for record in gone:
                words = database.execute("SELECT pseudonym FROM uses WHERE record = ?", (record,)).fetchall()
                database.execute("DELETE FROM uses WHERE record = ?", (record,))
                database.execute("DELETE FROM records WHERE record = ?", (record,))
                database.executemany(
                    "DELETE FROM entries WHERE pseudonym = ?1 AND NOT EXISTS (SELECT 1 FROM uses WHERE pseudonym = ?1)",
                    words,
                )

    @contextmanager
    def _reading(self) -> Iterator[_Unlocked]:
        with self._file.reading() as database:
            vault = self._unlocked(database)
            self._check(vault)
            yield vault

    @contextmanager
    def _writing(self) -> Iterator[_Unlocked]:
        """A transaction that writes, and seals the vault again.

        It does not check earlier writes of others: if the seal did not match before, it does not match afterwards.
        """
        with self._file.writing() as database:
            vault = self._unlocked(database)
            is_checked = self._checked is not None and self._checked[0] == vault.locked_seal
            if is_checked:
                self._check(vault)
            tally = Tally(database, vault.keys)
            yield vault
            if tally.has_changes:
                seal = tally.after(vault.seal)
                locked = seal.locked(vault.keys, self._id, vault.generation)
                database.execute("UPDATE header SET seal = ?", (locked,))
                self._file.make_mark()
        if tally.has_changes:
            self._written(seal.writes)
            self._checked = (locked, self._file.fingerprint()) if is_checked else None

    def _check(self, vault: _Unlocked) -> None:
        """Check that the rows match the seal, unless the file is unchanged since the last check."""
        is_settled = self._file.is_settled()
        state = (vault.locked_seal, self._file.fingerprint())
        if state == self._checked:
            return
        _header_of(self._file, vault.database)
        (finding,) = vault.database.execute("PRAGMA integrity_check(1)").fetchone()
        if finding != "ok":
            raise self._file.damaged(finding)
        if sum_of_rows(vault.database, vault.keys) != vault.seal.rows:
            raise self._file.damaged("rows of it were changed, added or deleted without its key")
        self._checked = state if is_settled else None

    def _written(self, writes: int) -> None:
        """Store the number of writes, in this object and in the mark."""
        self._file.stamp()
        self._writes = max(self._writes, writes)
        if writes > (self._marked(self._file.read_mark()) or 0):
            self._file.write_mark(self._mark(writes))

    def _mark(self, writes: int) -> bytes:
        number = writes.to_bytes(8, "big")
        return number + digest(self._pseudonyms, b"mark\0" + self._id + number, sha256)

    def _marked(self, mark: bytes) -> int | None:
        """The number of writes in the mark; 0 without a mark, None if the mark belongs to another vault."""
        writes = int.from_bytes(mark[:8], "big")
        return 0 if not mark else writes if compare_digest(mark, self._mark(writes)) else None

    def _unlocked(self, database: sqlite3.Connection) -> _Unlocked:
        """The file in a transaction, with its current keys."""
        if not self._file.has_its_schema(database):
            raise self._file.damaged("its tables are missing, or are not a vault's tables")
        row = database.execute("SELECT generation, vault, seal FROM header").fetchone()
        if row is None:
            raise self._file.damaged("its header is missing")
        generation, vault, locked_seal = row
        if vault != self._id:
            raise WrongKey(f"the file {str(self.path)!r} was replaced by another vault: open it again")
        keys = self._keys.get(generation)
        if keys is None:
            try:
                keys, _, _ = _unlocked(self._file, database, self._key)
            except WrongKey:
                raise WrongKey(f"the key of the vault {str(self.path)!r} was rotated: open it with the new key") from None
            self._keys = {generation: keys}
        seal = Seal.unlocked(locked_seal, keys, vault, generation)
        if seal is None:
            raise self._file.damaged("its seal was changed")
        self._check_age(seal)
        return _Unlocked(self._file, database, self._id, keys, generation, seal, locked_seal)

    def _check_age(self, seal: Seal) -> None:
        """Check that the file is not an older copy. While a transaction reads it, nobody writes the file or its mark."""
        for attempt in range(4):
            marked = self._marked(self._file.read_mark())
            if marked is not None:
                break
            time.sleep(0.01 * attempt)  # another process may be writing the mark
        else:
            raise DamagedVault(
                f"the file {str(self._file.mark)!r} was changed, or belongs to another vault than {str(self.path)!r}; if "
                "you have replaced the vault yourself, delete that file"
            )
        most = max(marked or 0, self._writes)
        if seal.writes < most:
            raise DamagedVault(
                f"the vault {str(self.path)!r} is older than it was: it was written {most} times, but this file has only "
                f"{seal.writes} of these; if you have restored a backup yourself, delete {str(self._file.mark)!r}, and "
                "open the vault again"
            )
        self._writes = seal.writes

    def __repr__(self) -> str:
        return f"Vault({str(self.path)!r})"

    def __reduce__(self) -> Never:
        """Raise a TypeError: pickling would store the keys."""
        raise TypeError("a Vault cannot be pickled or copied, and neither can its views: open it again where it is needed")


@dataclass(frozen=True, slots=True)
class _Unlocked:
    """The file in a transaction, with its current keys."""

    file: VaultFile
    database: sqlite3.Connection
    vault: bytes
    keys: VaultKeys
    generation: int
    seal: Seal
    locked_seal: bytes

    def encrypted(self, table: str, name: str, content: bytes) -> bytes:
        """Encrypt the content of a row, for this row only."""
        return encrypt(self.keys.data, content, self._bound(table, name))

    def decrypted(self, table: str, name: str, content: bytes) -> bytes:
        """Decrypt the content of a row."""
        plain = decrypt(self.keys.data, content, self._bound(table, name)) if isinstance(content, bytes) else None
        if plain is None:
            raise self.file.damaged(f"the entry {name!r} of its table {table} was changed")
        return plain

    def _bound(self, table: str, name: str) -> bytes:
        return self.vault + f"{table}\0{name}".encode()


def _encrypt_again(table: str, column: str, old: _Unlocked, new: _Unlocked) -> None:
    """Encrypt the rows of a table with the new keys, one by one, so that this needs little memory."""
    database = old.database
    for (name,) in database.execute(f"SELECT {column} FROM {table}").fetchall():
        (content,) = database.execute(f"SELECT content FROM {table} WHERE {column} = ?", (name,)).fetchone()
        again = new.encrypted(table, name, old.decrypted(table, name, content))
        database.execute(f"UPDATE {table} SET content = ? WHERE {column} = ?", (again, name))


def _header(key: Key, keys: VaultKeys, vault: bytes, generation: int, seal: Seal | None = None) -> tuple[object, ...]:
    salt = os.urandom(16)
    locked = keys.locked(key, salt, _bound(vault, generation))
    checksum = _checksum(locked, salt, vault, generation)
    return _FORMAT, vault, salt, locked, checksum, generation, (seal or Seal()).locked(keys, vault, generation)


def _checksum(locked: bytes, salt: bytes, vault: bytes, generation: int) -> bytes:
    """A checksum that tells a damaged header from a header that another key locked."""
    return sha256(locked + salt + _bound(vault, generation)).digest()


def _bound(vault: bytes, generation: int) -> bytes:
    return vault + b"%d" % generation


def _unlocked(file: VaultFile, database: sqlite3.Connection, key: Key) -> tuple[VaultKeys, int, bytes]:
    """The keys of a vault, its number of rotations, and its id."""
    vault, salt, locked, generation = _header_of(file, database)
    keys = VaultKeys.unlocked(locked, key, salt, _bound(vault, generation))
    if keys is None:
        raise WrongKey(f"the vault {str(file.path)!r} was locked with another key; nothing was changed")
    return keys, generation, vault


def _header_of(file: VaultFile, database: sqlite3.Connection) -> tuple[bytes, bytes, bytes, int]:
    """The id of a vault, its salt, its locked keys, and its number of rotations."""
    tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if "header" not in tables:
        raise file.damaged("its tables are missing")
    row = database.execute("SELECT * FROM header").fetchone()
    if row is None:
        raise file.damaged("its header is missing")
    if row[1] != _FORMAT:
        raise DamagedVault(
            f"the vault {str(file.path)!r} must have format {_FORMAT}, got {row[1]!r}: use the version of leafspan that "
            "made it, or make a new vault, and add the documents to a new index"
        )
    if not file.has_its_schema(database):
        raise file.damaged("its tables are missing, or are not a vault's tables")
    _, _, vault, salt, locked, checksum, generation, _ = row
    if (
        not all(isinstance(each, bytes) for each in (vault, salt, locked))
        or not isinstance(generation, int)
        or _checksum(locked, salt, vault, generation) != checksum
    ):
        raise file.damaged("its header was changed")
    return vault, salt, locked, generation


def _chosen(database: sqlite3.Connection, select: str, names: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """The rows that a statement selects by name, with the names in groups."""
    wanted: Sequence[str] = list(names)
    for start in range(0, len(wanted), _AT_ONCE):
        some = wanted[start : start + _AT_ONCE]
        yield from database.execute(f"{select} IN ({','.join('?' * len(some))})", some).fetchall()
