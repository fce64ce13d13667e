"""Decides when a database takes two names of tables for the same name."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from leafspan import text

_PART = r'(?:[^".]+|"(?:[^"]|"")+")'


def name_in_query(table: Any, dialect: str) -> tuple[str, ...]:
    """The parts of a table's name as the database looks it up, or () if it is not a name."""
    parts = [table.args.get(part) for part in ("catalog", "db", "this")]
    if any(part is not None and type(part).__name__ != "Identifier" for part in parts):
        return ()
    return _without_main([fold_identifier(part, dialect) for part in parts if part is not None], dialect)


def names_in_option(entry: str, dialect: str) -> set[tuple[str, ...]]:
    """The tables that an entry of ``tables`` may mean, as ``name_in_query`` returns them."""
    return {_without_main([fold(part, dialect) for part in parts], dialect) for parts in read_entry(entry)}


def read_entry(entry: str) -> list[list[str]]:
    """The tables that an entry of ``tables`` may mean, each as the parts of its name.

    A dot separates a schema from a table, but not within double quotes, which follow the rules of SQL. Without quotes, the
    whole entry may also be the name of a table.
    """
    if not re.fullmatch(rf"{_PART}(?:\.{_PART})*", entry):
        return [[entry]]
    parts = [part[1:-1].replace('""', '"') if part[0] == '"' else part for part in re.findall(_PART, entry)]
    return [parts] if '"' in entry or len(parts) == 1 else [parts, [entry]]


def _without_main(names: list[str], dialect: str) -> tuple[str, ...]:
    return tuple(names[1:] if dialect == "sqlite" and names[0] == "main" and len(names) > 1 else names)


def fold_identifier(identifier: Any, dialect: str) -> str:
    """Fold a name in a query, so that names which the database takes for the same become equal."""
    name = str(identifier.name)
    return fold(name, dialect) if identifier.args.get("quoted") else _ascii_lower(name)


def fold(name: str, dialect: str) -> str:
    """Fold a name in the database, so that names which the database takes for the same become equal."""
    return name if dialect == "postgres" else _ascii_lower(name)


def _ascii_lower(name: str) -> str:
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)


def plain_letters(name: str) -> str:
    """The name as a database reads it if it ignores case, accents, width, and blanks at the end."""
    decomposed = text.normalize("NFD", text.fold(name))
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter)).strip()


def path(table: Any) -> str:
    """A table as a query names it, with its schema."""
    return ".".join(part for part in (table.catalog, table.db, table.name) if part)
