"""An index that gets the same questions from many strategies, and remembers its answers.

Most requests of a strategy do not depend on its weights: what the searches find, what leaves contain, how similar their
words are. So the index answers each of these once, and a strategy with other weights only adds the scores again. It
returns what ``index.retrieve_many(questions, strategy, k=candidates, candidates=candidates, where=where)`` returns, in this
order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from span_recall import Place

from leafspan import Index, Query, Strategy, Where
from leafspan.strategies import (
    Candidate,
    Embed,
    FindMentions,
    LeafId,
    LexicalSearch,
    Load,
    Mention,
    Request,
    RetrievalContext,
    SoftMatches,
    StrategyFlow,
    VectorSearch,
)

_MATCHES_KEPT = 4  # large answers of BM25; each setting of larger nodes has its own


@dataclass(frozen=True, slots=True)
class Asking(Strategy):
    """Makes one request, puts its answer into a list, and returns no results."""

    request: Request
    answers: list[Any]

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """See Strategy."""
        self.answers.append((yield self.request))
        return [[] for _ in queries]


class Remembered:
    """An index with its questions.

    Args:
        index: The index. It must not change.
        questions: The questions.
        candidates: Number of leaves to find for each, >= 1.
        where: Filter on the documents. Default: all.
    """

    def __init__(self, index: Index, questions: Sequence[str], candidates: int, where: Where | None = None) -> None:
        self._index = index
        self._queries = [Query(text) for text in questions]
        self._context = RetrievalContext(candidates, k=candidates, where=where)
        self._answers: dict[Any, Any] = {}
        self._matches: dict[LexicalSearch, Any] = {}
        self._loaded: dict[LeafId, Candidate] = {}
        self._similar: dict[tuple[tuple[str, ...], LeafId], float] = {}
        self._mentions: dict[tuple[LeafId, str | None], list[Mention]] = {}

    def rank(self, strategy: Strategy) -> list[list[Place]]:
        """The places of the leaves that a strategy finds for each question, best first."""
        flow = strategy.retrieve(self._queries, self._context)
        answer: Any = None
        while True:
            try:
                request = flow.send(answer)
            except StopIteration as stop:
                return [[_place(found) for found in row] for row in stop.value]
            answer = list(map(self._answer, request)) if isinstance(request, tuple) else self._answer(request)

    def _answer(self, request: Request) -> Any:
        match request:
            case Embed():
                return self._remembered(request, request)
            case LexicalSearch():
                return self._search_words(request)
            case VectorSearch():  # the vectors are always the questions' vectors
                return self._remembered((VectorSearch, request.count), request)
            case Load():
                return self._load(request)
            case SoftMatches():
                return self._compare(request)
            case FindMentions():
                return self._find_mentions(request)
            case _:
                return self._ask(request)

    def _remembered(self, key: Any, request: Request) -> Any:
        if key not in self._answers:
            self._answers[key] = self._ask(request)
        return self._answers[key]

    def _search_words(self, request: LexicalSearch) -> Any:
        if request not in self._matches:
            if len(self._matches) == _MATCHES_KEPT:
                del self._matches[next(iter(self._matches))]
            self._matches[request] = self._ask(request)
        return self._matches[request]

    def _load(self, request: Load) -> dict[LeafId, Candidate]:
        new = tuple(_new(request.ids, self._loaded))
        if new:
            self._loaded.update(self._ask(Load(new)))
        return {id_: self._loaded[id_] for id_ in request.ids}

    def _compare(self, request: SoftMatches) -> list[list[float]]:
        rows = [[(tuple(words), id_) for id_ in ids] for words, ids in zip(request.words, request.ids, strict=True)]
        new = [list(_new(row, self._similar)) for row in rows]
        if any(new):
            scores = self._ask(SoftMatches(request.words, [[id_ for _, id_ in row] for row in new]))
            for row, values in zip(new, scores, strict=True):
                self._similar.update(zip(row, values, strict=True))
        return [[self._similar[key] for key in row] for row in rows]

    def _find_mentions(self, request: FindMentions) -> dict[LeafId, list[Mention]]:
        keys = [(id_, request.aliases) for id_ in request.ids]
        if new := list(_new(keys, self._mentions)):
            answer = self._ask(FindMentions(tuple(id_ for id_, _ in new), request.where, request.aliases))
            self._mentions.update((key, answer.get(key[0], [])) for key in new)
        return {key[0]: self._mentions[key] for key in keys if self._mentions[key]}

    def _ask(self, request: Request) -> Any:
        """The index's answer to a strategy's request."""
        asking = Asking(request, [])
        self._index.retrieve_many([query.text for query in self._queries][:1], asking, k=1)
        return asking.answers[0]


def _new(keys: Iterable[Any], known: Any) -> Iterable[Any]:
    return (key for key in dict.fromkeys(keys) if key not in known)


def _place(found: Candidate) -> Place:
    assert found.leaf is not None
    return found.leaf.document_id, found.leaf.start, found.leaf.end
