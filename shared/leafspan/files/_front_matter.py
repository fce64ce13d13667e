"""The fields of a Markdown page's front matter, as metadata."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isfinite
from typing import Any

from leafspan.reserved import is_reserved

_LONGEST = 1 << 16  # characters; yaml reads some 50,000 a second
_DEEPEST = 32  # yaml looks at all open brackets for each word, and no field that is kept has two of them within each other
_TAKEN = frozenset({"title", "source"})  # the document's own, and the name of its file
_HALF_A_CHARACTER = re.compile("[\ud800-\udfff]")
_BRACKET = re.compile(r"[\[{\]}]")
# As in YAML 1.2, in which "no" and dates are texts; but what begins with 0 is a code, and longer numbers cannot be stored.
_WHOLE = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})")
_DECIMAL = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?")


def front_matter_fields(front: str) -> dict[str, object]:
    """The fields that can be metadata: texts, numbers, true and false, and lists of one of these.

    Others are left out, and so is a front matter that is no YAML, or would keep the parser busy: a page is read with any
    front matter.

    Args:
        front: The front matter with the lines of dashes around it, or an empty text.
    """
    if len(front) > _LONGEST or _depth(front) > _DEEPEST:
        return {}

    import yaml  # here, since most pages have none

    try:
        node = yaml.compose(_without_fences(front), Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError, ValueError, OverflowError):  # the last two are of numbers without a character
        return {}
    if not isinstance(node, yaml.MappingNode) or _written_out(node) > _LONGEST:
        return {}
    return dict(_fields(node))


def _without_fences(front: str) -> str:
    return front[len("---") : max(front.rfind("\n"), front.rfind("\r")) + 1].lstrip(" \t")


def _depth(front: str) -> int:
    """How many brackets are open at once at most. Those in quotes and comments count, too."""
    depth = deepest = 0
    for bracket in _BRACKET.finditer(front):
        depth = depth + 1 if bracket[0] in "[{" else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return deepest


def _written_out(mapping: Any) -> int:
    """The length of all values if aliases are written out: a few characters can repeat a long text or list many times."""
    values = {id(value): value for _, value in mapping.value}  # each is measured once, however often it is repeated
    lengths = {key: _length(value) for key, value in values.items()}
    return sum(lengths[id(value)] for _, value in mapping.value)


def _length(node: Any) -> int:
    if node.id == "sequence":
        return sum(1 + len(each.value) for each in node.value)
    return len(node.value)


def _fields(mapping: Any) -> Iterator[tuple[str, object]]:
    for key_node, value_node in mapping.value:
        key, value = key_node.value, _value(value_node)
        if isinstance(key, str) and _is_free(key) and value not in (None, []):
            yield key, value


def _is_free(key: str) -> bool:
    return key not in ("", *_TAKEN) and not is_reserved(key) and not _HALF_A_CHARACTER.search(key)


def _value(node: Any) -> object:
    """The value of a field. None if it is none that metadata can have."""
    if node.id == "scalar":
        return _scalar(node)
    items = [_scalar(each) if each.id == "scalar" else None for each in node.value] if node.id == "sequence" else [None]
    return items if len({type(each) for each in items}) <= 1 and None not in items else None


def _scalar(node: Any) -> object:
    text: str = node.value
    if _HALF_A_CHARACTER.search(text):  # an escape in quotes can write one
        return None
    if node.style is not None:  # in quotes, or a block of lines
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
