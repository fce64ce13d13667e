"""The parts that a query may have, as sqlglot's classes are called. Everything else is refused."""

from __future__ import annotations

from typing import Any

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
_FUNCTIONS = """
    Anonymous Extract Substring Trim StrPosition Overlay GroupConcat JSONObject JSONObjectAgg JSONArrayAgg Ceil Floor Chr
    Decode DecodeCase CurrentDate CurrentTime CurrentTimestamp CurrentDatetime Localtime Localtimestamp UtcDate UtcTime
    UtcTimestamp Rand Concat Sqrt Cbrt Kwarg Variadic
"""

READ_ONLY_NODES = frozenset(f"{_QUERIES} {_EXPRESSIONS} {_FUNCTIONS}".split())

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
