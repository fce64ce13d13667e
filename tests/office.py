"""Small files of offices, books and mail, made with the libraries that read them or by hand."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_OPEN = "http://schemas.openxmlformats.org"
_SPACES = (
    f'{_WORD} xmlns:r="{_OPEN}/officeDocument/2006/relationships" xmlns:m="{_OPEN}/officeDocument/2006/math" '
    f'xmlns:mc="{_OPEN}/markup-compatibility/2006" xmlns:a="{_OPEN}/drawingml/2006/main" '
    f'xmlns:dgm="{_OPEN}/drawingml/2006/diagram" xmlns:c="{_OPEN}/drawingml/2006/chart" xmlns:wps="urn:wps"'
)


def archive(entries: Mapping[str, str | bytes]) -> bytes:
    """An archive of these files."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in entries.items():
            file.writestr(name, content)
    return data.getvalue()


def docx(
    paragraphs: Sequence[tuple[str, str]],
    *,
    rows: Sequence[Sequence[str]] = (),
    title: str = "",
    body: str = "",
    within: str = "",
    styles: str = "",
    parts: Mapping[str, str] = {},
) -> bytes:
    """A Word document of paragraphs, each as (style, text), a table, and what is ``within`` its body after them.

    Its other parts have a relation of their name's kind: ``header1.xml`` is a header, with the id ``header1``.
    """
    made = "".join(
        f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>' for style, text in paragraphs
    )
    cells = [[f"<w:tc><w:p><w:r><w:t>{cell}</w:t></w:r></w:p></w:tc>" for cell in row] for row in rows]
    table = "".join(f"<w:tr>{''.join(row)}</w:tr>" for row in cells)
    styles += "".join(
        f'<w:style w:type="paragraph" w:styleId="Heading{n}"><w:name w:val="heading {n}"/></w:style>' for n in (1, 2)
    )
    related = "".join(
        f'<Relationship Id="{name[:-4]}" Type="{_OPEN}/officeDocument/2006/relationships/{name[:-4].rstrip("0123456789")}" '
        f'Target="{name}"/>'
        for name in parts
    )
    core = 'xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"'
    return archive(
        {
            "[Content_Types].xml": f'<Types xmlns="{_OPEN}/package/2006/content-types"><Default Extension="xml" '
            'ContentType="application/xml"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{_OPEN}/package/2006/relationships"><Relationship Id="r1" '
            f'Type="{_OPEN}/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>',
            "word/_rels/document.xml.rels": f'<Relationships xmlns="{_OPEN}/package/2006/relationships"><Relationship '
            f'Id="r1" Type="{_OPEN}/officeDocument/2006/relationships/styles" Target="styles.xml"/>{related}</Relationships>',
            **{f"word/{name}": f"<w:part {_SPACES}>{content}</w:part>" for name, content in parts.items()},
            "word/styles.xml": f"<w:styles {_WORD}>{styles}</w:styles>",
            "word/document.xml": body
            or f"<w:document {_SPACES}><w:body>{made}{f'<w:tbl>{table}</w:tbl>' if table else ''}{within}</w:body>"
            "</w:document>",
            "docProps/core.xml": f'<cp:coreProperties {core} xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}'
            "</dc:title></cp:coreProperties>",
        }
    )


def xlsx(sheets: Mapping[str, Sequence[Sequence[Any]]]) -> bytes:
    """A workbook of sheets."""
    from openpyxl import Workbook

    book = Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    return _saved(book)


def pptx(slides: Sequence[tuple[str, str, str]], *, rows: Sequence[Sequence[str]] = ()) -> bytes:
    """Slides, each as (title, text, notes), and one with a table."""
    from pptx import Presentation
    from pptx.util import Inches

    made = Presentation()
    for title, text, notes in slides:
        slide = made.slides.add_slide(made.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text = title, text
        if notes:
            slide.notes_slide.notes_text_frame.text = notes
    if rows:
        slide = made.slides.add_slide(made.slide_layouts[6])
        table = slide.shapes.add_table(len(rows), len(rows[0]), *map(Inches, (1, 1, 4, 2))).table
        for y, row in enumerate(rows):
            for x, cell in enumerate(row):
                table.cell(y, x).text = cell
    return _saved(made)


def odt(paragraphs: Sequence[tuple[int, str]]) -> bytes:
    """A text of LibreOffice, of headings (their depth, and their text) and paragraphs (0, and their text)."""
    from odfdo import Document, Header, Paragraph

    made = Document("text")
    made.body.clear()
    for depth, text in paragraphs:
        made.body.append(Header(depth, text) if depth else Paragraph(text))
    return _saved(made)


def odf(body: str, kind: str = "text", *, styles: str = "", page: str = "", parts: Mapping[str, str] = {}) -> bytes:
    """A file of LibreOffice with this body, automatic styles, master page, and further parts."""
    names = {"draw": "drawing", "fo": "xsl-fo-compatible"}
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{names.get(name, name)}:1.0"'
        for name in ("office", "text", "table", "style", "draw", "presentation", "fo", "chart")
    )
    return archive(
        {
            "content.xml": f'<office:document-content {spaces} xmlns:xlink="http://www.w3.org/1999/xlink">'
            f"<office:automatic-styles>{styles}</office:automatic-styles><office:body><office:{kind}>{body}</office:{kind}>"
            "</office:body></office:document-content>",
            "styles.xml": f"<office:document-styles {spaces}><office:master-styles><style:master-page>{page}"
            "</style:master-page></office:master-styles></office:document-styles>",
            **parts,
        }
    )


def ods(sheets: Mapping[str, Sequence[Sequence[Any]]], *, empty_rows: int = 0) -> bytes:
    """Sheets of LibreOffice, below which may be empty rows."""
    from odfdo import Document, Row, Table

    made = Document("spreadsheet")
    made.body.clear()
    for name, rows in sheets.items():
        table = Table(name)
        for row in rows:
            line = Row()
            line.set_values(list(row))
            table.append_row(line)
        if empty_rows:
            table.append(Row(width=1, repeated=empty_rows))
        made.body.append(table)
    return _saved(made)


def odp(slides: Sequence[tuple[str, str]]) -> bytes:
    """Slides of LibreOffice, each as (title, text)."""
    from odfdo import Document, DrawPage, Frame

    made = Document("presentation")
    made.body.clear()
    for number, (title, text) in enumerate(slides, start=1):
        page = DrawPage(f"page{number}")
        page.append(Frame.text_frame(title, presentation_class="title", size=("5cm", "5cm"), position=("0cm", "0cm")))
        page.append(Frame.text_frame([text], size=("5cm", "5cm"), position=("0cm", "5cm")))
        made.body.append(page)
    return _saved(made)


def epub(chapters: Mapping[str, str], *, title: str = "A book") -> bytes:
    """A book of chapters, by the names of their files."""
    items = "".join(f'<item id="c{n}" href="{name}"/>' for n, name in enumerate(chapters))
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(len(chapters)))
    return archive(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
            "OEBPS/book.opf": '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
            f"<metadata><dc:title>{title}</dc:title></metadata><manifest>{items}</manifest><spine>{spine}</spine></package>",
            **{f"OEBPS/{name}": f"<html><body>{text}</body></html>" for name, text in chapters.items()},
        }
    )


def _saved(made: Any) -> bytes:
    data = io.BytesIO()
    made.save(data)
    return data.getvalue()
