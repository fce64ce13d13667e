"""Makes passages of rows: one for each row, or one for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from leafspan.checks import calling, did_you_mean, shown, unusable
from leafspan.errors import InvalidArgument
from leafspan.sources.sql._rows import Rows
from leafspan.sources.sql._values import as_text, plain
from leafspan.trace import Trace, TracedHit
from leafspan.values import Passage

Extract = Sequence[str] | Callable[[Mapping[str, Any]], str] | None


def row_passages(rows: Rows, extract: Extract, notes: Sequence[str], *, with_query: bool) -> list[Passage]:
    """Make a passage of each row, in the rows' order. Row number r, from 1, has the score 1 / r.

    Raises:
        InvalidArgument: if a column is not in the rows, or the function returns no text.
    """
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
    """Make one passage of all rows, as a Markdown table with the score 1. Without rows, return no passage.

    Raises:
        InvalidArgument: if a column is not in the rows.
    """
    if not rows.rows:
        return []
    assert not callable(extract)
    columns = _known(extract, rows.columns) if extract is not None else rows.columns
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
    chosen = columns if extract is None else _known(extract, columns)
    if extract is not None and len(chosen) == 1:
        return as_text(values[chosen[0]])
    return "\n".join(f"{name}: {as_text(values[name])}" for name in chosen)


def _known(extract: Sequence[str], columns: Sequence[str]) -> Sequence[str]:
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
