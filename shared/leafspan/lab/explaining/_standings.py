"""Finds the rank of a document's piece in the results of each search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TypeVar

from leafspan.lab.explaining._explanation import Standing
from leafspan.lab.explaining._target import Target
from leafspan.retrieval import Answered
from leafspan.strategies import (
    AskHost,
    LexicalSearch,
    ListLeaves,
    LoadedVectorSearch,
    Similarities,
    Strategy,
    TreeRoots,
    VectorSearch,
)
from leafspan.values import Candidate, Hit, LeafId

T = TypeVar("T")

Place = tuple[str | int, ...]
"""A name or number for each step into a strategy."""

_OF_AN_INDEX = (VectorSearch, LoadedVectorSearch, LexicalSearch, ListLeaves, Similarities, TreeRoots, AskHost)


def searches_leaves(record: Sequence[Answered]) -> bool:
    """Whether a strategy has made a request that can lead to leaves of the index."""
    return any(isinstance(each.request, _OF_AN_INDEX) for each in record)


def standings_in_searches(record: Sequence[Answered], target: Target) -> list[Standing]:
    """The piece's rank in each search. Of searches that differ only in their depth, the deepest one is used."""
    deepest: dict[tuple[str, str | None], Standing] = {}
    for answered in record:
        for standing in _standings(answered, target):
            key = (standing.source, standing.query)
            known = deepest.get(key)
            if known is None or (standing.results, standing.rank is not None) > (known.results, known.rank is not None):
                deepest[key] = standing
    return sorted(deepest.values(), key=lambda standing: (standing.source, standing.query or ""))


def standing_in_results(place: Place, strategy: Strategy, found: Sequence[Candidate], target: Target) -> Standing:
    """The piece's rank in the results of an inner strategy."""
    source = f"{in_words(place)}: {type(strategy).__name__}"
    for rank, each in enumerate(found, start=1):
        if target.is_in(each):
            return Standing(source, rank, each.score, len(found))
    return Standing(source, None, None, len(found))


def _standings(answered: Answered, target: Target) -> Iterator[Standing]:
    answer = answered.answer
    match answered.request:
        case VectorSearch(summaries=False):
            for query, hits in _numbered(answer):
                yield _among_hits("vector", hits, target, query)
        case LoadedVectorSearch():
            for query, found in _numbered(answer):
                yield _among_hits("vector", [_as_hit(each) for each in found], target, query)
        case LexicalSearch(summaries=False, texts=texts):
            for text, matches in zip(texts, answer, strict=True):
                yield _among_hits("bm25", matches.hits, target, text if len(texts) > 1 else None)
        case ListLeaves():
            yield _among_hits("listing", answer, target, None)
        case AskHost(name=name):
            yield _among_hits(name, [_as_hit(each) for each in answer], target, None)
        case Similarities(ids=ids):
            for query, cosines in _numbered(answer):
                hits = [Hit(LeafId.parse(id_), float(cosine)) for id_, cosine in zip(ids, cosines, strict=True)]
                yield _among_hits("comparison", sorted(hits, key=lambda hit: hit.order), target, query)


def _numbered(rows: Sequence[Sequence[T]]) -> Iterator[tuple[str | None, Sequence[T]]]:
    for number, row in enumerate(rows, start=1):
        yield (f"query {number}" if len(rows) > 1 else None), row


def _as_hit(found: Candidate) -> Hit:
    version = "" if found.outside is not None or found.summary is not None else found.span.version
    return Hit(LeafId(found.span.document_id, version, found.span.first), found.score)


def _among_hits(source: str, hits: Sequence[Hit], target: Target, query: str | None) -> Standing:
    for rank, hit in enumerate(hits, start=1):
        if target.has(hit.leaf):
            return Standing(source, rank, hit.score, len(hits), query)
    return Standing(source, None, None, len(hits), query)


def inside(strategy: Strategy, place: Place = ()) -> Iterator[tuple[Place, Strategy]]:
    """The inner strategies with their places, innermost first, and the strategy itself last."""
    if is_dataclass(strategy):
        for each in fields(strategy):
            for step, found in _strategies_in(getattr(strategy, each.name)):
                yield from inside(found, (*place, each.name, *step))
    yield place, strategy


def _strategies_in(value: object) -> Iterator[tuple[Place, Strategy]]:
    if isinstance(value, Strategy):
        yield (), value
    elif isinstance(value, Mapping):
        yield from (((str(name),), each) for name, each in value.items() if isinstance(each, Strategy))
    elif isinstance(value, list | tuple):
        yield from (((number,), each) for number, each in enumerate(value) if isinstance(each, Strategy))


def in_words(place: Place) -> str:
    """A place as Python would write it, such as ``retrievers[1].depth``."""
    text = ""
    for number, step in enumerate(place):
        is_key = isinstance(step, int) or (number > 0 and place[number - 1] in ("retrievers", "targets"))
        text += f"[{step!r}]" if is_key else f"{'.' if text else ''}{step}"
    return text
