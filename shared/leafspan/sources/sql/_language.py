"""Parses a dialect's SQL into a tree, and writes a tree as SQL.

sqlglot translates between dialects, and therefore rewrites functions, types and operators. Here it must not translate:
functions, types of casts and JSON paths keep the user's spelling. The database runs the SQL that is written from the
checked tree, and never the user's text, so that it cannot read the text in another way.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from leafspan.checks import shown
from leafspan.errors import InvalidArgument, MissingExtra, RefusedQuery

_LONGEST = 100_000  # characters

_DIALECTS = {"sqlite": "sqlite", "postgresql": "postgres"}
"""sqlglot's names for the SQLAlchemy dialects whose queries leafspan can check."""

# Functions that have their own syntax in some dialects only, or that sqlglot would rewrite.
_AS_WRITTEN = (
    "CEIL",
    "FLOOR",
    "CHAR",
    "CHR",
    "INITCAP",
    "DATE_PART",
    "JSON_AGG",
    "JSONB_EXISTS",
    "DECODE",
    "MATCH",
    "MAX",
    "MIN",
    "MAX_BY",
    "MIN_BY",
    "ARG_MAX",
    "ARG_MIN",
    "ARGMAX",
    "ARGMIN",
    "GROUP_CONCAT",
    "STRING_AGG",
)


def dialect_of(name: str) -> str:
    """Return sqlglot's name for a SQLAlchemy dialect."""
    if name not in _DIALECTS:
        raise InvalidArgument(
            f"database must be SQLite or PostgreSQL, whose queries are checked, got {shown(name)}: for another one, wrap a "
            "retriever of your own in HostRetriever"
        )
    return _DIALECTS[name]


class Language:
    """Parses and writes the SQL of one dialect."""

    def __init__(self, dialect: str) -> None:
        try:
            from sqlglot.dialects.dialect import Dialect
        except ImportError as error:
            raise MissingExtra.of("SQL needs sqlglot", "sql") from error
        self.dialect = dialect
        self._dialect = Dialect.get_or_raise(dialect)
        # The path stays as the user wrote it; sqlglot neither parses nor rewrites it.
        self._dialect.to_json_path = lambda path: path  # type: ignore[method-assign]
        self._parser = _parser(type(self._dialect).parser_class)
        self._generator = _generator(type(self._dialect).generator_class, dialect)

    def parse(self, sql: str) -> Any:
        """Parse a text that has one statement."""
        from sqlglot.errors import ErrorLevel, SqlglotError
        from sqlglot.tokenizer_core import TokenType

        queries = {TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.L_PAREN}
        _check_characters(sql)
        try:
            tokens = self._dialect.tokenize(sql)
            if not tokens:
                raise RefusedQuery("a query must not be empty, got only comments or blanks")
            if tokens[0].token_type not in queries:
                raise RefusedQuery(
                    f"only reads pass, and a query begins with SELECT, WITH or VALUES, got {shown(tokens[0].text)} in "
                    f"{shown(sql)}"
                )
            parser = self._parser(dialect=self._dialect, error_level=ErrorLevel.RAISE)
            trees = [tree for tree in parser.parse(tokens, sql) if tree and type(tree).__name__ != "Semicolon"]
        except RefusedQuery:
            raise
        except SqlglotError as error:
            raise RefusedQuery(
                f"the query cannot be read as {self.dialect}: {_first_line(error)} in {shown(sql)}"
            ) from None
        except (RecursionError, ValueError, TypeError, AttributeError, KeyError, IndexError) as error:
            raise RefusedQuery(
                f"the query cannot be read as {self.dialect}: {type(error).__name__} in {shown(sql)}"
            ) from None
        if len(trees) != 1:
            raise RefusedQuery(f"a query must be one statement, got {len(trees)} in {shown(sql)}")
        return trees[0]

    def write(self, tree: Any) -> str:
        """The SQL of a tree, without comments."""
        from sqlglot.errors import ErrorLevel, SqlglotError

        generator = self._generator(
            dialect=self._dialect, comments=False, normalize_functions=False, unsupported_level=ErrorLevel.RAISE
        )
        try:
            return str(generator.generate(tree))
        except (SqlglotError, RecursionError, ValueError, TypeError, AttributeError, KeyError) as error:
            raise RefusedQuery(f"the query cannot be written as {self.dialect}: {_first_line(error)}") from None

    def reads(self, sql: str) -> bool:
        """Whether a text parses as one query."""
        try:
            self.parse(sql)
        except RefusedQuery:
            return False
        return True

    def quoted(self, name: str) -> str:
        """A name in quotes."""
        from sqlglot import exp

        return self.write(exp.to_identifier(name, quoted=True))

    def select(self, columns: Sequence[str], table: Sequence[str]) -> str:
        """A query of columns of a table."""
        from sqlglot import exp

        names = [exp.column(exp.to_identifier(name, quoted=True)) for name in columns]
        parts = [exp.to_identifier(part, quoted=True) for part in table]
        of = exp.Table(**dict(zip(("this", "db", "catalog"), reversed(parts), strict=False)))
        return self.write(exp.Select(expressions=names or [exp.Star()], from_=exp.From(this=of)))


@cache
def language(dialect: str) -> Language:
    """The language of a dialect. It is made once."""
    return Language(dialect)


def _check_characters(sql: str) -> None:
    """Refuse characters that a driver or a database might cut off or read in another way."""
    if len(sql) > _LONGEST:
        raise RefusedQuery(f"a query must have at most {_LONGEST} characters, got {len(sql)}")
    if "\0" in sql:
        raise RefusedQuery(f"a query must have no NUL characters, got {shown(sql)}")
    try:
        sql.encode()
    except UnicodeEncodeError as error:
        raise RefusedQuery(f"a query must be valid Unicode: {error}") from None


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _trim(generator: Any, node: Any) -> str:
    """Write TRIM with its own syntax. sqlglot would turn it into another function."""
    kind, what, of = node.args.get("position") or "", generator.sql(node, "expression"), generator.sql(node, "this")
    return f"TRIM({' '.join(part for part in (kind, what, 'FROM' if kind or what else '', of) if part)})"


def _parser(base: Any) -> Any:
    """A parser that keeps functions and JSON paths as they are written."""
    from sqlglot import exp
    from sqlglot.tokenizer_core import TokenType

    def arrow(kind: Any) -> Any:
        return lambda self, this, path: self.expression(kind(this=this, expression=path))

    arrows = {TokenType.ARROW: arrow(exp.JSONExtract), TokenType.DARROW: arrow(exp.JSONExtractScalar)}
    tables = {
        name: {**table, **{token: build for token, build in arrows.items() if token in table}}
        for name in ("COLUMN_OPERATORS", "JSON_OPERATORS", "CONCAT_OPERATORS")
        if (table := getattr(base, name, None))
    }
    # f(a -> 'b') reads JSON.
    tables["LAMBDAS"] = {token: build for token, build in base.LAMBDAS.items() if token != TokenType.ARROW}
    functions = {name: parse for name, parse in base.FUNCTION_PARSERS.items() if name not in _AS_WRITTEN}
    return type("_Parser", (base,), {"FUNCTIONS": {}, "FUNCTION_PARSERS": functions, **tables})


def _generator(base: Any, dialect: str) -> Any:
    """A generator that keeps the types of casts as they are written."""
    from sqlglot import exp, generator

    own: dict[str, Any] = {"MULTI_ARG_DISTINCT": True}
    if dialect == "sqlite":  # in SQLite the type's name decides the affinity of a cast
        own |= {"TYPE_MAPPING": {exp.DType.VARBINARY: "BLOB"}, "cast_sql": generator.Generator.cast_sql}
    if dialect == "postgres":  # only operators and special syntax lead here, since functions stay as they are written
        own["TRANSFORMS"] = {
            **base.TRANSFORMS,
            exp.Pow: lambda self, node: self.binary(node, "^"),
            exp.Sqrt: lambda self, node: f"|/ {self.sql(node, 'this')}",
            exp.Cbrt: lambda self, node: f"||/ {self.sql(node, 'this')}",
            exp.Trim: _trim,
        }
    return type("_Generator", (base,), own)
