"""How documents get in: who reads and checks them, and what happens to them before they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from leafspan.files import FileReading
from leafspan.store import Row
from leafspan.text import UnicodeErrors
from leafspan.values import Document


@dataclass(frozen=True, slots=True)
class Intake:
    """How the documents of one call get in.

    Attributes:
        reading: Reads files, and checks documents.
        keep: Function that gets the final documents before they are written, and returns them. Default: none.
        known: Function that changes the file names in the index's rows to the source's. Default: they stay.
        unicode_errors: The treatment of texts with half of a surrogate pair. Default: they are an error.
        remembers_files: Whether unchanged files may be skipped without reading. Default: True.
        row_keys: Metadata keys that only a document's row stores, not each of its leaves. Default: none.
    """

    reading: FileReading
    keep: Callable[[Iterable[Document]], Iterable[Document]] = iter
    known: Callable[[Sequence[Row]], Sequence[Row]] = list
    row_keys: frozenset[str] = frozenset()
    unicode_errors: UnicodeErrors = "strict"
    remembers_files: bool = True
