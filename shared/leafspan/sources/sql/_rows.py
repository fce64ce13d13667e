"""The rows that a database returned."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from leafspan.checks import calling, did_you_mean, shown, unusable
from leafspan.errors import InvalidArgument, MissingExtra
from leafspan.trace import Trace, TracedHit
from leafspan.values import Passage

if TYPE_CHECKING:
    from pandas import DataFrame


def plain(value: Any) -> Any:
    """Return a value that metadata can hold: a text, number, bool or None, or a list or mapping of these.

    Dates and times become ISO texts, time spans seconds, bytes hexadecimal text. A decimal becomes an int or float if that
    is exactly the same number, and otherwise text. Any other value becomes its text.
    """
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Decimal):
        return _number(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, Sequence | set | frozenset):
        return [plain(each) for each in value]
    return str(value)


def _number(value: Decimal) -> int | float | str:
    if not value.is_finite():
        return str(value)
    if value == value.to_integral_value() and value.as_tuple().exponent == 0:
        return int(value)
    number = float(value)
    return number if math.isfinite(number) and Decimal(repr(number)) == value else str(value)


def as_text(value: Any) -> str:
    """A value as text. Decimal numbers keep all digits."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return str(value)
    made = plain(value)
    return json.dumps(made, ensure_ascii=False) if isinstance(made, list | dict) else str(made)


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a query."""

    sql: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    cut: bool  # there were more rows than the limit
    table: str = ""  # "" if they are not rows of one table
    key: tuple[int, ...] | None = None  # positions of its primary key among the columns, if the rows have it

    @property
    def fingerprint(self) -> str:
        """A short name for the query. Equal queries have equal names."""
        return f"sql-{hashlib.sha256(self.sql.encode()).hexdigest()[:12]}"

    def key_of(self, row: Sequence[Any]) -> str | None:
        """A name for a row that stays the same in each query, such as ``orders:17``; None without a known key."""
        if self.key is None or any(row[place] is None for place in self.key):
            return None
        return f"{self.table}:{','.join(as_text(row[place]) for place in self.key)}"


def different_names(names: Sequence[object]) -> tuple[str, ...]:
    """The columns' names, with a number after each repeated name: ``id``, ``id_2``."""
    taken: set[str] = set()
    result = []
    for place, name in enumerate(names, start=1):
        plain = str(name) if name else f"column_{place}"
        number, different = 1, plain
        while different in taken or (number > 1 and different in map(str, names)):
            number += 1
            different = f"{plain}_{number}"
        taken.add(different)
        result.append(different)
    return tuple(result)


def to_frame(rows: Rows) -> DataFrame:
    """Make a DataFrame with the driver's values. Its ``attrs["cut"]`` says whether there were more rows."""
    pandas = import_pandas()
    frame: DataFrame = pandas.DataFrame.from_records(list(rows.rows), columns=list(rows.columns))
    frame.attrs["cut"] = rows.cut
    return frame


def import_pandas() -> Any:
    """Import pandas."""
    try:
        import pandas
    except ImportError as error:
        raise MissingExtra.of("a DataFrame needs pandas", "pandas") from error
    return pandas


Extract = Sequence[str] | Callable[[Mapping[str, Any]], str] | None


def row_passages(rows: Rows, extract: Extract, notes: Sequence[str], *, with_query: bool) -> list[Passage]:
    """Make a passage of each row, in the rows' order. Row number r, from 1, has the score 1 / r."""
    query = rows.fingerprint
    passages = []
    for number, row in enumerate(rows.rows, start=1):
        values = dict(zip(rows.columns, row, strict=True))
        metadata = {name: plain(value) for name, value in values.items()}
        if with_query:
            metadata["sql"] = rows.sql
        score = 1 / number
        trace = Trace(hits=(TracedHit(0, score, "SQL", number),), notes=tuple(notes), kind="row")
        text = _text(values, rows.columns, extract)
        id_ = rows.key_of(row) or f"{query}:{number}"
        passages.append(Passage(id_, "", None, None, text, score, metadata, trace, kind="row"))
    return passages


def table_passage(rows: Rows, extract: Extract, notes: Sequence[str], *, with_query: bool) -> list[Passage]:
    """Make one passage of all rows, as a Markdown table with the score 1. Without rows, return no passage."""
    if not rows.rows:
        return []
    assert not callable(extract)
    columns = _checked_columns(extract, rows.columns) if extract is not None else rows.columns
    places = [rows.columns.index(name) for name in columns]
    lines = [columns, ["---"] * len(columns), *([as_text(row[place]) for place in places] for row in rows.rows)]
    text = "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)
    metadata: dict[str, object] = {"columns": list(columns), "rows": len(rows.rows)}
    if with_query:
        metadata["sql"] = rows.sql
    trace = Trace(hits=(TracedHit(0, 1.0, "SQL", 1),), notes=tuple(notes), kind="table")
    return [Passage(rows.fingerprint, "", None, None, text, 1.0, metadata, trace, kind="table")]


def _text(values: Mapping[str, Any], columns: Sequence[str], extract: Extract) -> str:
    if callable(extract):
        with calling("extract of SQL,", extract, dict(values)):
            text = extract(values)
        if not isinstance(text, str):
            raise unusable("extract of SQL,", extract, "return a text", text)
        return text
    chosen = columns if extract is None else _checked_columns(extract, columns)
    if extract is not None and len(chosen) == 1:
        return as_text(values[chosen[0]])
    return "\n".join(f"{name}: {as_text(values[name])}" for name in chosen)


def _checked_columns(extract: Sequence[str], columns: Sequence[str]) -> Sequence[str]:
    for name in extract:
        if name not in columns:
            raise InvalidArgument(
                f"extract must name columns of the result ({', '.join(columns)}), got "
                f"{shown(name)}{did_you_mean(name, columns)}"
            )
    return extract


def _cell(text: str) -> str:
    """A value as text that does not break its table cell."""
    return " ".join(text.replace("|", "\\|").split())
