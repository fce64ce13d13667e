"""Scanned pages and pictures: what is recognised, in which order, within which limits, and what happens without the extra."""

from __future__ import annotations

import io
import socket
import struct
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont
from pypdf import PdfWriter
from pypdf.generic import DictionaryObject, NameObject, NumberObject, StreamObject

from leafspan import BM25, F, Files, Index
from leafspan.errors import InvalidDocument
from leafspan.files import _pages, _reader_process
from leafspan.files._pages import in_reading_order
from leafspan.files._reader_process import Limits, records_of
from tests.files.test_kinds import read
from tests.pdf import pdf
from tests.profiles import examples

LINES = ["The keeper of the lighthouse wrote", "his log every night at eleven."]
INSTALL = 'pip install ".[ocr]" in the clone of leafspan'
PICTURE = {"a.png": "PNG", "b.jpg": "JPEG", "c.tiff": "TIFF", "d.webp": "WEBP", "e.bmp": "BMP"}


def drawn(*lines: str, size: tuple[int, int] = (700, 160)) -> Image.Image:
    """A picture with lines of text, in a font that comes with Pillow."""
    picture = Image.new("L", size, 255)
    draw, font = ImageDraw.Draw(picture), ImageFont.load_default(36)
    for number, line in enumerate(lines):
        draw.text((30, 20 + 60 * number), line, fill=0, font=font)
    return picture


def saved(picture: Image.Image, kind: str, **options: Any) -> bytes:
    data = io.BytesIO()
    picture.save(data, kind, **options)
    return data.getvalue()


def joined(*parts: bytes) -> bytes:
    """One PDF with the pages of several."""
    writer, data = PdfWriter(), io.BytesIO()
    for part in parts:
        writer.append(io.BytesIO(part))
    writer.write(data)
    return data.getvalue()


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch, read_here: None) -> list[tuple[int, int]]:
    """The sizes of the pictures that were recognised, each as the text of its number."""
    shapes: list[tuple[int, int]] = []

    def recognize(pixels: Any) -> Any:
        shapes.append(pixels.shape[:2])
        if pixels.min() == 255:
            return SimpleNamespace(boxes=None, txts=None)
        return SimpleNamespace(boxes=[box(0, 0, 100)], txts=(f"Picture {len(shapes)}.",))

    monkeypatch.setattr(_pages, "_recognizer", lambda: recognize)
    return shapes


@contextmanager
def lacking(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process without the extra."""
    with monkeypatch.context() as patch:
        patch.setattr(_pages, "find_spec", lambda name: None)
        for name in ("rapidocr", "rapidocr.main"):
            patch.setitem(sys.modules, name, None)
        yield


@pytest.fixture
def without_the_extra(monkeypatch: pytest.MonkeyPatch, read_here: None) -> Iterator[None]:
    with lacking(monkeypatch):
        yield


def box(left: float, top: float, width: float, height: float = 20) -> list[list[float]]:
    right, bottom = left + width, top + height
    return [[left, top], [right, top], [right, bottom], [left, bottom]]


def test_a_scan_and_a_picture_give_their_text_again_without_the_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(socket, "socket", None)
    (tmp_path / "a.pdf").write_bytes(joined(pdf(["A page of text."]), saved(drawn(*LINES), "PDF"), pdf([""])))
    (tmp_path / "b.png").write_bytes(saved(drawn(*LINES).rotate(1, fillcolor=255), "PNG"))
    records = [record for name in ("a.pdf", "b.png") for record in records_of(tmp_path / name, Files(tmp_path))]
    assert [each.text for each in records] == [
        "A page of text.\n" + "\n".join(LINES) + "\n\n",
        "\n".join(LINES) + "\n",
    ]
    assert [[(part.unit, part.first) for part in each.parts] for each in records] == [
        [("page", 1), ("scanned page", 2), ("page", 3)],
        [("scanned page", 1)],
    ]


def test_a_passage_of_a_scanned_page_says_so(tmp_path: Path, sizes: list[Any]):
    (tmp_path / "a.pdf").write_bytes(joined(pdf(["Bees dance to show where flowers are."]), saved(drawn("x"), "PDF")))
    (tmp_path / "b.md").write_text("Tea.")
    with Index.open(tmp_path / "kb") as index:
        index.sync(Files(tmp_path, glob=["*.pdf", "*.md"]))
        [passage] = index.retrieve("picture", BM25(), k=1)
        assert (passage.text, passage.place, passage.metadata["ocr"]) == ("Picture 1.\n", "scanned page 2", True)
        assert [each.id for each in index.documents(where=F("ocr") == True)] == ["a.pdf"]  # noqa: E712


@pytest.mark.parametrize("name", PICTURE)
def test_pictures_of_each_kind_are_read_no_larger_than_needed(tmp_path: Path, sizes: list[Any], name: str):
    (tmp_path / name).write_bytes(saved(drawn("x", size=(6_000, 300)), PICTURE[name]))
    [document], skipped = read(tmp_path)
    assert (document.text, document.title, skipped) == ("Picture 1.\n", name[0], [])
    assert sizes == [(100, 2_000)]


def test_the_pictures_of_a_tiff_file_are_its_pages_and_one_without_text_is_empty(tmp_path: Path, sizes: list[Any]):
    pages = [drawn("x"), drawn(), drawn("x")]
    (tmp_path / "a.tif").write_bytes(saved(pages[0], "TIFF", save_all=True, append_images=pages[1:]))
    (tmp_path / "b.png").write_bytes(saved(drawn(), "PNG"))
    documents, skipped = read(tmp_path)
    assert [each.text for each in documents] == ["Picture 1.\n\nPicture 3.\n", ""]
    assert skipped == []


def test_a_picture_is_seen_as_a_person_sees_it(tmp_path: Path, sizes: list[Any], monkeypatch: pytest.MonkeyPatch):
    seen: list[Any] = []
    monkeypatch.setattr(
        _pages, "_recognizer", lambda: lambda pixels: seen.append(pixels) or SimpleNamespace(boxes=None, txts=None)
    )
    clear = Image.new("RGBA", (60, 40), (0, 0, 0, 0))
    clear.putpixel((5, 5), (0, 0, 0, 255))
    (tmp_path / "a.png").write_bytes(saved(clear, "PNG"))
    turned, exif = drawn("x"), Image.Exif()
    exif[0x0112] = 6  # the camera was turned
    (tmp_path / "b.jpg").write_bytes(saved(turned, "JPEG", exif=exif))
    read(tmp_path)
    assert (seen[0][5, 5], seen[0][20, 20]) == (0, 255)
    assert (turned.size, seen[1].shape) == ((700, 160), (700, 160))


def bomb(width: int, height: int) -> bytes:
    """A PNG that declares a size without its pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 99)) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.png", bomb(9_000, 9_000), "the scanned page 1 is left out: it has more than 67,108,864 pixels"),
        ("a.png", bomb(10_000, 10_000), "it has more than 67,108,864 pixels"),
        ("a.png", bomb(2**31 - 1, 2**31 - 1), "it has more than 67,108,864 pixels"),
        ("a.png", bomb(100, 100), "the scanned page 1 is left out: "),
        ("a.png", b"%!PS-Adobe-3.0 EPSF-3.0", "it is no picture that Pillow can read"),
        ("a.jpg", saved(drawn("x"), "JPEG")[:300], "it is no picture that Pillow can read|the scanned page 1 is left out"),
        ("a.tif", b"", "it is no picture that Pillow can read"),
    ],
    ids=["pixels", "more pixels", "most pixels", "cut", "another kind", "cut JPEG", "empty"],
)
def test_a_damaged_or_huge_picture_is_skipped(tmp_path: Path, sizes: list[Any], name: str, data: bytes, reason: str):
    (tmp_path / name).write_bytes(data)
    documents, [skipped] = read(tmp_path)
    assert (documents, sizes) == ([], [])
    assert any(map(skipped.reason.startswith, reason.split("|"))), skipped
    assert " object at 0x" not in skipped.reason
    assert "DOS" not in skipped.reason


def test_a_page_that_fails_is_left_out_and_the_others_are_read(tmp_path: Path, sizes: list[Any], monkeypatch):
    answers = iter([ValueError("odd"), SimpleNamespace(boxes=[box(0, 0, 9)], txts=("Two.",))])

    def recognize(pixels: Any) -> Any:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(_pages, "_recognizer", lambda: recognize)
    (tmp_path / "a.pdf").write_bytes(joined(*[saved(drawn("x"), "PDF")] * 2))
    [document], [skipped] = read(tmp_path)
    assert (document.text, skipped.reason) == ("\nTwo.\n", "the scanned page 1 is left out: odd")


def test_a_pdf_whose_pages_cannot_be_drawn_keeps_its_text(
    tmp_path: Path, sizes: list[Any], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("pypdfium2.PdfDocument", lambda data: {}[data])
    (tmp_path / "a.pdf").write_bytes(joined(pdf(["A page of text."]), saved(drawn("x"), "PDF")))
    [document], [skipped] = read(tmp_path)
    assert document.text == "A page of text.\n\n"
    assert skipped.reason.startswith("the scanned page 2 is left out: ")


def test_a_scan_of_endless_pages_is_read_as_far_and_not_again(tmp_path: Path, sizes: list[Any], monkeypatch):
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.pdf").write_bytes(joined(*[saved(drawn("x"), "PDF")] * 4))
    monkeypatch.setattr("leafspan.indexing._known_files._COARSEST", 0)
    with Index.open(tmp_path / "kb") as index:
        with monkeypatch.context() as patch:
            now = iter([0, 1, 1, 1, 1, 10, 11, 12, 3_611])  # the pages' own texts, then the recognised ones
            patch.setattr(_pages, "time", SimpleNamespace(process_time=lambda: next(now)))
            [skipped] = index.sync(docs).skipped
        assert skipped.reason == "the scanned pages from 3 on are left out: recognising the others took an hour"
        assert index.sync(docs).unchanged == ("docs/a.pdf",)
        assert len(sizes) == 2


def test_each_scanned_page_has_a_time_of_its_own(tmp_path: Path, sizes: list[Any], monkeypatch: pytest.MonkeyPatch):
    limits: list[tuple[str, int]] = []
    monkeypatch.setattr(_reader_process, "_limit", lambda name, value: limits.append((name, value)))
    monkeypatch.setattr(_reader_process, "time", SimpleNamespace(process_time=iter([10.5, 90.0]).__next__))
    (tmp_path / "a.pdf").write_bytes(joined(pdf(["Text."]), *[saved(drawn("x"), "PDF")] * 2))
    assert len(list(records_of(tmp_path / "a.pdf", Files(tmp_path), Limits(seconds=60)))) == 1
    assert limits == [("RLIMIT_CPU", 11 + 5 * 60), ("RLIMIT_CPU", 90 + 5 * 60)]


@pytest.mark.usefixtures("without_the_extra")
def test_without_the_extra_a_note_names_it_and_the_text_is_read(tmp_path: Path):
    (tmp_path / "a.pdf").write_bytes(joined(pdf(["A page of text.", ""]), saved(drawn("x"), "PDF")))
    (tmp_path / "b.pdf").write_bytes(saved(drawn("x"), "PDF"))
    documents, skipped = read(tmp_path)
    assert [(each.text, "ocr" in each.metadata) for each in documents] == [("A page of text.\n\n\n", False)]
    assert {each.path: each.reason for each in skipped} == {
        "a.pdf": f"1 of 3 pages are pictures, which need rapidocr: {INSTALL}",
        "b.pdf": f"1 of 1 pages are pictures, which need rapidocr: {INSTALL}",
    }
    assert len(read(tmp_path, strict=True, exclude="b.pdf")[0]) == 1
    with pytest.raises(InvalidDocument, match="which need rapidocr"):
        read(tmp_path, strict=True)


@pytest.mark.usefixtures("without_the_extra")
def test_without_the_extra_pictures_of_a_folder_are_left_out_and_a_named_one_is_skipped(tmp_path: Path):
    docs = tmp_path / "docs"
    docs.mkdir()
    for name in ("a.png", "b.PNG", "c.txt"):
        (docs / name).write_bytes(b"x")
    with Index.open(tmp_path / "kb") as index:
        synced = index.sync(docs)
        assert (synced.added, synced.skipped) == (("docs/c.txt",), ())
        assert synced.left_out == {".png without the extra 'ocr'": 2}
        [skipped] = index.sync(docs / "a.png").skipped
        assert skipped.reason == f"pictures need rapidocr: {INSTALL}"
        own = index.sync(Files(docs, readers={".png": lambda path: "A cup."}))
        assert own.added == ("docs/a.png", "docs/b.PNG")


def test_what_was_read_without_the_extra_is_read_again_with_it(tmp_path: Path, sizes: list[Any], monkeypatch):
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.pdf").write_bytes(joined(pdf(["A page of text."]), saved(drawn("x"), "PDF")))
    (docs / "b.png").write_bytes(saved(drawn("x"), "PNG"))
    (docs / "c.txt").write_text("Text.")
    monkeypatch.setattr("leafspan.indexing._known_files._COARSEST", 0)
    with Index.open(tmp_path / "kb") as index:
        with lacking(monkeypatch):
            assert index.sync(docs).added == ("docs/a.pdf", "docs/c.txt")
            again = index.sync(docs)
            assert (again.unchanged, len(again.skipped)) == (("docs/a.pdf", "docs/c.txt"), 1)
        synced = index.sync(docs)
        assert (synced.added, synced.replaced, synced.unchanged) == (("docs/b.png",), ("docs/a.pdf",), ("docs/c.txt",))
        assert index.sync(docs).unchanged == ("docs/a.pdf", "docs/b.png", "docs/c.txt")
        assert len(sizes) == 2


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a picture, a mixed PDF and a scan. A sync remembers its files at once."""
    monkeypatch.setattr("leafspan.indexing._known_files._COARSEST", 0)
    (docs := tmp_path / "docs").mkdir()
    (docs / "a.png").write_bytes(saved(drawn("x"), "PNG"))
    (docs / "mixed.pdf").write_bytes(joined(pdf(["A page of text."]), saved(drawn("x"), "PDF")))
    (docs / "scan.pdf").write_bytes(saved(drawn("x"), "PDF"))
    return docs


READ = ("docs/a.png", "docs/mixed.pdf", "docs/scan.pdf")


def test_files_that_were_recognised_are_unchanged_for_a_process_without_the_extra(
    docs: Path, sizes: list[Any], monkeypatch: pytest.MonkeyPatch
):
    with Index.open(docs.parent / "kb") as index:
        assert index.sync(docs).added == READ
        with lacking(monkeypatch):
            synced = index.sync(docs)
            assert (synced.unchanged, synced.deleted, synced.skipped, synced.left_out) == (READ, (), (), {})
            (docs / "a.png").unlink()
            assert index.sync(docs).deleted == ("docs/a.png",)


@pytest.mark.parametrize("how", ["sync", "add", "changed"])
def test_without_the_extra_documents_with_recognised_text_are_kept(
    docs: Path, sizes: list[Any], monkeypatch: pytest.MonkeyPatch, how: str
):
    with Index.open(docs.parent / "kb") as index:
        index.sync(docs)
        if how == "changed":
            (docs / "a.png").write_bytes(saved(drawn("y"), "PNG"))
            (docs / "mixed.pdf").write_bytes(joined(pdf(["Another page."]), saved(drawn("y"), "PDF")))
            (docs / "scan.pdf").write_bytes(saved(drawn("y"), "PDF"))
        with lacking(monkeypatch):
            done = index.add(docs) if how == "add" else index.sync(Files(docs, checksum=True))
            assert (done.added, done.replaced, getattr(done, "deleted", ())) == ((), (), ())
            assert done.left_out == {".png without the extra 'ocr'": 1}
            assert [each.path for each in done.skipped] == ["docs/mixed.pdf", "docs/scan.pdf"]
            assert all(each.reason.endswith(f"which need rapidocr: {INSTALL}") for each in done.skipped)
        assert [each.id for each in index.documents(where=F("ocr") == True)] == [*READ]  # noqa: E712
        assert index.sync(docs).replaced == (READ if how == "changed" else ())


def damaged_scan(stream: bytes, kind: str) -> bytes:
    """A PDF whose page is one picture of 700 x 160 grey values."""
    writer = PdfWriter()
    page, picture, contents = writer.add_blank_page(700, 160), StreamObject(), StreamObject()
    picture.set_data(stream)
    contents.set_data(b"q 700 0 0 160 0 0 cm /I Do Q")
    names = {"Type": "XObject", "Subtype": "Image", "ColorSpace": "DeviceGray", "Filter": kind}
    numbers = {"Width": 700, "Height": 160, "BitsPerComponent": 8}
    picture.update({NameObject(f"/{key}"): NameObject(f"/{value}") for key, value in names.items()})
    picture.update({NameObject(f"/{key}"): NumberObject(value) for key, value in numbers.items()})
    pictures = DictionaryObject({NameObject("/I"): writer._add_object(picture)})
    page[NameObject("/Resources")] = DictionaryObject({NameObject("/XObject"): pictures})
    page[NameObject("/Contents")] = writer._add_object(contents)
    data = io.BytesIO()
    writer.write(data)
    return data.getvalue()


WHITE = zlib.compress(b"\xff" * 700 * 160)
DAMAGED = "the scanned page 1 is left out: it gives no text, and a picture on it is damaged or all black"


@pytest.mark.parametrize(
    ("stream", "kind", "reasons"),
    [
        (b"\0" * 5_000, "DCTDecode", [DAMAGED]),
        (saved(drawn("x"), "JPEG")[:100], "DCTDecode", [DAMAGED]),
        (b"no data", "FlateDecode", [DAMAGED]),
        (WHITE, "FlateDecode", []),
    ],
    ids=["overwritten", "cut", "deflated", "white"],
)
def test_a_damaged_scan_keeps_its_document(
    docs: Path, monkeypatch: pytest.MonkeyPatch, read_here: None, stream: bytes, kind: str, reasons: list[str]
):
    def recognize(pixels: Any) -> Any:
        is_empty = pixels.min() == pixels.max()
        return SimpleNamespace(boxes=None if is_empty else [box(0, 0, 9)], txts=None if is_empty else ("Bees.",))

    monkeypatch.setattr(_pages, "_recognizer", lambda: recognize)
    with Index.open(docs.parent / "kb") as index:
        index.sync(docs)
        (docs / "scan.pdf").write_bytes(damaged_scan(stream, kind))
        synced = index.sync(docs)
        assert [each.reason for each in synced.skipped] == reasons
        assert (synced.replaced, synced.deleted) == (() if reasons else ("docs/scan.pdf",), ())
        (docs / "mixed.pdf").write_bytes(joined(pdf(["Another page."]), damaged_scan(stream, kind)))
        assert index.sync(docs).replaced == (() if reasons else ("docs/mixed.pdf",))


def test_notes_of_unchanged_files_stay(docs: Path, sizes: list[Any], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_pages, "_MOST_PIXELS", 200_000)
    large = drawn("x", size=(700, 300))
    (docs / "a.tif").write_bytes(saved(drawn("x"), "TIFF", save_all=True, append_images=[large]))
    with Index.open(docs.parent / "kb") as index:
        first, second, third = (index.sync(docs) for _ in range(3))
        assert [each.path for each in first.skipped] == ["docs/a.tif"]
        assert first.skipped == second.skipped == third.skipped
        assert (len(third.unchanged), len(sizes)) == (4, 4)


@pytest.mark.parametrize("size", [(2_000, 1), (1, 2_000), (60_000, 1), (3, 3)])
def test_a_thin_picture_is_not_made_larger_than_others(tmp_path: Path, sizes: list[Any], size: tuple[int, int]):
    picture = Image.new("L", size, 255)
    picture.putpixel((0, 0), 0)
    (tmp_path / "a.png").write_bytes(saved(picture, "PNG"))
    read(tmp_path)
    assert sizes == [tuple(max(32, min(side, 2_000)) for side in reversed(size))]


def test_an_extra_that_cannot_be_imported_says_why_and_is_tried_again(
    docs: Path, sizes: list[Any], monkeypatch: pytest.MonkeyPatch
):
    with Index.open(docs.parent / "kb") as index:
        with monkeypatch.context() as patch:

            def fail(name: str) -> Any:
                raise ImportError("libGL.so.1: cannot open shared object file")

            patch.setattr("leafspan.files._opening.import_module", lambda n: fail(n) if "ocr" in n else import_module(n))
            synced = index.sync(docs)
            assert synced.added == ()
            cause = f"whose import fails (libGL.so.1: cannot open shared object file): {INSTALL}"
            assert [(each.path, cause in each.reason) for each in synced.skipped] == [(each, True) for each in READ]
        assert index.sync(docs).added == READ


def column(left: float, name: str, count: int, *, top: float = 100, width: float = 400) -> list[tuple[Any, str]]:
    return [(box(left, top + 30 * number, width - 7 * (number % 5)), f"{name}{number}") for number in range(count)]


def turned(boxes: list[Any], degrees: float) -> list[Any]:
    angle = np.radians(degrees)
    return [
        (np.array(each) @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])).tolist()
        for each in boxes
    ]


PAGES: dict[str, tuple[list[tuple[Any, str]], str]] = {
    "one column": (column(50, "a", 4), "a0 a1 a2 a3"),
    "two columns": (column(50, "a", 6) + column(500, "b", 6), "a0 a1 a2 a3 a4 a5 b0 b1 b2 b3 b4 b5"),
    "lines at other heights": (column(50, "a", 5) + column(500, "b", 5, top=113), "a0 a1 a2 a3 a4 b0 b1 b2 b3 b4"),
    "three columns": (
        column(50, "a", 3, width=250) + column(350, "b", 3, width=250) + column(650, "c", 3, width=250),
        "a0 a1 a2 b0 b1 b2 c0 c1 c2",
    ),
    "a heading above and a line below": (
        [(box(200, 20, 500), "heading"), *column(50, "a", 3), *column(500, "b", 3), (box(60, 300, 800), "below")],
        "heading a0 a1 a2 b0 b1 b2 below",
    ),
    "a picture's line between columns": (
        [
            *column(50, "a", 2),
            *column(500, "b", 2),
            (box(100, 170, 700), "between"),
            *column(50, "c", 2, top=220),
            *column(500, "d", 2, top=220),
        ],
        "a0 a1 b0 b1 between c0 c1 d0 d1",
    ),
    "a table": (
        [(box(50, 30 * n, 90), f"item{n}") for n in range(4)] + [(box(400, 30 * n + 3, 60), f"price{n}") for n in range(4)],
        "item0 price0 item1 price1 item2 price2 item3 price3",
    ),
}


@pytest.mark.parametrize("degrees", [0, 2, -2])
@pytest.mark.parametrize("name", PAGES)
def test_columns_of_prose_are_read_one_after_the_other_and_tables_by_rows(name: str, degrees: float):
    lines, expected = PAGES[name]
    lines = sorted(lines, key=lambda line: line[0][0][1])
    text = in_reading_order(turned([each for each, _ in lines], degrees), [text for _, text in lines])
    assert text.split() == expected.split()


@given(st.lists(st.tuples(st.integers(0, 900), st.integers(0, 900), st.integers(1, 900)), max_size=20))
@examples(30)
def test_no_recognised_text_is_lost(places: list[tuple[int, int, int]]):
    texts = [f"t{number}" for number in range(len(places))]
    assert sorted(in_reading_order([box(*each) for each in places], texts).split()) == sorted(texts)


def test_a_pdf_is_read_by_its_text_where_it_has_some(tmp_path: Path, sizes: list[Any]):
    (tmp_path / "a.pdf").write_bytes(pdf(["A page of text.", ""]))
    documents, skipped = read(tmp_path)
    assert ([each.text for each in documents], skipped, sizes) == (["A page of text.\n\n"], [], [])
