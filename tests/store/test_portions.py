"""How many records an asynchronous write gives to a Chroma in this process at a time."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from chromadb.api.models.Collection import Collection as ChromaCollection

from leafspan import Document, Index
from leafspan.engines import Record
from leafspan.engines._caller import Caller
from leafspan.engines.chroma._collection import Collection, Portions
from leafspan.flows import arun, run
from tests.store.memory import Records

IN_PROCESS = Caller("the folder 'kb'")
SERVER = Caller("the Chroma server at http://here", timeout=5)


class Sizes(Records):
    """Records, with the number of records of each write."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        super().__init__("kb.leaves", lambda name, method, ids: self.sizes.append(len(ids)))


def test_an_asynchronous_write_begins_with_fifty_records():
    records = Sizes()
    ids = [str(number) for number in range(1_000)]
    asyncio.run(arun(Collection(records, 1_000, caller=IN_PROCESS).put([Record(id_, id_) for id_ in ids])))
    assert records.sizes[0] == 50
    assert sum(records.sizes) == len(records.records) == 1_000
    assert [record["documents"] for record in records.records.values()] == ids


def test_a_blocking_write_and_one_of_a_server_are_not_divided():
    ids = [str(number) for number in range(1_000)]
    for caller, drive in ((IN_PROCESS, run), (SERVER, run), (SERVER, lambda flow: asyncio.run(arun(flow)))):
        records = Sizes()
        drive(Collection(records, 1_000, caller=caller).put([Record(id_, id_) for id_ in ids]))
        assert records.sizes == [1_000]


def test_a_portion_is_never_more_than_chroma_takes_at_once():
    records = Sizes()
    ids = [str(number) for number in range(100)]
    asyncio.run(arun(Collection(records, 30, caller=IN_PROCESS).delete(ids)))
    assert records.sizes == [30, 30, 30, 10]


@pytest.mark.parametrize("caller", [IN_PROCESS, SERVER])
def test_one_write_has_at_most_four_million_characters_unless_a_single_record_has_more(caller):
    records = Sizes()
    texts = ["t" * 1_500_000, "t" * 1_500_000, "t" * 1_500_000, "t" * 9_000_000, "t", "t"]
    metadatas = [{"leafspan": "x"}] * 4 + [{"long": ["v" * 3_000_000]}, {"long": "v" * 1_500_000}]
    ids = list("abcdef")
    run(Collection(records, 1_000, caller=caller).put(list(map(Record, ids, texts, metadatas))))
    assert records.sizes == [2, 1, 1, 1, 1]
    assert list(records.records) == ids


MANY = 1_000_000  # so that all portions are about as large as they should be


def test_a_portion_is_what_the_faster_one_of_the_last_two_writes_does_in_30_milliseconds():
    portions = Portions()
    portions.note(50, 0.025)  # 2,000 a second
    assert portions.next(MANY) == pytest.approx(60, rel=0.01)
    portions.note(60, 0.03 * 4)  # 500 a second, since something else was going on
    assert portions.next(MANY) == pytest.approx(60, rel=0.01)
    portions.note(60, 0.03 * 4)
    assert portions.next(MANY) == pytest.approx(50, rel=0.01)  # not 15: writes of a few records take as long


def test_a_portion_is_at_most_twice_as_large_as_the_one_before():
    portions = Portions()
    for size in (100, 200, 400):
        portions.note(portions.next(MANY), 1e-9)
        assert portions.next(MANY) == pytest.approx(size, rel=0.01)


def test_a_write_of_a_few_records_says_nothing_of_larger_ones():
    portions = Portions()
    portions.note(50, 0.025)
    portions.note(1, 0.05)
    portions.note(1, 0.05)
    assert portions.next(MANY) == pytest.approx(60, rel=0.01)


def test_records_are_divided_evenly_so_that_no_write_of_a_few_is_left():
    portions = Portions()
    sizes, remaining = [], 501
    while remaining:
        sizes.append(portions.next(remaining))
        remaining -= sizes[-1]
    assert sum(sizes) == 501
    assert set(sizes) == {50, 51}
    assert portions.next(1) == 1
    assert portions.next(70) == 70
    assert portions.next(80) == 40


def test_an_aadd_writes_leaves_in_portions_and_an_add_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    sizes: list[int] = []
    add = ChromaCollection.add

    def noting(self: ChromaCollection, *, ids: list[str], **columns: object) -> None:
        sizes.append(len(ids))
        add(self, ids=ids, **columns)

    monkeypatch.setattr(ChromaCollection, "add", noting)
    numbers = Document(
        "numbers", " ".join(f"This is sentence number {number}, and there are more." for number in range(1_000))
    )
    with Index.open(tmp_path / "one") as index:
        index.add(numbers)
        leaves = len(index.leaves("numbers"))
        assert leaves > 100
        assert sizes == [leaves]
    sizes.clear()
    with Index.open(tmp_path / "two") as index:
        asyncio.run(index.aadd(numbers))
        assert sum(sizes) == leaves
        assert sizes[0] < 75
        assert index.get("numbers").text == numbers.text


async def test_the_event_loop_goes_on_between_the_writes_of_adding_replacing_and_deleting(tmp_path: Path, monkeypatch):
    beats = 0
    begun: dict[str, list[int]] = {"add": [], "upsert": [], "delete": []}

    loop = asyncio.get_running_loop()

    def beat() -> None:
        nonlocal beats
        beats += 1

    def noting(method: str) -> None:
        original = getattr(ChromaCollection, method)

        def call(self: ChromaCollection, *, ids: list[str], **columns: object) -> None:
            begun[method].append(beats)
            loop.call_soon_threadsafe(beat)  # comes before the next write if the loop goes on
            assert len(ids) <= 11  # a third of the documents and of the token, which are divided evenly
            original(self, ids=ids, **columns)

        monkeypatch.setattr(ChromaCollection, method, call)

    monkeypatch.setattr(Portions, "note", lambda self, records, seconds: None)
    monkeypatch.setattr("leafspan.engines.chroma._collection._FEWEST", 10)  # so all portions are of ten records
    for method in begun:
        noting(method)
    index = await Index.aopen(tmp_path / "kb")
    await index.aadd([Document(f"d{number}", f"Document {number}.") for number in range(30)])
    await index.aadd([Document(f"d{number}", f"Another document {number}.") for number in range(30)])
    await index.adelete([f"d{number}" for number in range(30)])
    assert index.count() == 0
    index.close()
    for method, least in (("add", 2 * 3), ("delete", 2 * 3)):
        assert len(begun[method]) >= least, method
        assert len(set(begun[method])) == len(begun[method]), f"nothing else was done between two writes: {method}"
