"""Function calls in PostgreSQL that look like columns.

``t.upper`` and ``(expression).upper`` mean ``upper(t)`` and ``upper(expression)``, unless there is a column ``upper``:

    SELECT ('/etc/passwd'::text).pg_read_file
    SELECT t.pg_ls_dir FROM unnest(ARRAY['/etc']) AS t

Only the database knows all of its functions, since users can add some. So leafspan asks the database.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from leafspan.errors import RefusedQuery

_LONGEST = 63  # bytes of a name

# Functions of one argument that are casts or parts of a value, and whose names are common as names of columns.
_HARMLESS = """
    bool bpchar broadcast cidr family float4 float8 int2 int4 int8 interval macaddr macaddr8 money name numeric oid timetz
    xid
"""
# Functions with an argument of the type "internal" are left out, since no query can pass such a value.
_FUNCTIONS = """
    SELECT DISTINCT CAST(proname AS text) FROM pg_catalog.pg_proc
    WHERE pronargs >= 1 AND proargtypes[0] <> 2281 AND CAST(proname AS text) IN :names
"""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A name after a dot that may be a function."""

    name: str
    tables: tuple[tuple[str | None, str], ...]  # with a column of that name it is a column in each; empty: maybe a function


def find_attributes(tree: Any, dialect: str, functions: Collection[str]) -> tuple[Attribute, ...]:
    """Return the names after dots in a query that may be functions, without the functions that are known to be harmless."""
    from sqlglot import exp

    if dialect != "postgres":
        return ()
    harmless = harmless_functions(dialect) | set(_HARMLESS.split()) | set(functions)
    attributes: dict[Attribute, None] = {}
    named = {
        (column.table.lower(), _name(column.this)): None
        for column in tree.find_all(exp.Column)
        if column.table and isinstance(column.this, exp.Identifier)
    }
    common = {each.alias.lower() for each in tree.find_all(exp.CTE)}
    sources: dict[str, list[Any]] = {}
    for source in tree.find_all(exp.Table, exp.Subquery):
        sources.setdefault(source.alias_or_name.lower(), []).append(source)
    for of, name in named:
        if name not in harmless:
            attributes.update(dict.fromkeys(_of_sources(sources.get(of, ()), common, name)))
    for dot in tree.find_all(exp.Dot):
        if isinstance(dot.expression, exp.Identifier) and (name := _name(dot.expression)) not in harmless:
            attributes[Attribute(name, ())] = None
    return tuple(attributes)


def check_attributes(connection: Any, attributes: Sequence[Attribute]) -> None:
    """Check that no name in a query calls a function."""
    from sqlalchemy import bindparam, text

    if not attributes:
        return
    find = text(_FUNCTIONS).bindparams(bindparam("names", expanding=True))
    names = sorted({each.name for each in attributes})
    existing = {str(name) for (name,) in connection.execute(find, {"names": names})}
    for each in attributes:
        if each.name in existing and not _is_column(connection, each):
            raise RefusedQuery(
                f"a query may only call functions that are known to be harmless, got {each.name} after a dot, which calls "
                f"{each.name}(); if {each.name}() only reads, name it in functions="
            )


def _of_sources(sources: Sequence[Any], common: Collection[str], name: str) -> Iterator[Attribute]:
    """The attributes for a name after the names of these tables and subqueries, unless the name is surely a column."""
    from sqlglot import exp

    tables: dict[tuple[str | None, str], None] = {}
    for source in sources:
        renamed = source.args.get("alias") and source.args["alias"].columns
        if isinstance(source, exp.Subquery):
            if renamed or name not in source.named_selects:
                yield Attribute(name, ())
        elif renamed or source.name.lower() in common or not isinstance(source.this, exp.Identifier):
            yield Attribute(name, ())
        else:
            tables[source.db or None, _name(source.this)] = None
    if tables or not sources:
        yield Attribute(name, tuple(tables))


def _is_column(connection: Any, attribute: Attribute) -> bool:
    from sqlalchemy import inspect
    from sqlalchemy.exc import NoSuchTableError

    for schema, table in attribute.tables:
        try:
            columns = inspect(connection).get_columns(table, schema=schema)
        except NoSuchTableError:  # the query itself will fail with this error
            return False
        if attribute.name not in {column["name"] for column in columns}:
            return False
    return bool(attribute.tables)


def _name(identifier: Any) -> str:
    """The name as the server stores it, which cuts off long names."""
    name = str(identifier.this if identifier.args.get("quoted") else identifier.this.lower())
    return name.encode()[:_LONGEST].decode(errors="ignore")


_EVERYWHERE = """
    abs acos asin atan atan2 avg ceil ceiling char char_length character_length chr coalesce concat concat_ws corr cos
    cot count covar_pop covar_samp cume_dist date_part degrees dense_rank exp first_value floor greatest grouping if
    ifnull initcap instr lag last_value lead least left length ln log log10 log2 lower lpad ltrim max md5 min mod
    nth_value ntile nullif octet_length percent_rank percentile_cont percentile_disc pi position pow power radians rank
    regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy repeat replace reverse
    right round row_number rpad rtrim sign sin sqrt stddev stddev_pop stddev_samp string_agg substr substring sum tan
    translate trim trunc upper var_pop var_samp variance
"""

_SQLITE = """
    -> ->> acosh asinh atanh bm25 cosh date datetime format glob group_concat hex highlight iif json json_array
    json_array_length json_each json_error_position json_extract json_group_array json_group_object json_insert
    json_object json_patch json_quote json_remove json_replace json_set json_tree json_type json_valid jsonb jsonb_array
    jsonb_each jsonb_extract jsonb_group_array jsonb_group_object jsonb_insert jsonb_object jsonb_patch jsonb_remove
    jsonb_replace jsonb_set jsonb_tree julianday like likelihood likely match median percentile printf quote random
    randomblob regexp sinh snippet soundex strftime tanh time timediff total typeof unhex unicode unixepoch unlikely
    zeroblob
"""

_POSTGRES = """
    all some row
    acosd acosh age any_value area array array_agg array_append array_cat array_dims array_fill array_length array_lower
    array_ndims array_position array_positions array_prepend array_remove array_replace array_reverse array_sample
    array_shuffle array_sort array_to_json array_to_string array_upper ascii asind asinh atan2d atand atanh bit_and
    bit_count bit_length bit_or bit_xor bool_and bool_or box btrim cardinality casefold cbrt center circle
    clock_timestamp cosd cosh cotd crc32 crc32c date date_bin date_range date_trunc daterange decode diagonal diameter
    div encode erf erfc every factorial format gamma gcd gen_random_uuid generate_series generate_subscripts get_bit
    get_byte height host hostmask inet_merge inet_same_family int4range int8range isclosed isempty isfinite isopen
    json_agg json_agg_strict json_array_elements json_array_elements_text json_array_length json_arrayagg
    json_build_array json_build_object json_each json_each_text json_extract_path json_extract_path_text json_object
    json_object_agg json_object_agg_strict json_object_agg_unique json_object_keys json_objectagg json_populate_record
    json_populate_recordset json_scalar json_strip_nulls json_to_record json_to_recordset json_typeof jsonb_agg
    jsonb_agg_strict jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array
    jsonb_build_object jsonb_each jsonb_each_text jsonb_extract_path jsonb_extract_path_text jsonb_insert jsonb_object
    jsonb_object_agg jsonb_object_keys jsonb_path_exists jsonb_path_exists_tz jsonb_path_match jsonb_path_match_tz
    jsonb_path_query jsonb_path_query_array jsonb_path_query_array_tz jsonb_path_query_first jsonb_path_query_first_tz
    jsonb_path_query_tz jsonb_populate_record jsonb_populate_recordset jsonb_pretty jsonb_set jsonb_set_lax
    jsonb_strip_nulls jsonb_to_record jsonb_to_recordset jsonb_typeof justify_days justify_hours justify_interval lcm
    lgamma line lower_inc lower_inf lseg make_date make_interval make_time make_timestamp make_timestamptz masklen
    min_scale mode multirange netmask network normalize now npoints num_nonnulls num_nulls numnode numrange parse_ident
    path phraseto_tsquery plainto_tsquery point polygon querytree quote_ident quote_literal quote_nullable radius random
    random_normal range_agg range_intersect_agg range_merge regexp_count regexp_instr regexp_like regexp_match
    regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr row_to_json scale
    set_masklen setweight sha224 sha256 sha384 sha512 similarity sind sinh slope split_part starts_with
    statement_timestamp strict_word_similarity string_to_array string_to_table strip strpos tand tanh text time
    timeofday timestamp timestamptz to_ascii to_char to_date to_hex to_json to_jsonb to_number to_timestamp to_tsquery
    to_tsvector transaction_timestamp trim_array trim_scale ts_delete ts_filter ts_headline ts_rank ts_rank_cd
    tsquery_phrase tsrange tstzrange tsvector_to_array unaccent unnest upper_inc upper_inf varchar websearch_to_tsquery
    width width_bucket word_similarity
"""

_FURTHER = {"sqlite": _SQLITE, "postgres": _POSTGRES}


def harmless_functions(dialect: str) -> frozenset[str]:
    """The names, in lower case, of a dialect's functions that only compute."""
    return frozenset(_EVERYWHERE.split()) | frozenset(_FURTHER[dialect].split())


_QUERIES = """
    Select Subquery Union Except Intersect With CTE Values Tuple Table TableAlias From Join Lateral Unnest TableSample Where
    Group Cube Rollup GroupingSets Having Qualify Order Ordered Limit LimitOptions Fetch Offset Distinct Window WindowSpec
    WithinGroup Filter IgnoreNulls RespectNulls Star Column ColumnDef Identifier Alias
"""

_EXPRESSIONS = """
    Literal Boolean Null HexString BitString National Var DataType DataTypeParam Interval IntervalSpan Paren Dot Array
    Bracket Slice Case If Cast TryCast Convert Collate AtTimeZone
    EQ NEQ GT GTE LT LTE NullSafeEQ NullSafeNEQ And Or Not Xor Like ILike SimilarTo RegexpLike RegexpILike Glob Match Escape
    Between In Is Exists Any All Add Sub Mul Div IntDiv Mod Pow Neg BitwiseNot BitwiseAnd BitwiseOr BitwiseXor
    BitwiseLeftShift BitwiseRightShift DPipe Overlaps Adjacent ExtendsLeft ExtendsRight Distance
    ArrayContainsAll ArrayContainedBy ArrayOverlaps MatchAgainst JSONExtract JSONExtractScalar JSONBExtract
    JSONBExtractScalar JSONBContains JSONBContainsTopKey JSONBContainsAllTopKeys JSONBContainsAnyTopKeys JSONBDeleteAtPath
    JSONBPathExists JSONKeyValue JSONArrayContains
"""

# Functions that have their own syntax; all other functions are checked by their names.
_FUNCTION_NODES = """
    Anonymous Extract Substring Trim StrPosition Overlay GroupConcat JSONObject JSONObjectAgg JSONArrayAgg Ceil Floor Chr
    Decode DecodeCase CurrentDate CurrentTime CurrentTimestamp CurrentDatetime Localtime Localtimestamp UtcDate UtcTime
    UtcTimestamp Rand Concat Sqrt Cbrt Kwarg Variadic
"""

READ_ONLY_NODES = frozenset(f"{_QUERIES} {_EXPRESSIONS} {_FUNCTION_NODES}".split())

_TABLE_PARTS = frozenset(
    {"this", "db", "catalog", "alias", "joins", "sample", "ordinality", "only", "rows_from", "laterals"}
)
_SELECT = "with_ expressions distinct from_ joins laterals where group having qualify windows order limit offset sample"
_SELECT_PARTS = frozenset(_SELECT.split(" "))
_IN_PARTS = frozenset({"this", "expressions", "query"})  # x IN name reads a table in SQLite
_COLUMN_PARTS = frozenset({"this", "kind"})  # of the columns of a function's rows
_PARTS = {"Table": _TABLE_PARTS, "Select": _SELECT_PARTS, "In": _IN_PARTS, "ColumnDef": _COLUMN_PARTS}

_NAMES = {
    "Into": "SELECT INTO, which writes",
    "Lock": "a locking read such as FOR UPDATE",
    "Parameter": "a parameter or variable",
    "Placeholder": "a placeholder, since nothing is bound",
    "SessionParameter": "a setting of the server",
    "ObjectIdentifier": "a cast to a name of the catalog, such as regclass",
    "Operator": "OPERATOR(...)",
    "UnicodeString": "a string with Unicode escapes (U&)",
    "CurrentUser": "CURRENT_USER",
    "SessionUser": "SESSION_USER",
}


def unknown_part(node: Any) -> str | None:
    """Describe a node that may do more than read; None if the node may pass."""
    kind = type(node).__name__
    if kind not in READ_ONLY_NODES:
        return _NAMES.get(kind, kind)
    if kind in _PARTS:
        for part, value in node.args.items():
            if value and part not in _PARTS[kind]:
                return f"the part {part!r} of a {kind.upper()}"
    return None


# "typelem" leads from an array type to the type of its elements.
_ROW_TYPES = """
    SELECT DISTINCT CAST(named.typname AS text)
    FROM pg_catalog.pg_type AS named JOIN pg_catalog.pg_type AS type ON type.oid IN (named.oid, named.typelem)
    WHERE type.typtype = 'c' AND CAST(named.typname AS text) IN :names
"""


def find_own_types(tree: Any, dialect: str) -> tuple[str, ...]:
    """The types in a query that are not built in."""
    from sqlglot import exp

    if dialect != "postgres":
        return ()
    names = set()
    for type_ in tree.find_all(exp.DataType):
        for identifier in type_.find_all(exp.Identifier):
            name = str(identifier.this)
            names.add(name if identifier.args.get("quoted") else name.lower())
    return tuple(sorted(names))


def check_own_types(connection: Any, names: Sequence[str]) -> None:
    """Check that no type in a query is the row type of a table."""
    from sqlalchemy import bindparam, text

    if not names:
        return
    find = text(_ROW_TYPES).bindparams(bindparam("names", expanding=True))
    for (name,) in connection.execute(find, {"names": list(names)}):
        raise RefusedQuery(f"a query may only read tables by FROM, got the type {name}, which is a table's row type")
