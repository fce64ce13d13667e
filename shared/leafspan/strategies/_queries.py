"""What a user asks with, as queries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from leafspan.checks import shown
from leafspan.errors import InvalidArgument
from leafspan.values import Query

_LARGEST = 3.4e38  # of a 32-bit float
_BLANK = Query(text="")


def to_queries(thing: Any, *, needed: bool = True) -> tuple[list[Query], bool]:
    """The queries in ``thing``, and whether it is a single one.

    Args:
        thing: A text, a vector of numbers, a Query, or a list of these.
        needed: Whether a query is needed. If not, None and a blank text are queries, too, alone and in a list.

    Raises:
        InvalidArgument: if it is anything else, a blank text, a text that is not valid Unicode, or a vector that is not
            finite.
    """
    if not needed and _is_blank(thing):
        return [_BLANK], True
    if isinstance(thing, str | Query) or not _is_sequence(thing) or (len(thing) and _is_number(thing[0])):
        return [_to_query(thing)], True
    return [_BLANK if not needed and _is_blank(item) else _to_query(item) for item in thing], False


def query_texts(name: str, queries: Sequence[Query]) -> tuple[str, ...]:
    """The texts of queries; ``name`` is the strategy that needs them.

    Raises:
        InvalidArgument: if a query has no text.
    """
    texts = tuple(query.text for query in queries if query.text and query.text.strip())
    if len(texts) < len(queries):
        raise InvalidArgument(f"{name} needs the query as text, got a vector only")
    return texts


def _to_query(thing: Any) -> Query:
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
    return Query(vector=_vector(thing))


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
    """What to pass in place of a chain's mapping, a message or a prompt, as the end of a sentence."""
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
    """Lists and tuples, and arrays of numpy, which are no Sequence."""
    if isinstance(thing, str | bytes | Mapping):
        return False
    return isinstance(thing, Sequence) or (hasattr(thing, "__array__") and getattr(thing, "ndim", 0) > 0)


def _is_number(thing: Any) -> bool:
    return hasattr(thing, "__float__") and not hasattr(thing, "__len__")
