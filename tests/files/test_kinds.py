"""How leafspan reads each kind of file."""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import Document, Files, HierarchicalSplitter, Index, InvalidArgument
from leafspan.documents import check_document, read_documents
from leafspan.engines import Record
from leafspan.errors import InvalidDocument
from leafspan.files import FileReading, Skipped
from leafspan.files._opening import whole_characters
from leafspan.hosting import split_into_leaves
from leafspan.store._manifest import unpack_rows
from tests.pdf import pdf
from tests.profiles import examples
from tests.rows import collection


def read(folder: Path, **options: Any) -> tuple[list[Document], list[Skipped]]:
    """The documents of a folder, whose ids are relative to it, and what was skipped."""
    reading = FileReading(check_document, folder)
    found = [Document(each.id, each.text, each.title, each.metadata) for each in reading.read(Files(folder, **options))]
    return found, list(reading.skipped)


def test_text_and_markdown_files_are_read_in_the_order_of_their_paths(tmp_path: Path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.md").write_bytes("\ufeff# The title\r\n\r\nText.\r\n".encode())
    (tmp_path / "deep" / "b.txt").write_text("Plain text.")
    (tmp_path / "e.MARKDOWN").write_text("No heading.")
    (tmp_path / "photo.gif").write_bytes(b"GIF89a")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "c.txt").write_text("Not meant to be found.")
    (tmp_path / ".d.md").write_text("Nor this.")
    assert read(tmp_path) == (
        [
            Document("a.md", "# The title\r\n\r\nText.\r\n", "The title", {"source": "a.md"}),
            Document("deep/b.txt", "Plain text.", "b", {"source": "deep/b.txt"}),
            Document("e.MARKDOWN", "No heading.", "e", {"source": "e.MARKDOWN"}),
        ],
        [],
    )


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Title\n=====\n\nText.\n", "Title"),
        ("=====\nTitle\n=====\n\nText.\n", "Title"),
        ("\n~~~~~~~\r\n A title\r\n~~~~~~~\r\nText.\r\n", "A title"),
        (".. _label:\n\n.. a comment\n   of two lines\n\n:orphan:\n\nTitle\n=====\n", "Title"),
        (".. image:: x.png\r\n   :alt: y\r\n\r\nTitle\r\n=====\r\n", "Title"),
        ("Text.\n\nTitle\n=====\n", "a"),
        ("", "a"),
    ],
)
def test_restructured_text_stays_as_it_is_and_its_first_title_is_the_title(tmp_path: Path, text: str, title: str):
    (tmp_path / "a.rst").write_bytes(text.encode())
    assert read(tmp_path) == ([Document("a.rst", text, title, {"source": "a.rst"})], [])


PAGE = """<!DOCTYPE html><html><head><title>Bees &amp; honey</title><style>p {color: red}</style>
<script>track("me")</script></head><body><h1>Bees</h1><p>They <b>dance</b> for <a href="x.html">each other</a>.
<script>more()</script></p><h2>Honey</h2><ul><li>sweet_and_sour</li><li>golden</li></ul><noscript>Turn it on</noscript>
</body></html>"""


def test_html_is_read_as_markdown_without_scripts_and_styles(tmp_path: Path):
    (tmp_path / "bees.html").write_text(PAGE)
    text = "# Bees\n\nThey dance for each other.\n\n## Honey\n\n* sweet_and_sour\n* golden\n"
    assert read(tmp_path) == ([Document("bees.html", text, "Bees & honey", {"source": "bees.html"})], [])


@pytest.mark.parametrize(
    ("left_out", "written"),
    [
        (
            "<ul><li>One<li>Two<ul><li>Three</ul><li>Four</ul>",
            "<ul><li>One</li><li>Two<ul><li>Three</li></ul></li><li>Four</li></ul>",
        ),
        ("<ol><li><p>One<li><p>Two</ol>", "<ol><li><p>One</p></li><li><p>Two</p></li></ol>"),
        ("<dl><dt>A<dd>One<dt>B<dd>Two</dl>", "<dl><dt>A</dt><dd>One</dd><dt>B</dt><dd>Two</dd></dl>"),
        ("<p>One<p>Two<h2>H</h2><p>Three<div>Four</div>", "<p>One</p><p>Two</p><h2>H</h2><p>Three</p><div>Four</div>"),
        (
            "<table><thead><tr><th>A<th>B<tbody><tr><td>1<td>2<tr><td>3<td>4</table>",
            "<table><thead><tr><th>A</th><th>B</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr><tr><td>3</td>"
            "<td>4</td></tr></tbody></table>",
        ),
        (
            "<table><tr><td><ul><li>One<li>Two</ul><td>B</table>",
            "<table><tr><td><ul><li>One</li><li>Two</li></ul></td><td>B</td></tr></table>",
        ),
        ("<html><head><title>T</title><body><p>One", "<html><head><title>T</title></head><body><p>One</p></body></html>"),
        ("<head><title>T</title><p>One", "<head><title>T</title></head><p>One</p>"),
        ("<title>T</title><p>One", "<head><title>T</title></head><p>One</p>"),
    ],
)
def test_end_tags_of_html_may_be_left_out(tmp_path: Path, left_out: str, written: str):
    (tmp_path / "a.html").write_text(left_out)
    (tmp_path / "b.html").write_text(written)
    [a, b], _ = read(tmp_path)
    assert a.text == b.text
    assert len(a.text.split("\n")) > 2 or "One\n" in a.text


@pytest.mark.parametrize(
    "heading",
    [
        '<h1>Bees<a class="headerlink" href="#bees" title="Permalink">¶</a></h1>',
        '<h1><a class="anchor" aria-hidden="true" href="#bees"><svg></svg></a>Bees</h1>',
        '<h1 id="bees"><a class="header" href="#bees">Bees</a></h1>',
        '<h1><a class="header-anchor" href="#bees" aria-hidden="true">#</a> Bees</h1>',
        '<h1>Bees<a class="hash-link" href="/page#bees" aria-label="Direct link">\u200b</a></h1>',
        '<h1>Bees <a href="#bees">§</a></h1>',
        '<h1>Bees <a class="permalink" href="#bees">Permalink</a></h1>',
        '<h1>Bees<span class="mw-editsection">[<a href="?edit">edit</a>]</span></h1>',
        "<title>Bees¶</title><h1>Bees</h1>",
    ],
)
def test_anchors_are_in_no_heading_and_title_of_html(tmp_path: Path, heading: str):
    (tmp_path / "a.html").write_text(f"{heading}<p>They dance, see <a href='#x'>x</a>.<a href='#bees'>¶</a></p><h2>C#</h2>")
    [document], _ = read(tmp_path)
    assert (document.title, document.text) == ("Bees", "# Bees\n\nThey dance, see x.\n\n## C#\n")


CONTENT = "<h1>Bees</h1><p>They dance.</p>"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (
            f"<header>Site</header><nav>Home</nav><aside>New</aside><main>{CONTENT}</main><footer>©</footer>",
            "# Bees\n\nThey dance.\n",
        ),
        (f"<nav>Home</nav><article>{CONTENT}</article><footer>©</footer>", "# Bees\n\nThey dance.\n"),
        (f"<nav>Home</nav><div role='main'>{CONTENT}</div><div role='contentinfo'>©</div>", "# Bees\n\nThey dance.\n"),
        (
            f"<main><nav>Home</nav><div>Contents</div><article><header>{CONTENT}</header></article></main>",
            "# Bees\n\nThey dance.\n",
        ),
        (
            f"<main><nav>Home</nav>{CONTENT}<aside class='toc'>Dance</aside><footer>Edit</footer></main>",
            "# Bees\n\nThey dance.\n",
        ),
        (f"<main>{CONTENT}<aside><a href='/wasps'>Wasps</a></aside></main>", "# Bees\n\nThey dance.\n"),
        (f"<main>{CONTENT}<aside>A note.</aside></main>", "# Bees\n\nThey dance.\n\nA note.\n"),
        ("<main><blockquote><p>Dance!<footer>A bee</footer></blockquote></main>", "> Dance!\n>\n> A bee\n"),
        ("<nav>Home</nav><article>One.</article><article>Two.</article>", "One.\n\nTwo.\n"),
        (f"<nav>Home</nav><main></main><div>{CONTENT}</div>", "Home\n\n# Bees\n\nThey dance.\n"),
        (f"<div>{CONTENT * 3}</div><article>A card.</article>", "# Bees\n\nThey dance.\n\n" * 3 + "A card.\n"),
        (f"<nav>Home</nav>{CONTENT}<footer>©</footer>", "Home\n\n# Bees\n\nThey dance.\n\n©\n"),
    ],
)
def test_what_frames_the_main_content_of_html_is_left_out(tmp_path: Path, page: str, text: str):
    (tmp_path / "a.html").write_text(page)
    [document], _ = read(tmp_path)
    assert document.text == text


def test_headings_of_html_are_headings_of_the_index(tmp_path: Path):
    (tmp_path / "bees.htm").write_text(PAGE)
    with Index.open(tmp_path / "kb") as index:
        assert index.add(tmp_path / "bees.htm").added == ("bees.htm",)
        [metadata] = collection(index, "kb.manifest").get()["metadatas"]
    [row] = unpack_rows({"bees.htm": Record("bees.htm", metadata=metadata)}).values()
    assert [(section.depth, section.text) for section in row.sections] == [(1, "Bees"), (2, "Honey")]


def test_html_is_in_the_encoding_that_it_declares_or_that_is_given(tmp_path: Path):
    (tmp_path / "a.html").write_bytes("<meta charset='iso-8859-1'><p>süß</p>".encode("latin-1"))
    assert [each.text for each in read(tmp_path)[0]] == ["süß\n"]
    assert [each.text for each in read(tmp_path, encoding="cp437")[0]] == ["s\u207f\u2580\n"]


@pytest.mark.parametrize("page", ["<div>" * 5_000 + "deep", "<![if x]>" * 3 + "<![", "", "<p", "\x1a"])
def test_odd_html_ends_nothing(tmp_path: Path, page: str):
    (tmp_path / "a.html").write_text(page)
    (tmp_path / "b.txt").write_text("B.")
    documents, skipped = read(tmp_path)
    assert documents[-1].id == "b.txt"
    assert len(documents) + len(skipped) == 2


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# A\nText.\n\n# B", "A"),
        ("\n\n A\n===\n", "A"),
        ("\r\n# A\r\n\r\n\r\n# B", "A"),
        ("    # code\n\n# B", "a"),
        ("```\n# code\n\n```\n# B", "a"),
        ("Text.\n\n# B", "a"),
        ("## A\n\n# B", "a"),
        ("#hashtag\n\n# B", "a"),
        ("A\r\n===\r\n\r\nText.\r\n", "A"),
        # What stands before it, or beside it, and is no text:
        ("<!-- a\n\ncomment -->\n\n# A\n", "A"),
        ("<!-- a comment --># A\n", "A"),
        ("[![build](b.svg)](b) [![docs][d]][e]\n![x](y)\n# A\n", "A"),
        ("[![build](b.svg)](b)\nA\n===\n", "A"),
        ('<a name="top"></a>\n<p align="center">\n  <img src="x.png">\n</p>\n\n# A\n', "A"),
        ("(intro)=\n# A\n", "A"),
        ("% a comment\n\n(intro)=\n\n# A\n", "A"),
        ("[]{#intro}\n# A\n", "A"),
        ("[b]: https://example.org\n[TOC]\n\n# A\n", "A"),
        ("{% include head.html %}\n# A\n", "A"),
        ("# A ![build](b.svg) {#a} <!-- omit in toc -->\n", "A"),
        ("# `<a>` of vector<int>\n", "`<a>` of vector<int>"),
        ("<!-- a comment -->\nText.\n\n# B", "a"),
        ("<p>Text.</p>\n\n# B", "a"),
        ("<!-- no end\n\n# B", "a"),
        ("<!-- a comment -->\n    # code\n\n# B", "a"),
    ],
)
def test_the_title_of_markdown_is_a_top_heading_at_its_start(tmp_path: Path, text: str, title: str):
    (tmp_path / "a.md").write_bytes(text.encode())
    [document] = read(tmp_path)[0]
    assert (document.title, document.text) == (title, text)


def test_each_json_line_is_a_document_and_its_other_fields_are_metadata(tmp_path: Path):
    lines = [
        {"body": "One.", "key": 7, "name": "First", "tags": ["x", "y"], "author": {"name": "Ann", "age": 40}, "none": None},
        {"body": "Two.", "key": "b", "name": None, "source": "a wiki"},
    ]
    (tmp_path / "d.jsonl").write_text("\n\n".join(map(json.dumps, lines)))
    metadata = {"source": "d.jsonl", "tags": ["x", "y"], "author.name": "Ann", "author.age": 40}
    assert read(tmp_path, text_field="body", id_field="key", title_field="name") == (
        [Document("7", "One.", "First", metadata), Document("b", "Two.", "d", {"source": "a wiki"})],
        [],
    )
    assert [each.id for each in read(tmp_path, text_field="body")[0]] == ["d.jsonl#line=1", "d.jsonl#line=3"]


def test_a_line_that_is_no_document_is_skipped_and_the_first_reason_is_given(tmp_path: Path):
    (tmp_path / "d.jsonl").write_bytes(
        b'{"text": "One.", "id": 1}\n[]\n{"text": 2}\nnonsense\n\xff\n{"text": "Again.", "id": 1}\n{"text": "s", "id": true}\n'
        b'{"text": "x", "id": "2", "score": 3}\n{"text": "Last.", "id": 3}'
    )
    documents, skipped = read(tmp_path, id_field="id")
    assert [each.id for each in documents] == ["1", "2", "3"]
    assert skipped == [Skipped("d.jsonl", "line 2: it must be a JSON object, got list (and 6 more)")]
    with pytest.raises(InvalidDocument, match=r"file 'd.jsonl' cannot be read: line 2: it must be a JSON object, got list"):
        read(tmp_path, id_field="id", strict=True)


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ('"score": 0.5', "the field 'score' is left out: leafspan reserves this name"),
        ('"start": 3', "the field 'start' is left out: leafspan reserves this name"),
        ('"$oid": "5f"', "the field '$oid' is left out: leafspan reserves this name"),
        ('"": 1', "the field '' is left out: its name is empty"),
        ('"n": 18446744073709551616', "the field 'n' is left out: it is 18446744073709551616, which is not between "),
        ('"n": 1e999', "the field 'n' is left out: it is inf"),
        ('"n": ' + "9" * 5000, "the field 'n' is left out: it is inf"),
        ('"n": [1, "a"]', "the field 'n' is left out: it is a list that mixes int and str"),
        ('"n": [{"a": 1}]', "the field 'n' is left out: it is a list of lists or objects"),
        ('"n": [null, "a"]', "the field 'n' is left out: it is a list with an empty value"),
        ('"n": "\\ud800"', "the field 'n' is left out: it has half of a surrogate pair"),
        ('"a.b": 1, "a": {"b": 2}', "the field 'a.b' is left out: there are two fields of this name"),
        ('"n": ' + '{"n": ' * 150 + "1" + "}" * 150, "it has more than 100 objects within each other"),
        ('"name": 5', "the field 'name' is left out: a title must be a text, got 5"),
    ],
    ids=lambda each: str(each)[:20],
)
def test_an_odd_field_of_a_json_line_is_left_out_and_named_and_its_text_is_kept(tmp_path: Path, field: str, reason: str):
    (tmp_path / "d.jsonl").write_text(f'{{"text": "One.", "kept": 1, {field}}}\n{{"text": "Two."}}\n')
    documents, [skipped] = read(tmp_path, title_field="name")
    assert [each.text for each in documents] == ["One.", "Two."]
    assert documents[0].metadata == {"source": "d.jsonl", "kept": 1} | ({"a.b": 1} if "a.b" in field else {})
    assert skipped.reason.startswith("line 1: the field")
    assert reason in skipped.reason
    assert "metadata[" not in skipped.reason  # no advice to change a program


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@examples(100)
@given(st.dictionaries(st.sampled_from(["score", "a", "a.b", "", "$x", "source"]) | st.text(max_size=3), json_values))
def test_no_field_of_a_json_line_loses_its_text(fields: dict[str, Any]):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "d.jsonl").write_text(json.dumps({**fields, "text": "One."}))
        [document], _ = read(Path(folder))
    assert document.text == "One."


@given(st.text(st.characters(codec=None)))
def test_half_a_surrogate_pair_becomes_a_replacement_character(text: str):
    whole = whole_characters(text)
    assert whole.encode().decode() == whole
    assert whole == re.sub("[\ud800-\udfff]", "\ufffd", re.sub("[\ud800-\udbff][\udc00-\udfff]", _joined, text))


def _joined(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le")


@pytest.mark.usefixtures("read_here")
def test_pages_and_lines_with_half_a_surrogate_pair_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import pypdf

    (tmp_path / "d.jsonl").write_text('{"text": "A \\ud800 half", "name": "x\\udfff"}\n')
    (tmp_path / "r.pdf").write_bytes(pdf(["One.", "Two."], title="A report"))
    monkeypatch.setattr(pypdf.PageObject, "extract_text", lambda _: "A \ud83d\ude00 whole,\0 a \ude00 half")
    documents, skipped = read(tmp_path, title_field="name")
    assert [(each.text, each.title) for each in documents] == [
        ("A \ufffd half", "x\ufffd"),
        ("A \U0001f600 whole, a \ufffd half\n" * 2, "A report"),
    ]
    assert skipped == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.md", "---\ntitle: {}\n---\nText."),
        ("a.md", "# {}\n\nText."),
        ("a.rst", "{}\n=====\n\nText."),
        ("a.html", "<title>{}</title><p>Text."),
        ("a.jsonl", '{{"text": "Text.", "name": "{}"}}'),
    ],
)
def test_what_is_longer_than_a_thousand_characters_is_no_title(tmp_path: Path, name: str, text: str):
    for title, expected in (("x" * 1_000, "x" * 1_000), ("x" * 1_001, "a"), ("e\u0300\u0316" * 30_000, "a")):
        (tmp_path / name).write_text(text.format(title))
        before = time.process_time()
        [document], _ = read(tmp_path, title_field="name")
        assert time.process_time() - before < 2
        assert document.title == expected


def test_a_pdf_is_a_document_whose_text_matches_its_pages(tmp_path: Path):
    (tmp_path / "r.pdf").write_bytes(pdf(["Bees dance.", "", "Honey is sweet."], title="A report"))
    text = "Bees dance.\n\nHoney is sweet.\n"
    assert read(tmp_path) == ([Document("r.pdf", text, "A report", {"source": "r.pdf"})], [])


@pytest.mark.parametrize(
    "title",
    ["Microsoft Word - report.doc", "untitled", "Document 1", "PowerPoint Presentation", "10-k_2022.indd", "Slide 1"],
)
def test_a_title_that_a_program_has_made_is_none(tmp_path: Path, title: str):
    (tmp_path / "r.pdf").write_bytes(pdf(["Bees dance."], title=title))
    [document], _ = read(tmp_path)
    assert document.title == "r"


@pytest.mark.usefixtures("read_here")
def test_a_pdf_of_endless_pages_is_read_as_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "r.pdf").write_bytes(pdf([f"Page {number}." for number in range(1, 6)]))
    times = iter([0, 1, 2, 51, 52])
    monkeypatch.setattr("time.process_time", lambda: next(times))
    [document], [skipped] = read(tmp_path)
    assert document.text == "Page 1.\nPage 2.\n"
    assert skipped.reason == "the pages from 3 on are left out: the others took 50 seconds"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"%PDF-1.4 and no more", "it is no PDF that pypdf can read"),
        (b"", "it is no PDF that pypdf can read"),
        (pdf(["Secret."], password="bees"), "it is encrypted"),
        (pdf(["", ""]), "it has no text, and no pictures whose text could be recognised"),
    ],
)
def test_a_pdf_that_gives_no_text_is_skipped(tmp_path: Path, data: bytes, reason: str):
    (tmp_path / "r.pdf").write_bytes(data)
    documents, [skipped] = read(tmp_path)
    assert (documents, skipped.path) == ([], "r.pdf")
    assert skipped.reason.startswith(reason)


@pytest.mark.parametrize(("name", "package", "extra"), [("a.pdf", "pypdf", "pdf"), ("a.html", "markdownify", "html")])
@pytest.mark.usefixtures("read_here")
def test_without_the_library_its_files_are_skipped_with_the_command_to_type(tmp_path, monkeypatch, name, package, extra):
    monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / name).write_text("x")
    (tmp_path / "b.txt").write_text("Text.")
    documents, [skipped] = read(tmp_path)
    assert [each.id for each in documents] == ["b.txt"]
    assert skipped == Skipped(name, f'{extra.upper()} needs {package}: pip install ".[{extra}]" in the clone of leafspan')


def test_a_path_stands_for_its_files_and_may_be_mixed_with_documents(tmp_path: Path):
    (tmp_path / "a.md").write_text("A.")
    found = read_documents([Document("x", "X."), tmp_path, Files([tmp_path / "a.md"]), {"id": "y", "text": "Y."}])
    assert [each.id for each in found] == ["x", (tmp_path / "a.md").as_posix(), "y"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"paths": []}, "paths must be files or folders, at least one, got "),
        ({"paths": [1]}, "paths must be files or folders, at least one, got "),
        ({"glob": [""]}, r"glob must be one or more patterns such as '\*.md', got \[''\]"),
        ({"exclude": [3]}, "exclude must be one or more patterns"),
        ({"encoding": "klingon"}, "encoding must be one that Python knows, such as 'latin-1', got 'klingon'"),
        ({"text_field": None}, "text_field must be a string, got None"),
        ({"id_field": 1}, "id_field must be a string, got 1"),
        ({"strict": "yes"}, "strict must be True or False, got 'yes'"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str):
    with pytest.raises(InvalidArgument, match=message):
        Files(**{"paths": "docs", **options})


FRONT = """---
title: The dance
date: 2024-05-31
author: Ann
draft: false
weight: 3
rating: 4.5
zip: 01234
lang: no
tags: [bees, "2024"]
years:
  - 1927
  - 1973
quoted: "7"
---
"""


def test_the_fields_of_front_matter_are_metadata(tmp_path: Path):
    (tmp_path / "bees.md").write_text(FRONT + "\n# Bees\n")
    [document], skipped = read(tmp_path)
    assert (document.title, document.text, skipped) == ("The dance", "\n# Bees\n", [])
    assert document.metadata == {
        "source": "bees.md",
        "date": "2024-05-31",
        "author": "Ann",
        "draft": False,
        "weight": 3,
        "rating": 4.5,
        "zip": "01234",
        "lang": "no",
        "tags": ["bees", "2024"],
        "years": [1927, 1973],
        "quoted": "7",
    }


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ("source: https://example.org", "the field 'source' is left out: it is the name of the file"),
        ("score: 3", "the field 'score' is left out: leafspan reserves this name"),
        ("chroma:document: x", "the field 'chroma:document' is left out: leafspan reserves this name"),
        ("author: {name: Ann}", "the field 'author' is left out: it has fields of its own"),
        ("mixed: [1, a]", "the field 'mixed' is left out: it is a list that mixes int and str"),
        ("nested: [[1], [2]]", "the field 'nested' is left out: it is a list of lists or objects"),
        ("nothing:", None),
        ("none: []", None),
        ("? [a]\n: b", "the field '2' is left out: its name is no text"),
        ("bad: '\\\n", "the field 'bad' is left out: it is no YAML"),
        ('half: "\\ud800"', "the field 'half' is left out: it has half of a surrogate pair"),
        ('"\\ud800": half', r"the field '\ud800' is left out: it has half of a surrogate pair"),
        ('"": x', "the field '' is left out: its name is empty"),
        ("title: [a]", "the field 'title' is left out: a title must be a text"),
        ("a: 1\n\tb: 2", "the field 'a' is left out: it is no YAML"),
        (
            "a: &a {x: 1}\nb: &b {<<: [*a, *a]}\nc: {<<: [*b, *b]}",
            "the field 'a' is left out: it has fields of its own (and 2 more)",
        ),
        (
            "deep: " + "[" * 3000,
            "the fields of its front matter are left out: it has more than 32 brackets within each other",
        ),
        ("block: " + "- " * 3000, "the field 'block' is left out: it is no YAML"),
        ('beyond: "\\UFFFFFFFF"', "the field 'beyond' is left out: it is no YAML"),  # Unicode ends at U+10FFFF
    ],
    ids=lambda each: str(each)[:12],
)
def test_what_cannot_be_metadata_is_left_out_of_front_matter_and_named(tmp_path: Path, fields: str, reason: str | None):
    (tmp_path / "bees.md").write_text(f"---\n{fields}\nkept: yes\n---\n\n# Bees\n")
    [document], skipped = read(tmp_path)
    kept = {} if reason and "front matter" in reason else {"kept": "yes"}
    assert (document.title, document.text, dict(document.metadata)) == ("Bees", "\n# Bees\n", {"source": "bees.md", **kept})
    assert skipped == ([Skipped("bees.md", reason)] if reason else [])
    if reason:
        with pytest.raises(InvalidDocument, match=r"file 'bees.md' cannot be read: the field"):
            read(tmp_path, strict=True)


@pytest.mark.parametrize(
    "text",
    [
        "---\n- a list\n---\n\n# Bees\n",
        "---\njust a text\n---\n\n# Bees\n",
        "---\n\nNote: as Pandoc has it, no front matter begins with a blank line.\n\n---\n\n# Bees\n",
        "---\n%YAML " + "1" * 5000 + ".1\n--- {a: b}\n---\n\n# Bees\n",
        "+++\nmore & more\n+++\n\n# Bees\n",
    ],
)
def test_lines_between_dashes_that_have_no_fields_are_text(tmp_path: Path, text: str):
    (tmp_path / "bees.md").write_text(text)
    [document], skipped = read(tmp_path)
    assert (document.title, document.text, dict(document.metadata)) == ("Bees", text, {"source": "bees.md"})
    assert skipped == []


@pytest.mark.parametrize(
    ("field", "title"),
    [
        ("title: >-\n  The\n  dance", "The dance"),
        ("title: |\n  The dance\n  of bees\n", "The dance of bees"),
        ("title: 'It''s'", "It's"),
        ('title: "A \\"dance\\""', 'A "dance"'),
        ("title: Lamps # a note", "Lamps"),
        ("title: Half of\n  a title", "Half of a title"),
        ("title: &t Bees\nalias: *t", "Bees"),
        ("title: 2024", "2024"),
        ("title: 1.50", "1.50"),
        ("title: no", "no"),
        ("{title: Flow, tags: [a]}", "Flow"),
        ("title: null", "The heading"),
        ("title: ''", "The heading"),
        ("title: [a, b]", "The heading"),
        ("subtitle: x\nnested:\n  title: y", "The heading"),
        ("title: Bees: a dance", "Bees: a dance"),  # what follows is no YAML
        ("title: Bees: a dance # a note", "Bees: a dance"),
        ("title: 'Bees' and wasps", "'Bees' and wasps"),
        ("title: [Draft] Bees", "[Draft] Bees"),
        ("title: *Bees*", "*Bees*"),
        ("title: >-\n  The dance\nbad: 'x", "The dance"),
    ],
)
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_the_title_in_front_matter_is_the_value_that_yaml_has(tmp_path: Path, field: str, title: str, mark: str):
    (tmp_path / "a.md").write_text(f"{mark}---\n{field}\n---\n# The heading\n")
    [document], _ = read(tmp_path)
    assert (document.title, document.text) == (title, "# The heading\n")


@pytest.mark.parametrize("line", ["\n", "\r\n"])
def test_front_matter_may_be_toml(tmp_path: Path, line: str):
    lines = ["+++", "title = 'The dance'", "date = 2024-05-31", "draft = false", 'tags = ["bees", "honey"]', "weight = 3"]
    (tmp_path / "a.md").write_bytes(line.join([*lines, "[params]", "x = 1", "+++", "# Bees", ""]).encode())
    [document], skipped = read(tmp_path)
    assert (document.title, document.text) == ("The dance", f"# Bees{line}")
    fields = {"date": "2024-05-31", "draft": False, "tags": ["bees", "honey"], "weight": 3}
    assert document.metadata == {"source": "a.md", **fields}
    assert skipped == [Skipped("a.md", "the field 'params' is left out: it has fields of its own")]


@pytest.mark.parametrize(
    "fields",
    [
        "a: " + "[" * 50_000,
        "a: " + "{b: " * 10_000,
        "a: [" + "x," * 2**15 + "]",
        "a: &a [" + "x," * 15_000 + "]\n" + "".join(f"k{i}: *a\n" for i in range(150)),  # over two million, written out
        "a: &a '" + "x" * 30_000 + "'\n" + "".join(f"k{i}: *a\n" for i in range(150)),
        "a: &a {x: 1}\n" + "<<: *a\n" * 20_000,
        "".join(f"k{i}: {'v' * 20}\n" for i in range(100_000)),
    ],
    ids=["brackets", "braces", "long", "a list repeated", "a text repeated", "merge keys", "megabytes"],
)
def test_a_front_matter_that_would_keep_its_parser_busy_is_not_parsed_and_the_page_is_read(tmp_path: Path, fields: str):
    (tmp_path / "bees.md").write_text(f"---\n{fields}\n---\n\n# Bees\n")
    before = time.process_time()
    [document], skipped = read(tmp_path)
    assert time.process_time() - before < 2  # the first would take minutes
    assert (document.title, document.text, dict(document.metadata)) == ("Bees", "\n# Bees\n", {"source": "bees.md"})
    assert skipped[0].reason.startswith("the fields of its front matter are left out: it ")


def test_an_alias_in_front_matter_stands_for_its_value(tmp_path: Path):
    (tmp_path / "bees.md").write_text("---\ntags: &bees [bees, honey]\nkeywords: *bees\n---\n")
    [document], _ = read(tmp_path)
    assert document.metadata["keywords"] == ["bees", "honey"]


@pytest.mark.parametrize("number", ["9" * 30, "-" + "9" * 19, "1e999", "9" * 400 + ".0"])
def test_a_number_in_front_matter_that_does_not_fit_is_a_text(tmp_path: Path, number: str):
    (tmp_path / "bees.md").write_text(f"---\nn: {number}\n---\n")
    [document], _ = read(tmp_path)
    assert document.metadata["n"] == number


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.rst", " " * 200_000 + "x\n\ny"),
        ("a.rst", "x" + " " * 200_000 + "y"),
        ("a.md", "---\ntitle: x" + " " * 200_000 + "y\n---\n"),
    ],
)
def test_a_title_is_looked_for_in_a_line_with_many_blanks_without_trying_each(tmp_path: Path, name: str, text: str):
    (tmp_path / name).write_text(text)
    before = time.process_time()
    [document], _ = read(tmp_path)
    assert time.process_time() - before < 2  # minutes, if all pairs of blanks were tried
    assert document.text == ("" if name == "a.md" else text)


@pytest.mark.parametrize("line", ["\n", "\r\n"])
@pytest.mark.parametrize("field", ['title: "The dance"', "title: 'The dance'", "title: The dance", "title:  The dance  "])
def test_the_title_of_a_markdown_page_may_be_in_its_front_matter(tmp_path: Path, field: str, line: str):
    lines = ["---", "layout: post", field, "---", "", "# Bees", "", "They dance.", ""]
    (tmp_path / "bees.md").write_bytes(line.join(lines).encode())
    [document] = read_documents(tmp_path / "bees.md")
    assert document.title == "The dance"
    (tmp_path / "bees.md").write_text("---\nlayout: post\n---\n\n# Bees\n\nThey dance.\n")
    [document] = read_documents(tmp_path / "bees.md")
    assert document.title == "Bees"


MOST = 50_000  # characters
ENDLESS = {
    ".md": [
        "`",
        "```\n",
        "#",
        "[",
        "![",
        "<!--",
        "- ",
        "> ",
        "|-",
        "*a ",
        "---\n",
        "a\r",
        "data:a/b;",
        "/9j/",
        "iVBORw0KGgo",
    ],
    ".txt": ["`", " ", "\n", "a", "a\u0301", ":a:`", "\U0001f1e6", "[ ]("],
    ".rst": ["`", ".. _a\n", ".. _a\n   b\n", ".. |a\n", "= ", "+-", "- ", "a\n=\n", ".. a::\n", "-a b, ", ":a: "],
    ".adoc": ["= a ", "# ", "----\n", "=", "``` "],
    ".org": ["* a ", "* :a ", "#+begin_a\n", "*"],
    ".rb": ["class A\n", "class A; end; ", "("],
    ".py": ["# a\n", "(", "class A: pass\n"],
    ".js": ["class A { b() { ", "function a() {} "],
    ".c": ["struct a { "],
    ".ipynb": ["`", "```\n", "a"],
}


ENDLESS_LINES = [f"{mark}a{' ' * MOST}b" for mark in ("", "= ", "# ", "* ")]
ENDLESS_RST = [
    ".. _a\n" + "   b\n" * (MOST // 5),
    ".. |a\n" + "   b\n" * (MOST // 5),
    "= " * (MOST // 3) + "\n" + "a " * (MOST // 3) + "\n" + "= " * (MOST // 3) + "\n",
    "= =\n" + "a b\n" * (MOST // 4) + "= =\n",
    "+-" * (MOST // 3) + "+\n" + "| " * (MOST // 3) + "|\n" + "+-" * (MOST // 3) + "+\n",
]
ENDLESS_RUBY = ["class A\n" * (MOST // 12) + "end\n" * (MOST // 12)]


@pytest.mark.parametrize("suffix", [pytest.param(each, marks=[pytest.mark.slow][each != ".rst" :]) for each in ENDLESS])
def test_reading_and_splitting_take_time_that_grows_with_the_text(tmp_path: Path, suffix: str):
    texts = [unit * (MOST // len(unit)) for unit in ENDLESS[suffix]] + ENDLESS_LINES
    texts += {".rst": ENDLESS_RST, ".rb": ENDLESS_RUBY}.get(suffix, [])
    for text in texts:
        book = json.dumps({"cells": [{"cell_type": "code", "source": text}]})
        (tmp_path / f"a{suffix}").write_text(book if suffix == ".ipynb" else text)
        before = time.process_time()
        [document] = FileReading(check_document).read(Files(tmp_path))
        leaves = split_into_leaves(document, HierarchicalSplitter())
        assert time.process_time() - before < 2
        assert bool(leaves) == bool(document.text)
