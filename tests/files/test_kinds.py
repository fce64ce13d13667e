"""What becomes of a file of each kind."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from leafspan import Document, Files, Index, InvalidArgument, InvalidDocument, Skipped
from leafspan.documents import check_document, read_documents
from leafspan.files import FileReading
from tests.pdf import pdf


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
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8")
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


def test_headings_of_html_are_headings_of_the_index(tmp_path: Path):
    (tmp_path / "bees.htm").write_text(PAGE)
    with Index.open(tmp_path / "kb") as index:
        assert index.add(tmp_path / "bees.htm").added == ("bees.htm",)
        [row] = index._store._folder.catalogues["kb.manifest"][1].rows.values() if index.documents() else []
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
    assert [each.id for each in documents] == ["1", "3"]
    assert skipped == [Skipped("d.jsonl", "line 2: it must be a JSON object, got list (and 6 more)")]
    with pytest.raises(InvalidDocument, match=r"file 'd.jsonl' cannot be read: line 2: it must be a JSON object, got list"):
        read(tmp_path, id_field="id", strict=True)


def test_each_page_of_a_pdf_is_a_document_that_says_its_number(tmp_path: Path):
    (tmp_path / "r.pdf").write_bytes(pdf(["Bees dance.", "", "Honey is sweet."], title="A report"))
    assert read(tmp_path) == (
        [
            Document("r.pdf#page=1", "Bees dance.", "A report", {"source": "r.pdf", "page": 1}),
            Document("r.pdf#page=3", "Honey is sweet.", "A report", {"source": "r.pdf", "page": 3}),
        ],
        [],
    )


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"%PDF-1.4 and no more", "it is no PDF that pypdf can read"),
        (b"", "it is no PDF that pypdf can read"),
        (pdf(["Secret."], password="bees"), "it is encrypted"),
        (pdf(["", ""]), "it has no text, only images perhaps"),
    ],
)
def test_a_pdf_that_gives_no_text_is_skipped(tmp_path: Path, data: bytes, reason: str):
    (tmp_path / "r.pdf").write_bytes(data)
    documents, [skipped] = read(tmp_path)
    assert (documents, skipped.path) == ([], "r.pdf")
    assert skipped.reason.startswith(reason)


@pytest.mark.parametrize(("name", "package", "extra"), [("a.pdf", "pypdf", "pdf"), ("a.html", "markdownify", "html")])
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
    assert (document.title, document.text, skipped) == ("The dance", FRONT + "\n# Bees\n", [])
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
    "fields",
    [
        "source: https://example.org",  # the name of the file
        "score: 3",  # leafspan's own
        "chroma:document: x",
        "author: {name: Ann}",
        "mixed: [1, a]",
        "nested: [[1], [2]]",
        "nothing:",
        "none: []",
        "? [a]\n: b",
        "bad: '\\\n",
        'half: "\\ud800"',
        '"\\ud800": half',
        '"": x',
        "a: 1\n\tb: 2",
        "- a list",
        "just a text",
        "a: &a {x: 1}\nb: &b {<<: [*a, *a]}\nc: {<<: [*b, *b]}",
        "deep: " + "[" * 3000,
        "block: " + "- " * 3000,
        'beyond: "\\UFFFFFFFF"',  # Unicode ends at U+10FFFF
        "%YAML " + "1" * 5000 + ".1\n--- {a: b}",
    ],
    ids=lambda fields: fields[:12],
)
def test_what_cannot_be_metadata_is_left_out_of_front_matter_and_the_page_is_read(tmp_path: Path, fields: str):
    (tmp_path / "bees.md").write_text(f"---\n{fields}\n---\n\n# Bees\n")
    [document], skipped = read(tmp_path)
    assert (document.title, dict(document.metadata), skipped) == ("Bees", {"source": "bees.md"}, [])


@pytest.mark.parametrize(
    "fields",
    [
        "a: " + "[" * 50_000,
        "a: " + "{b: " * 10_000,
        "a: [" + "x," * 2**15 + "]",
        "a: &a [" + "x," * 15_000 + "]\n" + "".join(f"k{i}: *a\n" for i in range(150)),  # over two million, written out
        "a: &a '" + "x" * 30_000 + "'\n" + "".join(f"k{i}: *a\n" for i in range(150)),
    ],
    ids=["brackets", "braces", "long", "a list repeated", "a text repeated"],
)
def test_a_front_matter_that_would_keep_its_parser_busy_is_not_parsed_and_the_page_is_read(tmp_path: Path, fields: str):
    (tmp_path / "bees.md").write_text(f"---\n{fields}\n---\n\n# Bees\n")
    before = time.process_time()
    [document], skipped = read(tmp_path)
    assert time.process_time() - before < 2  # the first would take minutes
    assert (document.title, dict(document.metadata), skipped) == ("Bees", {"source": "bees.md"}, [])


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
    assert document.text == text


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
