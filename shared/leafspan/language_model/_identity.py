"""What a function or an object is known by: the same in every process, another where it holds something else."""

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
    """Its name, and a digest of what it holds, which may be secret: nothing of it can be read from the digest.

    Of a function that are the texts and names in it, its defaults and the outer variables it uses. So two functions that
    one maker has made of different values differ, and so do two lambdas that say different things; a function that is
    changed in nothing but the order of what it does is taken for the same. Of a ``functools.partial`` and of a bound method
    what is bound counts as well. Of all these, numbers, texts, tuples, functions and frozen dataclasses count by what they
    are, another object by its attributes that are texts: it may hold counters, connections and the like.
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
    """What it holds, piece by piece; of what holds itself not without end."""
    yield _name(thing)
    if depth > _DEEPEST:
        return
    if isinstance(thing, partial):
        yield from _content(thing.func, depth + 1)
        for value in thing.args:
            yield from _content(value, depth + 1)
        yield from _named(thing.keywords, depth)
    elif isinstance(thing, MethodType):
        yield from _content(thing.__self__, depth + 1)
    elif isinstance(thing, FunctionType):
        yield from _texts(thing.__code__, thing.__doc__)
        for value in thing.__defaults__ or ():
            yield from _content(value, depth + 1)
        yield from _named(thing.__kwdefaults__ or {}, depth)
        for cell in thing.__closure__ or ():
            try:
                yield from _content(cell.cell_contents, depth + 1)
            except ValueError:  # not set yet
                continue
    elif isinstance(thing, tuple):
        for value in thing:
            yield from _content(value, depth + 1)
    elif isinstance(thing, str | bytes | int | float | type | Enum | None) or _is_frozen(thing):
        yield _ADDRESS.sub("", repr(thing))
    else:
        attributes = getattr(thing, "__dict__", {})
        yield from _named({name: value for name, value in attributes.items() if isinstance(value, str)}, depth)


def _is_frozen(thing: object) -> bool:
    options: Any = getattr(type(thing), "__dataclass_params__", None)
    return options is not None and bool(options.frozen)


def _named(values: Mapping[str, object], depth: int) -> Iterator[str]:
    for name, value in sorted(values.items()):
        yield name
        yield from _content(value, depth + 1)


def _texts(code: CodeType, doc: str | None = None) -> Iterator[str]:
    """The texts and names in the code; not the code itself, nor what else another Python would write in another way."""
    yield " ".join(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _texts(constant)
        elif isinstance(constant, str | bytes | float) and constant != doc:
            yield repr(constant)
