"""Records of a manifest as columns of Chroma, for tests that write them behind an index's back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leafspan.engines import Record
from leafspan.store import Row
from leafspan.store._manifest import row_records, token_record


def columns(rows: Sequence[Row]) -> dict[str, Any]:
    """The columns of rows, apart from their ids."""
    return _of(row_records(rows))


def token_columns(token: str) -> dict[str, Any]:
    """The columns of a token, apart from its id."""
    return _of([token_record(token)])


def _of(records: Sequence[Record]) -> dict[str, Any]:
    return {"embeddings": [[0.0]] * len(records), "metadatas": [record.metadata for record in records]}
