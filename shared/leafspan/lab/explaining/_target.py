"""The piece of a document that an explanation is about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import groupby
from typing import TypeVar

from leafspan.checks import check_whole, checked_id, is_unicode, shown
from leafspan.engines import StaleRead
from leafspan.errors import InvalidArgument
from leafspan.flows import Flow
from leafspan.lab.explaining._explanation import Standing
from leafspan.retrieval import Answered
from leafspan.store import Reader, Row, StoredLeaf
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
from leafspan.values import Candidate, Hit, LeafId, Passage


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a document, as the user names it."""

    document_id: str
    start: int | None
    end: int | None
    text: str | None = None

    @classmethod
    def of(cls, document_id: object, start: object, end: object, text: object) -> Piece | None:
        """Check the user's piece. Return None if the user names no document."""
        if text is not None:
            if not isinstance(text, str):
                raise InvalidArgument(f"text must be a string, got {shown(text)}")
            if document_id is None or start is not None or end is not None:
                raise InvalidArgument(f"text needs a document, and neither start nor end beside it, got {shown(text)}")
            return cls(checked_id("document_id", document_id), None, None, text)
        if document_id is None:
            if start is not None or end is not None:
                raise InvalidArgument(f"start and end need a document_id, got {shown(start)} and {shown(end)}")
            return None
        first = None if start is None else check_whole("start", start, 0)
        last = None if end is None else check_whole("end", end, 1)
        if last is not None and last <= (first or 0):
            raise InvalidArgument(f"end must be > start, got {first or 0} and {last}")
        return cls(checked_id("document_id", document_id), first, last)


@dataclass(frozen=True, slots=True)
class Target:
    """Consecutive leaves of a document."""

    row: Row
    first: int
    last: int  # inclusive
    start: int
    end: int
    elsewhere: tuple[tuple[int, int], ...] = ()  # other places of its words in the document, as (start, end)

    def has(self, leaf: LeafId) -> bool:
        """Whether this target has a leaf."""
        same = (leaf.document_id, leaf.version) == (self.row.document_id, self.row.version)
        return same and self.first <= leaf.ordinal <= self.last

    def is_in(self, candidate: Candidate) -> bool:
        """Whether a result holds one of the target's leaves."""
        span = candidate.span
        if candidate.outside is not None or candidate.summary is not None:
            return False
        same = (span.document_id, span.version) == (self.row.document_id, self.row.version)
        return same and span.first <= self.last and self.first <= span.last

    def is_in_passage(self, passage: Passage) -> bool:
        """Whether a passage holds one of the target's leaves."""
        if passage.summary is not None or passage.kind != "text" or passage.start is None or passage.end is None:
            return False
        return passage.document_id == self.row.document_id and passage.start < self.end and self.start < passage.end

    def is_covered_by(self, passage: Passage) -> bool:
        """Whether a passage is a summary that covers one of the target's leaves."""
        covers = () if passage.summary is None else passage.summary.covers
        return any(
            run.document_id == self.row.document_id and run.first <= self.last and self.first <= run.last for run in covers
        )


def find_target(reader: Reader, piece: Piece) -> Flow[Target | Row]:
    """The leaves of a document's piece. If the document has no leaves or is damaged, only its row."""
    rows = (yield from reader.cached_rows([piece.document_id])) if is_unicode(piece.document_id) else {}
    row = rows.get(piece.document_id)
    if row is not None and row.damage is not None:
        return row
    if row is None or row.version is None:
        raise (yield from reader.catalogue()).lacks(piece.document_id)
    if not row.leaves and piece.text is None:
        return row
    start, end = piece.start or 0, row.characters if piece.end is None else piece.end
    if piece.text is None and start >= row.characters:
        raise InvalidArgument(
            f"start must be < {row.characters}, the length of document {shown(piece.document_id)}, got {start}"
        )
    if piece.start is None and piece.end is None and piece.text is None:
        return Target(row, 0, row.leaves - 1, 0, row.characters)
    stored = yield from reader.fetch_leaves(row.leaf_ids)
    if len(stored) < row.leaves:
        raise StaleRead
    elsewhere: list[tuple[int, int]] = []
    if piece.text is not None:
        (start, end), *elsewhere = _places_of(piece.text, stored.values(), row)
    inside = sorted(
        (each.leaf for each in stored.values() if each.leaf.start < end and start < each.leaf.end),
        key=lambda leaf: leaf.ordinal,
    )
    return Target(row, inside[0].ordinal, inside[-1].ordinal, inside[0].start, inside[-1].end, tuple(elsewhere))


def _places_of(text: str, leaves: Iterable[StoredLeaf], row: Row) -> list[tuple[int, int]]:
    """The places of words in a document, ignoring white space, as (start, end)."""
    whole = "".join(each.text for each in sorted(leaves, key=lambda each: each.leaf.ordinal))
    words = text.split()
    places = [match.span() for match in re.finditer(r"\s+".join(map(re.escape, words)), whole)] if words else []
    if not places:
        raise InvalidArgument(f"text must be words of document {shown(row.document_id)}, got {shown(text)}")
    return places


T = TypeVar("T")

Place = tuple[str | int, ...]
"""A name or number for each step into a strategy."""

_OF_AN_INDEX = (VectorSearch, LoadedVectorSearch, LexicalSearch, ListLeaves, Similarities, TreeRoots, AskHost)


def searches_leaves(record: Sequence[Answered]) -> bool:
    """Whether a strategy has made a request that can lead to leaves of the index."""
    return any(isinstance(each.request, _OF_AN_INDEX) for each in record)


def notes_of(record: Sequence[Answered]) -> tuple[str, ...]:
    """How the searches read misspelt words of the question."""
    respelt = [read for answered in record for read in _respelt(answered)]
    return tuple(dict.fromkeys(f'"{word}" was read as "{other}"' for read in respelt for word, other in read.items()))


def _respelt(answered: Answered) -> list[Mapping[str, str]]:
    """The misspelt words of each question of a search that found only those."""
    return [row.respelt for row in answered.answer if row.respelt] if isinstance(answered.request, LexicalSearch) else []


def _of_question_as_read(record: Sequence[Answered]) -> list[Answered]:
    """The record without the searches for a question as it is written that were repeated for the question as it is read."""
    kept: list[Answered] = []
    for _, group in groupby(record, lambda each: isinstance(each.request, LexicalSearch | VectorSearch)):
        searches = list(group)
        lexical = [each for each in searches if not _respelt(each)]
        repeated = len(searches) - len(lexical)
        vectors = [each for each in lexical if isinstance(each.request, VectorSearch) and not each.request.summaries]
        dropped = set(map(id, vectors[:repeated]))
        kept += [each for each in lexical if id(each) not in dropped]
    return kept


def standings_in_searches(record: Sequence[Answered], target: Target) -> list[Standing]:
    """The piece's rank in each search. Of searches that differ only in their depth, the deepest one is used."""
    deepest: dict[tuple[str, str | None], Standing] = {}
    for answered in _of_question_as_read(record):
        for standing in _standings(answered, target):
            key = (standing.source, standing.query)
            best = deepest.get(key)
            if best is None or (standing.results, standing.rank is not None) > (best.results, best.rank is not None):
                deepest[key] = standing
    return sorted(deepest.values(), key=lambda standing: (standing.source, standing.query or ""))


def standing_in_results(place: Place, strategy: Strategy, results: Sequence[Candidate], target: Target) -> Standing:
    """The piece's rank in the results of an inner strategy."""
    source = f"{in_words(place)}: {type(strategy).__name__}"
    for rank, each in enumerate(results, start=1):
        if target.is_in(each):
            return Standing(source, rank, each.score, len(results))
    return Standing(source, None, None, len(results))


def _standings(answered: Answered, target: Target) -> Iterator[Standing]:
    answer = answered.answer
    match answered.request:
        case VectorSearch(summaries=False):
            for query, hits in _numbered(answer):
                yield _among_hits("vector", hits, target, query)
        case LoadedVectorSearch():
            for query, hits in _numbered(answer):
                yield _among_hits("vector", [_as_hit(each) for each in hits], target, query)
        case LexicalSearch(summaries=False, texts=texts):
            for text, matches in zip(texts, answer, strict=True):
                yield _among_hits("bm25", matches.hits, target, text if len(texts) > 1 else None)
        case ListLeaves():
            yield _among_hits("listing", answer, target, None)
        case AskHost(name=name):
            yield _among_hits(name, [_as_hit(each) for each in answer], target, None)
        case Similarities(ids=ids):
            for query, cosines in _numbered(answer):
                hits = [Hit(leaf, float(cosine)) for leaf, cosine in zip(ids, cosines, strict=True)]
                yield _among_hits("comparison", sorted(hits, key=lambda hit: hit.order), target, query)


def _numbered(rows: Sequence[Sequence[T]]) -> Iterator[tuple[str | None, Sequence[T]]]:
    for number, row in enumerate(rows, start=1):
        yield (f"query {number}" if len(rows) > 1 else None), row


def _as_hit(candidate: Candidate) -> Hit:
    version = "" if candidate.outside is not None or candidate.summary is not None else candidate.span.version
    return Hit(LeafId(candidate.span.document_id, version, candidate.span.first), candidate.score)


def _among_hits(source: str, hits: Sequence[Hit], target: Target, query: str | None) -> Standing:
    for rank, hit in enumerate(hits, start=1):
        if target.has(hit.leaf):
            return Standing(source, rank, hit.score, len(hits), query)
    return Standing(source, None, None, len(hits), query)


def inside(strategy: Strategy, place: Place = ()) -> Iterator[tuple[Place, Strategy]]:
    """The inner strategies with their places, innermost first, and the strategy itself last."""
    if is_dataclass(strategy):
        for each in fields(strategy):
            for step, strategy_of_step in _strategies_in(getattr(strategy, each.name)):
                yield from inside(strategy_of_step, (*place, each.name, *step))
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
