"""Which tables and columns a query may read.

A table of which only some columns may be read is replaced by a subquery that has just these:

    SELECT * FROM staff WHERE pay > 1
    SELECT * FROM (SELECT "name", "office" FROM "staff") AS staff WHERE pay > 1

So the database itself sees to it, wherever a column is named or meant: in stars, conditions, natural joins, whole rows, and
system columns. No rule on names has to be trusted. Names that cannot be allowed are refused before, with a clear reason.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leafspan.checks import did_you_mean, shown
from leafspan.errors import InvalidArgument, RefusedQuery
from leafspan.sql._language import Language

# Dialects in which the case of a table's name counts, at least sometimes.
_CASE_COUNTS = ("postgres", "redshift", "mysql", "tsql", "bigquery", "clickhouse")
# Dialects in which a name that is not quoted is one in capitals; SQLAlchemy writes such names in lower case.
_CAPITALS = ("oracle", "snowflake")
# Dialects in which a common table expression that names itself, without RECURSIVE, means the table of that name.
_SELF_IS_TABLE = ("postgres", "mysql", "duckdb")

_SYSTEM_SCHEMAS = (
    "information_schema",
    "pg_catalog",
    "mysql",
    "performance_schema",
    "sys",
    "system",
    "crdb_internal",
    "temp",
)
_SYSTEM_TABLES = {
    "sqlite": r"sqlite_.*|pragma_.*|dbstat|bytecode|tables_used",
    "postgres": r"pg_.*",
    "redshift": r"pg_.*|stl_.*|stv_.*|svl_.*|svv_.*",
    "duckdb": r"duckdb_.*|pragma_.*|sqlite_.*|pg_.*",
    "tsql": r"sys(objects|columns|users|x?logins|databases|processes|files|indexes|servers|permissions|comments)|spt_.*",
    "oracle": r"(all|dba|user|cdb|v_|v|gv|x|role|session|dict)[_$].*|dict(ionary)?|tab|cat",
}
# Spark reads a file whose format stands in place of the schema.
_FILE_FORMATS = ("avro", "binaryfile", "csv", "delta", "iceberg", "jdbc", "json", "orc", "parquet", "text", "xml")
# Units of time are written as if they were columns: DATEADD(day, 1, ordered).
_UNITS = frozenset(["year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "microsecond"])
_ORDINARY = re.compile(r"[\w$ \-]+")


@dataclass(frozen=True, slots=True)
class Allowed:
    """Tables and columns that may be read.

    Attributes:
        columns: For each table, with its schema if it has one, the columns that may be read; None for all.
        dialect: Name of the dialect in sqlglot.
    """

    columns: Mapping[str, tuple[str, ...] | None]
    dialect: str

    @classmethod
    def of(cls, tables: object, dialect: str) -> Allowed | None:
        """What a user allows: None for everything, a list of tables, or a mapping from tables to lists of columns.

        Raises:
            InvalidArgument: if it is anything else.
        """
        if tables is None:
            return None
        rule = "tables must be a list of names, or a mapping from names to lists of columns"
        if isinstance(tables, str) or not isinstance(tables, Mapping | Sequence | set | frozenset):
            raise InvalidArgument(f"{rule}, got {shown(tables)}")
        columns: dict[str, tuple[str, ...] | None] = {}
        for name in tables:
            own = tables[name] if isinstance(tables, Mapping) else None
            if not isinstance(name, str) or not name.strip():
                raise InvalidArgument(f"{rule}, got the table {shown(name)}")
            if own is not None and (
                isinstance(own, str)
                or not isinstance(own, Sequence)
                or not own
                or not all(isinstance(each, str) and each for each in own)
            ):
                raise InvalidArgument(f"{rule}, got the columns {shown(own)} of {name}; None stands for all columns")
            columns[name] = None if own is None else tuple(own)
        if not columns:
            raise InvalidArgument(f"{rule}, got none: leave it out to allow all tables")
        return cls(columns, dialect)

    def find(self, table: Any) -> str | None:
        """The name of the allowed table that a query names, None if it is not allowed."""
        asked = _key(table, self.dialect)
        return next((name for name in self.columns if _entry_key(name, self.dialect) == asked), None)

    def may_read(self, table: str, column: str) -> bool:
        """Whether a column of a table may be read; "" stands for no column in particular.

        Args:
            table: Name of the table as the database has it.
            column: Name of the column as the database has it.
        """
        for name, columns in self.columns.items():
            if _fold(name.rpartition(".")[2], self.dialect) == _fold(table, self.dialect):
                return columns is None or not column or column.lower() in {each.lower() for each in columns}
        return False

    def may_read_all(self, table: str) -> bool:
        """Whether all columns of a table may be read."""
        folded = _fold(table, self.dialect)
        return any(
            columns is None and _fold(name.rpartition(".")[2], self.dialect) == folded
            for name, columns in self.columns.items()
        )


def allow_tables(tree: Any, allowed: Allowed | None, speech: Language) -> Any:
    """The query with restricted tables replaced by subqueries of their allowed columns.

    Args:
        tree: The query.
        allowed: What may be read, None for all but system catalogs.
        speech: Language of the query.

    Raises:
        RefusedQuery: if it names a table or column that may not be read.
    """
    from sqlglot import exp

    tables = [table for table in tree.find_all(exp.Table) if not isinstance(table.this, exp.Func)]
    base = [table for table in tables if not _is_common_table(table, speech)]
    restricted: list[tuple[Any, str]] = []
    for table in base:
        if table.args.get("rows_from"):
            continue
        if allowed is None:
            _check_unlisted(table, speech)
            continue
        name = allowed.find(table)
        if name is None:
            said = speech.write(exp.Table(**{part: table.args.get(part) for part in ("this", "db", "catalog")}).copy())
            raise RefusedQuery(
                f"a query may only read the tables {', '.join(allowed.columns)}, got {said}"
                f"{did_you_mean(said, allowed.columns)}"
            )
        if allowed.columns[name] is not None:
            restricted.append((table, name))
    if restricted:
        assert allowed is not None
        _check_columns(tree, base, restricted, allowed)
        for table, name in restricted:
            tree = _replaced(tree, table, name, allowed)
        for column in tree.find_all(exp.Column):  # a subquery has no schema
            if column.args.get("db") and any(column.table == each.alias_or_name for each, _ in restricted):
                column.set("db", None)
                column.set("catalog", None)
    return tree


def _check_unlisted(table: Any, speech: Language) -> None:
    """Refuse catalogs of the system, and names that stand for files or other databases."""
    name, schema = _plain_letters(table.name), _plain_letters(table.db)
    system = schema in _SYSTEM_SCHEMAS or schema.startswith(("pg_toast", "pg_temp"))
    if speech.dialect in ("spark", "databricks") and schema in _FILE_FORMATS:
        system = True
    pattern = _SYSTEM_TABLES.get(speech.dialect)
    if system or (pattern and re.fullmatch(pattern, name)):
        raise RefusedQuery(
            f"a query may not read catalogs of the system, got {_path(table)}; name it in tables= to allow it"
        )
    if table.args.get("catalog") or not all(_ORDINARY.fullmatch(part) for part in (name, schema or "x")):
        raise RefusedQuery(
            f"a query may only read tables of its database with ordinary names, got {_path(table)}; name it in tables= to "
            "allow it"
        )


def _check_columns(tree: Any, base: list[Any], restricted: list[tuple[Any, str]], allowed: Allowed) -> None:
    """Refuse columns that no table of the query can have, so that the reason is clear before the database gives one."""
    from sqlglot import exp

    own: dict[str, set[str]] = {}
    for table, name in restricted:
        own.setdefault(table.alias_or_name.lower(), set()).update(each.lower() for each in allowed.columns[name] or ())
    renamed = {alias.name.lower() for alias in tree.find_all(exp.TableAlias) if alias.columns}
    common = {each.alias.lower() for each in tree.find_all(exp.CTE)}
    subqueries = {each.alias.lower() for each in tree.find_all(exp.Subquery) if each.alias}
    free = renamed | common | subqueries
    known = set().union(*own.values()) | {each.alias_or_name.lower() for each in base}
    known |= {name.name.lower() for alias in tree.find_all(exp.TableAlias) for name in alias.columns}
    known |= {each.alias.lower() for each in tree.find_all(exp.Alias)} | free | _UNITS
    known |= {each.alias_or_name.lower() for each in tree.find_all(exp.Table, exp.Lateral, exp.Unnest)}
    # Where tables come in whose columns are not known here, a name without a table may be one of theirs.
    certain = (
        len(restricted) == len(base)
        and not any(tree.find(kind) for kind in (exp.Lateral, exp.Unnest))
        and not any(isinstance(table.this, exp.Func) for table in tree.find_all(exp.Table))
    )
    for said, of, name in _names_of_columns(tree):
        if of in own and of not in free and name not in own[of]:
            raise _refused_column(said, sorted(own[of]))
        if certain and name not in known and (not of or _names_all(tree)):
            raise _refused_column(said, sorted(set().union(*own.values())))


def _names_of_columns(tree: Any) -> Iterator[tuple[str, str, str]]:
    """Each column that a query names: as it says it, the table that it names with it, and the column, in lower case."""
    from sqlglot import exp

    for column in tree.find_all(exp.Column):
        if not isinstance(column.this, exp.Star):
            said = ".".join(part for part in (column.table, column.name) if part)
            yield said, column.table.lower(), column.name.lower()
    for join in tree.find_all(exp.Join):
        for shared in join.args.get("using") or ():
            yield shared.name, "", shared.name.lower()
    for dot in tree.find_all(exp.Dot):  # (row).column
        if isinstance(dot.expression, exp.Identifier) and isinstance(dot.this, exp.Paren):
            yield f"({dot.this.this.name}).{dot.name}", dot.this.this.name.lower(), dot.name.lower()


def _names_all(tree: Any) -> bool:
    """Whether each column of each subquery has a name that the query gives it, and not the database."""
    from sqlglot import exp

    named = (exp.Column, exp.Alias, exp.Star)
    return all(
        isinstance(each, named) for select in tree.find_all(exp.Select) if select is not tree for each in select.expressions
    )


def _refused_column(said: str, known: Sequence[str]) -> RefusedQuery:
    return RefusedQuery(f"a query may only read the columns that tables= names ({', '.join(known)}), got {said}")


def _replaced(tree: Any, table: Any, name: str, allowed: Allowed) -> Any:
    """The tree in which a table has become a subquery of its allowed columns."""
    from sqlglot import exp

    # SQLite takes a quoted name that is no column for a text, unless it has a table.
    of = table.this if allowed.dialect == "sqlite" else None
    columns = [exp.column(exp.to_identifier(each, quoted=True), table=of) for each in allowed.columns[name] or ()]
    plain = exp.Table(this=table.this.copy(), db=_copied(table, "db"), catalog=_copied(table, "catalog"))
    for part in ("sample", "only"):
        plain.set(part, _copied(table, part))
    alias = _copied(table, "alias") or exp.TableAlias(this=table.this.copy())
    subquery = exp.Subquery(this=exp.Select(expressions=columns, from_=exp.From(this=plain)), alias=alias)
    subquery.set("joins", [each.copy() for each in table.args.get("joins") or ()] or None)
    if table is tree:
        return subquery
    table.replace(subquery)
    return tree


def _copied(node: Any, part: str) -> Any:
    value = node.args.get(part)
    return value.copy() if hasattr(value, "copy") else value


def _is_common_table(table: Any, speech: Language) -> bool:
    """Whether a table is a common table expression, wherever the database looks for it.

    Raises:
        RefusedQuery: if databases differ on that.
    """
    if table.args.get("db") or table.args.get("catalog"):
        return False
    name = _fold_identifier(table.this, speech.dialect)
    for with_, inside in _withs_around(table):
        position = next((number for number, each in enumerate(with_.expressions) if each is inside), len(with_.expressions))
        for number, each in enumerate(with_.expressions):
            if _fold_identifier(each.args["alias"].this, speech.dialect) != name:
                continue
            if number < position or (number == position and with_.args.get("recursive")):
                return True
            if speech.dialect not in _SELF_IS_TABLE or with_.args.get("recursive"):
                raise RefusedQuery(
                    f"a common table expression must not have the name of a table that it reads, got {table.name}: give it "
                    "another name"
                )
    return False


def _withs_around(table: Any) -> Iterator[tuple[Any, Any]]:
    """The WITH clauses that a table may refer to, innermost first, each with its expression that the table stands in."""
    from sqlglot import exp

    node, inside = table.parent, None
    while node is not None:
        if isinstance(node, exp.CTE):
            inside = node
        elif isinstance(node, exp.With):
            yield node, inside
        elif isinstance(node, exp.Query) and (with_ := node.args.get("with_")) is not None:
            if inside is None or inside.parent is not with_:
                yield with_, None
            inside = None
        node = node.parent


def _plain_letters(name: str) -> str:
    """A name as a database may read it that ignores case, accents, width, and blanks at the end."""
    decomposed = unicodedata.normalize("NFKD", name).casefold().replace("ı", "i")
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter)).strip()


def _path(table: Any) -> str:
    return ".".join(part for part in (table.catalog, table.db, table.name) if part)


def _key(table: Any, dialect: str) -> str:
    """The name of a table in a query, as the database looks it up."""
    parts = [table.args.get(part) for part in ("catalog", "db", "this")]
    if any(part is not None and type(part).__name__ != "Identifier" for part in parts):
        return ""
    names = [_fold_identifier(part, dialect) for part in parts if part is not None]
    if dialect == "sqlite" and names[0] == "main":
        names = names[1:] or names
    return ".".join(names)


def _entry_key(name: str, dialect: str) -> str:
    folded = _fold(name, dialect)
    return folded.removeprefix("main.") if dialect == "sqlite" else folded


def _fold_identifier(identifier: Any, dialect: str) -> str:
    name = str(identifier.name)
    quoted = bool(identifier.args.get("quoted"))
    if dialect in ("postgres", "redshift", *_CAPITALS) and not quoted:
        return _ascii_lower(name)
    if dialect in _CAPITALS:
        return _ascii_lower(name) if name.isupper() else f'"{name}"'
    return _fold(name, dialect)


def _fold(name: str, dialect: str) -> str:
    if dialect in _CAPITALS:
        return f'"{name}"' if not name.isupper() and not name.islower() else _ascii_lower(name)
    return name if dialect in _CASE_COUNTS else _ascii_lower(name)


def _ascii_lower(name: str) -> str:
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)
