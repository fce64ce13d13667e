"""SQLite: a separate connection that can only read, and that checks each single read."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from leafspan.errors import InvalidArgument
from leafspan.sources.sql._allowed import Allowed
from leafspan.sources.sql._attributes import harmless_functions
from leafspan.sources.sql._timeout import Deadline

_LARGEST_VALUE = 100_000_000  # bytes of one text or blob that a query may make
_STEPS = 2_000  # of SQLite's virtual machine between two looks at the clock, well below a millisecond
# Full-text search and R-trees: the table "reviews" stores its data in "reviews_data".
PARTS_OF_VIRTUAL_TABLES = (
    *("data", "idx", "content", "docsize", "config", "segments", "segdir", "stat"),
    *("node", "parent", "rowid"),
)
_KEYWORDS = ("current_date", "current_time", "current_timestamp")


def read_only_creator(path: str, options: dict[str, Any]) -> Callable[[], sqlite3.Connection]:
    """A function that opens an existing SQLite file for reading."""
    from pathlib import Path

    if path.startswith("file:"):
        plain = re.sub(r"(?<=[?&])mode=\w*&?", "", path)
        address = plain + ("&" if "?" in plain else "?") + "mode=ro"
    else:
        address = Path(path).absolute().as_uri() + "?mode=ro"

    def create() -> sqlite3.Connection:
        connection: sqlite3.Connection = sqlite3.connect(address, **{**options, "uri": True, "check_same_thread": False})
        return connection

    return create


def is_in_memory(connection: sqlite3.Connection) -> bool:
    """Whether the connection's database has no file."""
    return any(name == "main" and not file for _, name, file in connection.execute("PRAGMA database_list"))


def copy_in_memory(connection: sqlite3.Connection) -> sqlite3.Connection:
    """A copy of a database in memory, so that no setting reaches the user's own connection."""
    copy = sqlite3.connect(":memory:", check_same_thread=False)
    connection.backup(copy)
    return copy


def check_driver(connection: object) -> sqlite3.Connection:
    """Return the driver's connection, which must be a connection of Python's ``sqlite3``."""
    if not isinstance(connection, sqlite3.Connection):
        raise InvalidArgument(
            f"SQLite must be opened by Python's sqlite3, got the driver {type(connection).__module__}: use a URL such as "
            "sqlite:///shop.db"
        )
    return connection


def restrict(
    connection: sqlite3.Connection,
    deadline: Deadline,
    allowed: Allowed | None,
    functions: Collection[str],
    common: Collection[str],
) -> None:
    """Let a connection only read what is allowed, until the deadline. The restriction cannot be lifted."""
    views = views_within(connection, allowed) - set(common)
    stored = {name.lower() for (name,) in connection.execute("SELECT name FROM sqlite_master")} - set(common)
    connection.execute("PRAGMA query_only = ON")
    connection.execute(f"PRAGMA busy_timeout = {int(1000 * deadline.left)}")
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST_VALUE)
    harmless = harmless_functions("sqlite") | {name.lower() for name in functions}
    harmless |= set(_KEYWORDS)
    connection.text_factory = partial(str, encoding="utf-8", errors="replace")
    _connect_virtual_tables(connection)

    def permit(action: int, first: str | None, second: str | None, _database: str | None, view: str | None) -> int:
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in harmless:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ and not second and (first or "").lower() not in stored:
            return sqlite3.SQLITE_OK  # SQLite counts the rows of a subquery
        if action == sqlite3.SQLITE_READ and _may_read(first or "", second or "", view, allowed, views):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_PRAGMA and first == "data_version" and second is None:
            return sqlite3.SQLITE_OK  # full-text search itself asks for this
        return sqlite3.SQLITE_DENY

    connection.set_progress_handler(lambda: time.monotonic() >= deadline.end, _STEPS)
    connection.set_authorizer(permit)


def _may_read(table: str, column: str, view: str | None, allowed: Allowed | None, views: Collection[str]) -> bool:
    if view and view.lower() in views:
        return True
    if allowed is None:
        return not table.lower().startswith(("sqlite_", "pragma_"))
    if table.lower() in ("json_each", "json_tree") or allowed.may_read(table, column):
        return True
    of, _, part = table.rpartition("_")
    return part in PARTS_OF_VIRTUAL_TABLES and allowed.may_read_all(of)


def _connect_virtual_tables(connection: sqlite3.Connection) -> None:
    """Have SQLite declare its virtual tables now. The statements that declare them are not allowed later."""
    connection.execute("SELECT 1 FROM json_each('[]'), json_tree('[]')")
    virtual = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'create virtual table%'"
    for (name,) in connection.execute(virtual).fetchall():
        try:
            connection.execute('SELECT 1 FROM "{}" LIMIT 0'.format(name.replace('"', '""')))
        except sqlite3.Error:  # the virtual table's module is missing; a query of the table will fail
            continue


def views_within(connection: sqlite3.Connection, allowed: Allowed | None) -> frozenset[str]:
    """The allowed views and the views that they read, in lower case. SQLite names the innermost view."""
    every = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'view'")]
    if allowed is None or not every:
        return frozenset(name.lower() for name in every)
    seen: set[str] = set()

    def note(action: int, _first: str | None, _second: str | None, _database: str | None, view: str | None) -> int:
        if view:
            seen.add(view.lower())
        return sqlite3.SQLITE_OK

    connection.set_authorizer(note)
    try:
        for name in every:
            if allowed.may_read(name, ""):
                seen.add(name.lower())
                try:
                    connection.execute('EXPLAIN SELECT * FROM "{}"'.format(name.replace('"', '""')))
                except sqlite3.Error:  # the view reads something that no longer exists; a query of the view will fail
                    continue
    finally:
        connection.set_authorizer(None)
    return frozenset(seen)
