"""Text and places in office files, books, mail, notebooks and data files."""

from __future__ import annotations

import base64
import io
import json
import sys
import time
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from leafspan import BM25, Files, Index
from leafspan.documents import check_document
from leafspan.files import FileReading, Skipped, _opening, _table, packed, place_in_file
from tests.office import archive, docx, epub, odp, ods, odt, pptx, xlsx

SALES = [["Region", "Units"], ["North", 3], ["South", 4.0], [None, None], ["West", 5.5], ["a|b\nc", None]]
SALES_TEXT = "| Region | Units |\n| --- | --- |\n| North | 3 |\n| South | 4 |\n| West | 5.5 |\n| a\\|b c |  |\n"
NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "source": ["# Tea\n", "\n", "How to brew it."]},
        {"cell_type": "code", "source": "# boil\nwater()", "outputs": [{"text": ["hot\n"]}, {"data": {"image/png": "x"}}]},
        {"cell_type": "code", "source": "", "outputs": []},
        {"cell_type": "raw", "source": "Milk, perhaps."},
    ],
    "metadata": {"language_info": {"name": "python"}},
}
MAIL = (
    b"From: Ann <ann@x.org>\r\nTo: bob@x.org\r\nSubject: =?utf-8?q?Tea_for_Zo=C3=AB?=\r\n"
    b"Date: Mon, 5 Feb 2024 10:00:00 +0100\r\n\r\nLet us drink tea.\r\n\r\nOn Sunday, Bob wrote:\r\n> Coffee?\r\n> Or tea?\r\n"
)
HTML_MAIL = b"Subject: News\nContent-Type: text/html\n\n<h1>News</h1><p>Bees <b>dance</b>.<script>run()</script></p>"
MAIL_TEXT = "Let us drink tea.\n\n# Quoted\n\nOn Sunday, Bob wrote:\n> Coffee?\n> Or tea?\n"
PEOPLE = {"from": "Ann <ann@x.org>", "to": "bob@x.org", "date": "2024-02-05T10:00:00+01:00"}

# Name, content, title, text.
FILES: list[tuple[str, bytes, str, str]] = [
    (
        "a.docx",
        docx([("Heading1", "Tea"), ("", "Leaves."), ("Heading2", "Milk")], rows=[["a", "b"], ["1", "2"]]),
        "Tea",
        "# Tea\n\nLeaves.\n\n## Milk\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n",
    ),
    ("a.docx", docx([("", "Leaves.")], title="The leaves"), "The leaves", "Leaves.\n"),
    ("a.docx", docx([("", "Leaves.")], title="Microsoft Word - a.doc"), "a", "Leaves.\n"),
    (
        "a.odt",
        odt([(1, "Tea"), (0, "Leaves."), (2, "Milk"), (0, "Of cows.")]),
        "Tea",
        "# Tea\n\nLeaves.\n\n## Milk\n\nOf cows.\n",
    ),
    (
        "a.xlsx",
        xlsx({"Sales": SALES, "Costs": [["Item"], ["Tea"]]}),
        "a",
        f"# Sales\n\n{SALES_TEXT}# Costs\n\n| Item |\n| --- |\n| Tea |\n",
    ),
    ("a.ods", ods({"Sales": SALES}, empty_rows=1_048_000), "a", f"# Sales\n\n{SALES_TEXT}"),
    ("a.csv", b'Region;Units\nNorth;3\n"South";4\n;\nWest;5.5\n"a|b\nc";\n', "a", SALES_TEXT),
    ("a.tsv", b"Region\tUnits\nNorth\t3\nSouth\t4\n\nWest\t5.5\na|b c\t\n", "a", SALES_TEXT),
    (
        "a.pptx",
        pptx(
            [("Bees", "They dance\nThey hum", "Say hello"), ("Honey", "It is sweet", "")],
            rows=[["Kind", "Price"], ["Clover", "4"]],
        ),
        "Bees",
        "# Bees\n\n- They dance\n- They hum\n\nNotes: Say hello\n\n# Honey\n\nIt is sweet\n\n"
        "| Kind | Price |\n| --- | --- |\n| Clover | 4 |\n\n",
    ),
    (
        "a.odp",
        odp([("Bees", "They dance"), ("Honey", "It is sweet")]),
        "Bees",
        "# Bees\n\n- They dance\n\n# Honey\n\n- It is sweet\n\n",
    ),
    (
        "a.epub",
        epub({"one.xhtml": "<h1>One</h1><p>Bees.</p>", "b/two%20.xhtml": "<p>Wax.</p>"} | {"b/two .xhtml": ""}),
        "A book",
        "# One\n\nBees.\n",
    ),
    (
        "a.ipynb",
        json.dumps(NOTEBOOK).encode(),
        "Tea",
        "# Tea\n\nHow to brew it.\n\n```python\n# boil\nwater()\n```\n\n\nMilk, perhaps.\n\n",
    ),
    ("a.eml", MAIL, "Tea for Zoë", MAIL_TEXT),
    ("a.eml", HTML_MAIL, "News", "# News\n\nBees dance.\n"),
    ("a.json", b'{\n "tea": "green"\n}\n', "a", '{\n "tea": "green"\n}\n'),
    ("a.json", json.dumps({"tea": ["green"] * 200}).encode(), "a", json.dumps({"tea": ["green"] * 200}, indent=1) + "\n"),
    ("a.yaml", b"# no heading\ntea: green\n", "a", "# no heading\ntea: green\n"),
]


def read(folder: Path, **options: Any) -> tuple[list[tuple[str, str | None, str]], tuple[Skipped, ...]]:
    reading = FileReading(check_document, folder)
    return [(each.id, each.title, each.text) for each in reading.read(Files(folder, **options))], reading.skipped


@pytest.mark.parametrize(
    ("name", "data", "title", "text"), FILES, ids=[f"{n}{name[1:]}" for n, (name, *_) in enumerate(FILES)]
)
def test_a_file_is_read_as_what_it_is(tmp_path: Path, name: str, data: bytes, title: str, text: str):
    (tmp_path / name).write_bytes(data)
    assert read(tmp_path) == ([(name, title, text)], ())


def test_a_message_of_a_mailbox_is_a_document_with_its_people_and_date(tmp_path: Path):
    (tmp_path / "a.mbox").write_bytes(b"From x Mon\n" + MAIL.replace(b"\r\n", b"\n") + b"\nFrom y Tue\n" + HTML_MAIL)
    found = list(FileReading(check_document, tmp_path).read(Files(tmp_path)))
    assert [(each.id, each.title) for each in found] == [("a.mbox#message=1", "Tea for Zoë"), ("a.mbox#message=2", "News")]
    assert found[0].metadata == {"source": "a.mbox", **PEOPLE}


def test_the_outputs_of_a_notebook_are_read_if_they_are_wanted(tmp_path: Path):
    (tmp_path / "a.ipynb").write_text(json.dumps(NOTEBOOK))
    [(_, _, text)], _ = read(tmp_path, outputs=True)
    assert "water()\n```\n\n```\nhot\n```\n" in text


BASE64 = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 3).decode()
PICTURES = [
    (f"Tea ![cup](data:image/png;base64,{BASE64}) is hot.", "Tea ![cup](data:image/png) is hot."),
    (f"Tea ![cup][1]\n\n[1]: <data:image/png;base64,{BASE64}>\n", "Tea ![cup][1]\n\n[1]: <data:image/png>\n"),
    (f'<img alt="cup" src="data:image/png;base64,{BASE64}">Tea', '<img alt="cup" src="data:image/png">Tea'),
    (f'<img src="data:image/svg+xml,{"%3Csvg%20" * 20}">Tea', '<img src="data:image/svg+xml">Tea'),
    (f"cup = '{BASE64}'\nTea", "cup = ''\nTea"),
    (
        f'<img src="data:image/png;base64,{base64.encodebytes(base64.b64decode(BASE64)).decode().strip()}">\nTea',
        '<img src="data:image/png' + "\n" * 13 + '">\nTea',
    ),
    (
        "A page may use data:image/png;base64,iVBORw0KGgo= in it.",
        "A page may use data:image/png;base64,iVBORw0KGgo= in it.",
    ),
    ("Tea " * 99 + "x" * 300, "Tea " * 99 + "x" * 300),
]


@pytest.mark.parametrize("name", ["a.md", "a.txt", "a.rst", "a.adoc", "a.org", "a.ipynb"])
@pytest.mark.parametrize(("source", "text"), PICTURES)
def test_the_bytes_of_a_picture_within_a_text_are_not_read(tmp_path: Path, name: str, source: str, text: str):
    book = {"cells": [{"cell_type": "code", "source": source}, {"cell_type": "markdown", "source": source}]}
    (tmp_path / name).write_text(json.dumps(book) if name == "a.ipynb" else source)
    [(_, _, found)], skipped = read(tmp_path)
    fenced = text if text.endswith("\n") else text + "\n"
    assert (found, skipped) == (f"```\n{fenced}```\n\n{fenced}\n" if name == "a.ipynb" else text, ())


@pytest.mark.parametrize(
    ("name", "data", "question", "place"),
    [
        ("a.xlsx", xlsx({"Costs": [["Item"], ["Tea"]], "Sales": SALES}), "North West", "Sales, rows 1-6"),
        ("a.csv", b"name,price\nTea,3\nMilk,2\n", "milk", "rows 1-3"),
        ("a.pptx", pptx([("Bees", "They dance " * 40, ""), ("Honey", "It is sweet " * 40, "")]), "sweet", "slide 2"),
        ("a.ipynb", json.dumps(NOTEBOOK).encode(), "brew", "cells 1-4"),
        ("a.docx", docx([("Heading1", "Tea"), ("", "Leaves.")]), "leaves", None),
    ],
)
def test_a_passage_says_where_it_stands_in_the_file(
    tmp_path: Path, name: str, data: bytes, question: str, place: str | None
):
    (tmp_path / name).write_bytes(data)
    with Index.open(tmp_path / "kb") as index:
        index.sync(tmp_path)
        [passage] = index.retrieve(question, BM25(), k=1)
        assert (passage.place, passage.lines) == (place, None)


def test_rows_are_found_by_the_names_of_their_columns(tmp_path: Path):
    rows = [["Region", "Revenue"], *([f"Place {n}", n] for n in range(200))]
    (tmp_path / "a.xlsx").write_bytes(xlsx({"Sales": rows}))
    with Index.open(tmp_path / "kb") as index:
        index.sync(tmp_path)
        [passage] = index.retrieve("revenue of place 150", BM25(), k=1)
        assert "Place 150" in passage.text
        assert passage.headings == ("Sales", "Region | Revenue")


BOMB = archive({"word/document.xml": b"<x>" + b" " * 70_000_000, "_rels/.rels": ""})
ENTITIES = (
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "'
    + "a" * 100
    + '">'
    + "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 50}">' for n in range(8))
    + "]><x>&i;</x>"
)


@pytest.mark.parametrize("suffix", [".docx", ".pptx", ".xlsx", ".odt", ".ods", ".odp", ".epub", ".ipynb", ".mbox", ".eml"])
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00\x01",
        b"PK\x03\x04 and no more",
        b"PK\x05\x06" + bytes(18),
        BOMB,
        docx([], body=ENTITIES),
        archive({"../../x": "y"}),
    ],
    ids=["empty", "noise", "cut", "no files", "bomb", "entities", "path"],
)
def test_a_broken_or_hostile_file_is_skipped_and_the_others_are_read(tmp_path: Path, suffix: str, data: bytes):
    (tmp_path / f"a{suffix}").write_bytes(data)
    (tmp_path / "b.md").write_text("Tea.")
    found, skipped = read(tmp_path)
    assert [id_ for id_, _, _ in found] == ["b.md"]
    assert [each.path for each in skipped] == [f"a{suffix}"]
    assert len(skipped[0].reason) < 400


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("MOST_BYTES", 5_000, "it unpacks to more than 5,000 bytes"),
        ("_MOST_ENTRIES", 6, "it has more than 6 files in it"),
    ],
)
@pytest.mark.usefixtures("read_here")
def test_an_archive_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: int, reason: str):
    with zipfile.ZipFile(io.BytesIO(docx([("", "Tea.")]))) as file:
        entries = {each: file.read(each) for each in file.namelist()}
    (tmp_path / "a.docx").write_bytes(archive(entries | {"word/media/image.png": b" " * 10_000}))
    assert read(tmp_path)[1] == ()
    monkeypatch.setattr(_opening, name, value)
    _, [skipped] = read(tmp_path)
    assert skipped.reason == reason


def test_blank_rows_of_a_sheet_count(tmp_path: Path):
    (tmp_path / "a.ods").write_bytes(ods({"Sales": [["Region"], [None], [None], ["North"], ["South"]]}))
    [document] = FileReading(check_document, tmp_path).read(Files(tmp_path))
    assert place_in_file(
        packed(document.parts), (document.text[: document.text.index("| South")].count("\n") + 1,) * 2
    ) == ("Sales, row 5")


def test_a_sheet_is_read_up_to_its_last_cell(tmp_path: Path):
    from openpyxl import Workbook

    book = Workbook()
    book.active["A1"], book.active["A2"], book.active["XFD1048576"] = "Tea", "green", 1
    book.save(tmp_path / "a.xlsx")
    [(_, _, text)], skipped = read(tmp_path)
    assert "| green |" in text
    assert text.endswith("| 1 |\n")
    assert skipped == ()


@pytest.mark.usefixtures("read_here")
def test_the_rows_of_a_sheet_of_more_than_two_million_cells_are_read_as_far(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(_table, "MOST_CELLS", 5)
    (tmp_path / "a.xlsx").write_bytes(xlsx({"Sales": [["a", "b"], [1, 2], [3, 4]], "Costs": [["c"]]}))
    [(_, _, text)], [skipped] = read(tmp_path)
    assert text == "# Sales\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n"
    assert skipped.reason == "the rows of Sales from 3 on are left out: more than 5 cells (and 1 more)"


def test_a_value_that_the_library_does_not_understand_is_text(tmp_path: Path):
    data = ods({"Sales": [["Time"], [timedelta(hours=9, minutes=55)]]})
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        entries = {name: file.read(name) for name in file.namelist()}
    content = entries["content.xml"].replace(b"PT09H55M00S", b"09:55")
    assert content != entries["content.xml"]
    (tmp_path / "a.ods").write_bytes(archive(entries | {"content.xml": content}))
    [(_, _, text)], skipped = read(tmp_path)
    assert text.startswith("# Sales\n\n| Time |\n| --- |\n| ")
    assert skipped == ()


def test_a_chart_is_a_table_of_its_series(tmp_path: Path):
    from pptx import Presentation
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.util import Inches

    chart = CategoryChartData()
    chart.categories = ["Tea", "Milk"]
    chart.add_series("2023", (3, None))
    chart.add_series("2024", (4.5, 2))
    made = Presentation()
    slide = made.slides.add_slide(made.slide_layouts[6])
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *map(Inches, (1, 1, 4, 3)), chart)
    made.save(tmp_path / "a.pptx")
    [(_, _, text)], _ = read(tmp_path)
    assert text == "| Category | 2023 | 2024 |\n| --- | --- | --- |\n| Tea | 3 | 4.5 |\n| Milk |  | 2 |\n\n"


def test_a_cell_that_is_repeated_without_end_is_read_as_far(tmp_path: Path):
    from odfdo import Cell, Document, Row, Table

    made = Document("spreadsheet")
    made.body.clear()
    table, row = Table("S"), Row()
    row.append_cell(Cell("x", repeated=2**31))
    row.set_attribute("table:number-rows-repeated", str(2**31))
    table.append(row)
    made.body.append(table)
    made.save(tmp_path / "a.ods")
    [(_, _, text)], [skipped] = read(tmp_path)
    assert len(text) < 10_000_000
    assert skipped.reason == "the rows of S from 123 on are left out: more than 2,000,000 cells"


@pytest.mark.parametrize(
    ("name", "module", "reason"),
    [
        ("a.docx", "mammoth", 'Word needs mammoth: pip install ".[docx]"'),
        ("a.pptx", "pptx", 'PowerPoint needs python-pptx: pip install ".[pptx]"'),
        ("a.xlsx", "openpyxl", 'Excel needs openpyxl: pip install ".[xlsx]"'),
        ("a.odt", "markdownify", 'HTML needs markdownify: pip install ".[html]"'),
        ("a.epub", "markdownify", 'HTML needs markdownify: pip install ".[html]"'),
        ("a.eml", "markdownify", 'HTML needs markdownify: pip install ".[html]"'),
        ("a.html", "markdownify", 'HTML needs markdownify: pip install ".[html]"'),
        ("a.py", "tree_sitter", 'source code needs tree-sitter: pip install ".[code]"'),
    ],
)
@pytest.mark.usefixtures("read_here")
def test_an_extra_that_is_missing_is_named_and_other_files_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, module: str, reason: str
):
    data = {"a.docx": FILES[0][1], "a.odt": odt([(0, "x")]), "a.epub": epub({"a.xhtml": "x"}), "a.eml": HTML_MAIL}.get(
        name, b"x"
    )
    (tmp_path / name).write_bytes(data)
    (tmp_path / "b.md").write_text("Tea.")
    monkeypatch.setitem(sys.modules, module, None)
    found, [skipped] = read(tmp_path)
    assert [id_ for id_, *_ in found] == ["b.md"]
    assert (skipped.path, skipped.reason) == (name, f"{reason} in the clone of leafspan")


def test_a_chapter_that_a_book_names_again_and_again_is_read_once(tmp_path: Path):
    with zipfile.ZipFile(io.BytesIO(epub({"one.xhtml": "<p>Bees.</p>", "two.xhtml": "<p>Wax.</p>"}))) as file:
        entries = {name: file.read(name) for name in file.namelist()}
    package = entries["OEBPS/book.opf"].replace(b'<itemref idref="c0"/>', b'<itemref idref="c0"/>' * 100_000)
    (tmp_path / "a.epub").write_bytes(archive(entries | {"OEBPS/book.opf": package}))
    [(_, _, text)], skipped = read(tmp_path)
    assert (text, skipped) == ("Bees.\n\nWax.\n", ())


def test_a_header_that_would_take_hours_is_left_out(tmp_path: Path):
    words = b"=?utf-8?q?a?= " * 100_000
    (tmp_path / "a.eml").write_bytes(
        b"From: ann@x.org\nTo: " + b"b@x.org, " * 100_000 + b"\nSubject: " + words + b"\n\nTea."
    )
    before = time.process_time()
    [(_, title, text)], [skipped] = read(tmp_path)
    assert time.process_time() - before < 5
    assert (title, text) == ("a", "Tea.\n")
    assert skipped.reason == "the header 'To' of 900,000 characters is left out (and 1 more)"


@pytest.mark.parametrize("name", ["a.rst", "a.py"])
def test_a_text_that_is_too_long_to_be_parsed_is_read_without_its_headings(tmp_path: Path, name: str):
    text = "Tea\n===\n\ndef brew(): pass\n" + "x" * 2_000_000
    (tmp_path / name).write_text(text)
    [(_, _, found)], [skipped] = read(tmp_path)
    assert found == text
    assert skipped.reason == "its headings are left out: it has more than 2,000,000 characters"


def test_a_file_of_old_office_or_with_a_password_is_named_as_that(tmp_path: Path):
    (tmp_path / "a.xlsx").write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(512))
    _, [skipped] = read(tmp_path)
    assert skipped.reason == "it is encrypted, or in the format of before 2007: save it again"
