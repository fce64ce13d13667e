"""Each law notices an engine that breaks it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from leafspan.engines import Near, Record
from leafspan.testing import EngineLaws
from tests.engines.page import page

Table: Any = page()["MemoryTable"]
Engine: Any = page()["MemoryEngine"]


class Stripped(Table):
    """Texts lose their blanks."""

    def put(self, records):
        super().put([each._replace(text=each.text and each.text.strip()) for each in records])


class Normalised(Table):
    """Ids with the same letters are the same."""

    def put(self, records):
        import unicodedata

        super().put([each._replace(id=unicodedata.normalize("NFC", each.id)) for each in records])


class Wholes(Table):
    """Flags become numbers."""

    def put(self, records):
        def plain(value: Any) -> Any:
            return int(value) if isinstance(value, bool) else value

        super().put([each._replace(metadata={k: plain(v) for k, v in (each.metadata or {}).items()}) for each in records])


class KeepsTheFirst(Table):
    """A record that is there stays as it is."""

    def put(self, records):
        super().put([each for each in records if each.id not in self._records])


class KeepsTheVector(Table):
    """A record that is there keeps its vector."""

    def put(self, records):
        there = {each.id: each.vector for each in self.scan(["vector"])}
        super().put([each._replace(vector=there.get(each.id, each.vector)) for each in records])


class DeletesNothing(Table):
    """Deleted records stay."""

    def delete(self, ids):
        pass


class RefusesUnknown(Table):
    """An unknown id is an error."""

    def delete(self, ids):
        for id_ in ids:
            del self._records[id_]


class FirstPage(Table):
    """A scan has a thousand records at most."""

    def scan(self, fields):
        return super().scan(fields)[:1_000]


class Parts(Table):
    """A string is found by a part of it."""

    def find(self, key, values):
        return [
            each.id
            for each in self.scan(["metadata"])
            if any(value.lower() in str((each.metadata or {}).get(key, "")).lower() for value in values)
        ]


class Worst(Table):
    """The best record comes last."""

    def nearest(self, vectors, count, fields):
        return [row[::-1] for row in super().nearest(vectors, count, fields)]


class Distances(Table):
    """A distance instead of a similarity."""

    def nearest(self, vectors, count, fields):
        return [[Near(record, 1 - score) for record, score in row] for row in super().nearest(vectors, count, fields)]


class Products(Table):
    """Longer vectors are nearer."""

    def nearest(self, vectors, count, fields):
        import numpy as np

        records = self.scan(["vector"])
        rows = np.asarray(vectors) @ np.array([each.vector for each in records]).T if records else [[] for _ in vectors]
        return [[Near(records[n], float(row[n])) for n in np.argsort(-row)[:count]] for row in rows]


class AllOfThem(Table):
    """More than were asked for."""

    def nearest(self, vectors, count, fields):
        return super().nearest(vectors, count + 1, fields)


class Bare(Table):
    """A search gives ids only."""

    def nearest(self, vectors, count, fields):
        return [
            [Near(Record(near.record.id), near.similarity) for near in row] for row in super().nearest(vectors, count, [])
        ]


class Torn(Table):
    """A record is written in two steps."""

    def put(self, records):
        import time

        super().put([each._replace(text="torn") for each in records])
        time.sleep(0.001)
        super().put(records)


class Forgetful(Table):
    """New notes are not kept."""

    def annotate(self, notes):
        pass


TABLES = [kind for kind in Table.__subclasses__() if kind.__module__ == __name__]


class Rebuilt(Engine):
    """A table that is there is replaced."""

    def create(self, name, notes, *, searched):
        self._tables[name] = Table(name, notes)
        return self._tables[name]


class Late(Engine):
    """Another connection sees what was there when it was opened."""

    def __init__(self, first: Any = None) -> None:
        super().__init__()
        for name, table in (first._tables if first else {}).items():
            self._tables[name] = Table(name, table.notes)
            self._tables[name]._records = dict(table._records)


LAWS = [name for name in dir(EngineLaws) if name.startswith("test_")]


def broken(connect: Callable[[], Any]) -> list[str]:
    """The laws that an engine breaks."""
    found = []
    for law in LAWS:
        try:
            getattr(EngineLaws(), law)(connect())
        except pytest.skip.Exception:
            continue
        except Exception:
            found.append(law)
    return found


@pytest.mark.parametrize("kind", TABLES, ids=lambda kind: kind.__name__)
def test_a_table_that_breaks_a_law_is_noticed(kind: Any):
    class Faulty(Engine):
        def create(self, name, notes, *, searched):
            return self._tables.setdefault(name, kind(name, notes))

    def connect() -> Callable[[], Any]:
        engine = Faulty()
        return lambda: engine

    assert broken(connect)


def test_an_engine_that_breaks_a_law_is_noticed():
    def rebuilt() -> Callable[[], Any]:
        engine = Rebuilt()
        return lambda: engine

    def late() -> Callable[[], Any]:
        first: list[Any] = []

        def connect() -> Any:
            engine = Late(first[0] if first else None)
            first.append(engine)
            return engine

        return connect

    assert "test_a_table_is_made_once_and_keeps_its_notes" in broken(rebuilt)
    assert "test_what_was_put_and_deleted_is_so_for_everybody" in broken(late)


def test_what_is_asked_for_too_many_records_at_once_is_noticed():
    class Few(Engine):
        batch = 5_000

        def create(self, name, notes, *, searched):
            class Limited(Table):
                def put(self, records):
                    assert len(records) <= 100
                    super().put(records)

            return self._tables.setdefault(name, Limited(name, notes))

    def connect() -> Callable[[], Any]:
        engine = Few()
        return lambda: engine

    assert "test_any_number_of_records_goes_in_and_out" in broken(connect)
