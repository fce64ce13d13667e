"""Decides which queries may run: each part of the query must only read, and must read what is allowed.

Lists name everything that may pass: kinds of parts (``_nodes.py``), functions (``_functions.py``), tables and columns
(``_allowed.py``). Everything else is refused. The SQL that runs is written from the checked tree (``_language.py``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from leafspan.checks import did_you_mean, shown
from leafspan.errors import RefusedQuery
from leafspan.sources.sql._allowed import Allowed, allow_tables
from leafspan.sources.sql._attributes import Attribute, find_attributes, find_own_types, harmless_functions, unknown_part
from leafspan.sources.sql._language import Language, language


@dataclass(frozen=True, slots=True)
class Source:
    """The table of a query that reads one table row by row."""

    schema: str | None  # None if the query does not name one
    table: str  # as the query writes it
    renamed: frozenset[str]  # names in the result, in lower case, that may not be the table's column of that name
    columns: frozenset[str] | None  # of the result, in lower case; None: all columns of the table

    def key_columns(self, key: Sequence[str], result: Sequence[str]) -> tuple[int, ...] | None:
        """The positions of the primary key in the result; None if a part is missing or may be another column."""
        places = []
        for name in key:
            same = [place for place, each in enumerate(result) if each.lower() == name.lower()]
            is_column = self.columns is None or name.lower() in self.columns
            if len(same) != 1 or not is_column or name.lower() in self.renamed:
                return None
            places.append(same[0])
        return tuple(places) or None


def find_source(tree: Any) -> Source | None:
    """The table that a query reads row by row, or None if the query joins, groups, unites, or reads something else."""
    from sqlglot import exp

    if not isinstance(tree, exp.Select) or any(
        tree.args.get(part) for part in ("joins", "laterals", "group", "distinct", "having", "with_")
    ):
        return None
    from_ = tree.args.get("from_")
    table = from_.this if from_ is not None else None
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        return None
    if table.args.get("joins") or table.catalog:
        return None
    plain, renamed, star = set(), set(), False
    for each in tree.expressions:
        if isinstance(each, exp.Star) or (isinstance(each, exp.Column) and isinstance(each.this, exp.Star)):
            star = True
        elif isinstance(each, exp.Column):
            plain.add(each.name.lower())
        else:
            renamed.add(each.alias_or_name.lower())
    return Source(table.db or None, table.name, frozenset(renamed), None if star else frozenset(plain))


# Texts that sqlglot writes without quotes: names, numbers, units, types.
_PLAIN = re.compile(r"(?:[\w$ .]|-(?!-))*")
_NAME = re.compile(r"[\w$#]+")
_NUMBER = re.compile(r"(\d[\d_]*)?(\.\d*)?([eE][+-]?\d+)?|0[xX][0-9a-fA-F]+")
_CATALOG_TYPES = re.compile(r"_?reg(class|collation|config|dictionary|namespace|oper|operator|proc|procedure|role|type)")
_DIGITS = re.compile(r"[0-9a-fA-F]*")


@dataclass(frozen=True, slots=True)
class Checked:
    """A query that passed the check."""

    sql: str  # to run instead
    source: Source | None  # if the query reads one table row by row
    attributes: tuple[Attribute, ...] = ()  # none may be a function of the database
    types: tuple[str, ...] = ()  # none may be the row type of a table


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """Checks queries, and writes the SQL that runs instead of them."""

    dialect: str
    functions: Collection[str] = ()
    allowed: Allowed | None = None
    row_limit: int | None = None

    def check(self, sql: str) -> Checked:
        """Return the SQL to run for a query."""
        speech = language(self.dialect)
        tree = _bare(speech.parse(sql))
        if type(tree).__name__ not in ("Select", "Union", "Except", "Intersect", "Values"):
            raise RefusedQuery(f"only queries pass, got {_piece(speech, tree)} in {shown(sql)}")
        self._check_nodes(speech, tree, sql)
        source = find_source(tree)
        tree = allow_tables(tree, self.allowed, speech)
        if self.row_limit is not None:
            limit_rows(tree, self.row_limit + 1)
        written = speech.write(tree)
        again = _bare(speech.parse(written))
        self._check_nodes(speech, again, sql)
        if _names_and_strings(again) != _names_and_strings(tree) or again != tree:
            raise RefusedQuery(f"the query cannot be written as {self.dialect} without a change of meaning: {shown(sql)}")
        attributes = find_attributes(again, self.dialect, self.functions)
        return Checked(written, source, attributes, find_own_types(again, self.dialect) if self.allowed else ())

    def _check_nodes(self, speech: Language, tree: Any, sql: str) -> None:
        harmless = harmless_functions(self.dialect)
        for node in list(tree.walk()):
            if type(node).__name__ in ("ByteString", "RawString", "Heredoc") and self.dialect == "postgres":
                _make_plain(node)
            if type(node).__name__ == "WindowSpec" and node.args.get("start") and not node.args.get("end"):
                node.set("end", "CURRENT ROW")  # ROWS 6 PRECEDING is short for this longer form, which sqlglot writes
            if type(node).__name__ == "Hint" and node.parent is not None:
                node.parent.set("hint", None)  # hints advise the database on how to run a query, and may set variables
        for node in tree.walk():
            if (reason := unknown_part(node)) is not None:
                raise RefusedQuery(f"a query must only read, got {reason} in {shown(sql)}")
            _check_texts(node, sql)
            if type(node).__name__ == "Identifier" and _names_catalog_type(node):
                raise RefusedQuery(f"a query must only read, got {node.name}, which looks names up in the catalog")
            if type(node).__name__ == "Anonymous":
                name = _function_name(node)
                if name not in self.functions and name.removeprefix("pg_catalog.") not in harmless | set(self.functions):
                    raise RefusedQuery(
                        f"a query may only call functions that are known to be harmless, got {name}() in {shown(sql)}"
                        f"{did_you_mean(name, harmless)}; if {name}() only reads, name it in functions="
                    )
            elif type(node).__name__ == "Dot" and _is_function(node.expression) and not _in_anonymous_call(node):
                raise RefusedQuery(f"a function of a schema must be named in functions=, got {_piece(speech, node)}")


def _bare(tree: Any) -> Any:
    """The query without its outer parentheses."""
    while type(tree).__name__ == "Subquery" and set(_present(tree)) == {"this"}:
        tree = tree.this
    return tree


def _names_and_strings(tree: Any) -> list[str]:
    """The names and texts in a query. If writing the query changes them, a text has become a part of the query."""
    from sqlglot import exp

    return sorted(str(node.this) for node in tree.find_all(exp.Identifier, exp.Literal) if not _is_number(node))


def _is_number(node: Any) -> bool:
    return type(node).__name__ == "Literal" and not node.is_string


def limit_rows(tree: Any, most: int) -> None:
    """Set the limit of a query, unless the query has a lower one."""
    from sqlglot import exp

    if isinstance(tree, exp.Values):
        return  # VALUES has only the rows that are written in it
    limit = tree.args.get("limit")
    if limit is None:
        tree.set("limit", exp.Limit(expression=exp.Literal.number(most)))
    elif isinstance(limit, exp.Limit) and isinstance(number := limit.expression, exp.Literal) and number.is_int:
        limit.set("expression", exp.Literal.number(min(int(number.name), most)))
    # The fetching of rows applies any other limit.


def _make_plain(node: Any) -> None:
    """Replace a PostgreSQL string that has escapes or dollar quotes by a plain string."""
    from sqlglot import exp

    node.replace(exp.Literal.string(node.this))


def _check_texts(node: Any, sql: str) -> None:
    """Refuse texts that are written without quotes and that a database could read as more than a name or number."""
    kind = type(node).__name__
    if kind in ("Literal", "National"):
        text = str(node.this)
        if kind == "Literal" and not node.is_string and (not text or not _NUMBER.fullmatch(text)):
            raise RefusedQuery(f"a number must consist of digits, got {shown(text)} in {shown(sql)}")
        return
    if kind == "Identifier":
        name = str(node.this)
        if "\\" in name or not name or (not node.args.get("quoted") and not _NAME.fullmatch(name)):
            raise RefusedQuery(f"a name must be quoted, or of letters, digits and _, got {shown(name)} in {shown(sql)}")
        return
    pattern = _DIGITS if kind in ("HexString", "BitString") else _PLAIN
    for value in node.args.values():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and not pattern.fullmatch(text):
                raise RefusedQuery(f"a query must consist of known words, got {shown(text)} in {shown(sql)}")


def _names_catalog_type(identifier: Any) -> bool:
    """Whether a name is a catalog type: the type of a cast, or a name after a dot that may be a type."""
    kind = type(identifier.parent).__name__
    may_be_type = kind in ("DataType", "Dot") or (kind == "Column" and bool(identifier.parent.table))
    return may_be_type and _CATALOG_TYPES.fullmatch(str(identifier.this).lower()) is not None


def _function_name(node: Any) -> str:
    """The function's name in lower case, with its schema if it has one."""
    this = node.this
    name = (this if isinstance(this, str) else this.name).lower()
    parent = node.parent
    kind = type(parent).__name__
    if kind == "Dot" and parent.expression is node:
        return f"{_dotted(parent.this)}.{name}"
    if kind == "Table" and parent.this is node:
        schema = [parent.text(part).lower() for part in ("catalog", "db") if parent.args.get(part)]
        return ".".join([*schema, name])
    return name


def _dotted(node: Any) -> str:
    """The names before the last dot, in lower case."""
    if type(node).__name__ == "Dot":
        return f"{_dotted(node.this)}.{_dotted(node.expression)}"
    return str(node.name).lower()


def _is_function(node: Any) -> bool:
    from sqlglot import exp

    return isinstance(node, exp.Func)


def _in_anonymous_call(dot: Any) -> bool:
    """Whether the function after a dot is checked by its name."""
    return type(dot.expression).__name__ == "Anonymous"


def _present(node: Any) -> list[str]:
    return [name for name, value in node.args.items() if value]


def _piece(speech: Language, node: Any) -> str:
    """A part of a query as an error message shows it."""
    try:
        return shown(speech.write(node))
    except RefusedQuery:
        return type(node).__name__
