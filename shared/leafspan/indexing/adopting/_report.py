"""The result of an adoption."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SkippedRecord:
    """A record that was not adopted.

    Attributes:
        id: Its id in the collection.
        reason: Why it was not adopted, and what you could do.
    """

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Adopted:
    """The result of an ``adopt``, or of its dry run. Each record of the collection becomes a leaf, or is skipped.

    Attributes:
        records: Number of records in the collection.
        added: Ids of the new documents.
        replaced: Ids of the documents that were replaced because they have changed.
        unchanged: Number of unchanged documents.
        leaves: Number of records that are leaves.
        alone: Number of leaves that are documents of their own, under their own ids, because their place in a text is
            unknown.
        skipped: The skipped records.
        notes: The differences from the collection, in sentences.
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
        """The ids of the skipped records, by reason."""
        found: dict[str, list[str]] = {}
        for record in self.skipped:
            found.setdefault(record.reason, []).append(record.id)
        return found
