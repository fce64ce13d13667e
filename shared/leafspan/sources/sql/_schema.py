"""Describes a database for a language model: tables, columns, keys, comments, and rows as examples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from leafspan.sources.sql._allowed import Allowed
from leafspan.sources.sql._names import read_entry
from leafspan.sources.sql._sqlite import PARTS_OF_VIRTUAL_TABLES

_LONGEST_SAMPLE = 80  # characters of a value


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    name: str
    type: str
    remark: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table or view.

    Attributes:
        name: The parts of its name, with the schema if that is needed.
        columns: The columns that a query may read.
        comment: Its comment, or "" without one.
    """

    name: tuple[str, ...]
    columns: tuple[Column, ...]
    comment: str


def read_tables(connection: Any, allowed: Allowed | None, quote: Callable[[str], str]) -> list[Table]:
    """The tables and views that a query may read, by name."""
    from sqlalchemy import inspect

    inspector = inspect(connection)
    if allowed is None:
        names = {*inspector.get_table_names(), *inspector.get_view_names()} - _parts_of_virtual_tables(connection)
        return [table for name in sorted(names) if (table := _read_if_whole(inspector, (name,), None, quote))]
    tables = []
    for entry, columns in allowed.columns.items():
        for name in read_entry(entry):
            if _exists(inspector, name) and (table := _read_if_whole(inspector, name, columns, quote)):
                tables.append(table)
    return tables


def describe(
    tables: Sequence[Table], samples: Callable[[Table], Sequence[Sequence[Any]]], quote: Callable[[str], str]
) -> str:
    """The tables as text, each with its columns in the lines after it."""
    return "\n\n".join("\n".join(_lines(table, samples(table), quote)) for table in tables) or "(no tables)"


def _lines(table: Table, rows: Sequence[Sequence[Any]], quote: Callable[[str], str]) -> Iterator[str]:
    name = ".".join(map(quote, table.name))
    yield f"{name}: {table.comment}" if table.comment else name
    for column in table.columns:
        said = ", ".join(part for part in (f"{quote(column.name)} {column.type}".strip(), column.remark) if part)
        yield f"- {said}"
    if rows:
        yield "rows, for example:"
    for row in rows:
        yield f"  {' | '.join(_shortened(value) for value in row)}"


def _shortened(value: Any) -> str:
    text = "NULL" if value is None else " ".join(str(value).split())
    return text if len(text) <= _LONGEST_SAMPLE else f"{text[:_LONGEST_SAMPLE]}..."


def _parts_of_virtual_tables(connection: Any) -> set[str]:
    """The tables in which SQLite stores its virtual tables. Users do not query these."""
    if connection.dialect.name != "sqlite":
        return set()
    virtual = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'create virtual table%'"
    names = [name for (name,) in connection.exec_driver_sql(virtual, execution_options={"no_parameters": True})]
    return {f"{name}_{part}" for name in names for part in PARTS_OF_VIRTUAL_TABLES}


def _exists(inspector: Any, name: Sequence[str]) -> bool:
    return bool(inspector.has_table(name[-1], schema=_schema(name)))


def _schema(name: Sequence[str]) -> str | None:
    return ".".join(name[:-1]) or None


def _read_if_whole(
    inspector: Any, name: Sequence[str], columns: Sequence[str] | None, quote: Callable[[str], str]
) -> Table | None:
    """The table, or None for a SQLite view that reads a table which no longer exists."""
    from sqlalchemy.exc import DBAPIError

    try:
        return _read_table(inspector, name, columns, quote)
    except DBAPIError:
        if inspector.dialect.name != "sqlite":
            raise
        return None


def _read_table(
    inspector: Any, full_name: Sequence[str], columns: Sequence[str] | None, quote: Callable[[str], str]
) -> Table:
    schema, name = _schema(full_name), full_name[-1]
    key = set(inspector.get_pk_constraint(name, schema=schema).get("constrained_columns") or ())
    references = {}
    for foreign in inspector.get_foreign_keys(name, schema=schema):
        of = ".".join(quote(part) for part in (foreign.get("referred_schema"), foreign["referred_table"]) if part)
        for own, other in zip(foreign["constrained_columns"], foreign["referred_columns"], strict=False):
            references[own] = f"references {of}({quote(other)})"
    shown = None if columns is None else {each.lower() for each in columns}
    described = []
    for column in inspector.get_columns(name, schema=schema):
        if shown is not None and column["name"].lower() not in shown:
            continue
        remarks = [
            "primary key" if column["name"] in key else "",
            references.get(column["name"], ""),
            "" if column.get("nullable", True) or column["name"] in key else "not null",
        ]
        remark = ", ".join(each for each in remarks if each)
        comment = column.get("comment") or ""
        described.append(
            Column(column["name"], _type(column["type"]), f"{remark}{': ' if remark and comment else ''}{comment}")
        )
    return Table(tuple(full_name), tuple(described), _comment(inspector, schema, name))


def _type(kind: Any) -> str:
    try:
        return "" if str(kind) == "NULL" else str(kind)  # a column without a type
    except Exception:  # a type that SQLAlchemy cannot write without its dialect
        return type(kind).__name__.upper()


def _comment(inspector: Any, schema: str | None, name: str) -> str:
    try:
        return inspector.get_table_comment(name, schema=schema).get("text") or ""
    except NotImplementedError:  # the database does not support comments
        return ""
