"""The fields of a Markdown page's front matter, as metadata."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isfinite
from typing import Any

from leafspan.reserved import is_reserved

_TAKEN = frozenset({"title", "source"})  # the document's own, and the name of its file
_HALF_A_CHARACTER = re.compile("[\ud800-\udfff]")
_FENCES = re.compile(r"\A[^\r\n]*|[^\r\n]*\Z")
# As in YAML 1.2, in which "no" and dates are texts; but what begins with 0 is a code, and longer numbers cannot be stored.
_WHOLE = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})")
_DECIMAL = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?")


def front_matter_fields(front: str) -> dict[str, object]:
    """The fields that can be metadata: texts, numbers, true and false, and lists of one of these.

    Others are left out, and so is a front matter that is no YAML: a page is read whatever stands there.

    Args:
        front: The front matter with the lines of dashes around it, or an empty text.
    """
    import yaml  # here, since most pages have none

    try:
        node = yaml.compose(_FENCES.sub("", front), Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError):
        return {}
    return dict(_fields(node)) if isinstance(node, yaml.MappingNode) else {}


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
