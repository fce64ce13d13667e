"""Texts with half of a surrogate pair, which are not valid Unicode: broken converters and JSON make them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal

UnicodeErrors = Literal["strict", "replace"]
"""How to treat a text with half of a surrogate pair: raise an error, or replace each half by U+FFFD."""

_HALF = re.compile("[\ud800-\udfff]")


def without_surrogates(value: Any) -> Any:
    """The value with U+FFFD instead of each half, also in lists, mappings and dataclasses. Texts keep their length."""
    if isinstance(value, str):
        return _HALF.sub("\ufffd", value)
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return type(value)(map(without_surrogates, value))
    if isinstance(value, Mapping):
        return {without_surrogates(key): without_surrogates(each) for key, each in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return replace(
            value, **{each.name: without_surrogates(getattr(value, each.name)) for each in fields(value) if each.init}
        )
    return value
