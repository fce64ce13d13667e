"""The identity of a function or an object: the same in every process, and different for different content."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_DEEPEST = 4


def identity_of(thing: object) -> str:
    """The name of a function or an object, and a digest of its content, such as ``answer#1a2b3c4d``.

    The content is:

    - of a function: the texts and names in its code, its defaults, and the outer variables that it uses;
    - of a ``functools.partial`` or a bound method: the bound values as well;
    - of a number, a text, a tuple or a frozen dataclass: its value;
    - of any other object: its attributes that are texts. Other attributes may be counters or connections.

    So two functions that one factory made from different values differ, and so do two lambdas with different texts. A
    function whose statements only change their order stays the same. The content may be secret: the digest does not reveal
    it.
    """
    content = "\n".join(_content(thing, 0))
    return f"{_name(thing)}#{hashlib.sha256(content.encode(errors='surrogatepass')).hexdigest()[:8]}"


def _name(thing: object) -> str:
    if isinstance(thing, partial):
        return _name(thing.func)
    if isinstance(thing, FunctionType | MethodType):
        return f"{thing.__module__}.{thing.__qualname__}"
    return type(thing).__qualname__


def _content(thing: object, depth: int) -> Iterator[str]:
    """The content of a thing, piece by piece, down to a limited depth, since a thing may contain itself."""
    yield _name(thing)
    if depth > _DEEPEST:
        return
    if isinstance(thing, partial):
        yield from _content(thing.func, depth + 1)
        for value in thing.args:
            yield from _content(value, depth + 1)
        yield from _named_content(thing.keywords, depth)
    elif isinstance(thing, MethodType):
        yield from _content(thing.__self__, depth + 1)
    elif isinstance(thing, FunctionType):
        yield from _function_content(thing, depth)
    elif isinstance(thing, tuple):
        for value in thing:
            yield from _content(value, depth + 1)
    elif isinstance(thing, str | bytes | int | float | type | Enum | None) or _is_frozen(thing):
        yield _ADDRESS.sub("", repr(thing))
    else:
        attributes = getattr(thing, "__dict__", {})
        yield from _named_content({name: value for name, value in attributes.items() if isinstance(value, str)}, depth)


def _function_content(function: FunctionType, depth: int) -> Iterator[str]:
    """The texts and names in a function's code, its defaults, and the outer variables that it uses."""
    yield from _code_content(function.__code__, function.__doc__)
    for value in function.__defaults__ or ():
        yield from _content(value, depth + 1)
    yield from _named_content(function.__kwdefaults__ or {}, depth)
    for cell in function.__closure__ or ():
        try:
            yield from _content(cell.cell_contents, depth + 1)
        except ValueError:  # the variable has no value yet
            continue


def _is_frozen(thing: object) -> bool:
    """Whether a thing is a frozen dataclass."""
    options: Any = getattr(type(thing), "__dataclass_params__", None)
    return options is not None and bool(options.frozen)


def _named_content(values: Mapping[str, object], depth: int) -> Iterator[str]:
    """Names and values, sorted by name."""
    for name, value in sorted(values.items()):
        yield name
        yield from _content(value, depth + 1)


def _code_content(code: CodeType, doc: str | None = None) -> Iterator[str]:
    """The names and texts in compiled code, without its docstring. The bytecode itself differs between Python versions."""
    yield " ".join(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code_content(constant)
        elif isinstance(constant, str | bytes | float) and constant != doc:
            yield repr(constant)
