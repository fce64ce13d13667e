"""The embedding cache: vectors of texts that were embedded before, in one SQLite file for all of a user's indexes.

It stores only a hash of each text. Each vector has a checksum: a damaged file can lose vectors, but never gives wrong ones.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import stat
import time
import warnings
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

from platformdirs import user_cache_path

from leafspan.checks import keep_whole, shown
from leafspan.embedding._embedder import Embedder, EmbedderIdentity
from leafspan.errors import InvalidArgument
from leafspan.flows import NDArray, np

Vector: TypeAlias = "NDArray[np.float32]"

T = TypeVar("T")

_FILE = "embeddings-1.sqlite3"  # with the format's number
_SUFFIXES = ("", "-wal", "-shm")
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_TIMEOUT = 10.0  # seconds to wait for other processes, which write for milliseconds
_PAUSE = 0.005  # seconds, where SQLite itself does not wait
_KEPT = 0.9  # share of the limit that is kept when it is exceeded
_AT_ONCE = 500  # parameters of one statement
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_UNUSABLE = {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_NOLFS,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_PROTOCOL,  # about locks, as in some network folders
    sqlite3.SQLITE_READONLY,
}

# Large pages hold several vectors each. Writes do not wait for the disk: data torn by a power cut are found and dropped.
_PRAGMAS = "PRAGMA page_size = 32768; PRAGMA auto_vacuum = FULL; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF"
_TABLES = """
CREATE TABLE IF NOT EXISTS spaces (
    id INTEGER PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL, dimension INTEGER NOT NULL, probe TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS vectors (
    space INTEGER NOT NULL, text BLOB NOT NULL, vector BLOB NOT NULL, checksum INTEGER NOT NULL, used INTEGER NOT NULL,
    UNIQUE (space, text)
);
CREATE INDEX IF NOT EXISTS by_use ON vectors (used);
"""


@dataclass(frozen=True, slots=True)
class EmbeddingCache:
    """A folder that keeps the vectors of texts, so that no text is embedded, and paid for, twice.

    The texts themselves are not kept, only hashes of them. Several indexes, threads and processes can share a folder, which
    can be deleted at any time.

    Args:
        folder: Folder of the cache. leafspan does not use a folder that everybody can write to. Default: in the user's
            cache folder.
        max_bytes: Most bytes on the disk, >= 1. The vectors unused for longest are deleted first. Default: a billion,
            enough for 150,000 vectors of 1,536 dimensions.

    Raises:
        InvalidArgument: if an option is out of its range.
    """

    folder: str | Path | None = None
    max_bytes: int = 1_000_000_000

    def __post_init__(self) -> None:
        if self.folder is not None and not isinstance(self.folder, str | Path):
            raise InvalidArgument(f"folder must be a string or a pathlib.Path, got {shown(self.folder)}")
        keep_whole(self, "max_bytes", 1)

    def file(self) -> CacheFile:
        folder = user_cache_path("leafspan") if self.folder is None else Path(self.folder).expanduser()
        return CacheFile(folder / _FILE, self.max_bytes)


def find_cache(wanted: bool | EmbeddingCache | None, embedder: Embedder) -> CacheFile | None:
    """Return the cache for an embedder, or None without a cache."""
    if not isinstance(wanted, bool | EmbeddingCache | None):
        raise InvalidArgument(f"embedding_cache must be True, False, an EmbeddingCache or None, got {shown(wanted)}")
    if wanted is False or (wanted is None and embedder.local):
        return None
    return (wanted if isinstance(wanted, EmbeddingCache) else EmbeddingCache()).file()


@dataclass(frozen=True, slots=True)
class Space:
    """Texts whose vectors are interchangeable."""

    identity: EmbedderIdentity  # the embedder that made them
    owner: str  # the index and the view that they were made for; "" for all indexes


class CacheFile:
    """The vectors in one file. It is opened for each use, so threads and processes can share it, even after a fork.

    Failures are not errors: vectors are missing then. A file that is no longer a database is deleted.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._path = path
        self._max_bytes = max_bytes

    def find(self, space: Space, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """Return the cached vectors of these texts by key, and mark them as used now."""
        return self._use(lambda database: _vectors_of(database, space, keys)) or {}

    def knows_of_others(self, space: Space) -> bool:
        """Whether another index has cached vectors of the same embedder, and this space is still empty."""
        alike = self._use(lambda database: _alike(database, space.identity))
        return bool(alike) and all(each.owner != space.owner for each in alike or ())

    def keep(self, space: Space, vectors: Mapping[bytes, Vector]) -> None:
        """Cache the vectors of these texts, given by key. If the file becomes too large, delete others."""

        def write(database: sqlite3.Connection) -> None:
            _keep(database, space, vectors)
            _shrink(database, self._max_bytes)

        self._use(write)

    def _use(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Run some work in one transaction. Return its result, or None if the file cannot be used."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._check_safe()
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR | _NO_FOLLOW, 0o600))  # vectors reveal much about a text
            with closing(sqlite3.connect(self._path, timeout=_TIMEOUT, isolation_level=None)) as database:
                _set_up(database)
                database.execute("BEGIN IMMEDIATE")
                result = work(database)
                database.execute("COMMIT")
                return result
        except OSError as error:
            self._warn(error)
        except (sqlite3.Error, ValueError, TypeError) as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
            # A damaged file can look read-only.
            is_damaged = code == sqlite3.SQLITE_READONLY and os.access(self._path, os.W_OK)
            if code in _UNUSABLE and not is_damaged:
                self._warn(error)
            elif code not in _BUSY:
                self._throw_away()
        return None

    def _check_safe(self) -> None:
        """Check that other users cannot make SQLite write into other files."""
        if os.name == "posix" and self._path.parent.stat().st_mode & stat.S_IWOTH:
            raise OSError(f"everybody can write to {str(self._path.parent)!r}: `chmod o-w` it, or choose another folder")
        for suffix in (*_SUFFIXES, "-journal"):
            file = Path(f"{self._path}{suffix}")
            with suppress(FileNotFoundError):
                if not stat.S_ISREG(file.lstat().st_mode):
                    raise OSError(f"{str(file)!r} is no regular file, and links are not followed")

    def _warn(self, error: Exception) -> None:
        message = f"the embedding cache {str(self._path)!r} cannot be used, so texts are embedded again: {error}"
        warnings.warn(message, RuntimeWarning, stacklevel=2)

    def _throw_away(self) -> None:
        for suffix in _SUFFIXES:
            with suppress(OSError):
                Path(f"{self._path}{suffix}").unlink()


def text_key(text: str) -> bytes:
    """Return a text's hash, the key of its vector."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()


def _set_up(database: sqlite3.Connection) -> None:
    """Set up the file, unless that was done before.

    SQLite fails at once, instead of waiting, if another process is setting up the same new file.
    """
    end = time.monotonic() + _TIMEOUT
    while True:
        try:
            database.executescript(_PRAGMAS)
            database.executescript(_TABLES)
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _BUSY or time.monotonic() > end:
                raise
        time.sleep(_PAUSE)


def _vectors_of(database: sqlite3.Connection, space: Space, keys: Sequence[bytes]) -> dict[bytes, Vector]:
    stored = _find_space(database, space)
    if stored is None:
        return {}
    vectors: dict[bytes, bytes] = {}
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
        marks = ",".join("?" * len(some))
        rows = database.execute(
            f"SELECT text, vector, checksum FROM vectors WHERE space = ? AND text IN ({marks})", (stored.number, *some)
        )
        vectors |= {text: vector for text, vector, checksum in rows if stored.checksum(text, vector) == checksum}
    now = _next_use(database)
    uses = ((now, stored.number, key) for key in vectors)
    database.executemany("UPDATE vectors SET used = ? WHERE space = ? AND text = ?", uses)
    unpacked = {key: np.frombuffer(vector, dtype="<f4") for key, vector in vectors.items()}
    return {key: vector for key, vector in unpacked.items() if len(vector) == stored.dimension}


def _keep(database: sqlite3.Connection, space: Space, vectors: Mapping[bytes, Vector]) -> None:
    stored = _find_space(database, space)
    if stored is None:
        each = space.identity
        record = (space.owner, each.name, each.dimension, each.probe)
        insertion = "INSERT INTO spaces (owner, name, dimension, probe) VALUES (?, ?, ?, ?)"
        stored = _StoredSpace(int(database.execute(insertion, record).lastrowid or 0), *record)
    now = _next_use(database)
    packed = ((key, vector.astype("<f4").tobytes()) for key, vector in vectors.items())
    database.executemany(
        "INSERT OR REPLACE INTO vectors (space, text, vector, checksum, used) VALUES (?, ?, ?, ?, ?)",
        ((stored.number, key, vector, stored.checksum(key, vector), now) for key, vector in packed),
    )


class _StoredSpace(NamedTuple):
    number: int
    owner: str
    name: str
    dimension: int
    probe: str

    def checksum(self, key: bytes, vector: bytes) -> int:
        """Return the checksum of a vector together with its space and text."""
        return zlib.crc32(vector, zlib.crc32(key, zlib.crc32(repr(tuple(self)).encode())))


def _find_space(database: sqlite3.Connection, space: Space) -> _StoredSpace | None:
    """Return the space in the file, or None if it has no vectors yet."""
    return next((each for each in _alike(database, space.identity) if each.owner == space.owner), None)


def _alike(database: sqlite3.Connection, identity: EmbedderIdentity) -> list[_StoredSpace]:
    """Return the spaces of an embedder, of all owners.

    The vector of the probe text may differ a little: services do not always give the same numbers.
    """
    rows = database.execute(
        "SELECT id, owner, name, dimension, probe FROM spaces WHERE name = ? AND dimension = ? ORDER BY id",
        (identity.name, identity.dimension),
    )
    stored = [_StoredSpace(*row) for row in rows.fetchall()]
    return [each for each in stored if EmbedderIdentity(*each[2:]).is_same(identity.vector)]


def _next_use(database: sqlite3.Connection) -> int:
    """Return a number higher than the numbers of all uses so far."""
    (last,) = database.execute("SELECT max(used) FROM vectors").fetchone()
    return int(last or 0) + 1


def _shrink(database: sqlite3.Connection, max_bytes: int) -> None:
    """Delete the least recently used vectors as long as the file is too large."""
    while (size := _size(database)) > max_bytes:
        (count,) = database.execute("SELECT count(*) FROM vectors").fetchone()
        if not count:
            return
        surplus = count - int(count * _KEPT * max_bytes / size)
        oldest = "SELECT rowid FROM vectors ORDER BY used, rowid LIMIT ?"
        database.execute(f"DELETE FROM vectors WHERE rowid IN ({oldest})", (surplus,))


def _size(database: sqlite3.Connection) -> int:
    """Return the file's size in bytes once the transaction is committed."""
    names = ("page_count", "freelist_count", "page_size")
    pages, free, page_size = (database.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
    return int((pages - free) * page_size)
