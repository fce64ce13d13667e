"""Converts metadata values for storing and for comparing with stored values."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from datetime import date, time
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

from leafspan.checks._options import shown

STRUCTURE_KEY = "leafspan"  # the metadata key for the place of a leaf, or for the record of a summary

RESERVED_KEYS = frozenset({"doc_id", "start", "end", "layer", "covers", "score", "trace", STRUCTURE_KEY})
"""The metadata keys that leafspan sets itself, on stored leaves or on results in LangChain and LlamaIndex."""

RESERVED_ID_PREFIX = "leafspan:"  # the first characters of the ids of leafspan's own records
GENERATOR = "leafspan"  # the generator that leafspan's HTML pages name, which distinguishes them from users' documents


def is_reserved(key: str) -> bool:
    """Whether a metadata key is reserved by leafspan or Chroma, so that a document cannot have it."""
    return key in RESERVED_KEYS or key.startswith(("chroma:", "#", "$"))


class NotStorable(Exception):
    """A value cannot be metadata. Users never see this exception."""

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what)
        self.remedy = remedy


def plain_value(value: object) -> object:
    """A scalar in the form that metadata and filters use.

    Dates and times become ISO texts (``2024-05-31``), UUIDs and paths texts, members of an Enum their values, Decimals
    numbers, and numpy's scalars Python's. Other values stay unchanged.
    """
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
        scalar: Any = value
        value = scalar.item()
    if isinstance(value, str):
        return str.__str__(value)  # a plain str, also from a member of a string enum
    if isinstance(value, Enum):
        return plain_value(value.value)
    if isinstance(value, date | time):  # a datetime is a date, too
        return value if is_missing(value) else value.isoformat()
    if isinstance(value, UUID | PurePath):
        return str(value)
    return _number(value) if isinstance(value, Decimal) else value


def _number(value: Decimal) -> int | float:
    """The nearest float, or the int itself if it is whole and no float equals it."""
    number = math.nan if value.is_nan() else float(value)
    return int(value) if math.isfinite(number) and number != value == value.to_integral_value() else number


def is_missing(value: object) -> bool:
    """Whether it means a missing value. Only pandas' missing values, NaN and NaT, are not equal to themselves."""
    if value is None or value is getattr(sys.modules.get("pandas"), "NA", None):  # NA == NA is neither True nor False
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, float | date) and value != value  # noqa: PLR0124


def stored_value(value: object) -> object:
    """The value of a field as it is stored, or None for a missing value."""
    if not isinstance(value, list | tuple):
        return None if is_missing(value) or is_missing(plain := plain_value(value)) else _stored_scalar(plain)
    items = [_stored_scalar(plain_value(item)) for item in value]
    if len({type(item) for item in items}) > 1:
        raise NotStorable(f"a list that mixes {' and '.join(sorted({type(item).__name__ for item in items}))}")
    return items or None


def _stored_scalar(value: object) -> object:
    if isinstance(value, str):
        value.encode()
        return value
    if isinstance(value, float) and not math.isfinite(value):
        raise NotStorable(repr(value))
    if isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            what = f"{shown(value)}, which is not between -2**63 and 2**63 - 1"
            raise NotStorable(what, "store it as a text, str(...)")
        return int(value)
    nested = isinstance(value, Mapping | list | tuple)
    remedy = "flatten_metadata=True stores its items under keys of their own" if nested else "convert it, or leave it out"
    raise NotStorable(f"{shown(value)} of type {type(value).__name__}", remedy)


def storable_fields(fields: Mapping[Any, object]) -> tuple[dict[str, object], dict[str, str]]:
    """The fields of a file that can be metadata, as stored, and the reason for each field that cannot."""
    kept: dict[str, object] = {}
    odd: dict[str, str] = {}
    for name, value in fields.items():
        try:
            if reason := _odd_name(name) or _nested(value):
                odd[str(name)] = reason
            elif (stored := stored_value(value)) is not None:
                kept[name] = stored
        except NotStorable as error:
            odd[name] = f"it is {error}"
        except UnicodeEncodeError:
            odd[name] = "it has half of a surrogate pair"
    return kept, odd


def _odd_name(name: object) -> str | None:
    if not isinstance(name, str) or not name:
        return "its name is empty" if name == "" else "its name is no text"
    name.encode()
    return "leafspan reserves this name" if is_reserved(name) else None


def _nested(value: object) -> str | None:
    if isinstance(value, Mapping):
        return "it has fields of its own"
    items = value if isinstance(value, list) else ()
    if any(isinstance(item, Mapping | list) for item in items):
        return "it is a list of lists or objects"
    return "it is a list with an empty value" if None in items else None
