"""A short ``repr`` for objects with many options."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields
from typing import Any


def changed_options(value: Any) -> list[Field[Any]]:
    """The fields of a dataclass that differ from their defaults, in order, without fields that ``repr`` leaves out."""
    return [each for each in fields(value) if each.repr and not _is_default(getattr(value, each.name), each)]


def short_repr(value: Any) -> str:
    """The ``repr`` of a dataclass with the options that differ from their defaults, such as ``Hybrid(references=0)``."""
    options = (f"{each.name}={getattr(value, each.name)!r}" for each in changed_options(value))
    return f"{type(value).__qualname__}({', '.join(options)})"


def _is_default(value: object, option: Field[Any]) -> bool:
    default = option.default if option.default_factory is MISSING else option.default_factory()
    try:
        return value is default or (type(value) is type(default) and bool(value == default))
    except Exception:  # such as an array's, which has no single truth value
        return False
