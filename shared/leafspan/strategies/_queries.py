"""Queries: from a user's texts and vectors to vectors, and to a search by both."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, TypeVar

from leafspan.checks import shown, shown_below
from leafspan.errors import InvalidArgument
from leafspan.flows import NDArray, np
from leafspan.lexical import in_other_words
from leafspan.strategies._requests import (
    Embed,
    LexicalMatches,
    LexicalSearch,
    NoteWhyEmpty,
    RetrievalContext,
    StrategyFlow,
    VectorSearch,
)
from leafspan.trace import Trace
from leafspan.values import Candidate, Hit, Query

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


def query_vectors(queries: Sequence[Query], instruction: str) -> StrategyFlow[NDArray[np.float32]]:
    """A row for each query: its own vector if it has one, else its text's vector, or the mean of several texts' vectors.

    Raises:
        InvalidArgument: if a vector's length differs from the texts' vectors, or, without texts, from the first vector.
    """
    # A query with several texts has the mean of their vectors.
    owned = [() if query.vector is not None else query.embedding_texts or (query.text or "",) for query in queries]
    texts = tuple([instruction + text for own in owned for text in own])
    embedded: Sequence[Any] = (yield Embed(texts)) if texts else ()
    rows = iter(embedded)
    vectors: list[Any] = []
    for query, own in zip(queries, owned, strict=True):
        several = [next(rows) for _ in own]
        vectors.append(query.vector if not several else several[0] if len(several) == 1 else np.mean(several, axis=0))
    lengths = [len(vector) for vector in (*embedded, *vectors)]
    for length in lengths:
        if length != lengths[0]:
            raise InvalidArgument(f"a query's vector must have {lengths[0]} dimensions, got {length}")
    return np.asarray(vectors, dtype=np.float32)


def search(
    vectors: VectorSearch | None, words: LexicalSearch | None, *, summaries: bool
) -> StrategyFlow[tuple[list[list[Hit]], list[LexicalMatches]]]:
    """The answers to a vector search and a lexical search, which run at the same time.

    With ``summaries`` both also search the summaries of the trees. Each list then holds up to that many leaves and
    summaries each, together best first; ``ideal`` is the leaves' ideal.
    """
    requests = tuple(request for request in (vectors, words) if request is not None)
    more = tuple(replace(request, summaries=True) for request in requests) if summaries else ()
    answers: Iterator[Any] = iter((yield (*requests, *more)))
    hits: list[list[Hit]] = next(answers) if vectors is not None else []
    matches: list[LexicalMatches] = next(answers) if words is not None else []
    if summaries and vectors is not None:
        hits = [_merged(row, others) for row, others in zip(hits, next(answers), strict=True)]
    if summaries and words is not None:
        matches = [
            replace(row, hits=_merged(row.hits, others.hits)) for row, others in zip(matches, next(answers), strict=True)
        ]
    return hits, matches


def with_spelling(
    strategy: Any, queries: Sequence[Query], matches: Sequence[LexicalMatches], context: RetrievalContext
) -> StrategyFlow[list[list[Candidate]]]:
    """The strategy's results for queries whose misspelt words are replaced."""
    rows = iter(matches)
    words = [next(rows).respelt if query.text else {} for query in queries]
    read = [
        replace(query, text=in_other_words(query.text or "", own)) if own else query
        for query, own in zip(queries, words, strict=True)
    ]
    results = yield from replace(strategy, spelling=False).retrieve(read, context)
    notes = [Trace(notes=tuple(f'"{word}" was read as "{other}"' for word, other in own.items())) for own in words]
    return [[replace(each, trace=each.trace + note) for each in row] for row, note in zip(results, notes, strict=True)]


def _merged(hits: Sequence[Hit], others: Sequence[Hit]) -> list[Hit]:
    return sorted([*hits, *others], key=lambda hit: hit.order)


T = TypeVar("T")
_DOCUMENT = attrgetter("span.document_id")


def those_that_reach(
    min_score: float | None,
    queries: Sequence[Query],
    rows: Sequence[Sequence[T]],
    score_of: Callable[[T], float],
    document_of: Callable[[T], str] = _DOCUMENT,
) -> StrategyFlow[list[list[T]]]:
    """Each query's results without those below ``min_score``."""
    if min_score is None:
        return [list(row) for row in rows]
    kept = [[each for each in row if score_of(each) >= min_score] for row in rows]
    for query, before, after in zip(queries, rows, kept, strict=True):
        if before and not after:
            yield from note_too_low(query, min_score, max(map(score_of, before)), map(document_of, before))
    return kept


def note_too_low(query: Query, min_score: float, best: float, documents: Iterable[str]) -> StrategyFlow[None]:
    """Note in ``why_empty`` that all results are below ``min_score``. ``documents`` has their documents, best first."""
    reason = f"no result reaches the strategy's min_score={min_score:g}, the best has {shown_below(best, min_score)}"
    yield NoteWhyEmpty(query, reason, tuple(dict.fromkeys(documents)))
