"""Notes of lost vectors, kept until the vectors have been made again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from leafspan.engines.local._open_files import check_not_too_many


class Loss(NamedTuple):
    """A collection that has lost vectors.

    Attributes:
        segment: Name of the folder that has the collection's vectors.
        collection: Name of the collection.
        missing: Number of records without a vector when leafspan noticed the loss, or None if unknown.
    """

    segment: str
    collection: str
    missing: int | None


class LostVectors:
    """The notes, a file for each collection."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def note(self, segment: str, collection: str, missing: int | None) -> None:
        """Note a loss before Chroma opens the remaining files. The note is written whole or not at all.

        Raises:
            OSError: if the note cannot be written.
        """
        self._folder.mkdir(exist_ok=True, mode=0o700)
        unfinished = self._folder / f"{segment}.noting"
        unfinished.unlink(missing_ok=True)  # not through a link
        try:
            unfinished.write_text(json.dumps({"collection": collection, "missing": missing}))
            unfinished.replace(self._folder / f"{segment}.lost")
        finally:
            unfinished.unlink(missing_ok=True)

    def of(self, segment: str) -> bool:
        """Whether a note says that this folder lost vectors. Unreadable notes are ignored."""
        return any(loss.segment == segment for loss in self._losses())

    def find(self, collection: str) -> Loss | None:
        """Return what a collection has lost, or None if no loss is noted."""
        return next((loss for loss in self._losses() if loss.collection == collection), None)

    def collections(self) -> set[str]:
        """Return the names of the collections that have lost vectors."""
        return {loss.collection for loss in self._losses()}

    def forget(self, loss: Loss) -> None:
        """Remove the note and the files that were set aside, since all vectors are stored again."""
        (self._folder / f"{loss.segment}.lost").unlink(missing_ok=True)
        shutil.rmtree(self._folder / f"{loss.segment}.damaged", ignore_errors=True)

    def _losses(self) -> Iterator[Loss]:
        for path in sorted(self._folder.glob("*.lost")):
            try:
                stored = json.loads(path.read_bytes())
                missing = stored["missing"]
                yield Loss(path.stem, str(stored["collection"]), missing if isinstance(missing, int) else None)
            except (OSError, ValueError, KeyError, TypeError) as error:
                check_not_too_many(error, f"read {str(path)!r}")
                continue  # unreadable; repair() looks at all vectors anyway
