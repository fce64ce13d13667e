"""Segments that are stored with an index behind a client: how clients read them, and what happens if they are wrong."""

from __future__ import annotations

import asyncio
import base64
import errno
import os
import random
import shutil
import subprocess
import sys
import time
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leafspan import BM25, Document, Hybrid, Index, RelevantSegments
from leafspan.engines import Record
from leafspan.segments import _shared_mirror
from leafspan.segments._shared_mirror import Piece, Shelf
from leafspan.segments._stored_arrays import PIECE
from tests.durability.versions import EMBEDDER, SPLITTER
from tests.engines.page import page
from tests.engines.remote import RemoteEngine
from tests.engines.test_laws import Asynchronous
from tests.profiles import quick

ROOT = Path(__file__).parents[2]
WORDS = [f"{a}{b}{c}" for a in "bdfgkl" for b in "aeiou" for c in ("ron", "tal", "mis", "pek")]
STRATEGIES = [BM25(), Hybrid(), RelevantSegments()]
A, B = "a" * 32, "b" * 32  # names of segments
QUESTIONS = ["baron dital", "lumis", "pek ketal gopek"]


def text(number: int) -> str:
    chance = random.Random(number)
    return " ".join(f"{' '.join(chance.choices(WORDS, k=9)).capitalize()}." for _ in range(12))


def documents(*numbers: int) -> list[Document]:
    return [Document(f"d{number}", text(number), metadata={"language": "en"}) for number in numbers]  # whose words are kept


def opened(engine: Any, cache: Path, **options: Any) -> Index:
    return Index.open(
        client=engine, cache_dir=cache, embedder=EMBEDDER, splitter=SPLITTER, embedding_cache=False, **options
    )


def answers(index: Index, strategies: Any = STRATEGIES) -> list[Any]:
    return [
        [(each.id, round(each.score, 9), each.text) for each in index.retrieve(question, strategy, k=6)]
        for strategy in strategies
        for question in QUESTIONS
    ]


def expected(*numbers: int) -> list[Any]:
    """What an index has to answer that has read everything itself."""
    engine = page()["MemoryEngine"]()
    with Index.open(client=engine, embedder=EMBEDDER, splitter=SPLITTER, embedding_cache=False) as index:
        index.add(documents(*numbers))
        return answers(index)


@pytest.fixture
def engine() -> RemoteEngine:
    return RemoteEngine()


def heads(engine: RemoteEngine) -> dict[str, Record]:
    """The heads of all segments of leaves."""
    return {id_: each for id_, each in engine.records("kb.segments").items() if "#" not in id_}


def size(engine: RemoteEngine, table: str) -> int:
    """What is read of a table if all of it is read."""
    with engine.counting() as read:
        engine.table(table).scan(["text", "metadata"])
        return read.pop(table)


def test_a_fresh_client_answers_without_reading_all_leaves(engine: RemoteEngine, tmp_path: Path):
    with opened(engine, tmp_path / "writer") as writer:
        writer.add(documents(*range(60)))
        first = answers(writer)
    with opened(engine, tmp_path / "reader") as reader, engine.counting() as read:
        assert reader.retrieve(QUESTIONS[0], BM25(), k=6)
        assert read["kb.leaves"] < size(engine, "kb.leaves") / 10
        assert read["kb.segments"] < size(engine, "kb.segments")
        assert answers(reader) == first == expected(*range(60))
        read.clear()
        assert answers(reader) == first
        assert read["kb.segments"] == 0
    with opened(engine, tmp_path / "reader") as again, engine.counting() as read:  # a new process, with the same cache
        assert answers(again) == first
        assert read["kb.segments"] == 0


def test_after_a_change_by_another_client_only_what_is_new_is_read(engine: RemoteEngine, tmp_path: Path):
    with opened(engine, tmp_path / "one") as one, opened(engine, tmp_path / "other") as other:
        one.add(documents(*range(40)))
        answers(other)
        one.add(documents(40))
        with engine.counting() as read:
            assert other.retrieve(QUESTIONS[0], BM25(), k=6)
            assert read["kb.manifest"] < size(engine, "kb.manifest") / 4
            new = max(engine.records("kb.segments").values(), key=lambda each: (each.metadata or {}).get("begun", 0))
            assert read["kb.segments"] < 2 * (new.metadata or {})["length"]
        assert answers(other) == expected(*range(41))
        one.delete(["d7"])
        assert answers(other) == answers(one) == expected(*(number for number in range(41) if number != 7))


def test_many_writers_that_add_little_leave_few_segments(engine: RemoteEngine, tmp_path: Path):
    count = 30
    with opened(engine, tmp_path / "reader") as reader:
        for number in range(count):
            with opened(engine, tmp_path / f"writer-{number}") as writer:
                writer.add(documents(number))
            if number % 10 == 0:
                reader.retrieve(QUESTIONS[0], BM25())
        assert len(heads(engine)) <= 9
        with opened(engine, tmp_path / "fresh") as fresh:
            assert answers(reader) == answers(fresh) == expected(*range(count))
    named = {id_.partition("#")[0] for id_ in engine.records("kb.segments")}
    assert named == set(heads(engine))  # nothing is left of those that were merged


def test_documents_that_were_replaced_leave_the_shelf_by_and_by(engine: RemoteEngine, tmp_path: Path):
    with opened(engine, tmp_path / "writer") as writer:
        for number in range(30):
            writer.add([Document("d1", text(number))])
        assert len(heads(engine)) <= 9
        with opened(engine, tmp_path / "reader") as reader:
            assert answers(reader) == answers(writer)


def test_a_reader_goes_on_when_writers_have_merged_what_it_has_fetched_in_part(engine: RemoteEngine, tmp_path: Path):
    with opened(engine, tmp_path / "writer") as writer, opened(engine, tmp_path / "reader") as reader:
        for number in range(6):
            writer.add(documents(number))
        reader.retrieve("baron", BM25())
        for number in range(6, 30):
            writer.add(documents(number))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert answers(reader) == expected(*range(30))


@pytest.mark.slow
def test_a_bit_flipped_in_any_record_of_a_segment_changes_no_answer(engine: RemoteEngine, tmp_path: Path):
    with opened(engine, tmp_path / "writer") as writer:
        writer.add(documents(*range(60)))
    table, wanted = engine.inner.table("kb.segments"), expected(*range(60))
    chance = random.Random(4)
    for id_, record in engine.records("kb.segments").items():
        if record.text is None:
            continue
        content = base64.b64decode(record.text)
        place = chance.randrange(len(content))
        flipped = content[:place] + bytes([content[place] ^ 1 << chance.randrange(8)]) + content[place + 1 :]
        table.put([record._replace(text=base64.b64encode(flipped).decode())])
        with warnings.catch_warnings(), opened(engine, tmp_path / id_) as reader:
            warnings.simplefilter("ignore")
            assert answers(reader) == wanted, id_
        table.put([record])


@pytest.mark.parametrize("where", quick(2, [0.1, 0.5, 0.0, 0.3, 0.7, 0.9]))
@pytest.mark.parametrize("damage", ["flipped", "lost", "no text", "another piece"])
def test_after_any_damage_to_a_piece_answers_are_right(engine: RemoteEngine, tmp_path: Path, where: float, damage: str):
    with opened(engine, tmp_path / "writer") as writer:
        writer.add(documents(*range(30)))
    table = engine.inner.table("kb.segments")
    pieces = sorted(id_ for id_ in engine.records("kb.segments") if "#" in id_)
    id_ = pieces[int(where * len(pieces))]
    content = engine.records("kb.segments")[id_].text or ""
    if damage == "lost":
        table.delete([id_])
    else:
        middle = len(content) // 2
        flipped = content[:middle] + ("A" if content[middle] != "A" else "B") + content[middle + 1 :]
        other = engine.records("kb.segments")[pieces[pieces.index(id_) - 1]].text
        texts = {"flipped": flipped, "no text": None, "another piece": other}
        table.put([Record(id_, text=texts[damage])])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with opened(engine, tmp_path / "reader") as reader:
            assert answers(reader) == expected(*range(30))
        with opened(engine, tmp_path / "repairing") as index:
            answers(index)
            (finding,) = index.repair(verify=True)
            assert finding.repaired
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with opened(engine, tmp_path / "fresh") as fresh:
            assert answers(fresh) == expected(*range(30))
            assert fresh.check(verify=True) == []


def test_a_damaged_file_of_the_cache_is_fetched_again(engine: RemoteEngine, tmp_path: Path):
    with opened(engine, tmp_path / "writer") as writer:
        writer.add(documents(*range(30)))
    with opened(engine, tmp_path / "reader") as reader:
        answers(reader)
    path = max((tmp_path / "reader").rglob("*.segment"), key=lambda each: each.stat().st_size)
    content = bytearray(path.read_bytes())
    content[len(content) // 2 :] = bytes(len(content) - len(content) // 2)
    path.write_bytes(content)
    with warnings.catch_warnings(), opened(engine, tmp_path / "reader") as reader, engine.counting() as read:
        warnings.simplefilter("error")
        assert answers(reader) == expected(*range(30))
        assert read["kb.segments"] > 0


def test_the_cache_folder_may_be_deleted_at_any_time(engine: RemoteEngine, tmp_path: Path):
    with opened(engine, tmp_path / "writer") as writer, opened(engine, tmp_path / "reader") as reader:
        writer.add(documents(*range(20)))
        answers(reader, [BM25()])
        shutil.rmtree(tmp_path / "reader")
        writer.add(documents(20))
        assert answers(reader) == expected(*range(21))
        shutil.rmtree(tmp_path / "writer")
        writer.add(documents(21))
        assert answers(writer) == answers(reader) == expected(*range(22))


def test_where_nothing_can_be_kept_a_client_reads_the_leaves(engine: RemoteEngine, tmp_path: Path):
    with opened(engine, tmp_path / "writer") as writer:
        writer.add(documents(*range(10)))
    (tmp_path / "file").write_text("where a folder should be")
    with pytest.warns(RuntimeWarning), opened(engine, tmp_path / "file") as reader:
        assert answers(reader) == expected(*range(10))


@pytest.mark.parametrize("moment", range(1, 8))
def test_what_writers_merge_while_a_reader_fetches_it_is_no_damage(engine: RemoteEngine, tmp_path: Path, moment: int):
    """They may come before each request of the reader. No warning names damage, and nobody writes a file again."""
    others = RemoteEngine()
    others.inner = engine.inner
    with opened(others, tmp_path / "writer") as writer, opened(engine, tmp_path / "reader") as reader:
        for number in range(8):
            writer.add(documents(number))
        requests = 0

        def merge(method: str, table: str) -> None:
            nonlocal requests
            requests += table == "kb.segments"
            if table == "kb.segments" and requests == moment:
                for number in range(8, 30):
                    writer.add(documents(number))

        engine.before.append(merge)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for strategy in STRATEGIES:
                assert reader.retrieve(QUESTIONS[0], strategy)
            writer.add(documents(*range(8, 30)))  # where the reader has made fewer requests
            assert answers(reader) == expected(*range(30))
        assert requests >= 3
        assert engine.written["kb.segments"] == 0


def test_what_a_killed_writer_has_left_is_not_read_and_goes_after_a_day(
    engine: RemoteEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def die(method: str, table: str) -> None:
        if table == "kb.segments" and method == "put" and engine.written[table] > 2:
            raise SystemExit

    engine.before.append(die)
    with opened(engine, tmp_path / "killed") as index, pytest.raises(SystemExit):
        index.add(documents(*range(20)))
    engine.before.clear()
    left = set(heads(engine))
    assert left
    with opened(engine, tmp_path / "writer") as writer:
        writer.add(documents(*range(20)))
        with opened(engine, tmp_path / "reader") as reader, engine.counting() as read:
            assert reader.retrieve(QUESTIONS[0], BM25(), k=6)
            assert read["kb.leaves"] < size(engine, "kb.leaves") / 4
            assert answers(reader) == expected(*range(20))
        assert left < set(heads(engine))
        later = time.time() + _shared_mirror._ABANDONED_SECONDS + 1
        monkeypatch.setattr(time, "time", lambda: later)
        for number in range(20, 60):
            writer.add(documents(number))
    assert not left & set(heads(engine))
    assert not left & {id_.partition("#")[0] for id_ in engine.records("kb.segments")}


def test_documents_are_added_though_segments_cannot_be_stored(engine: RemoteEngine, tmp_path: Path):
    def refuse(method: str, table: str) -> None:
        if table == "kb.segments" and method == "put":
            raise RuntimeError("quota exceeded")

    engine.before.append(refuse)
    with opened(engine, tmp_path / "writer") as writer:
        with pytest.warns(RuntimeWarning, match=r"a segment cannot be stored with the index.*quota exceeded"):
            writer.add(documents(*range(5)))
        with opened(engine, tmp_path / "reader") as reader:
            assert answers(reader) == answers(writer) == expected(*range(5))


def test_who_only_reads_writes_nothing(engine: RemoteEngine, tmp_path: Path):
    with opened(engine, tmp_path / "writer") as writer:
        writer.add(documents(*range(10)))
    engine.inner.table("kb.segments").delete(list(engine.records("kb.segments")))
    engine.written.clear()
    for options in ({"read_only": True}, {}):
        with opened(engine, tmp_path / f"reader {options}", **options) as reader:
            assert answers(reader) == expected(*range(10))
    assert not engine.written


def test_an_asynchronous_engine_is_read_so_too(tmp_path: Path):
    engine = RemoteEngine()

    async def answer() -> tuple[list[Any], list[Any]]:
        client = Asynchronous(engine)
        options: dict[str, Any] = {"embedder": EMBEDDER, "splitter": SPLITTER, "embedding_cache": False}
        writer = await Index.aopen(client=client, cache_dir=tmp_path / "writer", **options)
        await writer.aadd(documents(*range(20)))
        reader = await Index.aopen(client=client, cache_dir=tmp_path / "reader", **options)
        found = [
            [(each.id, round(each.score, 9), each.text) for each in await reader.aretrieve(question, strategy, k=6)]
            for strategy in STRATEGIES
            for question in QUESTIONS
        ]
        return found, expected(*range(20))

    found, wanted = asyncio.run(answer())
    assert found == wanted


def test_pieces_are_no_longer_than_servers_take():
    chance = random.Random(3).randbytes(PIECE)
    (record,) = _shared_mirror._records("a", chance)
    assert len(record.text or "") < 16_384  # characters of a document in Chroma Cloud
    assert _shared_mirror._unpacked(record.text) == chance


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil", "A" * 32, "0" * 31, "0" * 32 + "\n", "kb", "0" * 30 + "/a"])
def test_a_name_that_no_writer_gives_becomes_no_file(engine: RemoteEngine, tmp_path: Path, name: str):
    with opened(engine, tmp_path / "writer") as writer:
        writer.add(documents(*range(5)))
    table = engine.inner.table("kb.segments")
    (head,) = heads(engine).values()
    table.put(
        [Record(name, metadata=head.metadata), Record(f"{name}#0", text=engine.records("kb.segments")[f"{head.id}#0"].text)]
    )
    with opened(engine, tmp_path / "reader") as reader:
        assert answers(reader) == expected(*range(5))
    assert len(list(tmp_path.rglob("*.segment"))) == 2  # of the writer, and of the reader
    assert not list(tmp_path.rglob("*evil*"))


def test_a_piece_that_would_unpack_to_more_is_damaged():
    bomb = base64.b64encode(zlib.compress(bytes(1_000 * PIECE))).decode()
    assert _shared_mirror._unpacked(bomb) is None
    for damaged in ("", "AAAA", "ä", None, base64.b64encode(zlib.compress(b"cut short")[:-3]).decode()):
        assert _shared_mirror._unpacked(damaged) is None


def test_a_shelf_has_the_segments_of_its_own_kind_alone(engine: RemoteEngine):
    from leafspan.engines._tables import CalledEngine
    from leafspan.flows import run

    called = CalledEngine(engine, 10.0)

    def table(write: bool) -> Any:
        return (yield from called.create("t", {}, searched=False))

    words, others, of_another = Shelf(table, "1", "words"), Shelf(table, "1", "others"), Shelf(table, "2", "words")
    content = bytes(range(256)) * 100
    run(words.put(A, content))
    run(others.put(B, b"b"))
    assert run(words.names()) == {A}
    assert run(of_another.names()) == set()
    assert run(words.lengths({A, "gone"})) == {A: len(content)}
    wanted = [Piece(A, number) for number in range(5)]
    found = run(words.pieces(wanted))
    assert b"".join(found[piece] for piece in wanted if piece in found) == content
    run(words.remove({A}))
    assert run(words.names()) == set()
    assert set(engine.records("t")) == {B, f"{B}#0"}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A tmpfs of 4 MB. Nobody but root can mount one."""
    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", place], capture_output=True, check=False
    ).returncode:
        pytest.skip("nothing can be mounted here")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


FULL_DISK = """
import sys
from pathlib import Path
from tests.segments.test_shelf import RemoteEngine, answers, documents, expected, opened

engine, disk = RemoteEngine(), Path(sys.argv[1])
with opened(engine, Path(sys.argv[2])) as writer:
    writer.add(documents(*range(200)))
right = expected(*range(200))
for left in (0, 8, 16, 24, 32, 48, 64, 128, 256):
    with (disk / "fill").open("wb", buffering=0) as fill:
        try:
            while fill.write(bytes(4096)) == 4096:
                pass
        except OSError:
            pass
        fill.truncate(max(0, fill.tell() - left * 1024))
        with opened(engine, disk / f"cache-{left}") as reader:
            assert answers(reader) == right, left
"""


@pytest.mark.slow
def test_a_full_tmpfs_below_the_cache_never_ends_the_process(small_disk: Path, tmp_path: Path):
    command = [sys.executable, "-W", "ignore", "-c", FULL_DISK, str(small_disk), str(tmp_path / "writer")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_no_file_is_mapped_that_the_disk_has_no_space_for(engine: RemoteEngine, tmp_path: Path, monkeypatch, error: int):
    with opened(engine, tmp_path / "writer") as writer:
        writer.add(documents(*range(10)))

    def full(*_: int) -> None:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.warns(RuntimeWarning, match=os.strerror(error)), opened(engine, tmp_path / "reader") as reader:
        assert answers(reader) == expected(*range(10))


@pytest.mark.parametrize("error", [errno.EOPNOTSUPP, errno.EINVAL])
def test_a_file_system_that_takes_no_space_beforehand_keeps_segments_too(
    engine: RemoteEngine, tmp_path: Path, monkeypatch, error: int
):
    with opened(engine, tmp_path / "writer") as writer:
        writer.add(documents(*range(10)))

    def unable(*_: int) -> None:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(os, "posix_fallocate", unable)
    with opened(engine, tmp_path / "reader") as reader:
        assert answers(reader) == expected(*range(10))
    assert list((tmp_path / "reader").rglob("*.segment"))


def test_a_head_with_a_huge_length_takes_no_space(engine: RemoteEngine, tmp_path: Path):
    with opened(engine, tmp_path / "writer") as writer:
        writer.add(documents(*range(10)))
    table = engine.inner.table("kb.segments")
    for name, head in heads(engine).items():
        table.put([Record(name, metadata={**(head.metadata or {}), "length": 1 << 50})])
    with pytest.warns(RuntimeWarning, match="its length is not"), opened(engine, tmp_path / "reader") as reader:
        assert answers(reader) == expected(*range(10))
