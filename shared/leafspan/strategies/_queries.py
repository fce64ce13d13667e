"""Turns a user's texts and vectors into queries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from leafspan.checks import shown
from leafspan.errors import InvalidArgument
from leafspan.values import Query

_LARGEST = 3.4e38  # of a 32-bit float
_BLANK = Query(text="")


def to_query(thing: Any, *, needed: bool = True, for_several: str = "retrieve_many") -> Query:
    """The query in a text, a vector or a Query. Unless a query is ``needed``, None and a blank text are queries, too.

    Raises:
        InvalidArgument: if it is anything else, a blank text, a text that is not valid Unicode, or a vector that is not
            finite. For a list of queries the message suggests ``for_several``.
    """
    if not needed and _is_blank(thing):
        return _BLANK
    if isinstance(thing, str):
        return Query(text=_text(thing))
    if isinstance(thing, Query):
        vector = None if thing.vector is None else _vector(thing.vector)
        if not isinstance(thing.embedding_texts, list | tuple):
            raise InvalidArgument(f"embedding_texts of a query must be a list of texts, got {shown(thing.embedding_texts)}")
        texts = tuple(_text(text) for text in thing.embedding_texts)
        if vector is None and not texts:
            return Query(text=_text(thing.text))
        return Query(thing.text, vector, texts)
    if _is_sequence(thing) and not (len(thing) and _is_number(thing[0])):
        rule = f"a query must be a text or a vector, got {shown(thing)}"
        raise InvalidArgument(f"{rule}: for several queries, call {for_several}")
    return Query(vector=_vector(thing))


def to_queries(things: Any, *, needed: bool = True, name: str = "queries") -> list[Query]:
    """The queries in a list (see ``to_query``); errors call the list ``name``.

    Raises:
        InvalidArgument: if it is not a list, or an element is not a query.
    """
    if not _is_sequence(things):
        hint = ": for one query, call retrieve" if name == "queries" else ""
        raise InvalidArgument(f"{name} must be a list of texts, vectors or Query values, got {shown(things)}{hint}")
    return [to_query(each, needed=needed) for each in things]


def query_texts(name: str, queries: Sequence[Query]) -> tuple[str, ...]:
    """The texts of queries; ``name`` is the strategy that needs them.

    Raises:
        InvalidArgument: if a query has no text.
    """
    texts = tuple(query.text for query in queries if query.text and query.text.strip())
    if len(texts) < len(queries):
        raise InvalidArgument(f"{name} needs the query as text, got a vector only")
    return texts


def _text(text: Any) -> str:
    if not isinstance(text, str) or not text.strip():
        raise _refusal(text)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"a query must be valid Unicode: {error}") from None
    return text


def _vector(numbers: Any) -> tuple[float, ...]:
    if not _is_sequence(numbers) or not len(numbers) or not all(map(_is_number, numbers)):
        raise _refusal(numbers)
    vector = tuple(float(number) for number in numbers)
    if not all(math.isfinite(number) and abs(number) < _LARGEST for number in vector):
        raise InvalidArgument("a query's vector must be of finite 32-bit numbers, got nan, infinity or a larger one")
    return vector


def _refusal(thing: Any) -> InvalidArgument:
    rule = "a query must be a text that is not blank, or a vector of numbers"
    return InvalidArgument(f"{rule}, got {shown(thing)}{_where_the_text_is(thing)}")


def _where_the_text_is(thing: Any) -> str:
    """The end of an error message: what to pass instead of a chain's mapping, a message or a prompt."""
    if isinstance(thing, Mapping):
        keys = [key for key, value in thing.items() if isinstance(key, str) and isinstance(value, str) and value.strip()]
        return f": pass the text itself, in a chain as itemgetter({keys[0]!r}) | retriever" if keys else ""
    if isinstance(thing, type):
        return ""
    if hasattr(thing, "to_string"):
        return ": pass the text itself, in a chain without the prompt before the retriever"
    return ": pass its text, message.content" if hasattr(thing, "content") else ""


def _is_blank(thing: Any) -> bool:
    return thing is None or (isinstance(thing, str) and not thing.strip())


def _is_sequence(thing: Any) -> bool:
    """Whether it is a list, a tuple or a numpy array (which is not a Sequence)."""
    if isinstance(thing, str | bytes | Mapping):
        return False
    return isinstance(thing, Sequence) or (hasattr(thing, "__array__") and getattr(thing, "ndim", 0) > 0)


def _is_number(thing: Any) -> bool:
    return hasattr(thing, "__float__") and not hasattr(thing, "__len__")
