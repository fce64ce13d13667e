"""Small files that would take a reader hours, or all memory, each for what it attacks."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping

from tests.office import archive, docx, epub, ods, odt, pptx, xlsx


def _with(data: bytes, name: str, change: Callable[[bytes], bytes], **more: bytes) -> bytes:
    """An archive with a changed entry, and further ones."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        entries: dict[str, str | bytes] = {each: file.read(each) for each in file.namelist()}
    before = entries[name]
    assert isinstance(before, bytes)
    entries[name] = change(before)
    assert entries[name] != before
    return archive(entries | dict(more))


def _packed(method: int, size: int) -> bytes:
    """A document with an entry that is packed by another method."""
    data = io.BytesIO(docx([("", "Tea.")]))
    with zipfile.ZipFile(data, "a") as file:
        file.writestr("word/media/image.png", bytes(size), method, 9)
    return data.getvalue()


def _slide_of_shapes(count: int) -> bytes:
    from pptx import Presentation
    from pptx.util import Inches

    made = Presentation()
    slide = made.slides.add_slide(made.slide_layouts[6])
    for number in range(count):
        slide.shapes.add_textbox(*map(Inches, (1, number / 100, 1, 1))).text_frame.text = f"t{number}"
    data = io.BytesIO()
    made.save(data)
    return data.getvalue()


def _footnotes(count: int) -> bytes:
    word = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    body = '<w:p><w:r><w:footnoteReference w:id="2"/></w:r></w:p>' * count
    note = f'<w:footnote w:id="2"><w:p><w:r><w:t>{"Tea. " * 10_000}</w:t></w:r></w:p></w:footnote>'
    return _with(
        docx([], body=f"<w:document {word}><w:body>{body}</w:body></w:document>"),
        "word/_rels/document.xml.rels",
        lambda xml: xml.replace(
            b"</Relationships>",
            f'<Relationship Id="r2" Type="{office}/footnotes" Target="footnotes.xml"/></Relationships>'.encode(),
        ),
        **{"word/footnotes.xml": f"<w:footnotes {word}>{note}</w:footnotes>".encode()},
    )


def _spellings(count: int) -> bytes:
    """One chapter of a megabyte under many spellings of its path."""
    items = "".join(f'<item id="s{n}" href="{"./" * n}a.xhtml"/>' for n in range(1, count))
    refs = "".join(f'<itemref idref="s{n}"/>' for n in range(1, count))
    return _with(
        epub({"a.xhtml": "<p>Tea.</p>" * 20_000}),
        "OEBPS/book.opf",
        lambda xml: xml.replace(b"</manifest>", f"{items}</manifest>".encode()).replace(
            b"</spine>", f"{refs}</spine>".encode()
        ),
    )


def _wide_sheet(rows: int) -> bytes:
    return xlsx({"S": [["h"] * 16_000, *[["x"]] * rows]})


def _wide_ods(rows: int) -> bytes:
    cell = b'<table:table-cell office:value-type="string"><text:p>h</text:p></table:table-cell>'
    return _with(
        ods({"S": [["h"], ["x"]], "T": [["y"]]}),
        "content.xml",
        lambda xml: xml.replace(
            b"</table:table>",
            b'<table:table-row table:number-rows-repeated="%d">%b</table:table-row></table:table>' % (rows, cell),
            1,
        ).replace(b"<table:table-cell", b'<table:table-cell table:number-columns-repeated="16000"', 1),
    )


def _wide_slide(rows: int) -> bytes:
    cell = b"<a:tc><a:txBody><a:bodyPr/><a:p><a:r><a:t>x</a:t></a:r></a:p></a:txBody></a:tc>"
    return _with(
        pptx([], rows=[["h"], ["x"]]),
        "ppt/slides/slide1.xml",
        lambda xml: xml.replace(b"</a:tbl>", b'<a:tr h="9">%b</a:tr>' % cell * rows + b"</a:tbl>", 1).replace(
            b"<a:tc>", cell * 16_000 + b"<a:tc>", 1
        ),
    )


def _bullet_level(level: int) -> bytes:
    return _with(
        pptx([("Tea", "One\nTwo", "")]),
        "ppt/slides/slide1.xml",
        lambda xml: xml.replace(b"<a:t>Two", b"<a:t>Two").replace(
            b"<a:p><a:r><a:t>Two", b'<a:p><a:pPr lvl="%d"/><a:r><a:t>Two' % level
        ),
    )


def _mail(header: str) -> bytes:
    return f"From: ann@x.org\nTo: {header}\nSubject: {header}\nDate: {header}\n\nTea.".encode()


FILES: Mapping[str, tuple[str, Callable[[], bytes]]] = {
    "quotes": (".csv", lambda: b'a"\n,' * 200 + b'"' * 3_000),
    "more quotes": (".csv", lambda: b"x,'\"y\"'\n\"'," * 300),
    "a wide header of CSV": (".csv", lambda: b"h," * 16_000 + b"h\n" + b"x\n" * 200_000),
    "a wide header of a sheet": (".xlsx", lambda: _wide_sheet(5_000)),
    "a wide header of ODS": (".ods", lambda: _wide_ods(100_000)),
    "a wide header of a slide": (".pptx", lambda: _wide_slide(2_000)),
    "a long number": (
        ".ods",
        lambda: _with(
            ods({"S": [["h"], [5]]}),
            "content.xml",
            lambda xml: xml.replace(b'office:value="5"', b'office:value="1e5000000"'),
        ),
    ),
    "blanks of ODT": (
        ".odt",
        lambda: _with(
            odt([(0, "Tea.")]), "content.xml", lambda xml: xml.replace(b"Tea.", b'<text:s text:c="2000000000"/>')
        ),
    ),
    "blanks of ODS": (
        ".ods",
        lambda: _with(
            ods({"S": [["Tea"]]}), "content.xml", lambda xml: xml.replace(b">Tea<", b'><text:s text:c="2000000000"/><')
        ),
    ),
    "a deep bullet": (".pptx", lambda: _bullet_level(2_000_000_000)),
    "shapes": (".pptx", lambda: _slide_of_shapes(1_000)),
    "bzip2": (".docx", lambda: _packed(zipfile.ZIP_BZIP2, 2**31)),
    "lzma": (".docx", lambda: _packed(zipfile.ZIP_LZMA, 2**28)),
    "XML of another suffix": (
        ".docx",
        lambda: _with(
            docx([("", "Tea.")]),
            "_rels/.rels",
            lambda xml: xml.replace(b"word/document.xml", b"word/document.bin"),
            **{"word/document.bin": b"<x>" + b"<y/>" * 40_000_000 + b"</x>"},
        ),
    ),
    "one footnote": (".docx", lambda: _footnotes(2_000)),
    "spellings of a chapter": (".epub", lambda: _spellings(3_000)),
    "backticks": (
        ".ipynb",
        lambda: json.dumps({"cells": [{"cell_type": "code", "source": "`" * 300_000}], "metadata": {}}).encode(),
    ),
    "comments of a header": (".eml", lambda: _mail("(" * 9_000 + ")" * 9_000)),
    "more comments": (".eml", lambda: _mail("(x)" * 6_000 + "a@b")),
    "open targets": (".rst", lambda: b"T\n=\n\n" + b".. _a\n   b\n" * 10 + b".. _x" + b"\n   y" * 60_000),
    "open substitutions": (".rst", lambda: b"T\n=\n\n" + b".. |a" + b"\n   y" * 60_000),
    "open targets of a text": (".txt", lambda: b".. note::\n\n   T\n\n" + b".. _x" + b"\n   y" * 60_000),
    "a wide table": (
        ".rst",
        lambda: b"T\n=\n\n" + b"+" + b"-+" * 5_000 + b"\n" + (b"|" + b" |" * 5_000 + b"\n+" + b"-+" * 5_000 + b"\n") * 20,
    ),
    "a wide simple table": (
        ".rst",
        lambda: (b"= " * 20_000 + b"\n") + (b"a " * 20_000 + b"\n") * 5 + b"= " * 20_000 + b"\n",
    ),
    "nested lists": (".rst", lambda: b"".join(b"  " * n + b"- x\n\n" for n in range(500))),
    "blanks of AsciiDoc": (".adoc", lambda: b"= T" + b" " * 300_000 + b"x\n= T" + b" =" * 150_000 + b"x\n"),
    "blanks of Org": (".org", lambda: b"* T" + b" " * 300_000 + b"x\n* T" + b" :" * 150_000 + b"x\n"),
    "nested classes": (".rb", lambda: b"class A\n" * 100_000 + b"end\n" * 100_000),
    "nested functions": (".js", lambda: b"function a(){\n" * 100_000 + b"}\n" * 100_000),
    "open brackets": (".py", lambda: b"(" * 300_000),
    "nested elements": (".html", lambda: b"<div>" * 100_000 + b"Tea."),
    "unclosed tags": (".html", lambda: b"<a <b " * 80_000),
    "open lists": (".html", lambda: b"<ul><li>" * 20_000),
    "nested arrays": (".json", lambda: b"[" * 500_000),
    "definitions": (".md", lambda: b"# T\n\n" + b"[a]: b\n" * 70_000),
    "badges": (".md", lambda: b"[![" * 170_000),
    "aliases": (
        ".md",
        lambda: (
            b"---\na: &a [x]\n"
            + b"".join(b"%c: &%c [%b]\n" % (98 + n, 98 + n, b",".join([b"*%c" % (97 + n)] * 9)) for n in range(20))
            + b"---\nTea.\n"
        ),
    ),
}
