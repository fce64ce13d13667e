"""When a mirror merges and removes segments: not for a reader that may be stale, but not never either."""

from __future__ import annotations

import numpy as np
import pytest

from leafspan.engine import run
from leafspan.mirror import Mirror, _mirror
from leafspan.store import Catalogue, DocumentToWrite, Row


class Recipe:
    """A number for each leaf."""

    name = "numbers"
    task = "Numbering"

    def read(self, reader, rows, ids):
        return {"numbers": np.arange(len(ids))}
        yield

    def of(self, documents):
        return {"numbers": np.arange(sum(len(each.texts) for each in documents))}

    def merge(self, parts):
        return {"numbers": np.concatenate([a["numbers"] if mask is None else a["numbers"][mask] for a, mask in parts])}


class Reader:
    """A reader of these documents, of four leaves each."""

    def __init__(self, versions: dict[str, str], *, may_be_stale: bool) -> None:
        self._catalogue = Catalogue({id_: Row(id_, "", version, 4) for id_, version in versions.items()})
        self.may_be_stale = may_be_stale

    def everything(self):
        return self._catalogue
        yield

    def for_mirrors(self):
        return self


def dead_after_each_change(changes: int, *, may_be_stale: bool) -> list[int]:
    """The number of dead leaves in the mirror after each change, which replaces the one document there is."""
    mirror = Mirror(None, Recipe())
    dead = []
    for change in range(changes):
        snapshot = run(mirror.current(Reader({"a": f"{change:08}"}, may_be_stale=may_be_stale)))
        assert sum(snapshot.live) == 4
        dead.append(snapshot.leaves - 4)
    return dead


def test_what_is_dead_is_removed_at_once_where_the_reader_is_not_stale():
    assert dead_after_each_change(6, may_be_stale=False) == [0] * 6


def test_for_a_reader_that_may_be_stale_it_waits_for_a_few_changes_again_and_again():
    # A client never knows whether its reader is stale: what is dead is removed with each fifth change.
    assert dead_after_each_change(11, may_be_stale=True) == [0, 4, 8, 12, 0, 4, 8, 12, 16, 0, 4]


def test_what_is_written_is_merged_with_each_third_change_since_segments_were_merged(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_mirror, "_MOST_TAKEN", 2)
    mirror = Mirror(None, Recipe())

    def dead_after_change(version: str) -> int:
        reader = Reader({"a": version}, may_be_stale=False)
        catalogue = run(reader.everything())
        row = catalogue.rows["a"]
        segment = run(mirror.make([DocumentToWrite(row, ["text"] * row.leaves, [{}] * row.leaves, None)]))
        assert segment is not None
        run(mirror.take(segment))
        run(mirror.tidy(catalogue))
        return run(mirror.at_hand(catalogue)).leaves - row.leaves

    assert [dead_after_change(f"{n:08}") for n in range(7)] == [0, 4, 0, 4, 8, 0, 4]
    run(mirror.current(Reader({"a": "00000006"}, may_be_stale=False)))  # a question, which merges them as well
    assert [dead_after_change(f"{n:08}") for n in range(7, 11)] == [4, 8, 0, 4]
