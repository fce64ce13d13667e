"""Results of a host's retriever or of another source: leaves of the index, or passages of another kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from leafspan.checks import shown
from leafspan.engines import MOST_RESULTS
from leafspan.errors import InvalidArgument, NotALeaf
from leafspan.filters import Where
from leafspan.flows import Flow
from leafspan.store import Reader, Row, Scope, StoredLeaf
from leafspan.strategies import HOW_TO_FIND_LEAVES, AskHost, HostResult
from leafspan.strategies.scoring import scores_in_order
from leafspan.trace import Trace, TracedHit
from leafspan.values import Candidate, Leaf, LeafId, Passage, Span, id_of_text, outside_candidate, run_of_id, scored

_VERSION = re.compile(r"[0-9a-f]{8}")


def outside_results(request: AskHost, results: Any, scope: Scope | None = None) -> list[Candidate]:
    """Make passages of results from other sources, if their own metadata match the call's filter and the view's filter."""
    filters = [where for where in (request.where, scope.where if scope else None) if where is not None]
    wanted = [each for each in _checked(request, results) if all(_matches(each, where) for where in filters)]
    scores = scores_in_order([each.score for each in wanted])
    ranked = enumerate(zip(wanted, scores, strict=True), start=1)
    return _once(_outside(request, each, score, rank) for rank, (each, score) in ranked)


def recognise(
    request: AskHost, results: Any, reader: Reader, scope: Scope | None, candidate: Callable[[StoredLeaf], Candidate]
) -> Flow[list[Candidate]]:
    """Make leaves and spans of results that have ids of the index, and passages of another kind of all others.

    Results that do not match the filter are left out: leaves by their document's metadata, others by their own. A scoped
    view also leaves out what it does not show. It does not distinguish hidden documents from missing ones, and no rank or
    score of other results reveals hidden documents.
    """
    checked = _checked(request, results)
    runs = [_run(result.id) for result in checked]
    ids = dict.fromkeys(id_ for run in runs if run is not None for id_ in run)
    stored = (yield from reader.fetch_leaves(list(ids))) if ids else {}
    rows = (yield from reader.cached_rows(id_.document_id for id_ in ids)) if ids else {}
    wanted: list[tuple[HostResult, list[LeafId] | None]] = []
    for result, run in zip(checked, runs, strict=True):
        if run is not None and all(id_ in stored for id_ in run):
            document = stored[run[0]].leaf.document_id
            if document in rows and (request.where is None or request.where.matches(rows[document].filterable, document)):
                wanted.append((result, run))
            continue
        if scope is None:
            _check_not_replaced(request, run, stored, rows, reader)
        elif run is not None or not _matches(result, scope.where):
            continue
        if request.where is None or _matches(result, request.where):
            wanted.append((result, None))
    scores = scores_in_order([result.score for result, _ in wanted])
    return _once(
        _outside(request, result, score, rank)
        if run is None
        else _inside(request, [stored[id_].leaf for id_ in run], [candidate(stored[id_]) for id_ in run], score, rank)
        for rank, ((result, run), score) in enumerate(zip(wanted, scores, strict=True), start=1)
    )


def _checked(request: AskHost, results: Any) -> list[HostResult]:
    host_results = list(results) if isinstance(results, Sequence) and not isinstance(results, str) else None
    if host_results is None or not all(isinstance(each, HostResult) for each in host_results):
        raise InvalidArgument(f"{request.name} must return a list of HostResult, got {shown(results)}")
    return host_results


def _run(id_: str | None) -> list[LeafId] | None:
    """The ids of the leaves in a result with this id, or None if leafspan did not make the id."""
    run = run_of_id(id_)
    if run is None or not _VERSION.fullmatch(run[0].version) or not 0 <= run[1] - run[0].ordinal < MOST_RESULTS:
        return None
    leaf, last = run
    return [leaf._replace(ordinal=ordinal) for ordinal in range(leaf.ordinal, last + 1)]


def _check_not_replaced(
    request: AskHost, run: list[LeafId] | None, stored: Mapping[LeafId, StoredLeaf], rows: Mapping[str, Row], reader: Reader
) -> None:
    """Refuse a former leaf of a document in the index: the host's own index is out of date."""
    missing = next((id_ for id_ in run or () if id_ not in stored), None)
    if missing is not None and missing.document_id in rows:
        reader.suspect(missing)
        raise NotALeaf(
            f"the results of {request.name} must be leaves of this index, but {str(missing)!r} is not in it (any more): "
            f"give that retriever the leaves as they are now, {HOW_TO_FIND_LEAVES}, or insert lightrag_inputs(index) "
            "into a LightRAG"
        )


def _matches(result: HostResult, where: Where) -> bool:
    return matches_outside(result.metadata, result.id, where)


def matches_outside(metadata: Mapping[str, object], id_: str | None, where: Where) -> bool:
    """Whether a filter matches a passage of another source, by its own metadata and the ``doc_id`` in it."""
    return where.matches(metadata, str(metadata.get("doc_id", id_ or "")))


def _inside(request: AskHost, run: Sequence[Leaf], leaves: Sequence[Candidate], score: float, rank: int) -> Candidate:
    """The candidate for a leaf, or for several leaves as one span."""
    if len(leaves) == 1:
        return scored(leaves[0], score, request.name, rank)
    first = run[0]
    span = Span(first.document_id, first.version, first.ordinal, run[-1].ordinal, (first.ordinal, first.start))
    trace = Trace(hits=(TracedHit(first.ordinal, score, request.name, rank),))
    return Candidate(span, score, trace, leaves[0].metadata, words=sum(leaf.words for leaf in run))


def _outside(request: AskHost, result: HostResult, score: float, rank: int) -> Candidate:
    """The candidate for a passage of another kind."""
    id_ = id_of_text(result.text) if result.id is None else result.id
    trace = Trace(hits=(TracedHit(0, score, request.name, rank),), kind=result.kind)
    passage = Passage(id_, "", None, None, result.text, score, dict(result.metadata), trace, kind=result.kind)
    return outside_candidate(replace(passage, origin=result.origin, hidden=result.hidden))


def _once(candidates: Iterator[Candidate]) -> list[Candidate]:
    """Keep each result once, at its best place."""
    first: dict[str, Candidate] = {}
    for each in candidates:
        first.setdefault(each.span.id, each)
    return list(first.values())
