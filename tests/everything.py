"""The whole content of a value as text, since a ``repr`` shows only a part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass


def everything(value: object) -> str:
    """The names and values of all fields, at any depth.

    Args:
        value: A dataclass, a mapping, a list or a tuple of such, or anything else.
    """
    if is_dataclass(value) and not isinstance(value, type):
        inner = (f"{each.name}={everything(getattr(value, each.name))}" for each in fields(value))
        return f"{type(value).__name__}({', '.join(inner)})"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{everything(key)}: {everything(each)}' for key, each in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(everything, value))}]"
    return repr(value)
