"""Vector files: recorded checksums, or the files themselves, show damage."""

from __future__ import annotations

import json
import os
import pickle
import struct
from pathlib import Path

import pytest

from leafspan.engines.chroma._vector_files import IDS, VECTORS, VectorFiles

NAME = "5b812d44-fd14-4a84-8ee9-793b4e6fcfad"
VECTOR_BYTES = 16
COUNT = 3


@pytest.fixture
def files(tmp_path: Path) -> VectorFiles:
    """Three vectors as Chroma 1.5.9 writes them, in a folder, without a record yet."""
    place = tmp_path / NAME
    place.mkdir()
    header = struct.pack("<iQQQQ", 1, 0, 512, COUNT, VECTOR_BYTES)
    (place / "header.bin").write_bytes(header.ljust(100, b"\0"))
    (place / "data_level0.bin").write_bytes(bytes(range(COUNT * VECTOR_BYTES)))
    (place / "length.bin").write_bytes(bytes(COUNT * 4))
    (place / "link_lists.bin").write_bytes(bytes(COUNT * 4))
    (place / IDS).write_bytes(pickle.dumps({"id_to_label": {"a": 1, "b": 2, "c": 3}}))
    return VectorFiles(place, tmp_path / "records")


def test_a_record_has_the_size_and_the_crc32_of_each_file(files: VectorFiles):
    (files.place / "length.bin").write_bytes(b"123456789")
    assert not files.is_recorded
    files.record()
    assert json.loads(files._recorded.read_text())["format"] == 2
    recorded = files.recorded()
    assert recorded is not None
    assert list(recorded) == [*VECTORS, IDS]
    assert recorded["length.bin"] == (9, 0xCBF43926)  # the check value of CRC-32
    assert files.damaged(recorded) == []
    assert files.is_recorded
    os.utime(files.place / IDS, ns=(1, 1))
    assert not files.is_recorded


@pytest.mark.parametrize("name", [*VECTORS, IDS])
def test_each_change_of_a_file_is_noticed(files: VectorFiles, name: str):
    files.record()
    recorded = files.recorded()
    assert recorded is not None
    path = files.place / name
    whole, stamp = path.read_bytes(), path.stat()
    for content in (whole[:-1], whole + b"\0", whole[:-1] + bytes([whole[-1] ^ 1]), b"", None):
        path.unlink() if content is None else path.write_bytes(content)
        if content is not None:
            os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        assert files.damaged(recorded) == [name]
    path.write_bytes(whole)
    assert files.damaged(recorded) == []


def test_a_damaged_record_says_nothing(files: VectorFiles):
    files.record()
    for content in ("", "[]", "{", '{"format": 1, "files": {}}', '{"format": 2, "files": {"header.bin": [1, 2]}}', "\xff"):
        files._recorded.write_text(content, "latin-1")
        assert files.recorded() is None
        assert not files.is_recorded


def test_a_record_is_there_whole_or_as_it_was(files: VectorFiles, monkeypatch: pytest.MonkeyPatch):
    files.record()
    first = files.recorded()
    (files.place / "length.bin").write_bytes(bytes(COUNT * 4 + 4))

    def killed(self: Path, text: str) -> int:
        with self.open("w") as file:
            file.write(text[:10])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", killed)
        with pytest.raises(KeyboardInterrupt):
            files.record()
    assert files.recorded() == first
    files.record()
    assert files.recorded() != first
    assert [each.suffix for each in files._recorded.parent.iterdir()] == [".json"]


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
    files.record()
    content = (files.place / "data_level0.bin").read_bytes()
    files.set_aside()
    assert not files.place.exists()
    assert not files.has_record
    assert (files.set_aside_place / "data_level0.bin").read_bytes() == content


def test_a_record_is_before_a_change_that_came_after_it(files: VectorFiles):
    assert not files.is_before(7)  # it does not exist
    files.record()
    assert not files.is_before(7)  # it does not say
    files.record(6)
    assert [files.is_before(last) for last in (None, 5, 6, 7)] == [False, False, False, True]
