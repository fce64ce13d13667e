"""Vector files: noted checksums, or the files themselves, show damage."""

from __future__ import annotations

import os
import pickle
import struct
from pathlib import Path

import pytest

from leafspan.engines.chroma._vector_files import IDS, VECTORS, Note, VectorFiles

NAME = "5b812d44-fd14-4a84-8ee9-793b4e6fcfad"
VECTOR_BYTES = 16
COUNT = 3


@pytest.fixture
def files(tmp_path: Path) -> VectorFiles:
    """Three vectors as Chroma 1.5.9 writes them, in a folder, without a note yet."""
    place = tmp_path / NAME
    place.mkdir()
    header = struct.pack("<iQQQQ", 1, 0, 512, COUNT, VECTOR_BYTES)
    (place / "header.bin").write_bytes(header.ljust(100, b"\0"))
    (place / "data_level0.bin").write_bytes(bytes(range(COUNT * VECTOR_BYTES)))
    (place / "length.bin").write_bytes(bytes(COUNT * 4))
    (place / "link_lists.bin").write_bytes(bytes(COUNT * 4))
    (place / IDS).write_bytes(pickle.dumps({"id_to_label": {"a": 1, "b": 2, "c": 3}}))
    return VectorFiles(place, tmp_path / "notes")


def noted(files: VectorFiles) -> Note:
    files.note = Note("kb.leaves", files.checksums(), files.ids, 7)
    note = files.note
    assert note is not None
    return note


def test_a_note_has_the_size_and_the_crc32_of_each_file(files: VectorFiles):
    (files.place / "length.bin").write_bytes(b"123456789")
    assert not files.is_as_noted(files.note)
    note = noted(files)
    assert note.files is not None
    assert list(note.files) == [*VECTORS, IDS]
    assert note.files["length.bin"] == [9, 0xCBF43926]  # the check value of CRC-32
    assert files.damaged(note.files) == []
    assert files.is_as_noted(note)
    os.utime(files.place / IDS, ns=(1, 1))
    assert not files.is_as_noted(note)
    files.note = None
    assert files.note is None


@pytest.mark.parametrize("name", [*VECTORS, IDS])
def test_each_change_of_a_file_is_noticed(files: VectorFiles, name: str):
    checksums = files.checksums()
    path = files.place / name
    whole, stamp = path.read_bytes(), path.stat()
    for content in (whole[:-1], whole + b"\0", whole[:-1] + bytes([whole[-1] ^ 1]), b"", None):
        path.unlink() if content is None else path.write_bytes(content)
        if content is not None:
            os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        assert files.damaged(checksums) == [name]
    path.write_bytes(whole)
    assert files.damaged(checksums) == []


def test_a_collection_without_files_is_as_it_was_noted(files: VectorFiles):
    files.remove()
    note = noted(files)
    assert (note.files, note.ids) == ({}, None)
    assert files.is_as_noted(note)
    assert files.damaged({}) == []


def test_a_collection_that_must_be_rebuilt_needs_no_checksums(files: VectorFiles):
    files.note = Note("kb.leaves", lacking=3)
    assert files.note == ("kb.leaves", None, None, None, 3)
    assert files.is_as_noted(files.note)


def test_a_damaged_note_says_nothing(files: VectorFiles):
    noted(files)
    whole = files._note.read_bytes()
    for place in range(0, len(whole), 7):
        files._note.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert files.note is None
    for content in (b"", b"[]", b"{", b"7", b'{"format": 1, "files": {}}', whole[:-1], b"\xff"):
        files._note.write_bytes(content)
        assert files.note is None


def test_a_note_is_there_whole_or_as_it_was(files: VectorFiles, monkeypatch: pytest.MonkeyPatch):
    first = noted(files)
    (files.place / "length.bin").write_bytes(bytes(COUNT * 4 + 4))

    def killed(self: Path, text: str) -> int:
        with self.open("w") as file:
            file.write(text[:10])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", killed)
        with pytest.raises(KeyboardInterrupt):
            noted(files)
    assert files.note == first
    assert noted(files) != first
    assert [each.suffix for each in files._note.parent.iterdir()] == [".json"]


def write_last(path: Path) -> None:
    """Let a file be newer than all others in its folder."""
    newest = max(each.stat().st_mtime_ns for each in path.parent.iterdir())
    os.utime(path, ns=(newest, newest + 1_000_000))


def test_files_show_whether_their_last_write_was_completed(files: VectorFiles):
    assert files.look_complete()
    write_last(files.place / "data_level0.bin")
    assert not files.look_complete()  # written after the ids, which are written last
    write_last(files.place / IDS)
    assert files.look_complete()
    for name in VECTORS:
        path = files.place / name
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        write_last(files.place / IDS)
        assert not files.look_complete() or name == "header.bin"  # of that, the first half is used
        path.write_bytes(whole)
        write_last(files.place / IDS)
        assert files.look_complete()
    ids = (files.place / IDS).read_bytes()
    for content in (b"", ids[:-1], b"\0" * len(ids), pickle.dumps({"other": 1})):
        (files.place / IDS).write_bytes(content)
        assert not files.look_complete()


def test_reading_the_ids_runs_nothing(files: VectorFiles, tmp_path: Path):
    class Attack:
        def __reduce__(self) -> object:
            return (os.mkdir, (str(tmp_path / "attacked"),))

    (files.place / IDS).write_bytes(pickle.dumps({"id_to_label": {"a": 1}, "more": Attack()}))
    assert not files.look_complete()
    assert not (tmp_path / "attacked").exists()
