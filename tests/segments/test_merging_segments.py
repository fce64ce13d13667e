"""When segments are merged and removed: not for a stale reader, and seldom if nobody knows whether it is stale."""

from __future__ import annotations

import numpy as np
import pytest

from leafspan.flows import run
from leafspan.segments import Mirror, _mirror
from leafspan.store import Catalogue, DocumentToWrite, Row


class Recipe:
    """A number for each leaf."""

    name = "numbers"
    task = "Numbering"
    content = "numbers"
    needs_vectors = False

    def of(self, documents):
        return {"numbers": np.arange(sum(len(each.texts) for each in documents))}

    def merge(self, parts):
        return {"numbers": np.concatenate([a["numbers"] if mask is None else a["numbers"][mask] for a, mask in parts])}


class Reader:
    """A reader of these documents, of four leaves each. Whether it is stale may not be known."""

    def __init__(self, versions: dict[str, str], *, is_stale: bool | None) -> None:
        self._catalogue = Catalogue({id_: Row(id_, "", version, 4) for id_, version in versions.items()})
        self.may_be_stale = is_stale is not False
        self.is_stale = is_stale is True

    def everything(self):
        return self._catalogue
        yield

    def for_mirrors(self):
        return self

    def fetch_records(self, ids):
        return {id_: ("text", {}) for id_ in ids}
        yield


def dead_after_each_change(changes: int, *, is_stale: bool | None) -> list[int]:
    """The number of dead leaves in the segments after each change, which replaces the one document there is."""
    mirror = Mirror(None, Recipe())
    dead = []
    for change in range(changes):
        snapshot = run(mirror.current(Reader({"a": f"{change:08}"}, is_stale=is_stale)))
        assert sum(snapshot.live) == 4
        dead.append(snapshot.leaves - 4)
    return dead


def test_what_is_dead_is_removed_at_once_where_the_reader_is_not_stale():
    assert dead_after_each_change(6, is_stale=False) == [0] * 6


def test_where_nobody_knows_whether_the_reader_is_stale_it_waits_for_a_few_changes_again_and_again():
    # Behind a client: what is dead is removed with each fifth change.
    assert dead_after_each_change(11, is_stale=None) == [0, 4, 8, 12, 0, 4, 8, 12, 16, 0, 4]


def test_a_stale_reader_removes_nothing_since_what_is_newer_looks_dead_to_it():
    assert dead_after_each_change(11, is_stale=True) == [4 * change for change in range(11)]


def test_what_is_written_is_merged_with_each_third_change_since_segments_were_merged(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_mirror, "_MOST_APPENDED", 2)
    mirror = Mirror(None, Recipe())

    def dead_after_change(version: str) -> int:
        reader = Reader({"a": version}, is_stale=False)
        catalogue = run(reader.everything())
        row = catalogue.rows["a"]
        segment = mirror.made_of([DocumentToWrite(row, ["text"] * row.leaves, [{}] * row.leaves, None)], None)
        assert segment is not None
        run(mirror.append(segment))
        run(mirror.merge_appended(reader.everything))
        return run(mirror.existing(catalogue)).leaves - row.leaves

    assert [dead_after_change(f"{n:08}") for n in range(7)] == [0, 4, 0, 4, 8, 0, 4]
    run(mirror.current(Reader({"a": "00000006"}, is_stale=False)))  # a question, which merges them as well
    assert [dead_after_change(f"{n:08}") for n in range(7, 11)] == [4, 8, 0, 4]
