"""The progress that an ``add`` shows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator

from leafspan.flows import Progress
from leafspan.values import Document

_STEPS = 3  # each character is split, embedded and written


class AddProgress:
    """Counts documents that are read, characters that are split, and leaves that are embedded and written.

    The number of leaves counts only the leaves that are stored at the end. The bar shows the finished share of the text;
    splitting, embedding and writing have equal weight. The share is known as soon as all documents are read.
    """

    def __init__(self, show: bool | None) -> None:
        self._bar = Progress(None, show=show, what="Reading", unit=" documents")
        self._documents_read = 0
        self._characters_read = 0
        self._characters_split = 0  # or found unchanged
        self._leaves = 0  # of the split documents
        self._counted = {"Embedding": 0, "Writing": 0}  # leaves
        self._done = 0  # characters times finished steps, of three
        self._total: int | None = None  # once all documents are read
        self._stored = 0  # written or unchanged documents
        self._mutex = threading.Lock()  # one group is written while the next one is split and embedded
        self.close = self._bar.close

    def reading(self, documents: Iterable[tuple[Document, str]]) -> Iterator[tuple[Document, str]]:
        """Yield the documents, and count each when it is read."""
        for document, hash_ in documents:
            with self._mutex:
                self._documents_read += 1
                self._characters_read += len(document.text)
                self._bar.say("Reading", _documents(self._documents_read), done=self._done, total=self._total)
            yield document, hash_
        self._total = _STEPS * self._characters_read

    def unchanged(self, document: Document) -> None:
        with self._mutex:
            self._stored += 1
            self._done += (_STEPS - 1) * len(document.text)
        self.splitting(len(document.text))

    def splitting(self, characters: int) -> None:
        """Count this many more characters as split."""
        with self._mutex:
            self._characters_split += characters
            self._done += characters
            counts = f"{self._characters_split:,}/{self._characters_read:,} characters"
            self._bar.say("Splitting", counts, done=self._done, total=self._total)

    def split(self, leaves: int) -> None:
        with self._mutex:
            self._leaves += leaves

    def counter(self, what: str, leaves: int, characters: int, steps: int) -> Callable[[int], None]:
        """Return a function that counts a group's leaves and characters in proportion to the finished steps."""
        steps_done = leaves_done = characters_done = 0

        def count(more: int) -> None:
            nonlocal steps_done, leaves_done, characters_done
            with self._mutex:
                steps_done += more
                before = leaves_done, characters_done
                leaves_done, characters_done = (all_ * steps_done // max(steps, 1) for all_ in (leaves, characters))
                self._counted[what] += leaves_done - before[0]
                self._done += characters_done - before[1]
                counts = f"{self._counted[what]:,}/{self._leaves:,} leaves"
                self._bar.say(what, counts, done=self._done, total=self._total)

        count(0)  # show the new step at once
        return count

    def wrote(self, documents: int) -> None:
        """Count this many documents as stored."""
        with self._mutex:
            self._stored += documents

    def finish(self) -> None:
        total = _STEPS * self._characters_read
        self._bar.say("Added", f"{self._leaves:,} leaves, {_documents(self._stored)}", done=total, total=total)

    def note_on(self, error: BaseException) -> None:
        """Add a note that says what is stored to the error that ends the work, if a document was read."""
        is_whole = self._total is not None
        of = f"{self._stored:,} of " if is_whole else ""
        if self._documents_read:
            documents = _documents(self._documents_read if is_whole else self._stored)
            error.add_note(f"stored {of}{documents}; add the same again to go on")


def _documents(count: int) -> str:
    return f"{count:,} document" if count == 1 else f"{count:,} documents"
