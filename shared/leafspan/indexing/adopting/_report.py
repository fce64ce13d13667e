"""What an adoption did."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SkippedRecord:
    """A record that was not taken.

    Attributes:
        id: Its id in the collection.
        reason: Why it was not taken, and what could be done.
    """

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Adopted:
    """What an ``adopt`` did, or what it would do. Each record of the collection is a leaf, or it is skipped.

    Attributes:
        records: Number of records in the collection.
        added: Ids of the documents that are new.
        replaced: Ids of the documents that were there, and have changed.
        unchanged: Number of documents that were there as they are.
        leaves: Number of records that are leaves.
        alone: How many of these are documents of their own, under their own ids, since it is not known where in which text
            they stand.
        skipped: The records that were not taken.
        notes: What is different from the collection, in sentences.
    """

    records: int
    added: tuple[str, ...]
    replaced: tuple[str, ...]
    unchanged: int
    leaves: int
    alone: int
    skipped: tuple[SkippedRecord, ...]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return (
            f"Adopted({self.records} records, {len(self.added)} added, {len(self.replaced)} replaced, "
            f"{self.unchanged} unchanged, {len(self.skipped)} skipped)"
        )

    @property
    def reasons(self) -> dict[str, list[str]]:
        """The ids of the records that were not taken, by reason."""
        found: dict[str, list[str]] = {}
        for record in self.skipped:
            found.setdefault(record.reason, []).append(record.id)
        return found
