"""Markdown, reStructuredText, plain text, code: the document has the file's text, without the bytes of pictures in it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from math import isfinite
from pathlib import Path, PurePath
from typing import Any

from leafspan.checks import storable_fields
from leafspan.files._opening import Unreadable, decode, in_one_line, read_bytes
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
_FIRST_CHARACTERS = 1 << 16  # characters in which the title is searched

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
    """Read a text. One that is clearly reStructuredText is read as such, any other as Markdown."""
    text = _text_of(path, files)
    return _of_rst(text) if _is_rst(text) else _of_markdown(text)


def is_rst(path: Path, files: Files) -> bool:
    """Whether a text file is clearly reStructuredText. False if it cannot be read."""
    try:
        return _is_rst(_text_of(path, files))
    except (Unreadable, OSError):
        return False


def _is_rst(text: str) -> bool:
    beginning = text[:_FIRST_CHARACTERS]
    return _RST.search(beginning) is not None and not _MARKDOWN.search(beginning)


def read_markdown(path: Path, files: Files) -> Iterator[Record]:
    """Read a page. Its title is in its front matter, or is a top heading at its start; other fields are metadata.

    Comments, pictures and labels may come before the heading.
    """
    return _of_markdown(_text_of(path, files))


def _of_markdown(page: str) -> Iterator[Record]:
    front = front_matter(page)
    left_out: list[str] = []
    fields = _front_fields(front, left_out) if front else None
    if fields is None:
        yield Record(page, first_heading(page[len(front) :][:_FIRST_CHARACTERS]), {})
        return
    title = fields.pop("title", None)
    if title is not None and not isinstance(title, str):
        left_out.append("the field 'title' is left out: a title must be a text")
    if fields.pop("source", None) is not None:
        left_out.append("the field 'source' is left out: it is the name of the file")
    metadata, reasons = storable_fields(fields)
    left_out += [f"the field {name!r} is left out: {reason}" for name, reason in reasons.items()]
    line_end = LINE_END.match(page, len(front))
    end = line_end.end() if line_end else len(front)
    title = in_one_line(title) if isinstance(title, str) else None
    title = title or first_heading(page[end:][:_FIRST_CHARACTERS])
    yield Record(page[end:], title, metadata, left_out=left_out, lines_before=len(LINE_END.findall(page[:end])))


def first_heading(text: str) -> str | None:
    text = LINE_END.sub("\n", text)
    for _ in range(2):  # a link around a badge is empty once the badge is removed
        text = _FURNITURE.sub(lambda match: match[0] if match[0].startswith("`") else "", text)
    block = _FIRST_BLOCK.match(text)
    headings = find_headings(block[0]) if block else []
    if not headings or headings[0].depth > 1 or text[: headings[0].start].strip("\ufeff \t\r\n"):
        return None
    return " ".join(headings[0].text.split())


def read_rst(path: Path, files: Files) -> Iterator[Record]:
    """Read a page whose title is the heading before any paragraph, perhaps after comments, directives and fields."""
    return _of_rst(_text_of(path, files))


def _of_rst(text: str) -> Iterator[Record]:
    layout = layout_of(text[:_FIRST_CHARACTERS], RST)
    title = next((heading for heading in layout.headings[:1] if heading.depth == 1), None)
    if title and layout.paragraphs and layout.paragraphs[0][0] < title.start:
        title = None
    yield parsed_record(text, title.text if title else None, RST)


def read_asciidoc(path: Path, files: Files) -> Iterator[Record]:
    """Read a page whose title is the heading with one mark."""
    text = _text_of(path, files)
    headings = layout_of(text[:_FIRST_CHARACTERS], ASCIIDOC).headings
    title = headings[0].text if headings and headings[0].depth == 1 else None
    yield Record(text, title, {}, markup=ASCIIDOC)


def read_org(path: Path, files: Files) -> Iterator[Record]:
    text = _text_of(path, files)
    title = _ORG_TITLE.search(text[:_FIRST_CHARACTERS])
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


def is_code(name: str) -> bool:
    """Whether a file or a document with this name is source code."""
    return PurePath(name).suffix.lower() in LANGUAGE_OF


def read_code(path: Path, files: Files) -> Iterator[Record]:
    """Read source code. Its title is the file's name."""
    language = LANGUAGE_OF[path.suffix.lower()]
    parser_of(language)  # reports a missing parser for this file
    yield parsed_record(decode(read_bytes(path), files.encoding or "utf-8"), path.name, language)


_LONGEST = 1 << 16  # characters; yaml reads some 50,000 a second
_DEEPEST = 32  # open brackets: yaml looks at all of them for each word, and no field that is kept has nested ones
_MOST_DOTS = 1_000  # in a line; tomllib takes quadratic time for a key of many parts
_BRACKET = re.compile(r"[\[{\]}]")
_BEGINNING = re.compile(r"(?:[ \t]*+(?:#[^\n]*+)?\n)*+(?:[\w\"'][^:=\n]*+[:=]|\[)")  # of fields, perhaps after comments
_FIELD_NAME = re.compile(r"^[^\s#\-][^:\n]*+:(?=\s|\Z)", re.MULTILINE)
_TITLE_FIELD = re.compile(r"^title:[ \t]++([^\n]++)", re.MULTILINE)
_COMMENT = re.compile(r"\s#.*")
# As in YAML 1.2: "no" and dates are texts. A number that starts with 0 is a code, and longer numbers cannot be stored.
_WHOLE = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})")
_DECIMAL = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?")


def _front_fields(front: str, left_out: list[str]) -> dict[Any, object] | None:
    """Return the fields of front matter: YAML between lines of ``---``, or TOML between lines of ``+++``.

    Return None if the lines belong to the text: as in Pandoc, if a blank line follows the first one, or if no field does.
    Front matter never causes an error.
    """
    fences = front.lstrip("\ufeff")
    body = LINE_END.sub("\n", fences)[3:].lstrip(" \t").removeprefix("\n").rpartition("\n")[0] + "\n"
    if body.startswith("\n") and body != "\n":
        return None
    if len(body) > _LONGEST:
        return _without_fields(body, f"it has more than {_LONGEST:,} characters", left_out)
    if _depth(body) > _DEEPEST:
        return _without_fields(body, f"it has more than {_DEEPEST} brackets within each other", left_out)
    return _toml(body, left_out) if fences.startswith("+") else _yaml(body, left_out)


def _toml(body: str, left_out: list[str]) -> dict[Any, object] | None:
    """Return the fields of TOML, or None if it is a part of the text."""
    if max(line.count(".") for line in body.split("\n")) > _MOST_DOTS:
        return _without_fields(body, f"it has a line with more than {_MOST_DOTS:,} dots", left_out)
    try:
        values = tomllib.loads(body)
    except (ValueError, RecursionError) as error:
        return _without_fields(body, f"it is no TOML: {error}", left_out)
    if isinstance(values.get("title"), int | float):
        values["title"] = str(values["title"])
    return values


def _yaml(body: str, left_out: list[str]) -> dict[Any, object] | None:
    """Return the fields of YAML, if need be only the valid ones, or None if it is a part of the text."""
    try:
        node = _composed(body)
    except ValueError:
        return _fields_one_by_one(body, left_out) if _BEGINNING.match(body) else None
    if node is None:
        return {}
    if node.id != "mapping":
        return None
    if _written_out(node) > _LONGEST:
        return _without_fields(body, f"it would have more than {_LONGEST:,} characters without its aliases", left_out)
    return dict(_fields(node))


def _fields_one_by_one(body: str, left_out: list[str]) -> dict[Any, object]:
    values: dict[Any, object] = {}
    starts = [match.start() for match in _FIELD_NAME.finditer(body)]
    for start, end in pairwise([*starts, len(body)]):
        try:
            node = _composed(body[start:end])
            if node is None or node.id != "mapping" or _written_out(node) > _LONGEST:
                raise ValueError
            values |= _fields(node)
        except ValueError:
            name = body[start : body.index(":", start)]
            if title := _TITLE_FIELD.match(body, start):
                values["title"] = _as_written(title[1])
            else:
                left_out.append(f"the field {name!r} is left out: it is no YAML")
    return values


def _without_fields(body: str, reason: str, left_out: list[str]) -> dict[Any, object] | None:
    """Return only the title of a line, if there is one, or None if it is a part of the text."""
    left_out.append(f"the fields of its front matter are left out: {reason}")
    if not _BEGINNING.match(body):
        return None
    title = _TITLE_FIELD.search(body)
    return {"title": _as_written(title[1])} if title else {}


def _depth(body: str) -> int:
    """Return how many brackets are open at once at most, including brackets in quotes and comments."""
    depth = deepest = 0
    for bracket in _BRACKET.finditer(body):
        depth = depth + 1 if bracket[0] in "[{" else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return deepest


def _composed(body: str) -> Any:
    """Return the root node of a YAML text, or None if it is empty."""
    import yaml  # imported here, since most pages do not need it

    try:
        return yaml.compose(body, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError, OverflowError) as error:  # OverflowError: an impossible character number
        raise ValueError(str(error)) from None


def _written_out(mapping: Any) -> int:
    """Return the length of all values with expanded aliases: a few characters can repeat a long text or list many times."""
    values = {id(value): value for _, value in mapping.value}  # measure each once, however often it is repeated
    lengths = {key: _length(value) for key, value in values.items()}
    return sum(lengths[id(value)] for _, value in mapping.value)


def _length(node: Any) -> int:
    if node.id == "sequence":
        return sum(1 + len(each.value) for each in node.value)
    return len(node.value)


def _fields(mapping: Any) -> Iterator[tuple[Any, object]]:
    for key, value in mapping.value:
        name = key.value if key.id == "scalar" else key.start_mark.line + 2
        is_title = name == "title" and value.id == "scalar" and _scalar(value) is not None
        yield name, value.value if is_title else _value(value)


def _value(node: Any) -> object:
    """Return a field's value. A nested value becomes an empty mapping, which metadata cannot have."""
    if node.id == "scalar":
        return _scalar(node)
    return [_scalar(each) if each.id == "scalar" else {} for each in node.value] if node.id == "sequence" else {}


def _scalar(node: Any) -> object:
    text: str = node.value
    if node.style is not None:  # quoted, or a block of lines
        return text
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if _WHOLE.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text) and isfinite(number := float(text)):
        return number
    return text


def _as_written(title: str) -> str:
    """Return a title that is not valid YAML, without its comment and the quotes around it."""
    title = _COMMENT.sub("", title).strip()
    quoted = len(title) > 2 and title[0] == title[-1] and title[0] in "\"'"
    return title[1:-1] if quoted else title
