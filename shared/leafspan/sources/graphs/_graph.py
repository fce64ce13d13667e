"""What both graphs share: questions, results and their shapes, and the way back to leaves and spans of the index."""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from leafspan.checks import check_choice, check_text, shown
from leafspan.errors import InvalidArgument, LeafspanError, SourceFailed
from leafspan.filters import to_filter
from leafspan.strategies import AskHost, CallFunction, HostResult, ListLeaves, LoadTexts, RetrievalContext, StrategyFlow
from leafspan.trace import Trace, TracedHit
from leafspan.values import Candidate, Hit, LeafId, Passage, Span, run_of_id

_MOST_LEAVES = 10_000  # leaves of a document in which a chunk is looked up


def ask_once(
    questions: Sequence[str],
    key: tuple[Any, ...],
    ask: Callable[[str], GraphResult],
    aask: Callable[[str], Awaitable[GraphResult]],
) -> StrategyFlow[list[GraphResult]]:
    """Ask the graph each question. If the strategy runs again with more candidates, the graph is not asked again."""
    answers = yield tuple(CallFunction(ask, (each,), aask, key=(*key, each)) for each in questions)
    return list(answers)


def lead_back(
    name: str, questions: Sequence[str], results: Sequence[Sequence[HostResult]], context: RetrievalContext
) -> StrategyFlow[list[list[Candidate]]]:
    """Turn the results for each question into candidates of the index, best first.

    A chunk of a document of the index is looked up in its text. Where chunks overlap, the better one gets the text.
    """
    results = yield from _looked_up(results, context)
    rows: list[list[Candidate]] = yield tuple(
        _as_of_a_host(name, question, _without_overlaps(row), context)
        for question, row in zip(questions, results, strict=True)
    )
    return [row[: context.candidates] for row in rows]


def _as_of_a_host(name: str, question: str, results: Sequence[HostResult], context: RetrievalContext) -> AskHost:
    """The request that recognises leaves, and applies the filter and the view."""

    async def aresults(_: str) -> list[HostResult]:
        return list(results)

    key = tuple((each.id, each.score) for each in results)
    return AskHost(name, question, KeyedFunction(key, lambda _: list(results)), KeyedFunction(key, aresults), context.where)


def _looked_up(results: Sequence[Sequence[HostResult]], context: RetrievalContext) -> StrategyFlow[list[list[HostResult]]]:
    """The results. A chunk of a document of the index gets the id of its span."""
    documents = list(dict.fromkeys(id_ for row in results for each in row if (id_ := _document_of(each))))
    # Without an index, or before its first document, there is no embedder.
    if not documents or context.embedder is None:
        return [list(row) for row in results]
    listed: list[list[Hit]] = yield tuple(ListLeaves(0, _MOST_LEAVES, _has_id(id_)) for id_ in documents)
    leaves = {id_: [hit.leaf for hit in hits] for id_, hits in zip(documents, listed, strict=True) if hits}
    texts: Mapping[LeafId, str] = yield LoadTexts(tuple(leaf for row in leaves.values() for leaf in row))
    return [[_in_document(each, leaves, texts) for each in row] for row in results]


def _document_of(result: HostResult) -> str | None:
    """The document that a chunk comes from, unless the chunk is a leaf itself."""
    sources: Any = result.metadata.get("source_ids")
    if result.kind != "chunk" or not sources or leaf_or_none(result.id or ""):
        return None
    return str(sources[0])


def _has_id(document_id: str) -> Any:
    return to_filter({"field": "id", "operator": "==", "value": document_id})


def _in_document(result: HostResult, leaves: Mapping[str, Sequence[LeafId]], texts: Mapping[LeafId, str]) -> HostResult:
    own = leaves.get(_document_of(result) or "", ())
    pieces = [texts[leaf] for leaf in own]
    place = _place("".join(pieces), result.text)
    if place is None:
        return result
    start, end = place
    ends = list(itertools.accumulate(map(len, pieces)))
    first, last = bisect.bisect_right(ends, start), bisect.bisect_left(ends, end)
    return replace(result, id=_span_id(own[0], own[first].ordinal, own[last].ordinal))


def _place(text: str, wanted: str) -> tuple[int, int] | None:
    """The start and end of a piece in a text, ignoring differences in white space; None if the piece is not there."""
    wanted = wanted.strip()
    if not wanted:
        return None
    start = text.find(wanted)
    if start >= 0:
        return start, start + len(wanted)
    match = re.search(r"\s+".join(map(re.escape, wanted.split())), text)
    return match.span() if match else None


def _without_overlaps(row: Sequence[HostResult]) -> list[HostResult]:
    """The results without leaves that a better result has. A result that falls into two parts becomes two."""
    taken: dict[tuple[str, str], set[int]] = {}
    left = []
    for each in row:
        run = run_of_id(each.id)
        if run is None or each.kind != "chunk":
            left.append(each)
            continue
        leaf, last = run
        ordinals = taken.setdefault((leaf.document_id, leaf.version), set())
        new = [number for number in range(leaf.ordinal, last + 1) if number not in ordinals]
        ordinals.update(new)
        left += [replace(each, id=_span_id(leaf, first, end)) for first, end in _runs(new)]
    return left


def _runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The first and the last of each run of consecutive numbers."""
    for _, run in itertools.groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        whole = [number for _, number in run]
        yield whole[0], whole[-1]


def _span_id(leaf: LeafId, first: int, last: int) -> str:
    return Span(leaf.document_id, leaf.version, first, last, (first, 0)).id


@dataclass(frozen=True, slots=True)
class KeyedFunction:
    """A function that equals any other with the same ``key``, so that a retrieval does not ask the same twice."""

    key: tuple[Any, ...]
    function: Callable[..., Any] = field(compare=False)

    def __call__(self, question: str) -> Any:
        """Call the function."""
        return self.function(question)


GraphKind = Literal["chunk", "entity", "relation"]
KINDS: tuple[str, ...] = get_args(GraphKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphResult:
    """A graph's results for a question, each kind best first."""

    chunks: tuple[HostResult, ...] = ()
    entities: tuple[HostResult, ...] = ()
    relations: tuple[HostResult, ...] = ()

    def passages(self, kinds: Sequence[str]) -> list[HostResult]:
        """The results of these kinds in one list, best first. The order of ``kinds`` breaks ties, then the rank does.

        If a result has no score, its score is 1 / rank, with its rank within its kind.
        """
        by_kind = {"chunk": self.chunks, "entity": self.entities, "relation": self.relations}
        scored = [
            replace(each, score=1 / rank if each.score is None else each.score)
            for kind in kinds
            for rank, each in enumerate(by_kind[kind], start=1)
        ]
        return sorted(scored, key=lambda each: -(each.score or 0.0))

    def dictionary(self) -> dict[str, list[dict[str, Any]]]:
        """Plain dictionaries: ``nodes``, ``edges`` and ``chunks``."""
        return {
            "nodes": [dict(each.metadata) for each in self.entities],
            "edges": [dict(each.metadata) for each in self.relations],
            "chunks": [{"id": each.id, "text": each.text, **each.metadata} for each in self.chunks],
        }

    def in_shape(self, shape: str, kinds: Sequence[str], source: str) -> Any:
        """The results as dictionaries (``"dict"``), as passages of these kinds (``"chunks"``), or as their texts."""
        if shape == "dict":
            return self.dictionary()
        passages = [as_passage(each, source) for each in self.passages(kinds)]
        return passages if shape == "chunks" else [each.text for each in passages]


def check_question(question: object, shape: object, shapes: Sequence[str]) -> None:
    """Check a question to a graph, and the shape of its results."""
    check_text("question", question)
    if not isinstance(question, str) or not question.strip():
        raise InvalidArgument(f"question must be a text that is not blank, got {shown(question)}")
    check_choice("shape", shape, shapes)


@contextmanager
def failures_of(graph: str) -> Iterator[None]:
    """Turn exceptions of a graph, and of the libraries that it uses, into leafspan's errors."""
    try:
        yield
    except LeafspanError:
        raise
    except Exception as error:
        message = f"{graph} must answer the question, but: {type(error).__name__}: {error}"
        raise SourceFailed.by(message, error) from error


def check_kinds(kinds: Any) -> tuple[str, ...]:
    """Return the kinds as a tuple."""
    if isinstance(kinds, str) or not isinstance(kinds, Sequence) or not kinds:
        raise InvalidArgument(f"kinds must be a list of {', '.join(map(repr, KINDS))}, got {shown(kinds)}")
    for kind in kinds:
        check_choice("each of kinds", kind, KINDS)
    if len(set(kinds)) < len(kinds):
        raise InvalidArgument(f"kinds must have each kind once, got {shown(kinds)}")
    return tuple(kinds)


def as_passage(result: HostResult, source: str) -> Passage:
    """A result as a passage that does not belong to an index."""
    score = result.score or 0.0
    trace = Trace(hits=(TracedHit(0, score, source),), kind=result.kind)
    metadata = dict(result.metadata)
    return Passage(
        result.id or "", "", None, None, result.text, score, metadata, trace, kind=result.kind, hidden=result.hidden
    )


def leaf_or_none(id_: str) -> str | None:
    """The id, or None if it is not a leaf's id."""
    leaf = LeafId.of_result(id_)
    return None if leaf is None else str(leaf)


def plain(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata without missing values."""
    return {key: value for key, value in metadata.items() if value not in (None, "", [], ())}
