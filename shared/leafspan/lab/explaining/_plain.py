"""What an explanation holds as plain values, which JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from leafspan.checks import shown
from leafspan.values import Passage


def plain_value(value: object) -> Any:
    """A value as numbers, texts, lists and dictionaries; anything else as text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, Mapping):
        return {str(key): plain_value(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_value(each) for each in value]
    module = type(value).__module__
    if is_dataclass(value) and (module == "leafspan.trace" or module.startswith("leafspan.lab.explaining")):
        return {each.name: plain_value(getattr(value, each.name)) for each in fields(value)}
    return shown(value)


def plain_passage(passage: Passage) -> dict[str, Any]:
    """A passage as plain values. Its trace comes in sentences, and step by step."""
    names = (
        "id",
        "document_id",
        "start",
        "end",
        "text",
        "score",
        "title",
        "headings",
        "lines",
        "kind",
        "metadata",
        "layer",
    )
    plain: dict[str, Any] = {name: plain_value(getattr(passage, name)) for name in names}
    plain["trace"] = passage.trace.explain()
    plain["steps"] = plain_value(passage.trace)
    return plain
