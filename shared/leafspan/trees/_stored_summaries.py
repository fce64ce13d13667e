"""Reads summaries with their records, and checks the records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from leafspan.checks import STRUCTURE_KEY
from leafspan.flows import Flow
from leafspan.store import Reader, Row, check_record
from leafspan.trees._summary_record import SummaryRecord
from leafspan.values import LeafId


def fetch_summaries(reader: Reader, ids: Sequence[str]) -> Flow[dict[str, tuple[str, SummaryRecord]]]:
    """The texts and records of summaries, by id. Summaries that are missing, outdated or invisible are left out.

    Raises:
        DamagedIndex: if a summary is damaged or missing.
        IndexMismatch: if a summary is stored in another format.
        StaleRead: if a summary may just have been replaced.
    """
    records = yield from reader.fetch_records(ids)
    found: dict[str, tuple[str, SummaryRecord]] = {}
    problems: dict[str, str] = {}
    for id_, (text, metadata) in records.items():
        try:
            found[id_] = text, SummaryRecord.unpack(metadata[STRUCTURE_KEY])
        except ValueError as error:
            problems[id_] = f"its summary {LeafId.parse(id_).ordinal} is damaged: {error}"
    yield from reader.refuse(problems)
    return found


def check_summary(row: Row, id_: LeafId, text: str, metadata: Mapping[str, Any] | None) -> None:
    """Check a summary of a tree's current version.

    Raises:
        IndexMismatch: if it is stored in another format.
        ValueError: if it is damaged. The message says how.
    """
    SummaryRecord.unpack(check_record(row, id_, text, metadata))
