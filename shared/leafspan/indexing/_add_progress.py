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
        self._all_read = False
        self._characters_split = 0  # or found unchanged
        self._leaves = 0  # of the split documents
        self._counted = {"Embedding": 0, "Writing": 0}  # leaves
        self._done = 0  # characters times finished steps, of three
        self._stored = 0  # written or unchanged documents
        self._mutex = threading.Lock()  # one group is written while the next one is split and embedded

    def reading(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Yield the documents, and count each when it is read."""
        for document in documents:
            with self._mutex:
                self._documents_read += 1
                self._characters_read += len(document.text)
                self._show("Reading", _documents(self._documents_read))
            yield document
        self._all_read = True

    def unchanged(self, document: Document) -> None:
        """Count an unchanged document."""
        with self._mutex:
            self._stored += 1
            self._done += (_STEPS - 1) * len(document.text)
        self.splitting(len(document.text))

    def splitting(self, characters: int) -> None:
        """Count this many more characters as split."""
        with self._mutex:
            self._characters_split += characters
            self._done += characters
            self._show("Splitting", f"{self._characters_split:,}/{self._characters_read:,} characters")

    def split(self, leaves: int) -> None:
        """Count the leaves of a split document."""
        with self._mutex:
            self._leaves += leaves

    def embedding(self, leaves: int, characters: int, texts: int) -> Callable[[int], None]:
        """Return a function that counts texts of a group of documents as embedded."""
        return self._counter("Embedding", leaves, characters, texts)

    def writing(self, leaves: int, characters: int) -> Callable[[int], None]:
        """Return a function that counts leaves of a group of documents as written."""
        return self._counter("Writing", leaves, characters, leaves)

    def wrote(self, documents: int) -> None:
        """Count this many documents as stored."""
        with self._mutex:
            self._stored += documents

    def finish(self) -> None:
        """Show what was added."""
        self._all_read = True
        self._done = _STEPS * self._characters_read
        self._show("Added", f"{self._leaves:,} leaves, {_documents(self._stored)}")

    def close(self) -> None:
        """Leave the bar as it is."""
        self._bar.close()

    @property
    def has_begun(self) -> bool:
        """Whether a document was read."""
        return self._documents_read > 0

    def note(self) -> str:
        """Return a sentence that says what is stored, for the error that ends the work."""
        of = f"{self._stored:,} of " if self._all_read else ""
        documents = _documents(self._documents_read if self._all_read else self._stored)
        return f"stored {of}{documents}; add the same again to go on"

    def _counter(self, what: str, leaves: int, characters: int, steps: int) -> Callable[[int], None]:
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
                self._show(what, f"{self._counted[what]:,}/{self._leaves:,} leaves")

        count(0)  # show the new step at once
        return count

    def _show(self, what: str, counts: str) -> None:
        total = _STEPS * self._characters_read if self._all_read else None
        self._bar.say(what, counts, done=self._done, total=total)


def _documents(count: int) -> str:
    return f"{count:,} document" if count == 1 else f"{count:,} documents"
