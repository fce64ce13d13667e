from __future__ import annotations

import asyncio
import errno
import gc
import hashlib
import itertools
import os
import random
import shutil
import sys
import threading
import time
import uuid
import warnings
import weakref
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import chromadb
import pytest
import Stemmer
from chromadb.config import Settings
from hypothesis import given
from hypothesis import strategies as st

from leafspan import BM25, Analyzer, BM25Settings, Document, F, HierarchicalSplitter, Index, InvalidArgument, Vector
from leafspan.documents import indexed_heads, titles_of_leaves
from leafspan.errors import IndexMismatch
from leafspan.flows import run
from leafspan.lexical import describe_analyzer
from leafspan.segments import VectorCopy, WordPostings, _mirror, _segment, _segment_folder
from leafspan.store import ReadHistory
from leafspan.text import has_word
from leafspan.values import Section
from tests.durability.versions import ALL, EMBEDDER, broken, document
from tests.event_loop import wait_for_the_loop

pytestmark = pytest.mark.usefixtures("nothing_is_taken")

# Without hyphens, which at the end of a line join a word to the next line.
_LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="-\u2010\u2011\xac\xad") | st.sampled_from(
    "a.b ,'é’3東京가\n\u0301İI>"
)
SPLITTER = HierarchicalSplitter(leaf_words=6, parent_words=(20,))
WORDS = ["oxygen", "oxygen", "oxygen", "steam", "steam", "engine", "forest", "river", "plague", "network", "piston", "cell"]
QUERIES = ["oxygen", "steam engine", "forest river plague piston", "cell cell packet unknown"]


def open_at(path=None, **options):
    return Index.open(path, **{"embedder": EMBEDDER, "splitter": SPLITTER, **options})


@contextmanager
def in_memory():
    """An index that leaves nothing behind: all clients in memory must have the settings of the first that is open."""
    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
    try:
        yield open_at(client=client, name=f"kb-{uuid.uuid4().hex}")
    finally:
        client.close()


def answers(index, **options):
    """Everything that is found, by words, with scores to the digit, and by vectors among some of the documents."""
    found = index.retrieve_many(QUERIES, BM25(), k=ALL, candidates=ALL, **options)
    near = index.retrieve_many(QUERIES, Vector(), k=ALL, candidates=ALL, where=F("even") == True)  # noqa: E712
    by_words = [[(passage.id, passage.text, passage.score) for passage in row] for row in found]
    # Where all match, Chroma gives the scores, in 32 bits.
    return by_words + [
        [(passage.id, passage.text, pytest.approx(passage.score, abs=1e-6)) for passage in row] for row in near
    ]


def answers_of_fresh(documents):
    with in_memory() as fresh:
        fresh.add(documents)
        return answers(fresh)


def some_document(number, generator, least):
    sentences = [
        " ".join(generator.choices(WORDS, k=generator.randint(1, 6))).title() + "."
        for _ in range(generator.randint(least, 5))
    ]
    return Document(f"d{number}", " ".join(sentences), metadata={"even": number % 2 == 0})


def some_documents(*numbers, seed=0, least=1):
    """Documents of up to five sentences; another ``seed``, another version."""
    return [some_document(number, random.Random(f"{seed} {number}"), least) for number in numbers]


def segments(path, recipe="words"):
    return sorted(Path(path).glob(f"leafspan.segments/*/{recipe}*/*.segment"))


def made(monkeypatch, recipe=WordPostings):
    """The documents that are made, call by call."""
    calls = []
    read = _mirror.Mirror._read

    def counted(self, reader, rows):
        if isinstance(self._recipe, recipe):
            calls.append([row.document_id for row in rows])
        return read(self, reader, rows)

    monkeypatch.setattr(_mirror.Mirror, "_read", counted)
    return calls


# Following the index


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_after_any_changes_the_answers_match_a_fresh_index(tmp_path, monkeypatch, seed):
    monkeypatch.setattr(_mirror, "MOST_SEGMENTS", 3)
    monkeypatch.setattr(_mirror, "_GROUP", 5)
    generator = random.Random(seed)
    index = open_at(tmp_path / "kb")
    there = {}
    for step in range(14):
        numbers = generator.sample(range(12), generator.randint(1, 4))
        if generator.random() < 0.35:
            index.delete([f"d{number}" for number in numbers])
            for number in numbers:
                there.pop(f"d{number}", None)
        else:
            documents = some_documents(*numbers, seed=generator.randint(0, 2), least=0)
            index.add(documents)
            there.update((each.id, each) for each in documents)
        if generator.random() < 0.2:
            index.close()
            index = open_at(tmp_path / "kb")
        if step % 3 or step > 10:
            assert answers(index) == answers_of_fresh(there.values())
            for recipe in ("words", "vectors"):
                # Three, and at most one more group's, which were made in one go.
                assert len(segments(tmp_path / "kb", recipe)) <= 3
    index.delete(list(there))
    assert answers(index) == [[] for _ in QUERIES * 2]
    assert segments(tmp_path / "kb") == []


def test_only_what_is_new_is_made(tmp_path, monkeypatch):
    words, vectors = made(monkeypatch), made(monkeypatch, VectorCopy)
    with open_at(tmp_path / "kb") as index:
        index.add(some_documents(1, 2, 3, 4))
        answers(index)
        answers(index)
        index.add(some_documents(2, seed=1))
        index.add(some_documents(5))
        answers(index)
        index.delete(["d1"])
        answers(index)
    with open_at(tmp_path / "kb") as index:
        answers(index)
    assert words == vectors == [["d1", "d2", "d3", "d4"], ["d2", "d5"]]


def test_the_files_of_dead_documents_disappear(tmp_path):
    with open_at(tmp_path / "kb") as index:
        index.add(some_documents(1, 2))
        answers(index)
        index.add(some_documents(3, 4))
        answers(index)
        first, second = segments(tmp_path / "kb")
        index.delete(["d1", "d2"])
        answers(index)
        assert len(segments(tmp_path / "kb")) == 1
        index.add(some_documents(3, 4, seed=1))
        answers(index)
        assert not {first, second} & set(segments(tmp_path / "kb"))


def test_a_segment_that_is_half_dead_is_rewritten(tmp_path):
    with open_at(tmp_path / "kb") as index:
        index.add(documents := some_documents(*range(1, 9)))
        answers(index)
        (before,) = segments(tmp_path / "kb")
        size = before.stat().st_size
        index.delete([each.id for each in documents[:6]])
        assert answers(index) == answers_of_fresh(documents[6:])
        (after,) = segments(tmp_path / "kb")
        assert after.stat().st_size < size


def test_small_segments_are_merged_and_a_large_one_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(_mirror, "MOST_SEGMENTS", 3)
    with open_at(tmp_path / "kb") as index:
        index.add(Document("large", "Steam. " * 400))
        answers(index)
        (large,) = segments(tmp_path / "kb")
        for number in range(8):
            index.add(Document(f"small{number}", "Oxygen. Steam."))
            answers(index)
            assert large in segments(tmp_path / "kb")
            assert len(segments(tmp_path / "kb")) <= 3


# Files that are not as they were written


def flip(path):
    arrays = _segment.read_segment(path).arrays
    place = arrays.parts[next(iter(arrays))]._place  # the first array, which each search reads
    content = path.read_bytes()
    path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])


def put_a_folder_in_its_place(path):
    path.unlink()
    (path / "within").mkdir(parents=True)


DAMAGES = {
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:-70]),
    "a bit flipped": flip,
    "another format": lambda path: path.write_bytes(path.read_bytes()[:8] + b"\7" + path.read_bytes()[9:]),
    "empty": lambda path: path.write_bytes(b""),
    "something else": lambda path: path.write_text("not a segment" * 100),
    "a folder": put_a_folder_in_its_place,
}


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A folder of four documents with its segments, and its answers."""
    path = tmp_path_factory.mktemp("original") / "kb"
    with open_at(path) as index:
        index.add(some_documents(1, 2, 3, 4))
        answers(index)
    return path


@pytest.fixture
def place(original, tmp_path):
    """A copy of it."""
    return shutil.copytree(original, tmp_path / "kb")


@cache
def undamaged():
    """What it must answer."""
    return answers_of_fresh(some_documents(1, 2, 3, 4))


@pytest.mark.parametrize("recipe", ["words", "vectors"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_rebuilt_with_a_warning(place, damage, recipe):
    (path,) = segments(place, recipe)
    DAMAGES[damage](path)
    with open_at(place) as index:
        with pytest.warns(RuntimeWarning, match=r"leafspan rebuilds it") as warned:
            assert answers(index) == undamaged()
        assert len(warned) == 1
        assert path.name in str(warned[0].message)
        index.add(some_documents(5))  # and no further warning
        assert answers(index) == answers_of_fresh(some_documents(1, 2, 3, 4, 5))
    if damage != "a folder":
        assert not path.exists()
        with open_at(place) as index:
            answers(index)


def test_a_file_that_cannot_be_read_is_rebuilt_with_a_warning(place, monkeypatch):
    def refused(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(_segment_folder, "read_segment", refused)
        patch.setattr(Path, "unlink", lambda path, **_: refused(path))
        with open_at(place) as index, pytest.warns(RuntimeWarning, match="Permission denied"):
            assert answers(index) == undamaged()


@pytest.mark.parametrize("recipe", ["words", "vectors"])
def test_a_missing_file_is_rebuilt_with_a_warning(place, recipe):
    (path,) = segments(place, recipe)
    path.unlink()
    with open_at(place) as index, pytest.warns(RuntimeWarning, match="has lost its files; leafspan rebuilds them"):
        assert answers(index) == undamaged()
    with open_at(place) as index:
        assert answers(index) == undamaged()


def test_without_any_files_they_are_made(place, monkeypatch):
    shutil.rmtree(place / "leafspan.segments")
    with open_at(place) as index:
        assert answers(index) == undamaged()


def test_files_deleted_while_open_go_on_and_are_rewritten_at_the_next_change(place, monkeypatch):
    expected = answers_of_fresh(some_documents(1, 2, 3, 4, 5))
    calls = made(monkeypatch)
    with open_at(place) as index:
        answers(index)
        shutil.rmtree(place / "leafspan.segments")
        assert answers(index) == undamaged()
        index.add(some_documents(5))
        with pytest.warns(RuntimeWarning, match="has lost files; leafspan writes them again"):
            assert answers(index) == expected
    with open_at(place) as index:
        assert answers(index) == expected
    assert calls == [["d5"]]


def answers_after_the_loss_of_a_file(place, lose):
    """The answers of an index that rewrites one of its files at the second change after it was lost."""
    with open_at(place) as index:
        index.add(some_documents(5))
        answers(index)
        lose(segments(place)[0])
        index.add(some_documents(6))  # at this one it may be another process that has merged it
        assert answers(index) == answers_of_fresh(some_documents(1, 2, 3, 4, 5, 6))
        index.add(some_documents(7))
        with pytest.warns(RuntimeWarning, match="has lost files; leafspan writes them again"):
            found = answers(index)
    assert found == answers_of_fresh(some_documents(1, 2, 3, 4, 5, 6, 7))
    return found


def test_one_of_several_files_deleted_while_open_is_rewritten_at_the_second_change(place, monkeypatch):
    found = answers_after_the_loss_of_a_file(place, Path.unlink)
    calls = made(monkeypatch)
    with open_at(place) as index:
        assert answers(index) == found
    assert calls == []


def test_a_file_in_use_whose_place_a_folder_takes_is_rewritten_at_the_second_change(place):
    answers_after_the_loss_of_a_file(place, put_a_folder_in_its_place)


def test_where_nothing_can_be_written_the_answers_are_right(tmp_path, monkeypatch):
    monkeypatch.setattr(_mirror, "MOST_SEGMENTS", 2)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(_segment_folder, "write_segment", full)
    with open_at(tmp_path / "kb") as index:
        for last in range(2, 7):
            index.add(some_documents(last))
            with pytest.warns(RuntimeWarning, match=r"nothing can be kept in .*No space left"):
                assert answers(index) == answers_of_fresh(some_documents(*range(2, last + 1)))


def test_what_lies_in_a_folder_that_has_become_read_only_is_used_and_what_is_added_is_right(place, monkeypatch):
    monkeypatch.setattr(_mirror, "MOST_SEGMENTS", 2)

    def read_only(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system")

    expected = {last: answers_of_fresh(some_documents(*range(1, last + 1))) for last in range(5, 9)}
    calls = made(monkeypatch)
    with open_at(place) as index:
        monkeypatch.setattr(_segment_folder, "write_segment", read_only)
        for last in range(5, 9):
            index.add(some_documents(last))
            with monkeypatch.context() as patch:
                patch.setattr(Path, "unlink", read_only)
                with pytest.warns(RuntimeWarning, match="Read-only"):
                    assert answers(index) == expected[last]
    assert calls == [["d5"], ["d6"], ["d7"], ["d8"]]  # nothing is made twice


def test_a_file_in_the_place_of_the_folder_is_left_alone(tmp_path):
    with open_at(tmp_path / "kb") as index:
        (tmp_path / "kb" / "leafspan.segments").write_text("mine")
        index.add(some_documents(1, 2))
        with pytest.warns(RuntimeWarning, match="nothing can be kept"):
            assert answers(index) == answers_of_fresh(some_documents(1, 2))
    assert (tmp_path / "kb" / "leafspan.segments").read_text() == "mine"


def test_files_that_killed_writers_left_are_removed_and_those_being_written_are_not(place):
    folder = segments(place)[0].parent
    abandoned, growing = folder / "a.segment.1.writing", folder / "b.segment.2.writing"
    for path in (abandoned, growing):
        path.write_bytes(b"half")
    an_hour_ago = time.time() - 3600
    os.utime(abandoned, (an_hour_ago, an_hour_ago))
    with open_at(place) as index:
        assert answers(index) == undamaged()
    assert not abandoned.exists()
    assert growing.exists()


def test_what_a_killed_first_writer_left_is_no_loss(place):
    (path,) = segments(place)
    for age in (0, 3600):
        path.rename(half := path.with_name(f"{path.name}.1.writing"))
        os.utime(half, (time.time() - age, time.time() - age))
        with open_at(place) as index:
            assert answers(index) == undamaged()
        (path,) = segments(place)


# Several at once


@pytest.mark.parametrize("recipe", ["words", "vectors"])
def test_files_that_another_index_is_just_writing_are_no_loss(place, recipe, monkeypatch):
    shutil.rmtree(place / "leafspan.segments")
    parts, asked = _segment._parts, []
    with open_at(place) as one, open_at(place) as other:

        def parts_after_a_question(documents, arrays):
            if not asked and (recipe == "vectors") == ("codes" in arrays):
                asked.append("the other writes, too")
                asked.append(answers(other))  # a false warning would be an error
            yield from parts(documents, arrays)

        monkeypatch.setattr(_segment, "_parts", parts_after_a_question)
        assert answers(one) == undamaged()
    assert asked[1:] == [undamaged()]


def write_a_file(folder):
    (folder / "a.segment.1.writing").write_bytes(b"half")


@pytest.mark.parametrize(("do", "emptied"), [(write_a_file, False), (Path.rmdir, False), (lambda folder: None, True)])
def test_a_folder_that_another_process_is_making_or_removing_is_not_emptied(tmp_path, do, emptied):
    for seconds in (0.0, 0.005, 0.03, 0.15):
        (folder := tmp_path / f"after-{seconds}").mkdir()
        other = threading.Timer(seconds, do, [folder])
        other.start()
        assert _segment_folder.SegmentFolder(folder).is_emptied() == emptied
        other.join()


def test_files_that_another_index_has_removed_by_a_newer_catalogue_are_no_loss(place, monkeypatch):
    existing, deleted = _mirror.Mirror._existing, []
    with open_at(place) as one, open_at(place) as other:
        assert answers(other) == answers(one)
        one.add(some_documents(5))

        def existing_after_a_deletion(self, *arguments):
            if not deleted:
                deleted.extend(one.delete([f"d{number}" for number in range(1, 6)]))
                assert not any(answers(one)[0])
                assert not segments(place)
            return existing(self, *arguments)

        monkeypatch.setattr(_mirror.Mirror, "_existing", existing_after_a_deletion)
        assert not any(answers(other)[0])  # a false warning would be an error
    assert len(deleted) == 5


def test_a_read_only_index_reads_again_if_others_have_merged_the_segments_of_its_catalogue(place, monkeypatch):
    monkeypatch.setattr(_mirror, "MOST_SEGMENTS", 1)
    existing, replaced = _mirror.Mirror._existing, []
    with open_at(place) as one, open_at(place, read_only=True) as other:

        def existing_after_a_merge(self, *arguments):
            if not replaced:
                replaced.append(True)
                one.add([Document(f"d{number}", f"Another text on oxygen number {number}.") for number in range(1, 4)])
                answers(one)  # merges, and removes the segments of the former texts
            return existing(self, *arguments)

        monkeypatch.setattr(_mirror.Mirror, "_existing", existing_after_a_merge)
        assert answers(other) == answers(one)
    assert replaced


def test_where_a_disk_is_full_no_empty_folder_stays_that_looks_like_a_loss(place, monkeypatch):
    shutil.rmtree(place / "leafspan.segments")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch, open_at(place) as index:
        patch.setattr(_segment_folder, "write_segment", full)
        with pytest.warns(RuntimeWarning, match="nothing can be kept in"):
            assert answers(index) == undamaged()
    with open_at(place) as index:
        assert answers(index) == undamaged()


def test_two_indexes_on_one_folder_follow_each_other(tmp_path):
    with open_at(tmp_path / "kb") as one, open_at(tmp_path / "kb") as other:
        documents = []
        for number in range(6):
            writer, reader = (one, other) if number % 2 else (other, one)
            documents += some_documents(number)
            writer.add(documents[-1])
            assert answers(reader) == answers(writer) == answers_of_fresh(documents)


def test_threads_see_whole_documents_while_another_index_writes(tmp_path, monkeypatch):
    monkeypatch.setattr(_mirror, "MOST_SEGMENTS", 2)
    names = ["apple", "pear", "plum"]
    allowed = {name: {version: document(name, version).text for version in range(1, 9)} | {None: None} for name in names}
    failures, looks, stop = [], itertools.count(), threading.Event()
    index = open_at(tmp_path / "kb", splitter=HierarchicalSplitter(leaf_words=12, parent_words=(40,)))
    writer = open_at(tmp_path / "kb", splitter=HierarchicalSplitter(leaf_words=12, parent_words=(40,)))

    def read():
        while not stop.is_set():
            try:
                failures.extend(broken(index.retrieve("sentence number", BM25(), k=ALL, candidates=ALL), allowed))
                everywhere = F("version").exists()
                failures.extend(
                    broken(index.retrieve("sentence", Vector(), k=ALL, candidates=ALL, where=everywhere), allowed)
                )
            except Exception as error:
                failures.append(repr(error))
            next(looks)

    threads = [threading.Thread(target=read) for _ in range(2)]
    with warnings.catch_warnings():  # in a thread one would not fail the test
        warnings.simplefilter("error")
        for thread in threads:
            thread.start()
        for version in range(1, 9):
            writer.add([document(name, version) for name in names])
            if version % 3 == 0:
                writer.delete(names[:2])
        while next(looks) < 20:
            time.sleep(0.01)
        stop.set()
        for thread in threads:
            thread.join()
    assert failures == []
    found = index.retrieve("sentence number", BM25(), k=ALL, candidates=ALL)
    assert broken(found, {name: {8: document(name, 8).text} for name in names}) == []


def test_a_stale_reader_does_not_remove_newer_segments(tmp_path, monkeypatch):
    with open_at(tmp_path / "kb") as index:
        index.add(some_documents(1, 2))
        answers(index)
        stale = run(index._store.reader(ReadHistory()))
        index.add(some_documents(3, 4))
        answers(index)
        there = segments(tmp_path / "kb")
        snapshot = run(index._sources.indexes.words.mirror.current(stale))
        assert min(snapshot.live) == 0 < max(snapshot.live)
        assert segments(tmp_path / "kb") == there
        calls = made(monkeypatch)
        index.retrieve("oxygen", BM25())
        assert calls == []


def test_old_segments_leave_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(_mirror, "MOST_SEGMENTS", 1)
    with open_at(tmp_path / "kb") as index:
        index.add(some_documents(1, 2))
        answers(index)
        indexes = index._sources.indexes
        held = [weakref.ref(mirror._segments[0]) for mirror in (indexes.words.mirror, indexes.vectors)]
        index.add(some_documents(3, 4))
        answers(index)
        gc.collect()
        assert [each() for each in held] == [None, None]


def test_a_document_replaced_while_a_mirror_is_made_does_not_undo_the_rest(tmp_path, monkeypatch):
    index, writer = open_at(tmp_path / "kb"), open_at(tmp_path / "kb")
    index.add(some_documents(*range(1, 9)))
    calls = []
    read = _mirror.Mirror._read

    def overtaken(self, reader, rows):
        if isinstance(self._recipe, WordPostings):
            if not calls:
                writer.add(some_documents(2, seed=1))
            calls.append([row.document_id for row in rows])
        return (yield from read(self, reader, rows))

    monkeypatch.setattr(_mirror.Mirror, "_read", overtaken)
    monkeypatch.setattr(_mirror, "_GROUP", 100)
    found = answers(index)
    monkeypatch.undo()
    assert found == answers_of_fresh([*some_documents(*range(3, 9)), *some_documents(1), *some_documents(2, seed=1)])
    assert calls == [
        ["d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8"],
        ["d1", "d2", "d3", "d4"],
        ["d1", "d2"],
        ["d1"],
        ["d2"],  # which has gone
        ["d3", "d4"],
        ["d5", "d6", "d7", "d8"],
        ["d2"],  # as it is now
    ]


async def test_two_coroutines_that_need_it_make_it_once_and_leave_the_loop_free(tmp_path, monkeypatch):
    loop, terms = asyncio.get_running_loop(), WordPostings._terms

    def slow(self, heads, texts, readings):
        wait_for_the_loop(loop)
        return terms(self, heads, texts, readings)

    calls = made(monkeypatch)
    monkeypatch.setattr(WordPostings, "_terms", slow)
    index = await Index.aopen(tmp_path / "kb", embedder=EMBEDDER, splitter=SPLITTER)
    await index.aadd(some_documents(1, 2, 3))
    asked = [asyncio.ensure_future(index.aretrieve("oxygen steam", BM25(), k=ALL, candidates=ALL)) for _ in range(2)]
    first, second = [await task for task in asked]
    assert first == second != []
    assert calls == [["d1", "d2", "d3"]]


@pytest.mark.parametrize("delay", [0.0, 0.05, 0.15])
async def test_a_cancelled_task_leaves_it_free_for_the_next(tmp_path, monkeypatch, delay):
    terms = WordPostings._terms

    def slow(self, heads, texts, readings):
        time.sleep(0.1)
        return terms(self, heads, texts, readings)

    monkeypatch.setattr(WordPostings, "_terms", slow)
    monkeypatch.setattr(_mirror, "_GROUP", 4)
    index = await Index.aopen(tmp_path / "kb", embedder=EMBEDDER, splitter=SPLITTER)
    await index.aadd(some_documents(1, 2, 3, 4, 6))
    tasks = [asyncio.ensure_future(index.aretrieve("oxygen", BM25())) for _ in range(2)]
    await asyncio.sleep(delay)
    for task in tasks:
        task.cancel()
    assert all(isinstance(each, asyncio.CancelledError) for each in await asyncio.gather(*tasks, return_exceptions=True))
    async with asyncio.timeout(60):
        found = await index.aretrieve_many(QUERIES, BM25(), k=ALL, candidates=ALL)
    with in_memory() as fresh:
        fresh.add(some_documents(1, 2, 3, 4, 6))
        assert found == fresh.retrieve_many(QUERIES, BM25(), k=ALL, candidates=ALL)


# Documents and queries of all kinds


@pytest.mark.parametrize("query", ["the of and with", "!!! ... ???", "—", "zyxwv"])
def test_a_query_without_a_word_that_counts_finds_nothing(place, query):
    with open_at(place) as index:
        assert index.retrieve(query, BM25()) == []
        assert index.retrieve_many([query, "oxygen"], BM25(scale=True))[0] == []


def test_an_empty_query_is_refused(place):
    with open_at(place) as index, pytest.raises(InvalidArgument, match="a text that is not blank"):
        index.retrieve(" ", BM25())


def test_a_query_of_ten_thousand_words_is_answered_at_once(place):
    generator = random.Random(5)
    query = " ".join(generator.choice(WORDS) if i % 2 else f"word{i}" for i in range(10_000))
    with open_at(place) as index:
        index.retrieve("oxygen", BM25())
        started = time.process_time()
        found = index.retrieve(query, BM25(), k=ALL, candidates=ALL)
        assert time.process_time() - started < 3.0
        assert len(found) == len(index.leaves())


def test_an_empty_index_and_one_of_a_single_document_can_be_searched(tmp_path):
    with open_at(tmp_path / "kb") as index:
        assert index.retrieve("oxygen", BM25()) == []
        index.add(Document("only", "Oxygen is a gas."))
        (found,) = index.retrieve("oxygen", BM25())
        assert (found.text, found.score > 0) == ("Oxygen is a gas.", True)
        assert index.retrieve("steam", BM25()) == []
        index.delete(["only"])
        assert index.retrieve("oxygen", BM25()) == []


def test_documents_without_words_can_be_indexed_beside_others(tmp_path):
    with open_at(tmp_path / "kb") as index:
        index.add([Document("signs", "!!! ... ???"), Document("empty", ""), Document("title", "", "Oxygen")])
        assert index.retrieve("oxygen", BM25()) == []  # a title is found by the text below it
        index.add([Document("gas", "Oxygen is a gas."), Document("titled", "!!!", "Oxygen")])
        assert {passage.document_id for passage in index.retrieve("oxygen", BM25())} == {"gas"}
    with open_at(tmp_path / "kb") as index:
        assert {passage.document_id for passage in index.retrieve("oxygen", BM25())} == {"gas"}


@pytest.mark.parametrize(
    ("language", "text", "query", "other"),
    [
        ("german", "Die Häuser am Fluss.", "haus", "die am"),
        ("french", "Les grandes maisons du port.", "maison grande", "les du"),
        ("chinese", "北京是中国的首都。", "首都", "上海"),
        ("english", "東京は日本の首都です。", "日本", "中国"),
        ("russian", "Книги лежат на столе.", "книга", "на"),
    ],
)
def test_an_index_can_be_in_another_language(tmp_path, language, text, query, other):
    with open_at(tmp_path / "kb", analyzer=Analyzer(language)) as index:
        index.add([Document("a", text), Document("b", "Oxygen.")])
        assert [passage.document_id for passage in index.retrieve(query, BM25())] == ["a"]
        assert index.retrieve(other, BM25()) == []
    with open_at(tmp_path / "kb") as index:  # which remembers it
        assert [passage.document_id for passage in index.retrieve(query, BM25())] == ["a"]


def letters(text):
    return [letter for letter in text.lower() if letter.isalpha()]


def test_an_analyzer_of_the_users_own_is_needed_again_for_words_only(tmp_path):
    with open_at(tmp_path / "kb", analyzer=letters) as index:
        index.add([Document("a", "Abba."), Document("c", "Cdcd.")])
        found = index.retrieve("b", BM25())
        assert [passage.document_id for passage in found] == ["a"]
    with open_at(tmp_path / "kb") as index:
        with pytest.raises(IndexMismatch, match="an analyzer of your own"):
            index.retrieve("b", BM25())
        assert len(index.retrieve("b", Vector())) == 2
        index.add(Document("b", "Bcb."))
    with open_at(tmp_path / "kb", analyzer=letters) as index:
        assert {passage.document_id for passage in index.retrieve("b", BM25())} == {"a", "b"}
    with pytest.raises(IndexMismatch, match=r"analyzer=tests\.segments\.test_mirror:letters"):
        open_at(tmp_path / "kb", analyzer=str.split)


def split_on_spaces(text):
    return text.split(" ")


@pytest.mark.parametrize("engine", ["postings", "rank-bm25"])
def test_an_analyzer_of_the_users_own_sees_title_headings_and_text_apart(tmp_path, engine):
    strategy = BM25(engine=engine, bm25=BM25Settings(variant="okapi"))
    text = "# On oxygen\n\nFire needs it to burn.\n\n## Old uses\n\nMiners feared it underground.\n"
    with open_at(tmp_path / "kb", analyzer=split_on_spaces) as index:
        index.add([Document("a", text, "Its history"), Document("b", "Cells burn."), Document("c", "  \n Tin. \n")])
        for word, found in {
            "Its": "a",
            "history": "a",
            "On": "a",
            "uses": "a",
            "underground.": "a",
            "Cells": "b",
            "burn.": "b",
            "Tin.": "c",
        }.items():
            assert {each.document_id for each in index.retrieve(word, strategy)} >= {found}, word
        index.build_tree()
        assert [each.document_id for each in index.retrieve("Its", BM25(summaries=True)) if each.summary] == ["a"]


@given(
    st.sampled_from(["english", "german", "turkish", "chinese"]),
    st.none() | st.text(_LETTERS, min_size=1),
    st.lists(st.text(_LETTERS, min_size=1), max_size=3),
    st.text(_LETTERS),
)
def test_the_shipped_analyzer_finds_the_same_terms_apart_as_in_one_text(language, title, headings, text):
    sections = [Section(0, 0, depth, heading) for depth, heading in enumerate(headings, start=1)]
    analyzer = Analyzer(language)
    (head,) = indexed_heads(title, sections, 1)
    together = analyzer([f"{head}\n{text}"]) if has_word(text) else [[]]  # a leaf without a word is never found
    assert WordPostings(analyzer)._terms(titles_of_leaves(title, sections, 1), [text], [0]) == together


def test_words_are_read_again_where_an_earlier_version_has_left_a_mirror():
    def name_of_earlier_version(analyzer):
        return f"words-{hashlib.sha256(f'{describe_analyzer(analyzer)} {Stemmer.version()}'.encode()).hexdigest()[:8]}"

    assert WordPostings(Analyzer()).name != name_of_earlier_version(Analyzer())
    assert WordPostings(letters).name != name_of_earlier_version(letters)


def test_how_words_are_scored_is_remembered(tmp_path):
    settings = BM25Settings(k1=2.0, b=0.5, variant="bm25+")
    with open_at(tmp_path / "kb", bm25=settings, analyzer=Analyzer(stem=False)) as index:
        index.add(some_documents(1, 2, 3))
        found = answers(index)
    with open_at(tmp_path / "kb") as index:
        assert answers(index) == found
        asked = index.retrieve_many(QUERIES, BM25(bm25=BM25Settings()), k=ALL, candidates=ALL)
        assert [[passage.score for passage in row] for row in asked] != [[score for *_, score in row] for row in found[:4]]
    with pytest.raises(IndexMismatch, match="bm25="):
        open_at(tmp_path / "kb", bm25=BM25Settings())
    with pytest.raises(IndexMismatch, match="analyzer="):
        open_at(tmp_path / "kb", analyzer=Analyzer())


# Behind a client


def test_behind_a_server_files_are_kept_in_the_users_cache_by_default(chroma_server, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    client = chromadb.HttpClient(*chroma_server, settings=Settings(anonymized_telemetry=False))
    with open_at(client=client, name=f"kb-{uuid.uuid4().hex}") as index:
        index.add(some_documents(1))
        answers(index)
    if sys.platform == "linux":  # elsewhere the user's cache is found without that variable
        assert list((tmp_path / "leafspan").glob("*/words*/*.segment"))


def test_behind_a_server_files_are_kept_in_the_cache(chroma_server, tmp_path, monkeypatch):
    def client():
        return chromadb.HttpClient(*chroma_server, settings=Settings(anonymized_telemetry=False))

    name = f"kb-{uuid.uuid4().hex}"
    asking = open_at(client=client(), name=name, cache_dir=tmp_path / "cache")
    adding = open_at(client=client(), name=name, cache_dir=tmp_path / "cache")
    documents = []
    for number in range(1, 4):
        documents += some_documents(number)
        adding.add(documents[-1])
        assert answers(asking) == answers_of_fresh(documents)
    adding.delete([documents.pop(0).id])
    assert answers(asking) == answers_of_fresh(documents)
    assert len(list((tmp_path / "cache").glob("*/words*/*.segment"))) > 0
    expected = answers_of_fresh(documents)
    calls = made(monkeypatch)
    assert answers(open_at(client=client(), name=name, cache_dir=tmp_path / "cache")) == expected
    assert calls == []
    assert answers(open_at(client=client(), name=name, cache_dir=tmp_path / "elsewhere")) == expected
    assert calls == []  # it fetches what the others have stored


@pytest.mark.parametrize("level", ["index", "kind"])
def test_a_link_in_the_cache_of_a_client_is_not_followed(chroma_server, tmp_path: Path, level: str):
    client = chromadb.HttpClient(*chroma_server, settings=Settings(anonymized_telemetry=False))
    name, cache, elsewhere = f"kb-{uuid.uuid4().hex}", tmp_path / "cache", tmp_path / "elsewhere"
    with open_at(client=client, name=name, cache_dir=cache) as index:
        index.add(some_documents(1))
        expected = answers(index)
    kinds = list(cache.glob("*/*"))
    shutil.copytree(cache, elsewhere)
    for place in kinds if level == "kind" else list(cache.iterdir()):
        target = elsewhere / place.relative_to(cache)
        shutil.rmtree(place)
        place.symlink_to(target)
    for old in elsewhere.glob("*/*/*.segment"):
        old.with_suffix(".writing").touch()
    before = {path: path.stat().st_mtime_ns for path in elsewhere.rglob("*")}
    with open_at(client=client, name=name, cache_dir=cache) as index:
        with pytest.warns(RuntimeWarning, match="is a link"):
            assert answers(index) == expected
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            index.add(some_documents(2))
            assert len(answers(index)) == len(expected)
    assert {path: path.stat().st_mtime_ns for path in elsewhere.rglob("*")} == before


def test_an_index_in_memory_writes_no_files(monkeypatch):
    def fail(*_):
        raise AssertionError("a file was written")

    monkeypatch.setattr(_segment_folder, "write_segment", fail)
    with in_memory() as index:
        index.add(some_documents(1, 2, 3))
        answers(index)
        index.add(some_documents(4))
        assert answers(index) == answers_of_fresh(some_documents(1, 2, 3, 4))
