"""Tests for your own engine: laws that hold for every engine, see docs/write-an-engine.md."""

from __future__ import annotations

import subprocess
import sys
import threading
from asyncio import Runner
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar

from leafspan.checks import shown
from leafspan.engines import Field, FlowEngine, FlowTable, Near, Record, to_engine
from leafspan.flows import Flow, arun, np, run

__all__ = ["EngineLaws"]

T = TypeVar("T")

_TEXTS = ("", " ", "A text.", "\t\r\n\n", "Süßes Öl", "日本語", "🙂" * 3, "e\u0301", "\u202e", "'\";--\\%_", "x" * 100_000)
_IDS = ("a", "A", " a", "a ", "a#0", "a/b\\c", "ä", "a\u0308", "日本", "🙂", "'\";--", "%_*?", "x" * 512, "leafspan:a", "0")
_METADATA: tuple[dict[str, Any], ...] = (
    {"text": "", "other": "x"},
    {"whole": 0, "negative": -1, "large": 2**53, "part": 0.1, "small": 5e-324, "yes": True, "no": False},
    {"words": ["a", "b"], "wholes": [1, 2], "parts": [0.5], "flags": [True, False]},
    {"Schlüssel": "Wert", "a b": "c", "日本": "語", "k" * 200: "v", "json": '{"a":[1,"\\n"]}', "long": "v" * 100_000},
)
_VECTORS = ((1.0, 0.0, 0.0), (0.1, -0.2, 0.3), (1e-3, 1e3, -1.0), (0.0, 0.0, 1.0))
_SECONDS = 60.0  # a test's thread or process must end within this time
_KILLED = """
import os
from leafspan.engines import Record, to_engine
from leafspan.flows import arun, run
{connect}
async def main():
    thing = connect()
    engine = to_engine(await thing if hasattr(thing, "__await__") else thing, 30.0)
    await arun(engine.create("kept", {{"of": "one"}}, searched=True))
    table = await arun(engine.table("kept"))
    await arun(table.put([Record(str(n), "text", {{"n": n}}, [1.0, n, 0.0]) for n in range(50)]))
    await arun(table.delete(["0"]))
    os._exit(9)
import asyncio
asyncio.run(main())
"""


class EngineLaws:
    """Tests of an engine for pytest, as a base class.

    Your class needs a fixture ``connect``: a function without arguments that opens the engine, or a client of Chroma. When
    a test begins, the engine must be empty. Each further call of ``connect`` opens the same tables again, like another
    process. ``connect`` may return an awaitable: then ``await`` it with ``self.runner``.

    Attributes:
        other_process: Python code that defines ``connect`` for another process, which is then killed. Default: none, and no
            process is killed.
        least_recall: Share, in (0, 1], of the ten nearest of 300 records that a search must find. Default: 0.95.
    """

    other_process: str | None = None
    least_recall: float = 0.95

    @cached_property
    def runner(self) -> Runner:
        """The runner of this test's coroutines."""
        return Runner()

    def do(self, engine: FlowEngine, flow: Flow[T]) -> T:
        """Return the result of a flow, for an engine of either kind."""
        return self.runner.run(arun(flow)) if engine.caller.native else run(flow)

    def open(self, connect: Callable[[], Any]) -> FlowEngine:
        """Open the engine as leafspan does."""
        return to_engine(connect(), 30.0)

    def made(self, engine: FlowEngine, name: str = "laws", *, searched: bool = True) -> FlowTable:
        """Make a table of the engine."""
        return self.do(engine, engine.create(name, {"of": "laws"}, searched=searched))

    def test_a_table_is_made_once_and_keeps_its_notes(self, connect: Callable[[], Any]) -> None:
        """``create`` returns the existing table. Names and notes come back unchanged."""
        engine = self.open(connect)
        assert self.do(engine, engine.table("laws")) is None
        table = self.made(engine)
        again = self.do(engine, engine.create("laws", {"of": "others"}, searched=True))
        assert (again.id, again.name, dict(again.notes)) == (table.id, "laws", {"of": "laws"})
        assert self.made(engine, "laws-2", searched=False).id != table.id
        notes = {"of": "laws", "settings": '{"a": ["ü", 1]}'}
        self.do(engine, table.annotate(notes))
        other = self.open(connect)
        reopened = self.do(other, other.table("laws"))
        assert reopened is not None
        assert dict(reopened.notes) == notes
        listed = {name: dict(each) for name, each in self.do(other, other.tables()).items()}
        assert listed == {"laws": notes, "laws-2": {"of": "laws"}}

    def test_records_come_back_to_the_letter(self, connect: Callable[[], Any]) -> None:
        """Texts, metadata and ids come back unchanged, and vectors keep their directions."""
        engine = self.open(connect)
        table = self.made(engine)
        records = [
            Record(id_, _TEXTS[n % len(_TEXTS)], _METADATA[n % len(_METADATA)], _VECTORS[n % len(_VECTORS)])
            for n, id_ in enumerate(_IDS)
        ]
        self.do(engine, table.put(records))
        self.do(engine, self.made(engine, "plain", searched=False).put([each._replace(vector=None) for each in records]))
        other = self.open(connect)
        for name, expected in (("laws", records), ("plain", [each._replace(vector=None) for each in records])):
            opened = self.do(other, other.table(name))
            assert opened is not None
            fields: list[Field] = ["text", "metadata", "vector"] if name == "laws" else ["text", "metadata"]
            for stored in (self.do(other, opened.get(list(_IDS), fields)), self.do(other, opened.scan(fields))):
                assert sorted(stored) == sorted(_IDS)
                for each in expected:
                    _check_equal(stored[each.id], each)

    def test_a_record_without_text_or_metadata_is_one(self, connect: Callable[[], Any]) -> None:
        """A record may have no text, and a record may have only metadata."""
        engine = self.open(connect)
        table = self.made(engine, searched=False)
        self.do(engine, table.put([Record("a", metadata={"row": "1"}), Record("b", "text", {"of": "x"})]))
        stored = self.do(engine, table.get(["a", "b"], ["text", "metadata"]))
        assert stored["a"].text is None
        assert dict(stored["a"].metadata or {}) == {"row": "1"}
        assert stored["b"].text == "text"

    def test_unknown_ids_and_empty_lists_are_no_error(self, connect: Callable[[], Any]) -> None:
        """Unknown ids are not found, deleting them does no harm, and empty lists have no effect."""
        engine = self.open(connect)
        table = self.made(engine)
        assert self.do(engine, table.get([], ["text"])) == {}
        assert self.do(engine, table.get(["a"], ["text"])) == {}
        assert self.do(engine, table.scan(["text"])) == {}
        assert self.do(engine, table.find("of", ["a"])) == set()
        self.do(engine, table.put([]))
        self.do(engine, table.delete([]))
        self.do(engine, table.delete(["a"]))
        self.do(engine, table.put(_numbered(range(2))))
        self.do(engine, table.delete(["1", "2"]))
        assert sorted(self.do(engine, table.scan([]))) == ["0"]

    def test_a_put_replaces_the_whole_record_and_can_be_repeated(self, connect: Callable[[], Any]) -> None:
        """A record that is put twice exists once. leafspan always puts the same metadata keys for an id."""
        engine = self.open(connect)
        table = self.made(engine)
        self.do(engine, table.put([Record("a", "one", {"x": 1, "y": "a"}, _VECTORS[0])]))
        new = Record("a", "two", {"x": "2", "y": "b"}, _VECTORS[1])
        for _ in range(2):
            self.do(engine, table.put([new]))
            stored = self.do(engine, table.scan(["text", "metadata", "vector"]))
            assert list(stored) == ["a"]
            _check_equal(stored["a"], new)
        assert self.do(engine, table.find("y", ["a"])) == set()

    def test_any_number_of_records_goes_in_and_out(self, connect: Callable[[], Any]) -> None:
        """Any number works: as many records as the engine takes at once, and more."""
        engine = self.open(connect)
        table = self.made(engine)
        many = min(engine.batch, 3_000) * 2 + 1
        self.do(engine, table.put(_numbered(range(many))))
        assert len(self.do(engine, table.scan([]))) == many
        assert len(self.do(engine, table.get(list(map(str, range(many))), ["text"]))) == many
        self.do(engine, table.delete(list(map(str, range(1, many)))))
        assert sorted(self.do(engine, table.scan([]))) == ["0"]

    def test_what_was_put_and_deleted_is_so_for_everybody(self, connect: Callable[[], Any]) -> None:
        """A call that begins after a put or a delete has returned sees its effect, also through another connection."""
        engine, other = self.open(connect), self.open(connect)
        table = self.made(engine)
        seen = self.do(other, other.table("laws"))
        assert seen is not None
        for n in range(5):
            self.do(engine, table.put([Record("a", f"text {n}", {"n": n}, [1.0, n, 0.0])]))
            assert self.do(other, seen.get(["a"], ["text"]))["a"].text == f"text {n}"
        self.do(engine, table.delete(["a"]))
        assert self.do(other, seen.get(["a"], ["text"])) == {}
        assert self.do(other, seen.scan([])) == {}

    def test_records_are_found_by_a_string_of_their_metadata(self, connect: Callable[[], Any]) -> None:
        """A search finds records by the whole string only."""
        engine = self.open(connect)
        table = self.made(engine)
        owners = ["a", "A", "a ", "ä", "'\";--", "%", "1"]
        self.do(engine, table.put([Record(str(n), "t", {"of": each}, _VECTORS[0]) for n, each in enumerate(owners)]))
        for n, owner in enumerate(owners):
            assert self.do(engine, table.find("of", [owner])) == {str(n)}, owner
        assert self.do(engine, table.find("of", ["a", "1", "b"])) == {"0", "6"}
        assert self.do(engine, table.find("other", ["a"])) == set()

    def test_the_nearest_records_come_first(self, connect: Callable[[], Any]) -> None:
        """The cosine decides, not the vectors' lengths. Fields come with the records if they are requested."""
        engine = self.open(connect)
        table = self.made(engine)
        numbers = np.random.default_rng(1)
        vectors = numbers.normal(size=(300, 16)).astype(np.float32) * numbers.uniform(0.1, 10, size=(300, 1))
        records = [Record(str(n), f"text {n}", {"n": n}, vector) for n, vector in enumerate(vectors.astype(np.float32))]
        self.do(engine, table.put(records))
        queries = numbers.normal(size=(20, 16)).astype(np.float32)
        exact = _unit(queries) @ _unit(vectors).T
        rows = self.do(engine, table.nearest(queries, 10, ["text", "metadata"]))
        assert list(map(len, rows)) == [10] * len(queries)
        hits = 0
        for row, cosines in zip(rows, exact, strict=True):
            _check_sorted(row)
            for near in row:
                place = int(near.record.id)
                assert abs(near.similarity - cosines[place]) < 1e-3, "it is not the cosine similarity"
                assert (near.record.text, dict(near.record.metadata or {})) == (f"text {place}", {"n": place})
            best = set(map(str, np.argsort(-cosines)[:10]))
            hits += len(best & {near.record.id for near in row})
        assert hits >= self.least_recall * 10 * len(queries), f"{hits} of {10 * len(queries)} were found"

    def test_a_search_finds_what_was_put_and_not_what_was_deleted(self, connect: Callable[[], Any]) -> None:
        """A search sees changes at once, and returns at most the existing records."""
        engine = self.open(connect)
        table = self.made(engine)
        self.do(engine, table.put([Record("a", "t", {"n": 1}, (1.0, 0.0)), Record("b", "t", {"n": 1}, (0.0, 1.0))]))
        assert [near.record.id for near in self.do(engine, table.nearest([(1.0, 0.1)], 5))[0]] == ["a", "b"]
        self.do(engine, table.put([Record("a", "t", {"n": 1}, (-1.0, 0.0)), Record("c", "t", {"n": 1}, (1.0, 0.0))]))
        assert [near.record.id for near in self.do(engine, table.nearest([(1.0, 0.1)], 5))[0]] == ["c", "b", "a"]
        self.do(engine, table.delete(["c"]))
        rows = self.do(engine, table.nearest([(1.0, 0.1), (0.0, -1.0)], 1))
        assert [[near.record.id for near in row] for row in rows] == [["b"], ["a"]]

    def test_a_search_among_some_records_finds_the_best_of_these_alone(self, connect: Callable[[], Any]) -> None:
        """The search is exact if the engine can be. An engine of your own need not be."""
        engine = self.open(connect)
        table = self.made(engine)
        self.do(engine, table.put([Record(str(n), "t", {"n": n}, (1.0, n / 100)) for n in range(50)]))
        if table.searches_among:
            [row] = self.do(engine, table.nearest([(1.0, 0.0)], 3, among=[str(n) for n in range(20, 50)] + ["gone"]))
            assert [near.record.id for near in row] == ["20", "21", "22"]

    def test_writers_of_different_records_do_not_disturb_each_other(self, connect: Callable[[], Any]) -> None:
        """After four threads put and delete records, all effects are there. Readers see only whole records."""
        engine = self.open(connect)
        if engine.caller.native:
            import pytest

            pytest.skip("the event loop of an asynchronous engine is one thread")
        self.made(engine)
        problems: list[str] = []
        done = threading.Event()

        def write(writer: int) -> None:
            own = self.open(connect)
            table = self.do(own, own.table("laws"))
            assert table is not None
            for turn in range(4):
                ids = [f"{writer}-{n}" for n in range(10)]
                self.do(own, table.put([Record(id_, f"{turn}", {"turn": turn}, (1.0, float(turn))) for id_ in ids]))
            self.do(own, table.delete([f"{writer}-0"]))

        def read() -> None:
            own = self.open(connect)
            table = self.do(own, own.table("laws"))
            assert table is not None
            while not done.is_set():
                for record in self.do(own, table.scan(["text", "metadata"])).values():
                    if record.text != str((record.metadata or {}).get("turn")):
                        problems.append(f"a reader saw {shown(record)}")

        def kept(function: Callable[..., None], *arguments: Any) -> None:
            try:
                function(*arguments)
            except Exception as error:
                problems.append(f"{type(error).__name__}: {error}")

        reader = threading.Thread(target=kept, args=(read,), daemon=True)
        writers = [threading.Thread(target=kept, args=(write, number), daemon=True) for number in range(4)]
        for thread in (reader, *writers):
            thread.start()
        for thread in writers:
            thread.join(_SECONDS)
        done.set()
        reader.join(_SECONDS)
        assert problems == []
        table = self.do(engine, engine.table("laws"))
        assert table is not None
        left = self.do(engine, table.scan(["text"]))
        assert {id_: each.text for id_, each in left.items()} == {f"{w}-{n}": "3" for w in range(4) for n in range(1, 10)}

    def test_what_was_put_stays_when_the_process_is_killed(self, connect: Callable[[], Any]) -> None:
        """Effects of calls that have returned last, even if the process ends at once. Needs ``other_process``."""
        if self.other_process is None:
            import pytest

            pytest.skip("other_process says how to connect")
        code = _KILLED.format(connect=self.other_process)
        killed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=_SECONDS, check=False)
        assert killed.returncode == 9, killed.stderr
        engine = self.open(connect)
        table = self.do(engine, engine.table("kept"))
        assert table is not None
        assert dict(table.notes) == {"of": "one"}
        stored = self.do(engine, table.scan(["text", "metadata", "vector"]))
        assert sorted(stored, key=int) == list(map(str, range(1, 50)))
        for id_, each in stored.items():
            _check_equal(each, Record(id_, "text", {"n": int(id_)}, [1.0, float(id_), 0.0]))


def _numbered(numbers: Sequence[int]) -> list[Record]:
    return [Record(str(n), f"text {n}", {"n": n}, (1.0, float(n), 0.0)) for n in numbers]


def _check_equal(stored: Record, put: Record) -> None:
    """Check that a record is as it was put, including types: True is not 1."""
    assert stored.text == put.text, f"the text of {shown(put.id)} was changed"
    metadata = ({key: _typed(value) for key, value in (each.metadata or {}).items()} for each in (stored, put))
    assert next(metadata) == next(metadata), f"the metadata of {shown(put.id)} were changed"
    if put.vector is not None:
        own, expected = (_unit(np.asarray([each.vector], np.float32)) for each in (stored, put))
        assert np.allclose(own, expected, rtol=0, atol=1e-6), f"the vector of {shown(put.id)} was changed"


def _typed(value: Any) -> Any:
    return [_typed(each) for each in value] if isinstance(value, list) else (type(value), value)


def _check_sorted(row: Sequence[Near]) -> None:
    scores = [near.similarity for near in row]
    assert scores == sorted(scores, reverse=True), "the nearest is not the first"


def _unit(vectors: Any) -> Any:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
