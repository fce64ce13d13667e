"""Leads from the results of a graph to leaves and spans of the index."""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from leafspan.filters import to_filter
from leafspan.sources.graphs._asked import Asked
from leafspan.sources.graphs._result import GraphResult, leaf_or_none
from leafspan.strategies import AskHost, CallFunction, HostResult, ListLeaves, LoadTexts, RetrievalContext, StrategyFlow
from leafspan.values import Candidate, Hit, LeafId, Span, run_of_id

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
        _as_of_a_host(name, question, _without_overlaps(found), context)
        for question, found in zip(questions, results, strict=True)
    )
    return [row[: context.candidates] for row in rows]


def _as_of_a_host(name: str, question: str, found: Sequence[HostResult], context: RetrievalContext) -> AskHost:
    """The request that recognises leaves, and applies the filter and the view."""

    async def given(_: str) -> list[HostResult]:
        return list(found)

    key = tuple((each.id, each.score) for each in found)
    return AskHost(name, question, Asked(key, lambda _: list(found)), Asked(key, given), context.where)


def _looked_up(results: Sequence[Sequence[HostResult]], context: RetrievalContext) -> StrategyFlow[list[list[HostResult]]]:
    """The results. A chunk of a document of the index gets the id of its span."""
    documents = list(dict.fromkeys(id_ for row in results for each in row if (id_ := _document_of(each))))
    # Without an index, or before its first document, there is no embedder.
    if not documents or context.embedder is None:
        return [list(row) for row in results]
    listed: list[list[Hit]] = yield tuple(ListLeaves(0, _MOST_LEAVES, _has_id(id_)) for id_ in documents)
    leaves = {id_: [hit.leaf for hit in hits] for id_, hits in zip(documents, listed, strict=True) if hits}
    texts: Mapping[str, str] = yield LoadTexts(tuple(str(leaf) for row in leaves.values() for leaf in row))
    return [[_in_document(each, leaves, texts) for each in row] for row in results]


def _document_of(found: HostResult) -> str | None:
    """The document that a chunk comes from, unless the chunk is a leaf itself."""
    sources: Any = found.metadata.get("source_ids")
    if found.kind != "chunk" or not sources or leaf_or_none(found.id or ""):
        return None
    return str(sources[0])


def _has_id(document_id: str) -> Any:
    return to_filter({"field": "id", "operator": "==", "value": document_id})


def _in_document(found: HostResult, leaves: Mapping[str, Sequence[LeafId]], texts: Mapping[str, str]) -> HostResult:
    own = leaves.get(_document_of(found) or "", ())
    pieces = [texts[str(leaf)] for leaf in own]
    place = _place("".join(pieces), found.text)
    if place is None:
        return found
    start, end = place
    ends = list(itertools.accumulate(map(len, pieces)))
    first, last = bisect.bisect_right(ends, start), bisect.bisect_left(ends, end)
    return replace(found, id=_span_id(own[0], own[first].ordinal, own[last].ordinal))


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
        known = taken.setdefault((leaf.document_id, leaf.version), set())
        new = [number for number in range(leaf.ordinal, last + 1) if number not in known]
        known.update(new)
        left += [replace(each, id=_span_id(leaf, first, end)) for first, end in _runs(new)]
    return left


def _runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The first and the last of each run of consecutive numbers."""
    for _, run in itertools.groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        whole = [number for _, number in run]
        yield whole[0], whole[-1]


def _span_id(leaf: LeafId, first: int, last: int) -> str:
    return Span(leaf.document_id, leaf.version, first, last, (first, 0)).id
