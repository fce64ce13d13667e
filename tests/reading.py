"""From where leaves are read, and checks that an index is only read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from leafspan import Index
from leafspan.engines.local import ChangeFile
from leafspan.store import Copied


@contextmanager
def reading_from_chroma() -> Iterator[None]:
    """A context in which leaves are read from Chroma also where leafspan has a copy of them, as behind a server."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("leafspan.search._indexes.records_in", lambda *_: Copied({}, set()))
        patch.setattr("leafspan.store.Reader.has_copies", False)
        yield


def distrust_chroma(folder: Path) -> None:
    """Make leafspan believe that another program has changed the database, so that opening an index opens Chroma."""
    changes = ChangeFile(folder / "leafspan.changes")
    assert changes.database
    changes.database -= 1


@contextmanager
def only_read(index: Index) -> Iterator[Index]:
    """The index, for tests that share it: it must be at the end as it was."""
    before = index.documents(), index.stats()
    yield index
    assert (index.documents(), index.stats()) == before, "a test has written to the index that others share"
