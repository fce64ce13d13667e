"""Whether the fields of a manifest's row are such as leafspan writes. Rows of earlier versions have no checksum."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from leafspan.store._checksums import WIDTH

_VERSION = re.compile(r"[0-9a-f]{8}|t[0-9a-f]{7}")  # of a document, and of a tree
_LINES = re.compile(r"[0-9]{1,9}(,[0-9]{1,9})*", re.ASCII)
_CHECKSUMS = re.compile(r"([A-Za-z0-9+/]{8})*")  # of leaves
_MOST_LEAVES = 10_000_000  # of a version, for a row that does not say how long its text is
_MOST_CHARACTERS = 2**40


def problem_of_fields(stored: Any) -> str | None:
    """What is wrong with a row; None if nothing is.

    Args:
        stored: What is stored, read as JSON.
    """
    if not isinstance(stored, dict):
        return "it is no JSON object"
    for key, is_valid in _FIELDS.items():
        if key not in stored:
            if key not in _LATER:
                return f"it has no {key!r}"
        elif not is_valid(stored[key]):
            return f"its {key!r} is not what leafspan writes"
    if stored["version"] is not None:
        return _problem_of_counts(stored)
    return "it has leaves, and no current version" if stored["leaves"] or stored["hash"] else None


def _problem_of_counts(stored: Mapping[str, Any]) -> str | None:
    """What is wrong with the numbers of a row that has a current version."""
    leaves, more = stored["leaves"], stored.get("more", {})
    if len(stored.get("checks", "")) not in (0, WIDTH * leaves):
        return f"it counts {leaves} leaves, and has the checksums of {len(stored['checks']) // WIDTH}"
    if "layers" in more:  # it is that of a tree
        return _problem_of_tree(more, leaves)
    if leaves > stored["characters"]:
        return f"it counts {leaves} leaves, more than its text has characters"
    if any(not 0 <= first <= last < leaves for first, last, _, _ in stored["sections"]):
        return "one of its sections has leaves that the document does not have"
    lines = stored.get("lines", "")
    if lines and lines.count(",") + 1 != leaves:
        return f"it counts {leaves} leaves, and has the lines of {lines.count(',') + 1}"
    return None


def _problem_of_tree(more: Mapping[str, Any], summaries: int) -> str | None:
    """What is wrong with what a tree's row has beside: see ``tree/_tree_record.py``."""
    layers, tops, bare, keys = (more.get(name) for name in ("layers", "tops", "bare", "keys"))
    if layers is None or not _are_counts(layers) or len(layers) != summaries or 0 in layers:
        return "its 'layers' are not those of its summaries"
    if tops is None or not _are_counts(tops) or any(top >= summaries for top in tops):
        return "its 'tops' are not numbers of its summaries"
    if not _are_counts(bare):
        return "its 'bare' are no numbers of leaves"
    if not _are_texts(keys) or not isinstance(more.get("summarizer"), str):
        return "its 'keys' or 'summarizer' are no texts"
    if not all(isinstance(more.get(name), str | None) for name in ("of", "view", "label")):
        return "its 'of', 'view' or 'label' is no text"
    children = more.get("children")
    if children is not None and not (_are_texts(children) and all(_LEAF_ID.fullmatch(each) for each in children)):
        return "its 'children' are no ids"
    return None


_LEAF_ID = re.compile(r".+#[^#]+#[0-9]{1,18}", re.ASCII | re.DOTALL)


def _is_count(value: Any, most: int = _MOST_CHARACTERS) -> bool:
    return type(value) is int and 0 <= value <= most


def _are_counts(values: Any) -> bool:
    return isinstance(values, list) and all(map(_is_count, values))


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(each, str) for each in values)


def _is_version(value: Any) -> bool:
    return isinstance(value, str) and _VERSION.fullmatch(value) is not None


def _is_leaves(value: Any) -> bool:
    return _is_count(value, _MOST_LEAVES)


def _are_leftovers(values: Any) -> bool:
    pairs = isinstance(values, list) and all(isinstance(each, list) and len(each) == 2 for each in values)
    return pairs and all(_is_version(version) and _is_leaves(leaves) for version, leaves in values)


def _are_sections(values: Any) -> bool:
    rows = isinstance(values, list) and all(isinstance(each, list) and len(each) == 4 for each in values)
    return rows and all(_are_counts([*numbers]) and isinstance(text, str) for *numbers, text in values)


def is_metadata(values: Any) -> bool:
    """Whether it is what metadata can be."""
    return isinstance(values, dict) and all(map(_is_value, values.values()))


def _is_value(value: Any) -> bool:
    """Whether it is a value that metadata can have: a list is of one type."""
    if isinstance(value, list):
        return all(isinstance(each, str | int | float) for each in value)
    return isinstance(value, str | int | float)


_FIELDS: dict[str, Callable[[Any], bool]] = {
    "hash": lambda value: isinstance(value, str),
    "version": lambda value: value is None or _is_version(value),
    "leaves": _is_leaves,
    "litter": _are_leftovers,
    "title": lambda value: isinstance(value, str | None),
    "metadata": is_metadata,
    "sections": _are_sections,
    "characters": _is_count,
    "words": _is_count,
    "lines": lambda value: isinstance(value, str) and (not value or _LINES.fullmatch(value) is not None),
    "more": lambda value: isinstance(value, dict),
    "checks": lambda value: isinstance(value, str) and _CHECKSUMS.fullmatch(value) is not None,
}
_LATER = {"lines", "more", "checks"}  # fields that rows of earlier versions do not have
