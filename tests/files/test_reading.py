"""Which files of a folder are read, their names, and files that cannot be read."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import chromadb
import pytest

from leafspan import Document, Files, Index
from leafspan.documents import check_document
from leafspan.errors import InvalidDocument
from leafspan.files import FileReading, Skipped, _opening
from leafspan.lab.pictures import page
from tests.files.test_kinds import read
from tests.pdf import pdf


@contextmanager
def as_nobody() -> Iterator[None]:
    """As a user who may not read everything; root may."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may look into."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(os.path.realpath(folder))


def skipped(folder: Path, **options: Any) -> Skipped:
    """What is skipped in a folder with one other file, which is read."""
    (folder / "zebra.txt").write_text("Stripes.")
    documents, [each] = read(folder, **options)
    assert [document.id for document in documents] == ["zebra.txt"]
    with pytest.raises(InvalidDocument, match=f"file '{each.path}' cannot be read: "):
        read(folder, strict=True, **options)
    return each


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"caf\xe9", "it is not UTF-8: 'utf-8' codec can't decode byte 0xe9 in position 3: "),
        (b"one\0two", "it has NUL characters, so it is no text"),
        (b"\xff\xfea", "it is not UTF-16-LE: 'utf-16-le' codec can't decode byte 0x61 in position 0: "),
    ],
)
def test_what_is_no_text_is_skipped(tmp_path: Path, data: bytes, reason: str):
    (tmp_path / "a.txt").write_bytes(data)
    each = skipped(tmp_path)
    assert each.path == "a.txt"
    assert each.reason.startswith(reason)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_says_the_encoding(tmp_path: Path, encoding: str):
    (tmp_path / "a.txt").write_bytes("süß".encode(encoding))
    for given in (None, "latin-1"):
        [document], _ = read(tmp_path, encoding=given)
        assert document.text == "süß"


@pytest.mark.parametrize(
    ("written", "given"),
    [
        *((encoding, None) for encoding in ("utf-8-sig", "utf-16", "utf-32")),
        *((encoding, encoding) for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")),
    ],
)
def test_lines_of_json_may_be_in_any_of_these_encodings(tmp_path: Path, written: str, given: str | None):
    # U+0A0A, in UTF-16, has two bytes that are line ends; PowerShell ends lines with two characters.
    (tmp_path / "a.jsonl").write_bytes('{"text": "süß"}\r\n\r\n{"text": "\u0a0a tea"}\r\n{"text": 5}'.encode(written))
    documents, [skipped] = read(tmp_path, encoding=given)
    assert [(each.id, each.text) for each in documents] == [("a.jsonl#line=1", "süß"), ("a.jsonl#line=3", "\u0a0a tea")]
    assert skipped.reason.startswith("line 4: it has no text in the field 'text'")


def test_lines_of_json_that_are_cut_off_within_a_letter_are_reported(tmp_path: Path):
    (tmp_path / "a.jsonl").write_bytes('{"text": "tea"}\n{"text": "rye"}'.encode("utf-16")[:-1])
    documents, [each] = read(tmp_path)
    assert [document.text for document in documents] == ["tea"]
    assert each.reason.startswith("it is not UTF-16-LE: ")


def test_the_given_encoding_is_for_files_that_are_not_utf_8(tmp_path: Path):
    (tmp_path / "a.txt").write_bytes("75 °C".encode())
    (tmp_path / "b.txt").write_bytes("75 °C".encode("latin-1"))
    (tmp_path / "c.html").write_bytes("<p>75 °C</p>".encode())
    (tmp_path / "d.jsonl").write_bytes(b'{"text": "75 \xc2\xb0C"}\n{"text": "75 \xb0C"}')
    documents, skipped = read(tmp_path, encoding="latin-1")
    assert [each.text.strip() for each in documents] == ["75 °C"] * 5
    assert skipped == []


@pytest.mark.parametrize(
    ("text", "encoding"), [("お茶", "iso-2022-jp"), ("\u80c2 liver", "utf-16-le"), ("tea", "utf-16-be")]
)
def test_bytes_that_are_ascii_or_have_zeros_are_in_the_given_encoding(tmp_path: Path, text: str, encoding: str):
    (tmp_path / "a.txt").write_bytes(text.encode(encoding))
    text.encode(encoding).decode("utf-8")  # they could be UTF-8, too
    [document], _ = read(tmp_path, encoding=encoding)
    assert document.text == text


def test_without_a_mark_the_given_encoding_is_used(tmp_path: Path):
    (tmp_path / "a.txt").write_bytes(b"caf\xe9")
    [document], _ = read(tmp_path, encoding="latin-1")
    assert document.text == "café"


def test_a_fifo_is_skipped_and_never_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "a.txt")
    assert skipped(tmp_path) == Skipped("a.txt", "it is a FIFO, not a regular file")


def test_a_file_that_becomes_a_fifo_meanwhile_is_not_waited_for_either(tmp_path: Path, monkeypatch):
    os.mkfifo(tmp_path / "a.md")
    check = _opening._check_regular
    checks = []

    def late(mode: int) -> None:
        checks.append(mode)
        if len(checks) > 1:  # the first look, before it is opened, sees nothing of it
            check(mode)

    monkeypatch.setattr(_opening, "_check_regular", late)
    assert read(tmp_path) == ([], [Skipped("a.md", "it is a FIFO, not a regular file")])
    assert len(checks) == 2


def test_sockets_and_devices_are_skipped(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind("a.txt")
        assert skipped(tmp_path) == Skipped("a.txt", "it is a socket, not a regular file")
    with pytest.raises(_opening.Unreadable, match="it is a device, not a regular file"):
        _opening.open_file(Path("/dev/zero"))


def test_a_link_to_a_file_of_no_known_kind_is_refused(tmp_path: Path):
    (tmp_path / "b.txt").symlink_to("/dev/zero")
    with pytest.raises(InvalidDocument, match=r"files must be of a known kind .* got '/dev/zero'"):
        list(FileReading(check_document).read(Files(tmp_path / "b.txt")))


def test_a_file_without_permission_is_skipped(open_folder: Path):
    (open_folder / "zebra.txt").write_text("Stripes.")
    (open_folder / "a.txt").write_text("Secret.")
    (open_folder / "a.txt").chmod(0)
    with as_nobody():
        documents, [each] = read(open_folder)
    assert [document.id for document in documents] == ["zebra.txt"]
    assert each == Skipped("a.txt", "Permission denied")


def test_a_folder_without_permission_is_skipped(open_folder: Path):
    (open_folder / "zebra.txt").write_text("Stripes.")
    (open_folder / "deep").mkdir()
    (open_folder / "deep" / "a.txt").write_text("Secret.")
    (open_folder / "deep").chmod(0)
    try:
        with as_nobody():
            documents, skipped = read(open_folder)
    finally:
        (open_folder / "deep").chmod(0o755)
    assert [document.id for document in documents] == ["zebra.txt"]
    assert skipped == [Skipped("deep", "Permission denied")]


def test_a_folder_that_must_not_be_searched_is_skipped_file_by_file(open_folder: Path):
    (open_folder / "zebra.txt").write_text("Stripes.")
    (open_folder / "deep").mkdir()
    (open_folder / "deep" / "a.txt").write_text("Secret.")
    (open_folder / "deep").chmod(0o744)  # its names can be read, and no more
    try:
        with as_nobody():
            documents, skipped = read(open_folder)
    finally:
        (open_folder / "deep").chmod(0o755)
    assert [document.id for document in documents] == ["zebra.txt"]
    assert skipped == [Skipped("deep/a.txt", "Permission denied")]


@contextmanager
def beyond_the_longest_path(folder: Path) -> Iterator[None]:
    """A folder with folders in each other; the innermost have longer paths than the system takes."""
    names = ["deep", *("n" * 25 for _ in range(200))]  # 200 * 26 characters, and Linux takes 4096
    there = Path.cwd()
    os.chdir(folder)
    try:
        for name in names:
            os.mkdir(name)
            os.chdir(name)
        Path("a.txt").write_text("Nobody gets here.")
        yield
    finally:
        os.chdir(there)
        shutil.rmtree(folder / "deep")  # which needs no long paths


def test_a_folder_whose_path_is_too_long_is_skipped(tmp_path: Path):
    with beyond_the_longest_path(tmp_path):
        (tmp_path / "zebra.txt").write_text("Stripes.")
        documents, [each] = read(tmp_path)
    assert [document.id for document in documents] == ["zebra.txt"]
    assert each.path.startswith("deep/nnn")
    assert each.reason == "File name too long"


def test_a_path_that_cannot_be_looked_at_is_refused(tmp_path: Path):
    with pytest.raises(InvalidDocument, match=r"must be one that can be looked at, got '.*nnn': File name too long"):
        list(FileReading(check_document).read(Files(tmp_path / ("n" * 300))))


def test_a_file_that_vanishes_meanwhile_is_skipped(tmp_path: Path):
    for name in ("a.txt", "b.txt", "c.txt"):
        (tmp_path / name).write_text(name)
    reading = FileReading(check_document, tmp_path)
    documents = reading.read(Files(tmp_path))
    assert next(documents).id == "a.txt"
    (tmp_path / "b.txt").unlink()
    assert [each.id for each in documents] == ["c.txt"]
    assert [each.path for each in reading.skipped] in ([], ["b.txt"])


def test_a_file_that_is_too_large_is_skipped_without_being_read(tmp_path: Path):
    with (tmp_path / "a.txt").open("wb") as file:
        file.truncate(2**40)  # takes no room on the disk
    assert skipped(tmp_path) == Skipped("a.txt", "it has more than 268,435,456 bytes")


def test_a_name_that_is_no_text_is_skipped(tmp_path: Path):
    try:
        (tmp_path / os.fsdecode(b"caf\xe9.txt")).write_text("Coffee.")
    except OSError:
        pytest.skip("this file system takes no such name")
    documents, [each] = read(tmp_path)
    assert documents == []
    assert "must be valid Unicode" in each.reason


def test_links_within_a_folder_are_no_second_files_and_links_out_of_it_are_not_followed(tmp_path: Path):
    folder, outside = tmp_path / "docs", tmp_path / "outside"
    (folder / "deep").mkdir(parents=True)
    outside.mkdir()
    (outside / "b.md").write_text("Not of this folder.")
    (folder / "deep" / "a.md").write_text("A.")
    (folder / "link.md").symlink_to("deep/a.md")
    (folder / "loop").symlink_to(".")
    (folder / "deep" / "up").symlink_to("..")
    (folder / "file.md").symlink_to(outside / "b.md")
    (folder / "folder").symlink_to(outside)
    (folder / "photo.gif").symlink_to(outside / "b.md")
    (folder / "dangling.md").symlink_to("nowhere.md")
    documents, skipped = read(folder)
    assert [document.id for document in documents] == ["deep/a.md"]
    reason = "it is a link that leads out of the folder"
    assert skipped == [Skipped("file.md", reason), Skipped("folder", reason)]


@pytest.mark.parametrize(
    ("options", "read_files"),
    [
        ({}, ["a.md", "b.txt", "guide/c.md", "guide/deep/d.md", "guide/deep/e.txt"]),
        ({"glob": "*.md"}, ["a.md", "guide/c.md", "guide/deep/d.md"]),
        ({"glob": ["guide/*.md", "b.*"]}, ["b.txt", "guide/c.md"]),
        ({"glob": "guide/**/*.md"}, ["guide/c.md", "guide/deep/d.md"]),
        ({"glob": "guide/**"}, ["guide/c.md", "guide/deep/d.md", "guide/deep/e.txt"]),
        ({"glob": "**/deep/?.md"}, ["guide/deep/d.md"]),
        ({"exclude": "deep"}, ["a.md", "b.txt", "guide/c.md"]),
        ({"exclude": "deep/"}, ["a.md", "b.txt", "guide/c.md"]),
        ({"exclude": ["guide/deep", "*.txt"]}, ["a.md", "guide/c.md"]),
        ({"glob": "*.md", "exclude": "guide/**"}, ["a.md"]),
        ({"glob": ["*.MD", "*.txt"]}, ["b.txt", "guide/deep/e.txt"]),
    ],
)
def test_patterns_choose_the_files_of_a_folder(tmp_path: Path, options: dict[str, Any], read_files: list[str]):
    (tmp_path / "guide" / "deep").mkdir(parents=True)
    for name in ("a.md", "b.txt", "guide/c.md", "guide/deep/d.md", "guide/deep/e.txt"):
        (tmp_path / name).write_text(name)
    assert [each.id for each in read(tmp_path, **options)[0]] == read_files


# what a file is called


SPELLINGS = ["docs/a.md", "./docs/a.md", "docs/../docs/a.md", "{here}/docs/a.md", "link/a.md", "also.md"]


@pytest.mark.parametrize("first", SPELLINGS)
def test_a_file_is_the_same_document_under_each_spelling_of_its_path(tmp_path: Path, monkeypatch, first: str):
    monkeypatch.chdir(tmp_path)
    Path("docs").mkdir()
    Path("docs/a.md").write_text("A.")
    Path("link").symlink_to("docs")
    Path("also.md").symlink_to("docs/a.md")
    with Index.open("kb") as index:
        assert index.add(Path(first.format(here=tmp_path))).added == ("docs/a.md",)
        for spelling in SPELLINGS:
            assert index.add(Path(spelling.format(here=tmp_path))).unchanged == 1
        monkeypatch.chdir("docs")
        for folder in (Path(), Path("../link"), Path("../docs"), Path("..")):
            assert index.sync(Files(folder, exclude="kb")).unchanged == ("docs/a.md",)
        assert index.count() == 1


def test_files_of_the_same_name_in_two_folders_are_two_documents(tmp_path: Path, monkeypatch):
    with Index.open(tmp_path / "kb") as index:
        for name in ("one", "two"):
            (tmp_path / name / "docs").mkdir(parents=True)
            (tmp_path / name / "docs" / "a.md").write_text(name)
            monkeypatch.chdir(tmp_path / name)
            assert index.add(Path("docs")).added == (f"{name}/docs/a.md",)
        assert [index.get(document.id).text for document in index.documents()] == ["one", "two"]


def test_a_file_that_does_not_stand_beside_the_index_has_its_absolute_path_as_its_id(tmp_path: Path):
    (tmp_path / "docs").mkdir()
    file = tmp_path / "docs" / "a.md"
    file.write_text("A.")
    with Index.open(tmp_path / "indexes" / "kb") as index:
        assert index.add(file).added == (file.as_posix(),)
        assert index.add(Files(file, root=tmp_path)).unchanged == 1  # the same file, as the index knows it
    with Index.open(tmp_path / "indexes" / "other") as index:
        assert index.add(Files(file, root=tmp_path)).added == ("docs/a.md",)


def test_an_index_that_is_moved_knows_its_files_by_their_absolute_paths(tmp_path: Path):
    (tmp_path / "docs").mkdir()
    lines, pages, text = (tmp_path / "docs" / name for name in ("r.jsonl", "p.pdf", "a.md"))
    lines.write_text('{"text": "One.", "source": "of its own"}\n{"text": "Two."}')
    pages.write_bytes(pdf(["One.", "Two."]))
    text.write_text("A.")
    with Index.open(tmp_path / "elsewhere" / "kb") as index:
        added = index.sync(tmp_path / "docs").added
        assert len(added) == 4
    (tmp_path / "elsewhere" / "kb").rename(tmp_path / "kb")
    with Index.open(tmp_path / "kb") as index:
        assert index.sync(tmp_path / "docs").unchanged == added
        lines.write_text('{"text": "New.", "source": "of its own"}\n{"text": "Two."}\n{"text": "Three."}')
        pages.write_bytes(pdf(["New.", "Two.", "Three."]))
        text.write_text("New.")
        result = index.sync(tmp_path / "docs")
        assert result.added == (f"{lines.as_posix()}#line=3",)
        assert result.replaced == (text.as_posix(), pages.as_posix(), f"{lines.as_posix()}#line=1")
        assert len(index.sync(tmp_path / "docs").unchanged) == 5
        text.unlink()
        assert index.sync(tmp_path / "docs").deleted == (text.as_posix(),)


def test_ids_of_a_files_own_stay_as_they_are_when_a_record_comes_to_it(tmp_path: Path):
    (tmp_path / "d.jsonl").write_text('{"text": "One.", "id": 1}')
    files = Files(tmp_path / "d.jsonl", id_field="id")
    with Index.open(tmp_path / "kb") as index:
        index.sync(files)
        (tmp_path / "d.jsonl").write_text('{"text": "One.", "id": 1}\n{"text": "Two.", "id": 2}')
        assert index.sync(files).added == ("2",)
        assert index.get("2").metadata == {"source": "d.jsonl"}


QUESTION = '{"text": "Who dances?", "answers": [{"doc_id": "bees.md", "start": 0, "end": 5}]}\n'
REPORT = page("Who dances?", [])


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("report.html", REPORT, "it is a report that leafspan has written; name the file itself to read it"),
        ("saved.htm", REPORT.replace("<html", "\n<!-- saved by a browser --><html", 1), "it is a report that leafspan has"),
        ("questions.jsonl", "\n" + QUESTION, "it has questions for `leafspan eval`; name the file itself to read it"),
        ("mine.jsonl", '{"text": "Who else?", "answers": ["wasps"]}\n' + QUESTION, "it has questions for `leafspan eval`"),
    ],
)
def test_what_leafspan_has_written_is_no_document(tmp_path: Path, name: str, content: str, reason: str):
    (tmp_path / name).write_text(content)
    (tmp_path / "bees.md").write_text("Bees dance.")
    documents, [each] = read(tmp_path, strict=True)  # it can be read, so it is no error
    assert [document.id for document in documents] == ["bees.md"]
    assert each.path == name
    assert each.reason.startswith(reason)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("faq.jsonl", '{"text": "Who dances?", "answers": ["Bees."]}\n'),
        ("tagged.jsonl", '{"text": "One.", "author": "Ann"}\n' + QUESTION),
        ("about.html", f"<!doctype html><html><head></head><body><pre>{REPORT}</pre></body></html>"),
    ],
)
def test_what_only_looks_like_it_is_read(tmp_path: Path, name: str, content: str):
    (tmp_path / name).write_text(content)
    documents, skipped = read(tmp_path)
    assert documents[0].metadata["source"] == name
    assert not any("leafspan" in each.reason for each in skipped)


def test_a_report_that_is_named_is_read_also_beside_its_folder(tmp_path: Path):
    (tmp_path / "report.html").write_text(REPORT)
    for sources in ([tmp_path, tmp_path / "report.html"], [tmp_path / "report.html", tmp_path]):
        reading = FileReading(check_document, tmp_path)
        assert [each.id for source in sources for each in reading.read(Files(source))] == ["report.html"]
        assert reading.skipped == ()


def test_a_sync_deletes_what_was_indexed_of_a_report(tmp_path: Path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "report.html").write_text(REPORT)
    with Index.open(tmp_path / "kb") as index:
        index.add(tmp_path / "notes" / "report.html")
        synced = index.sync(tmp_path / "notes")
    assert synced.deleted == ("notes/report.html",)
    assert [each.path for each in synced.skipped] == ["notes/report.html"]


def test_what_is_left_out_is_counted_by_its_kind(tmp_path: Path):
    docs = tmp_path / "docs"
    (docs / ".git" / "objects").mkdir(parents=True)
    (docs / ".git" / "config").touch()
    (docs / "deep").mkdir()
    (docs / "deep" / "a.doc").touch()
    (docs / "a.txt").write_text("Tea.")
    (docs / "gone.md").symlink_to(docs / "deep" / "nothing.md")
    (docs / "here.md").symlink_to(docs / "a.txt")  # which is read
    with Index.open(docs / "kb") as index:  # whose files nobody would look for in it
        done = index.add([docs, docs / "deep"])
        assert (len(done.added), done.skipped) == (1, ())
        assert done.left_out == {".doc": 1, "hidden": 1, "index kb": 1, "links to nothing": 1}
        assert repr(done) == "Added(1 added, 0 replaced, 0 unchanged, 4 left out)"
        assert index.sync(docs).left_out == done.left_out
        assert hash(done)


@pytest.mark.parametrize("there", ["docs/kb", "docs/deep/a.kb", "docs"])
@pytest.mark.parametrize("which", ["this", "another", "chroma"])
def test_a_folder_that_holds_an_index_is_never_read_and_is_named(tmp_path: Path, there: str, which: str):
    docs, kb = tmp_path / "docs", tmp_path / there
    (docs / "deep").mkdir(parents=True)
    (docs / "a.md").write_text("Tea.")
    if which == "chroma":
        chromadb.PersistentClient(str(kb), chromadb.Settings(anonymized_telemetry=False)).create_collection("others")
    else:
        with Index.open(kb) as index:
            index.add(Document("x", "Milk."))
    for path in (kb / "note.md", kb / "leafspan.segments" / "files.json", kb / "deep" / "notes.txt"):
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text("[]")
    with Index.open(kb if which == "this" else tmp_path / "other" / "kb") as index:
        ids = ["a.md"] if there != "docs" else ["a.md", "deep/notes.txt", "note.md"]  # what is not the index's own
        for _ in range(2):
            synced = index.sync(Files(docs, root=tmp_path))
            assert [*synced.added, *synced.unchanged] == [f"docs/{id_}" for id_ in ids]
            assert (synced.left_out, synced.skipped) == ({f"index {there}": 1}, ())
        assert index.add(kb / "note.md").skipped == ()  # a file that is named is read
