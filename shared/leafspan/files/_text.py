"""Markdown, reStructuredText, plain text, code: the document has the file's text, without the bytes of pictures in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePath

from leafspan.files._front_matter import read_front_matter
from leafspan.files._opening import Unreadable, decode, read_bytes
from leafspan.files._record import Record, parsed_record
from leafspan.files._source import Files
from leafspan.splitting import ASCIIDOC, LINE_END, ORG, RST, find_headings, front_matter, layout_of, parser_of

# What may come before the title, or in its line, without being text, but not within code, which comes first. An open
# comment goes up to the end, and no other part contains its own first character: no text is searched twice.
_FURNITURE = re.compile(
    r"""`[^`\r\n]*+`
    |<!--.*?(?:-->|\Z)                                                          # a comment
    |</?(?:a|br|center|div|h[1-6]|hr|img|p|picture|source|span|sub|sup)\b[^<>]*+>
    |!\[[^\[\]]*+\](?:\([^()\r\n]*+\)|\[[^\[\]\r\n]*+\])?                       # a picture, such as a badge
    |\[[ \t]*+\](?:\([^()\r\n]*+\)|\[[^\[\]\r\n]*+\]|\{[^{}\r\n]*+\})           # the link around a badge, or an anchor
    |\{[%\#][^{}]*+\}                                                           # a tag of a template, the id of a heading
    |^[ \t]*+\[[^\[\]\r\n]++\]:[^\r\n]*+                                        # where a link leads to
    |^[ \t]*+\[\[?_?TOC_?\]\]?(?=[ \t]*+$)                                      # a table of contents
    |^\([^()\r\n]++\)=(?=[ \t]*+$)                                              # a label of MyST
    |^%[^\r\n]*+                                                                # a comment of MyST
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
# The first block, up to a blank line: it contains a heading at the start, and parsing everything takes longer.
_FIRST_BLOCK = re.compile(r"\s*(?:[^\r\n]*\S[^\r\n]*(?:\r\n?|\n|\Z))*")
_BEGINNING = 1 << 16  # characters in which the title is searched

# Marks of reStructuredText that Markdown does not have: directives, targets, roles, and titles below or between lines.
_RST = re.compile(
    r"""^[ \t]*+\.\.[ ](?:[\w:+.-]+::(?:[ \t]|$)|_[^:\r\n]+:(?:[ \t]|$))
    |(?<![\w:`]):[a-z][\w:+.-]*+:`[^`\r\n]++`
    |^(?![ \t])(?=[^\r\n]*\w)[^\r\n]++\r?\n([~^"'*+.:])\1{3,}+[ \t]*+$
    |^([=~^"'*+-])\2{3,}+[ \t]*+\r?\n[ \t]*+\w[^\r\n]*+\r?\n\2{4,}+[ \t]*+$
    """,
    re.VERBOSE | re.MULTILINE,
)
_MARKDOWN = re.compile(r"^(?:#{1,6}[ \t]+\S|```|~~~+[ \t]*\w)", re.MULTILINE)

# The bytes of a picture in a text, which nobody reads: after the kind of their address, or the beginning of PNG, JPEG, GIF,
# WebP or SVG in base64. Further lines have only base64.
_PICTURE = re.compile(
    r"""(?:(data:[\w.+-]++/[\w.+-]++)[;,]|(?<![\w+/])(?=iVBORw0KGgo|/9j/|R0lGOD|UklGR|PHN2Zy|PD94bW))
    [^\s"'()<>\[\]`\\]{60,}+(?:\r?\n[ \t]*+[A-Za-z0-9+/]{60,}+)*+={0,2}+
    (?:\r?\n[ \t]*+[A-Za-z0-9+/]{2,}+(?:=|(?=["')>]))=?+)?
    """,
    re.VERBOSE,
)
_ORG_TITLE = re.compile(r"^#\+title:[ \t]*(\S[^\r\n]*)", re.IGNORECASE | re.MULTILINE)


def without_pictures(text: str) -> str:
    """Return a text without the bytes of pictures within it. Its lines stay the same."""
    return _PICTURE.sub(lambda match: (match[1] or "") + "".join(LINE_END.findall(match[0])), text)


def _text_of(path: Path, files: Files) -> str:
    return without_pictures(decode(read_bytes(path), files.encoding or "utf-8"))


def read_text(path: Path, files: Files) -> Iterator[Record]:
    """See Reader. Text that is clearly reStructuredText is read as such, all other text as Markdown."""
    text = _text_of(path, files)
    return _of_rst(text) if _is_rst(text) else _of_markdown(text)


def is_rst(path: Path, files: Files) -> bool:
    """Whether a text file is clearly reStructuredText. False if it cannot be read."""
    try:
        return _is_rst(_text_of(path, files))
    except (Unreadable, OSError):
        return False


def _is_rst(text: str) -> bool:
    beginning = text[:_BEGINNING]
    return _RST.search(beginning) is not None and not _MARKDOWN.search(beginning)


def read_markdown(path: Path, files: Files) -> Iterator[Record]:
    """See Reader. Its title is in its front matter, or is a top heading at its start; other fields are metadata.

    Comments, pictures and labels may come before the heading.
    """
    return _of_markdown(_text_of(path, files))


def _of_markdown(page: str) -> Iterator[Record]:
    front = read_front_matter(page)
    title = front.title or first_heading(page[max(front.end, len(front_matter(page))) :][:_BEGINNING])
    lines = sum(1 for _ in LINE_END.finditer(page, 0, front.end))
    yield Record(page[front.end :], title, front.fields, left_out=front.left_out, lines_before=lines)


def first_heading(text: str) -> str | None:
    """Return the top heading at the start of a text."""
    text = LINE_END.sub("\n", text)
    for _ in range(2):  # a link around a badge is empty once the badge is removed
        text = _FURNITURE.sub(lambda match: match[0] if match[0].startswith("`") else "", text)
    block = _FIRST_BLOCK.match(text)
    headings = find_headings(block[0]) if block else []
    if not headings or headings[0].depth > 1 or text[: headings[0].start].strip("\ufeff \t\r\n"):
        return None
    return " ".join(headings[0].text.split())


def read_rst(path: Path, files: Files) -> Iterator[Record]:
    """See Reader. Its title is the heading before any paragraph, perhaps after comments, labels, directives and fields."""
    return _of_rst(_text_of(path, files))


def _of_rst(text: str) -> Iterator[Record]:
    layout = layout_of(text[:_BEGINNING], RST)
    title = next((heading for heading in layout.headings[:1] if heading.depth == 1), None)
    if title and layout.paragraphs and layout.paragraphs[0][0] < title.start:
        title = None
    yield parsed_record(text, title.text if title else None, RST)


def read_asciidoc(path: Path, files: Files) -> Iterator[Record]:
    """See Reader. Its title is the heading with one mark."""
    text = _text_of(path, files)
    headings = layout_of(text[:_BEGINNING], ASCIIDOC).headings
    title = headings[0].text if headings and headings[0].depth == 1 else None
    yield Record(text, title, {}, markup=ASCIIDOC)


def read_org(path: Path, files: Files) -> Iterator[Record]:
    """See Reader. Its title is the declared one."""
    text = _text_of(path, files)
    title = _ORG_TITLE.search(text[:_BEGINNING])
    yield Record(text, title[1].strip() if title else None, {}, markup=ORG)


LANGUAGE_OF = {
    **dict.fromkeys((".py", ".pyi"), "python"),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), "javascript"),
    **dict.fromkeys((".ts", ".mts", ".cts"), "typescript"),
    ".tsx": "tsx",
    ".go": "go",
    ".rs": "rust",
    ".java": "java",
    **dict.fromkeys((".c", ".h"), "c"),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hh", ".hpp"), "cpp"),
    ".cs": "csharp",
    ".rb": "ruby",
    ".php": "php",
}
"""The language of a file, by its suffix."""


def is_code(name: str) -> bool:
    """Whether a file or a document with this name is source code."""
    return PurePath(name).suffix.lower() in LANGUAGE_OF


def read_code(path: Path, files: Files) -> Iterator[Record]:
    """See Reader. Its title is the file's name."""
    language = LANGUAGE_OF[path.suffix.lower()]
    parser_of(language)  # reports a missing parser for this file
    yield parsed_record(decode(read_bytes(path), files.encoding or "utf-8"), path.name, language)
