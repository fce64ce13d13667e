"""Vector files and their copy: damage is noticed, by the checksums or by the files themselves, and copies are swapped whole."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import struct
from pathlib import Path

import pytest

from leafspan.engines.chroma._vector_files import IDS, VECTORS, VectorFiles

NAME = "5b812d44-fd14-4a84-8ee9-793b4e6fcfad"
VECTOR_BYTES = 16
COUNT = 3


@pytest.fixture
def files(tmp_path: Path) -> VectorFiles:
    """Three vectors as Chroma 1.5.9 writes them, in a folder, without a copy yet."""
    place = tmp_path / NAME
    place.mkdir()
    header = struct.pack("<iQQQQ", 1, 0, 512, COUNT, VECTOR_BYTES)
    (place / "header.bin").write_bytes(header.ljust(100, b"\0"))
    (place / "data_level0.bin").write_bytes(bytes(range(COUNT * VECTOR_BYTES)))
    (place / "length.bin").write_bytes(bytes(COUNT * 4))
    (place / "link_lists.bin").write_bytes(bytes(COUNT * 4))
    (place / IDS).write_bytes(pickle.dumps({"id_to_label": {"a": 1, "b": 2, "c": 3}}))
    return VectorFiles(place, tmp_path / "copies")


def test_a_copy_has_the_size_and_the_crc32_of_each_file(files: VectorFiles):
    (files.place / "length.bin").write_bytes(b"123456789")
    files.back_up()
    assert json.loads((files.copy / "checksums.json").read_text())["format"] == 1
    recorded = files.recorded()
    assert recorded is not None
    assert list(recorded) == [*VECTORS, IDS]
    assert recorded["length.bin"] == (9, 0xCBF43926)  # the check value of CRC-32
    assert files.damaged(recorded) == []
    assert files.copy_is(recorded)
    assert files.is_copied


@pytest.mark.parametrize("name", [*VECTORS, IDS])
def test_each_change_of_a_file_is_noticed_and_the_copy_puts_it_right(files: VectorFiles, name: str):
    files.back_up()
    recorded = files.recorded()
    assert recorded is not None
    path = files.place / name
    whole, stamp = path.read_bytes(), path.stat()
    for content in (whole[:-1], whole + b"\0", whole[:-1] + bytes([whole[-1] ^ 1]), b"", None):
        path.unlink() if content is None else path.write_bytes(content)
        if content is not None:
            os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        assert files.damaged(recorded) == [name]
        files.put_back()
        assert files.damaged(recorded) == []
        assert path.stat().st_mtime_ns == stamp.st_mtime_ns
        assert not list(files.place.glob("*.coming"))


def test_a_damaged_copy_or_record_is_not_used(files: VectorFiles):
    files.back_up()
    recorded = files.recorded()
    assert recorded is not None
    (files.copy / "data_level0.bin").write_bytes(bytes(COUNT * VECTOR_BYTES))
    assert not files.copy_is(recorded)
    for content in ("", "[]", "{", '{"format": 2, "files": {}}', '{"format": 1, "files": {"header.bin": [1, 2]}}', "\xff"):
        (files.copy / "checksums.json").write_text(content, "latin-1")
        assert files.recorded() is None


def test_a_kill_while_a_copy_takes_the_place_of_another_leaves_one_of_them(files: VectorFiles):
    files.back_up()
    first = files.recorded()
    (files.place / "length.bin").write_bytes(bytes(COUNT * 4 + 4))
    # Killed while it copied: the record is written last.
    coming, going = (files.copy.with_name(NAME + ending) for ending in (".coming", ".going"))
    coming.mkdir()
    (coming / "header.bin").write_bytes(b"half")
    assert files.recorded() == first
    files.back_up()
    second = files.recorded()
    assert second is not None
    assert second != first
    # Killed when the old copy was out of the way.
    files.copy.rename(coming)
    shutil.copytree(coming, going)
    assert files.recorded() == second
    assert not coming.exists()
    assert not going.exists()


def write_last(path: Path) -> None:
    """Let a file be newer than all others in its folder."""
    newest = max(each.stat().st_mtime_ns for each in path.parent.iterdir())
    os.utime(path, ns=(newest, newest + 1_000_000))


def test_files_show_whether_their_last_write_was_completed(files: VectorFiles):
    assert files.looks_complete()
    write_last(files.place / "data_level0.bin")
    assert not files.looks_complete()  # written after the ids, which are written last
    write_last(files.place / IDS)
    assert files.looks_complete()
    for name in VECTORS:
        path = files.place / name
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        write_last(files.place / IDS)
        assert not files.looks_complete() or name == "header.bin"  # of that, the first half is used
        path.write_bytes(whole)
        write_last(files.place / IDS)
        assert files.looks_complete()
    ids = (files.place / IDS).read_bytes()
    for content in (b"", ids[:-1], b"\0" * len(ids), pickle.dumps({"other": 1})):
        (files.place / IDS).write_bytes(content)
        assert not files.looks_complete()
        assert files.ids() == set()


def test_reading_the_ids_runs_nothing(files: VectorFiles, tmp_path: Path):
    class Attack:
        def __reduce__(self) -> object:
            return (os.mkdir, (str(tmp_path / "attacked"),))

    (files.place / IDS).write_bytes(pickle.dumps({"id_to_label": {"a": 1}, "more": Attack()}))
    assert files.ids() == set()
    assert not files.looks_complete()
    assert not (tmp_path / "attacked").exists()


def test_what_is_set_aside_is_kept_and_chroma_does_not_find_it(files: VectorFiles):
    files.back_up()
    content = (files.place / "data_level0.bin").read_bytes()
    files.set_aside()
    assert not files.place.exists()
    assert not files.has_copy
    assert (files.set_aside_place / "data_level0.bin").read_bytes() == content


def test_a_copy_is_before_a_change_that_came_after_it(files: VectorFiles):
    assert not files.is_before(7)  # there is none
    files.back_up()
    assert not files.is_before(7)  # it does not say
    files.back_up(6)
    assert [files.is_before(last) for last in (None, 5, 6, 7)] == [False, False, False, True]
