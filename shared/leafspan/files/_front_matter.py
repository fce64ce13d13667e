"""A Markdown page's front matter: its title, and its fields as metadata."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from math import isfinite
from typing import Any

from leafspan.checks import storable_fields
from leafspan.splitting import LINE_END, front_matter

_LONGEST = 1 << 16  # characters; yaml reads some 50,000 a second
_DEEPEST = 32  # open brackets: yaml looks at all of them for each word, and no field that is kept has nested ones
_MOST_DOTS = 1_000  # in a line; tomllib takes quadratic time for a key of many parts
_BRACKET = re.compile(r"[\[{\]}]")
_BEGINNING = re.compile(r"(?:[ \t]*+(?:#[^\n]*+)?\n)*+(?:[\w\"'][^:=\n]*+[:=]|\[)")  # of fields, perhaps after comments
_FIELD = re.compile(r"^[^\s#\-][^:\n]*+:(?=\s|\Z)", re.MULTILINE)
_TITLE = re.compile(r"title:[ \t]++([^\n]++)")
_COMMENT = re.compile(r"\s#.*")
# As in YAML 1.2: "no" and dates are texts. A number that starts with 0 is a code, and longer numbers cannot be stored.
_WHOLE = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})")
_DECIMAL = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?")


@dataclass(slots=True)
class FrontMatter:
    """A page's front matter."""

    end: int = 0  # the page's first character after the front matter and its line end. 0 without front matter
    title: str | None = None  # the title in it
    fields: dict[str, object] = field(default_factory=dict)  # texts, numbers, booleans, lists of one of these
    left_out: list[str] = field(default_factory=list)  # what was left out, and why


def read_front_matter(page: str) -> FrontMatter:
    """Read a page's front matter: YAML between lines of ``---``, or TOML between lines of ``+++``.

    As in Pandoc, such lines belong to the text if a blank line follows the first one, or if no field does. Front matter
    never causes an error.
    """
    front = front_matter(page)
    if not front:
        return FrontMatter()
    line_end = LINE_END.match(page, len(front))
    read = FrontMatter(end=line_end.end() if line_end else len(front))
    fences = front.lstrip("\ufeff")
    body = LINE_END.sub("\n", fences)[3:].lstrip(" \t").removeprefix("\n").rpartition("\n")[0] + "\n"
    is_blank_first = body.startswith("\n") and body != "\n"
    values = None if is_blank_first else (_toml if fences.startswith("+") else _yaml)(body, read)
    if values is None:
        return FrontMatter()
    if isinstance(title := values.pop("title", None), str):
        read.title = " ".join(title.split()) or None
    elif title is not None:
        read.left_out.append("the field 'title' is left out: a title must be a text")
    if values.pop("source", None) is not None:
        read.left_out.append("the field 'source' is left out: it is the name of the file")
    read.fields, reasons = storable_fields(values)
    read.left_out += [f"the field {name!r} is left out: {reason}" for name, reason in reasons.items()]
    return read


def _toml(body: str, read: FrontMatter) -> dict[Any, object] | None:
    """Return the fields of TOML, or None if it is a part of the text."""
    try:
        if (reason := _too_much(body)) is None and max(line.count(".") for line in body.split("\n")) > _MOST_DOTS:
            reason = f"it has a line with more than {_MOST_DOTS:,} dots"
        if reason is None:
            values = tomllib.loads(body)
            if isinstance(values.get("title"), int | float):
                values["title"] = str(values["title"])
            return values
    except (ValueError, RecursionError) as error:
        reason = f"it is no TOML: {error}"
    return _without_fields(body, reason, read)


def _yaml(body: str, read: FrontMatter) -> dict[Any, object] | None:
    """Return the fields of YAML, if need be only the valid ones, or None if it is a part of the text."""
    if (reason := _too_much(body)) is not None:
        values = _without_fields(body, reason, read)
        for match in _FIELD.finditer(body) if values is not None else ():
            if match[0] == "title:" and (title := _TITLE.match(body, match.start())):
                return {"title": _as_written(title[1])}
        return values
    try:
        node = _composed(body)
    except ValueError:
        return _fields_one_by_one(body, read) if _BEGINNING.match(body) else None
    if node is None:
        return {}
    if node.id != "mapping":
        return None
    if _written_out(node) > _LONGEST:
        return _without_fields(body, f"it would have more than {_LONGEST:,} characters without its aliases", read)
    return dict(_fields(node))


def _fields_one_by_one(body: str, read: FrontMatter) -> dict[Any, object]:
    values: dict[Any, object] = {}
    starts = [match.start() for match in _FIELD.finditer(body)]
    for start, end in pairwise([*starts, len(body)]):
        try:
            node = _composed(body[start:end])
            if node is None or node.id != "mapping" or _written_out(node) > _LONGEST:
                raise ValueError
            values |= _fields(node)
        except ValueError:
            name = body[start : body.index(":", start)]
            if title := _TITLE.match(body, start):
                values["title"] = _as_written(title[1])
            else:
                read.left_out.append(f"the field {name!r} is left out: it is no YAML")
    return values


def _without_fields(body: str, reason: str, read: FrontMatter) -> dict[Any, object] | None:
    read.left_out.append(f"the fields of its front matter are left out: {reason}")
    return {} if _BEGINNING.match(body) else None


def _too_much(body: str) -> str | None:
    """Return why a front matter would keep a parser busy, or None if it would not."""
    if len(body) > _LONGEST:
        return f"it has more than {_LONGEST:,} characters"
    return f"it has more than {_DEEPEST} brackets within each other" if _depth(body) > _DEEPEST else None


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
