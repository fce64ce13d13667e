"""What a person sees in a file is in its text, in its order and under its column; what nobody sees is not."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from html import escape
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import langchain_ext
import llamaindex_ext
from leafspan import Document, Files, Index
from leafspan.documents import check_document
from leafspan.files import FileReading
from leafspan.files._html import markdown_of
from leafspan.files._table import formatted
from tests.office import archive, docx, epub, odf, pptx, xlsx

Grid = dict[tuple[int, int], tuple[str, int, int]]  # by row and column: a text, its rows, its columns
WORDS = ["a", "a|b", "a\\|b", "|", "max_retry_count"]
BAR = re.compile(r"(?<!\\)(?:\\\\)*\|")


def read(folder: Path, name: str, data: bytes) -> tuple[str | None, str, list[str]]:
    """The title, the text, and what is said about the file."""
    (folder / name).write_bytes(data)
    reading = FileReading(check_document, folder)
    found = [each for each in reading.read(Files(folder)) if each.id == name]
    said = [each.reason for each in reading.skipped]
    return (found[0].title, found[0].text, said) if found else (None, "", said)


def cells_of(line: str) -> list[str]:
    """The texts of a Markdown row."""
    cells, start = [], 1
    for match in BAR.finditer(line, 1):
        cells.append(re.sub(r"(\\+)\|", lambda m: m[1][: len(m[1]) // 2] + "|", line[start : match.end() - 1].strip()))
        start = match.end()
    return cells


@st.composite
def grids(draw: st.DrawFn) -> tuple[int, int, Grid]:
    """A table's rows, columns, and cells; some cells are merged."""
    rows, columns = draw(st.integers(1, 4)), draw(st.integers(2, 4))
    free = {(y, x) for y in range(rows) for x in range(columns)}
    cells: Grid = {}
    while free:
        y, x = min(free)
        down, across = draw(st.integers(1, rows - y)), draw(st.integers(1, columns - x))
        while not all((y + dy, x + dx) in free for dy in range(down) for dx in range(across)):
            down, across = (down, across - 1) if across > 1 else (down - 1, across)
        cells[y, x] = f"{draw(st.sampled_from(WORDS))} {y}{x}", down, across
        free -= {(y + dy, x + dx) for dy in range(down) for dx in range(across)}
    return rows, columns, cells


def as_html(rows: int, columns: int, cells: Grid) -> bytes:
    body = "".join(
        "<tr>"
        + "".join(
            f"<td rowspan={down} colspan={across}>{escape(text)}</td>"
            for (row, _), (text, down, across) in sorted(cells.items())
            if row == y
        )
        + "</tr>"
        for y in range(rows)
    )
    return f"<table><thead><tr>{''.join(f'<th>c{x}</th>' for x in range(columns))}</tr></thead>{body}</table>".encode()


def as_docx(rows: int, columns: int, cells: Grid) -> bytes:
    covered = {
        (y + dy, x): (across, dy) for (y, x), (_, down, across) in cells.items() for dy in range(down)
    }  # Word repeats a merged cell in each row, but not in each column
    made = [f"<w:tr>{''.join(word_cell(f'c{x}') for x in range(columns))}</w:tr>"]
    for y in range(rows):
        line = ""
        for (_, x), (across, dy) in sorted(item for item in covered.items() if item[0][0] == y):
            merge = (
                f"<w:vMerge{'' if dy else ' w:val=' + chr(34) + 'restart' + chr(34)}/>" if dy or cells[y, x][1] > 1 else ""
            )
            line += word_cell("" if dy else cells[y, x][0], f'<w:gridSpan w:val="{across}"/>{merge}')
        made.append(f"<w:tr>{line}</w:tr>")
    return docx([], within=f"<w:tbl>{''.join(made)}</w:tbl>")


def word_cell(text: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{word(escape(text))}</w:tc>"


def word(text: str, paragraph: str = "", run: str = "") -> str:
    return f"<w:p><w:pPr>{paragraph}</w:pPr><w:r><w:rPr>{run}</w:rPr><w:t>{text}</w:t></w:r></w:p>"


def as_opendocument(rows: int, columns: int, cells: Grid) -> str:
    head = "".join(f"<table:table-cell><text:p>c{x}</text:p></table:table-cell>" for x in range(columns))
    lines = [f"<table:table-row>{head}</table:table-row>"]
    for y in range(rows):
        line = ""
        for x in range(columns):
            text, down, across = cells.get((y, x), ("", 0, 0))
            spans = f'table:number-rows-spanned="{down}" table:number-columns-spanned="{across}"'
            cell = f"<table:table-cell {spans}><text:p>{escape(text)}</text:p></table:table-cell>"
            line += cell if text else "<table:covered-table-cell/>"
        lines.append(f"<table:table-row>{line}</table:table-row>")
    return f'<table:table table:name="S">{"".join(lines)}</table:table>'


def as_xlsx(rows: int, columns: int, cells: Grid) -> bytes:
    from openpyxl import Workbook

    book = Workbook()
    book.active.append([f"c{x}" for x in range(columns)])
    for (y, x), (text, down, across) in cells.items():
        book.active.cell(y + 2, x + 1, text)
        book.active.merge_cells(start_row=y + 2, start_column=x + 1, end_row=y + 1 + down, end_column=x + across)
    return saved(book)


def as_pptx(rows: int, columns: int, cells: Grid) -> bytes:
    from pptx import Presentation

    made = Presentation()
    slide = made.slides.add_slide(made.slide_layouts[6])
    table = slide.shapes.add_table(rows + 1, columns, 0, 0, 9_000_000, 900_000).table
    for x in range(columns):
        table.cell(0, x).text = f"c{x}"
    for (y, x), (text, down, across) in cells.items():
        table.cell(y + 1, x).text = text
        if down > 1 or across > 1:
            table.cell(y + 1, x).merge(table.cell(y + down, x + across - 1))
    return saved(made)


def saved(made: Any) -> bytes:
    data = io.BytesIO()
    made.save(data)
    return data.getvalue()


KINDS: dict[str, Callable[[int, int, Grid], bytes]] = {
    "a.html": as_html,
    "a.docx": as_docx,
    "a.odt": lambda *grid: odf(as_opendocument(*grid)),
    "a.ods": lambda *grid: odf(as_opendocument(*grid), "spreadsheet"),
    "a.odp": lambda *grid: odf(f"<draw:page><draw:frame>{as_opendocument(*grid)}</draw:frame></draw:page>", "presentation"),
    "a.xlsx": as_xlsx,
    "a.pptx": as_pptx,
}


@pytest.mark.parametrize("name", KINDS)
def test_each_text_of_a_table_with_merged_cells_stands_under_its_column(
    name: str, tmp_path_factory: pytest.TempPathFactory
):
    @settings(max_examples=15, deadline=None)
    @given(grids())
    def law(grid: tuple[int, int, Grid]) -> None:
        rows, columns, cells = grid
        _, text, said = read(tmp_path_factory.mktemp("f"), name, KINDS[name](*grid))
        lines = [line for line in text.splitlines() if line.startswith("|")]
        assert (cells_of(lines[0]), said) == ([f"c{x}" for x in range(columns)], [])
        begun = [y for y in range(rows) if any(row == y for row, _ in cells)]
        assert len(lines) == 2 + len(begun)
        for y, line in zip(begun, lines[2:], strict=True):
            shown = cells_of(line)
            for (row, x), (cell, down, across) in cells.items():
                if row <= y < row + down:
                    assert shown[x] == cell
                    assert not any(shown[x + 1 : x + across])

    law()


@pytest.mark.parametrize(
    ("html", "text"),
    [
        (
            "<table><tr><td>1<td>2<tfoot><tr><td>sum<td>3</tfoot><caption>All sales</caption><thead><tr><th>a<th>b</table>",
            "All sales\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n| sum | 3 |\n",
        ),
        (
            "<table><tr><th rowspan=2>Region<th colspan=2>2024<tr><th>Q1<th>Q2<tr><td>North<td>1<td>2</table>",
            "| Region | 2024 Q1 | 2024 Q2 |\n| --- | --- | --- |\n| North | 1 | 2 |\n",
        ),
        (
            "<table><tr><th>a<th>b<tr><td><table><tr><td>x<td>y<tr><td>z</table><td><a href=u>c|d</a> <code>e|f</code></table>",
            "| a | b |\n| --- | --- |\n| x, y; z | c\\|d `e\\|f` |\n",
        ),
        ("<table><tr><td>a<tr><td>b<td>c<td>d</table>", "a\n\n| b | c | d |\n| --- | --- | --- |\n"),
        ("<table><tr><td><td>b<tr><td>c<td>d</table>", "| | b |\n| --- | --- |\n| c | d |\n"),
        ("<table><tr><td>a<td><tr><td>c<td>d</table>", "| a | |\n| --- | --- |\n| c | d |\n"),
        ("<table><tr><td colspan=2>a<tr><td>c<td>d</table>", "a\n\n| c | d |\n| --- | --- |\n"),
        ("<table><tr><th colspan=2>a<tr><th>b<th>c<tr><td>d<td>e</table>", "a\n\n| b | c |\n| --- | --- |\n| d | e |\n"),
        ("<table><tr><td><h1>T</h1><p>One</p><p>Two</p></table>", "# T\n\nOne\n\nTwo\n"),
        ("<table role=presentation><tr><td>One<td>Two</table>", "One\n\nTwo\n"),
        ("<table><tr><td rowspan=2>a<td rowspan=2>b<tr><tr><td>c<td>d</table>", "| a | b |\n| --- | --- |\n| c | d |\n"),
        ("<ul><li>max_retry_count<li><code>a_b</code> 2*3*4</ul>", "* max_retry_count\n* `a_b` 2*3*4\n"),
        ("<p>Name <input value='Ann'> <input type=hidden value=x> <svg><text>Drawn</text></svg>", "Name Ann Drawn\n"),
    ],
)
def test_a_page_is_read_as_browsers_show_it(html: str, text: str):
    assert re.sub(" +", " ", markdown_of(html)[0]) == text


HIDDEN = [
    "<p style='display: NONE'>Secret</p>",
    "<p style='visibility:hidden'>Secret</p>",
    "<p hidden>Secret</p>",
    "<p style='font-size:0px'>Secret</p>",
    "<p style='font-size:.1em'>Secret</p>",
    "<p style='color:#FFF'>Secret</p>",
    "<p style='color:rgb(255, 255, 255)'>Secret</p>",
    "<div style='background-color:#123456'><p style='color:#123457'>Secret</p></div>",
    "<p style='color:transparent'>Secret</p>",
    "<p style='opacity:0'>Secret</p>",
    "<p style='position:absolute;left:-9999px'>Secret</p>",
    "<p style='text-indent:-9999px'>Secret</p>",
    "<p style='max-height:0;overflow:hidden'>Secret</p>",
    "<style>.x, p.y {display:none !important}</style><p class='z x'>Secret</p>",
    "<style>@media print{.y{color:red}} #x{visibility:hidden}</style><p id=x>Secret</p>",
    "<dialog>Secret</dialog>",
]
SHOWN = [
    "<p style='display:block'>Secret</p>",
    "<div style='background:black'><p style='color:white'>Secret</p></div>",
    "<table bgcolor='#000000'><tr><td style='color:white'>Secret</td></tr></table>",
    "<link rel=stylesheet href=a.css><div class=dark><p style='color:white'>Secret</p></div>",
    "<p hidden=until-found>Secret</p>",
    "<details><summary>More</summary>Secret</details>",
    "<style>.tab{display:none} .tab.active{display:block}</style><p class=tab>Secret</p>",
    "<style>@media print{.x{display:none}}</style><p class=x>Secret</p>",
    "<script>show()</script><p style='opacity:0'>Secret</p>",
    "<style>body{visibility:hidden}</style><p>Secret</p>",
    "<p aria-hidden=true>Secret</p>",
    "<dialog open>Secret</dialog>",
]


@pytest.mark.parametrize(("html", "is_shown"), [*((each, False) for each in HIDDEN), *((each, True) for each in SHOWN)])
def test_the_text_of_a_page_that_no_reader_sees_is_left_out(html: str, is_shown: bool):
    text, _ = markdown_of(f"<html><body><p>Text.</p>{html}<p>More.</p></body></html>")
    assert "Text." in text
    assert "More." in text
    assert ("Secret" in text) == is_shown


BOX = f"<w:drawing><wps:txbx><w:txbxContent>{word('Boxed')}</w:txbxContent></wps:txbx></w:drawing>"
OLD_BOX = f"<w:pict><w:txbxContent>{word('Boxed')}</w:txbxContent></w:pict>"
WHITE = '<w:color w:val="FFFFFF"/>'
STYLES = (
    '<w:style w:type="paragraph" w:styleId="Titel"><w:name w:val="Title"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="Mine"><w:name w:val="Mine"/><w:basedOn w:val="Heading2"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="Out"><w:name w:val="Out"/><w:pPr><w:outlineLvl w:val="2"/></w:pPr></w:style>'
    '<w:style w:type="paragraph" w:styleId="TOC"><w:name w:val="TOC Heading"/><w:basedOn w:val="Heading1"/>'
    '<w:pPr><w:outlineLvl w:val="9"/></w:pPr></w:style>'
    '<w:style w:type="character" w:styleId="Hid"><w:name w:val="Hid"/><w:rPr><w:vanish/></w:rPr></w:style>'
)


def math(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


def point(id_: int, text: str, kind: str = "node") -> str:
    return f'<dgm:pt modelId="{id_}" type="{kind}"><dgm:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t></dgm:pt>'


DIAGRAM = (
    f"<dgm:ptLst>{point(0, '', 'doc')}{point(2, 'Act')}{point(1, 'Plan')}{point(3, 'Ask')}{point(4, 'x', 'pres')}</dgm:ptLst>"
    '<dgm:cxnLst><dgm:cxn srcId="0" destId="2" srcOrd="1"/><dgm:cxn srcId="0" destId="1" srcOrd="0"/>'
    '<dgm:cxn srcId="1" destId="3" srcOrd="0"/></dgm:cxnLst>'
)
CHART = (
    "<c:title><a:p><a:r><a:t>Sales</a:t></a:r></a:p></c:title><c:ser><c:tx><c:v>2024</c:v></c:tx><c:cat><c:pt idx='0'>"
    "<c:v>Tea</c:v></c:pt></c:cat><c:val><c:formatCode>0%</c:formatCode><c:pt idx='0'><c:v>0.5</c:v></c:pt></c:val></c:ser>"
)
ROOT = f"<m:oMath><m:rad><m:deg/><m:e><m:sSup><m:e>{math('b')}</m:e><m:sup>{math('2')}</m:sup></m:sSup></m:e></m:rad></m:oMath>"
HEADER = '<w:sectPr>{}<w:headerReference w:type="{}" r:id="header1"/><w:footerReference w:type="default" r:id="footer1"/></w:sectPr>'


@pytest.mark.parametrize(
    ("within", "parts", "text"),
    [
        (f"<w:p><w:r>{BOX}<w:t>Around</w:t></w:r></w:p>", {}, "Around\n\nBoxed\n"),
        (
            f"<w:p><w:r><mc:AlternateContent><mc:Choice>{BOX}</mc:Choice><mc:Fallback>{OLD_BOX}</mc:Fallback>"
            "</mc:AlternateContent></w:r></w:p>",
            {},
            "Boxed\n",
        ),
        (
            word("Text.") + HEADER.format("", "default"),
            {"header1.xml": word("Secret draft"), "footer1.xml": word("Page 1")},
            "Secret draft\n\nText.\n\nPage 1\n",
        ),
        (
            word("Text.") + HEADER.format("", "first"),
            {"header1.xml": word("Not on any page"), "footer1.xml": word("12")},
            "Text.\n",
        ),
        (
            word("Text.") + HEADER.format("<w:titlePg/>", "first"),
            {"header1.xml": word("Cover"), "footer1.xml": word("")},
            "Cover\n\nText.\n",
        ),
        (f"<w:p><w:r><w:t>So </w:t></w:r>{ROOT}</w:p>", {}, "So √(b^2)\n"),
        (
            f"<w:p><m:oMathPara><m:oMath><m:f><m:num>{math('a+b')}</m:num><m:den>{math('2')}</m:den></m:f></m:oMath>"
            "</m:oMathPara></w:p>",
            {},
            "(a+b)/2\n",
        ),
        (word("One", '<w:pStyle w:val="Mine"/>') + word("Two", '<w:pStyle w:val="Out"/>'), {}, "## One\n\n### Two\n"),
        (word("One", '<w:outlineLvl w:val="0"/>') + word("Contents", '<w:pStyle w:val="TOC"/>'), {}, "# One\n\nContents\n"),
        ("<w:p><w:fldSimple w:instr='REF x'><w:r><w:t>Section 2</w:t></w:r></w:fldSimple></w:p>", {}, "Section 2\n"),
        (
            "<w:p><w:r><w:drawing><dgm:relIds r:dm='diagramData1'/></w:drawing></w:r></w:p>",
            {"diagramData1.xml": DIAGRAM},
            "Plan\n\nAsk\n\nAct\n",
        ),
        (
            "<w:p><w:r><w:drawing><c:chart r:id='chart1'/></w:drawing></w:r></w:p>",
            {"chart1.xml": CHART},
            "Sales\n\n| Category | 2024 |\n| --- | --- |\n| Tea | 50% |\n",
        ),
        (word("max_retry_count") + word("x", "", "<w:vanish/>"), {}, "max_retry_count\n"),
        (word("a", "", '<w:vanish w:val="0"/>') + word("x", "", '<w:rStyle w:val="Hid"/>'), {}, "a\n"),
        (word("a") + word("x", "", WHITE) + word("x", "", '<w:sz w:val="2"/>'), {}, "a\n"),
        (word("a", '<w:shd w:fill="000000"/>', WHITE), {}, "a\n"),
        (
            f"<w:tbl><w:tr>{word_cell('a')}{word_cell('b')}</w:tr><w:tr><w:trPr><w:hidden/></w:trPr>{word_cell('x')}</w:tr>"
            f"<w:bookmarkStart/><w:tr><w:trPr><w:gridBefore w:val='1'/></w:trPr>{word_cell('c')}</w:tr></w:tbl>",
            {},
            "| a | b |\n| --- | --- |\n|  | c |\n",
        ),
    ],
)
def test_a_word_document_is_read_as_word_shows_it(tmp_path: Path, within: str, parts: Mapping[str, str], text: str):
    _, found, said = read(tmp_path, "a.docx", docx([], within=within, parts=parts, styles=STYLES))
    assert (found, said) == (text, [])


def test_the_paragraph_in_the_style_of_titles_is_the_title(tmp_path: Path):
    within = word("Acme", '<w:pStyle w:val="Heading1"/>') + word("Our year", '<w:pStyle w:val="Titel"/>')
    title, text, _ = read(tmp_path, "a.docx", docx([], within=within, styles=STYLES, title="Template 3"))
    assert (title, text) == ("Our year", "# Acme\n\n# Our year\n")


def test_an_opendocument_text_is_read_as_libreoffice_shows_it(tmp_path: Path):
    auto = (
        '<style:style style:name="P1" style:parent-style-name="Title"/><style:style style:name="H"><style:text-properties '
        'text:display="none"/></style:style><style:style style:name="W"><style:text-properties fo:color="#ffffff"/>'
        '</style:style><style:style style:name="Big" style:default-outline-level="2"/>'
    )
    page = "<style:header><text:p>Draft</text:p></style:header><style:footer><text:p>Acme</text:p></style:footer>"
    body = (
        '<text:p text:style-name="P1">Our year</text:p><text:p text:style-name="Big">One</text:p><text:p>max_retry_count'
        '<text:span text:style-name="H">x</text:span><text:span text:style-name="W">x</text:span><text:s text:c="2000000000"/>b'
        "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Note</text:p></text:note-body>"
        "</text:note></text:p><text:p>Around<draw:frame><draw:text-box><text:p>Boxed</text:p></draw:text-box></draw:frame>"
        ' it: <draw:frame><draw:object xlink:href="./Object 1"/></draw:frame></text:p><text:tracked-changes><text:p>x</text:p>'
        '</text:tracked-changes><text:section text:display="none"><text:p>x</text:p></text:section>'
    )
    formula = '<math xmlns="m"><mi>a</mi><annotation>a over b</annotation></math>'
    data = odf(body, styles=auto, page=page, parts={"Object 1/content.xml": formula})
    assert read(tmp_path, "a.odt", data) == (
        "Our year",
        "Draft\n\n# Our year\n\n## One\n\nmax_retry_count b[1]\n\nAround it: a over b\n\nBoxed\n\n[1] Note\n\nAcme\n",
        [],
    )


def test_slides_are_read_as_they_are_shown(tmp_path: Path):
    from lxml import etree
    from pptx import Presentation

    made = Presentation()
    for name in ("Shown", "Hidden"):
        slide = made.slides.add_slide(made.slide_layouts[5])
        slide.shapes.title.text = name
    slide._element.set("show", "0")
    shown = made.slides[0].shapes
    box, hidden = shown.add_textbox(0, 10**7, 9, 9), shown.add_textbox(0, 10**7, 9, 9)
    box.text_frame.text, hidden.text_frame.text = "So ", "Nobody sees this"
    hidden._element.xpath("./p:nvSpPr/p:cNvPr")[0].set("hidden", "1")
    office = "http://schemas.openxmlformats.org"
    box.text_frame.paragraphs[0]._p.append(
        etree.fromstring(
            f'<mc:AlternateContent xmlns:mc="{office}/markup-compatibility/2006"><mc:Choice><a:m xmlns:a="x">'
            f"{ROOT.replace('<m:oMath>', f'<m:oMath xmlns:m={chr(34)}{office}/officeDocument/2006/math{chr(34)}>')}"
            "</a:m></mc:Choice></mc:AlternateContent>"
        )
    )
    assert read(tmp_path, "a.pptx", saved(made)) == ("Shown", "# Shown\n\nSo √(b^2)\n\n", [])


def test_hidden_sheets_rows_and_columns_are_left_out_and_numbers_keep_their_format(tmp_path: Path):
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    sheet.append(["Day", "Share", "x", "Sum"])
    sheet.append([datetime(2024, 2, 5), 0.125, "x", 1234.5])
    sheet.append(["x", "x", "x", "x"])
    sheet["A2"].number_format, sheet["B2"].number_format, sheet["D2"].number_format = "dd.mm.yyyy", "0.0%", '#,##0.00 "€"'
    sheet.row_dimensions[3].hidden = sheet.column_dimensions["C"].hidden = True
    book.create_sheet("X")["A1"] = "x"
    book["X"].sheet_state = "hidden"
    text = "# Sheet\n\n| Day | Share | Sum |\n| --- | --- | --- |\n| 05.02.2024 | 12.5% | 1,234.50 € |\n"
    assert read(tmp_path, "a.xlsx", saved(book)) == ("a", text, [])


@pytest.mark.parametrize("name", ["a.xlsx", "a.ods"])
def test_a_formula_that_was_never_computed_stays_in_its_row_and_is_named(tmp_path: Path, name: str):
    rows = '<table:table table:name="S"><table:table-row><table:table-cell table:formula="of:=1+1"/></table:table-row></table:table>'
    data = xlsx({"S": [["=1+1"]]}) if name == "a.xlsx" else odf(rows, "spreadsheet")
    _, text, [said] = read(tmp_path, name, data)
    assert text == "# S\n\n| =1+1 |\n| --- |\n"
    assert said == "values of formulas that were never computed: 1; save the file in a spreadsheet program"


@pytest.mark.parametrize(
    ("value", "code", "text"),
    [
        (0.125, "0.0%", "12.5%"),
        (-1234.5, "#,##0.00_);(#,##0.00)", "(1,234.50)"),
        (12.5, "[$€-407] #,##0.00", "€ 12.50"),
        (1234, '"$"#,##0', "$1,234"),
        (1234567, '#,##0,,"M"', "1M"),
        (0.1 + 0.2, "General", "0.3"),
        (1e-5, "0.00E+00", "1.00E-05"),
        (7, "000", "007"),
        (5551234, "###-####", "555-1234"),
        (0, '0;-0;"-"', "-"),
        (True, "General", "TRUE"),
        (0.5, "# ?/?", "0.5"),
        (3, '0" kg"', "3 kg"),
        (float("nan"), "0", "nan"),
        (datetime(2024, 2, 5), "mm-dd-yy", "2024-02-05"),
        (datetime(2024, 2, 5, 14, 7), "d mmm yyyy, h:mm AM/PM", "5 Feb 2024, 2:07 PM"),
        (timedelta(hours=30, minutes=5), "[h]:mm:ss", "30:05:00"),
    ],
)
def test_a_number_is_read_in_its_format(value: object, code: str, text: str):
    assert formatted(value, code) == text


@settings(max_examples=50, deadline=None)
@given(st.one_of(st.floats(), st.integers(), st.datetimes(), st.timedeltas()), st.text('#0?.,;%"\\[]$hmsyd/E+-_*@ G'))
def test_every_value_has_a_text_in_every_format(value: object, code: str):
    assert isinstance(formatted(value, code), str)


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("Region;Q1;Q2\nNorth;1,5;2,5\n", ["Region", "Q1", "Q2"]),
        ("a;1,5\nb;2\nc;3,5\n", ["a", "1,5"]),
        ("1,5;2,5\n3,5;4,5\n", ["1,5", "2,5"]),
        ("a, b\tc\n1, 2\t3\n", ["a, b", "c"]),
        ("a|b|c\n1|2|3\n", ["a", "b", "c"]),
        ("name,tags\nx,a;b\ny,c;d\n", ["name", "tags"]),
        ('name,note\nx,"a;b;c"\ny,"d;e;f"\n', ["name", "note"]),
        ("sep=;\na,1;b\n1;2\n", ["a,1", "b"]),
        ("one\ntwo\n", ["one"]),
    ],
)
def test_the_separator_is_the_one_that_divides_all_rows_alike(tmp_path: Path, text: str, header: list[str]):
    _, found, _ = read(tmp_path, "a.csv", text.encode())
    assert cells_of(found.partition("\n")[0]) == header


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.odt", "a.odp", "a.epub"])
def test_a_file_without_text_is_skipped_with_the_reason(tmp_path: Path, name: str):
    data = {
        "a.docx": docx([("", "")]),
        "a.pptx": pptx([("", "", "")]),
        "a.odt": odf("<text:p/>"),
        "a.odp": odf("<draw:page/>", "presentation"),
        "a.epub": epub({"a.xhtml": "<p></p>"}),
    }
    title, _, said = read(tmp_path, name, data[name])
    assert (title, said) == (None, ["it has no text, only images perhaps: recognise its text first (OCR)"])


def test_the_chapters_of_a_book_are_read_without_those_that_are_missing(tmp_path: Path):
    with zipfile.ZipFile(io.BytesIO(epub({"one.xhtml": "<p>Bees.</p>", "two.xhtml": "<p>Wax.</p>"}))) as file:
        entries = {name: file.read(name) for name in file.namelist()}
    del entries["OEBPS/one.xhtml"]
    _, text, said = read(tmp_path, "a.epub", archive(entries))
    assert (text, said) == ("Wax.\n", ["the chapter 'OEBPS/one.xhtml' is left out: it is not in the file"])


@pytest.mark.parametrize(
    "title", ["(anonymous)", "Microsoft Word - x.doc", "Microsoft Word - Report", "untitled", "Document1", "x.docx"]
)
def test_what_is_written_into_the_form_of_a_pdf_is_read_and_a_made_title_is_not(tmp_path: Path, title: str):
    from pypdf import PdfWriter
    from pypdf.generic import ArrayObject, DictionaryObject, NameObject, NumberObject, TextStringObject

    writer = PdfWriter()
    page = writer.add_blank_page(200, 200)
    writer.add_metadata({"/Title": title})

    def note(**values: object) -> Any:
        made = {
            NameObject(f"/{key}"): TextStringObject(value) if isinstance(value, str) and value[0] != "/" else value
            for key, value in values.items()
        }
        made = {key: NameObject(value) if type(value) is str else value for key, value in made.items()}
        return writer._add_object(DictionaryObject(made))

    widget = {"Subtype": "/Widget", "FT": "/Tx"}
    page[NameObject("/Annots")] = ArrayObject(
        [
            note(**widget, T="n", TU="Full name", V="Ann Smith"),
            note(Subtype="/Widget", T="age", Parent=note(FT="/Tx", V="42")),
            note(**{**widget, "FT": "/Btn"}, T="agree", AS="/Yes"),
            note(**{**widget, "FT": "/Btn"}, T="off", AS="/Off"),
            note(**widget, T="hidden", V="x", F=NumberObject(2)),
            note(**widget, T="password", V="x", Ff=NumberObject(1 << 13)),
            note(Subtype="/FreeText", Contents="Typed on it"),
        ]
    )
    data = io.BytesIO()
    writer.write(data)
    text = "Full name: Ann Smith\nage: 42\nagree: Yes\nTyped on it\n"
    assert read(tmp_path, "a.pdf", data.getvalue()) == ("a", text, [])


def test_rows_have_their_header_above_them_in_both_frameworks(tmp_path: Path):
    rows = "".join(f"| Place {n} | {n} |\n" for n in range(200))
    with Index.open(tmp_path / "kb") as index:
        index.add(Document("a", f"# Sales\n\n| Region | Revenue |\n| --- | --- |\n{rows}\nNo more."))
        for question in ("revenue of place 150", "place 0", "more"):
            [passage] = index.retrieve(question, k=1)
            [document] = langchain_ext.HybridRetriever(index=index, k=1).invoke(question)
            [node] = llamaindex_ext.HybridRetriever(index=index, similarity_top_k=1).retrieve(question)
            above = (
                ""
                if "Region" in passage.text or passage.text.strip() == "No more."
                else "| Region | Revenue |\n| --- | --- |\n"
            )
            assert document.page_content == node.node.get_content() == above + passage.text
