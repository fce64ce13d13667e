"""How documents get in: what reads and checks them, and what happens to them before they are written."""

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
        reading: What reads files, and checks documents.
        keep: Function from the documents, as they will be written, to the same, called before anything of them is written.
            Default: nothing happens to them.
        known: Function from rows of the index to the same, as the source knows the files in them. Default: as they are.
        unicode_errors: What becomes of texts with half of a surrogate pair. Default: they are an error.
        remembers_files: Whether files may count as unchanged without being read. Default: True.
        row_keys: Metadata keys of a document that stand in its row alone, and not with each of its leaves. Default: none.
    """

    reading: FileReading
    keep: Callable[[Iterable[Document]], Iterable[Document]] = iter
    known: Callable[[Sequence[Row]], Sequence[Row]] = list
    row_keys: frozenset[str] = frozenset()
    unicode_errors: UnicodeErrors = "strict"
    remembers_files: bool = True
