"""Where leaves are read from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def reading_from_chroma() -> Iterator[None]:
    """A context in which leaves are read from Chroma also where leafspan has a copy of them, as behind a server."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("leafspan.search._indexes.records_in", lambda *_: {})
        patch.setattr("leafspan.store.Reader.has_copies", False)
        yield


def forget_catalogue(folder: Path) -> None:
    """Remove what says what the indexes of a folder hold, so that Chroma must be opened to know."""
    (folder / "leafspan.segments" / "catalogue").unlink(missing_ok=True)
