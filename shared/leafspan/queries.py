"""What a user asks with, as queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from leafspan.errors import InvalidArgument
from leafspan.values import Query


def to_queries(thing: Any) -> tuple[list[Query], bool]:
    """The queries in ``thing``, and whether it is a single one: a text, a vector of numbers, a Query, or a list of them.

    Raises:
        InvalidArgument: if it is anything else, a blank text, or one that is not valid Unicode.
    """
    if isinstance(thing, str | Query) or not _is_sequence(thing) or (len(thing) and _is_number(thing[0])):
        return [_to_query(thing)], True
    return [_to_query(item) for item in thing], False


def _to_query(thing: Any) -> Query:
    if isinstance(thing, Query):
        texts = [thing.text] if thing.vector is None and not thing.embedding_texts else thing.embedding_texts
        if thing.vector is not None or all(text and text.strip() for text in texts):
            return thing
    elif isinstance(thing, str):
        if thing.strip():
            _check_unicode(thing)
            return Query(text=thing)
    elif _is_sequence(thing) and len(thing) and all(map(_is_number, thing)):
        return Query(vector=tuple(float(number) for number in thing))
    raise InvalidArgument(f"a query must be a text that is not blank, or a vector of numbers, got {thing!r}")


def _check_unicode(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"a query must be valid Unicode: {error}") from None


def _is_sequence(thing: Any) -> bool:
    """Lists and tuples, and arrays of numpy, which are no Sequence."""
    if isinstance(thing, str | bytes | Mapping):
        return False
    return isinstance(thing, Sequence) or (hasattr(thing, "__array__") and getattr(thing, "ndim", 0) > 0)


def _is_number(thing: Any) -> bool:
    return hasattr(thing, "__float__") and not hasattr(thing, "__len__")
