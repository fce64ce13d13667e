"""FollowReferences: follows references in passages to other retrievers, documents and leaves."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from leafspan.checks import check_choice, check_flag, check_number, check_text, keep_whole, shown
from leafspan.errors import InvalidArgument
from leafspan.filters import F, Where
from leafspan.spans import has_more, unite
from leafspan.strategies._fuse import ON_FAILURE, OnFailure, in_words, split_failures
from leafspan.strategies._hybrid import Hybrid
from leafspan.strategies._queries import query_vectors
from leafspan.strategies._requests import (
    MOST_CANDIDATES,
    ListLeaves,
    Load,
    RetrievalContext,
    RunStrategies,
    Similarities,
    StrategyFlow,
    StrategyResults,
    StrategyRun,
)
from leafspan.strategies._strategy import Strategy, check_named_strategies, check_strategy
from leafspan.trace import Trace
from leafspan.values import Candidate, Hit, LeafId, Query, run_of_id, scored

Reference = tuple[int, str]  # a question's number and a referenced name: each pair is followed once

_VAIN = "FollowReferences: other passages already led to everything that its references lead to"


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowReferences(Strategy):
    """What ``base`` finds; results from the targets replace each passage that refers to other documents or searches.

    A passage refers to others by its metadata: under ``key`` is a name, or a list of names. A name of ``targets`` leads
    to what that strategy finds for the same query. Any other name is the id of a document or passage of the index or
    view, and leads to its leaves that are nearest to the query. A reference to a document that the view or the filter
    hides finds nothing. References in the new results are followed in turn.

    Each name is followed once for a query, and never back to where a passage comes from, so cycles end. If several
    passages refer to the same target, its results replace all of them, at the place of the first. A passage whose
    references find nothing stays, and its trace says why.

    Args:
        base: A strategy. Default: ``Hybrid()``.
        targets: A strategy for each name that passages can refer to, by name. Default: none, only documents and passages.
        key: Metadata key of references: a text, or a list of texts. Default: ``"reference"``.
        depth: Most references in a row that are followed, in [1, 100]. Default: 2.
        per_reference: Most results of one reference, >= 1. Default: 3.
        keep: Whether passages with references stay, each before what it refers to. Default: False.
        timeout: Seconds that each target may take, > 0. A target that takes longer has failed. Default: no limit.
        on_failure: ``"raise"`` raises the error of a target that failed, with a note that names it. ``"skip"`` treats
            it as a target that found nothing, and says so in the trace. An InvalidArgument is always raised. Default:
            ``"raise"``.

    Raises:
        InvalidArgument: if an option is out of its range.

    The results of a reference get the score of the passage that refers to them, and take its place in their own order.
    Ties of leaves are ordered by position.
    """

    base: Strategy = field(default_factory=Hybrid)
    targets: Mapping[str, Strategy] = field(default_factory=dict, hash=False)
    key: str = "reference"
    depth: int = 2
    per_reference: int = 3
    keep: bool = False
    timeout: float | None = None
    on_failure: OnFailure = "raise"

    def __post_init__(self) -> None:
        check_strategy("base", self.base)
        object.__setattr__(self, "targets", check_named_strategies("targets", "target", self.targets))
        check_text("key", self.key)
        if not self.key.strip():
            raise InvalidArgument(f"key must be a text that is not blank, got {shown(self.key)}")
        keep_whole(self, "depth", 1)
        if self.depth > _DEEPEST:
            raise InvalidArgument(f"depth must be <= {_DEEPEST}, got {self.depth}")
        keep_whole(self, "per_reference", 1)
        check_flag("keep", self.keep)
        check_number("timeout", self.timeout, above=0, unit="seconds", optional=True)
        check_choice("on_failure", self.on_failure, ON_FAILURE)

    @property
    def finds_spans(self) -> bool:
        return self.base.finds_spans or any(target.finds_spans for target in self.targets.values())

    @property
    def returns_all(self) -> bool:
        return self.base.returns_all

    @property
    def query_instruction(self) -> str:
        return self.base.query_instruction

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """At each depth it follows all references of all queries together."""
        answers: dict[Reference, Sequence[Candidate] | str] = {}
        rows = yield from self.base.retrieve(queries, context.for_base)
        results = yield from self._followed(queries, dict(enumerate(rows)), context, answers)
        # When passages unite, further passages of the base move up, in each query separately.
        wider = context.for_base
        short = [number for number, row in enumerate(rows) if len(results[number]) < min(len(row), context.results)]
        while short and not context.exactly and wider.candidates < MOST_CANDIDATES:
            wider = replace(wider, candidates=min(_WIDER * wider.candidates, MOST_CANDIDATES))
            more = yield from self.base.retrieve([queries[number] for number in short], wider)
            grown = {number: row for number, row in zip(short, more, strict=True) if has_more(row, rows[number])}
            results |= yield from self._followed(queries, grown, context, answers)
            for number, row in grown.items():
                rows[number] = row
            short = [number for number in grown if len(results[number]) < context.results]
        return [results[number][: context.candidates] for number in range(len(queries))]

    def _followed(
        self,
        queries: Sequence[Query],
        rows: Mapping[int, Sequence[Candidate]],
        context: RetrievalContext,
        answers: dict[Reference, Sequence[Candidate] | str],
    ) -> StrategyFlow[dict[int, list[Candidate]]]:
        """The final results by query number; ``known`` collects what each reference led to."""
        tops = {number: [Referring.of(each, number, self.key) for each in row] for number, row in rows.items()}
        level = [each for row in tops.values() for each in row]
        seen: set[Reference] = set()
        for _ in range(self.depth):
            references = dict.fromkeys((each.query, name) for each in level for name in each.names)
            if not references:
                break
            new = [each for each in references if each not in answers]
            if new:
                answers |= yield from self._found_at(new, queries, context)
            level = follow_once(level, answers, seen, self.key)
        for passage in level:
            for name in passage.names:
                if (passage.query, name) in seen:
                    passage.elsewhere = True
                else:
                    passage.notes.append(
                        f"FollowReferences: the reference {name!r} was not followed: the depth is {self.depth}"
                    )
        return {number: in_place([one for each in row for one in each.replaced(self.keep)]) for number, row in tops.items()}

    def _found_at(
        self, references: Sequence[Reference], queries: Sequence[Query], context: RetrievalContext
    ) -> StrategyFlow[dict[Reference, Sequence[Candidate] | str]]:
        """The results for each pair of query and name, or a remark on why there are no results."""
        answers: dict[Reference, Sequence[Candidate] | str] = {}
        numbers: dict[str, list[int]] = {}
        for number, name in references:
            if name in self.targets:
                numbers.setdefault(name, []).append(number)
        if numbers:
            own = replace(context, k=self.per_reference)
            calls = ((self.targets[name], [queries[number] for number in of]) for name, of in numbers.items())
            runs = tuple(StrategyRun(target, some, own, self.timeout) for target, some in calls)
            outcomes: list[StrategyResults] = yield RunStrategies(runs)
            called = [f"target {name!r}" for name in numbers]
            results, failed = split_failures(called, outcomes, on_failure=self.on_failure, owner="FollowReferences")
            for (name, of), rows in zip(numbers.items(), results, strict=True):
                if rows is None:
                    error = in_words(failed[f"target {name!r}"])
                    answers |= {(number, name): f"was left out: {error}" for number in of}
                else:
                    for number, row in zip(of, rows, strict=True):
                        answers[number, name] = row[: self.per_reference]
        others = [each for each in references if each[1] not in self.targets]
        # An index without documents has no embedder yet; without an index, there are no documents.
        if others and context.embedder is not None:
            answers |= yield from nearest_leaves_of(
                others, queries, context.where, self.per_reference, self.query_instruction
            )
        return answers | {each: [] for each in others if each not in answers}


@dataclass(slots=True, eq=False)
class Referring:
    """A passage with what its references have led to."""

    passage: Candidate
    query: int  # number of the question that it was found for
    names: tuple[str, ...]  # the referenced names, without the passage's own and those that led to it
    origins: frozenset[str] = frozenset()  # the passage's own names, and the names that were followed to find it
    way: tuple[str, ...] = ()  # the notes on the references that led to it
    led_to: list[Referring] = field(default_factory=list)  # what its references have led to, in their order
    elsewhere: bool = False  # whether another passage's same reference was followed, and led to something there
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, candidate: Candidate, query: int, key: str, followed: frozenset[str] = frozenset()) -> Referring:
        """A passage that may refer to others by this metadata key; following the names ``followed`` found it."""
        value = candidate.metadata.get(key)
        values = [] if value is None else list(value) if isinstance(value, list | tuple) else [value]
        names = [each for each in dict.fromkeys(map(_text, values)) if each]
        notes = [f"FollowReferences: the reference {shown(each)} is no text" for each in values if not _text(each)]
        origins = followed | {_id(candidate), candidate.span.document_id}
        return cls(candidate, query, tuple(name for name in names if name not in origins), origins, notes=notes)

    def lead_to(self, name: str, candidates: Sequence[Candidate], key: str) -> None:
        """Add what a reference led to, with this passage's score and a note in the trace."""
        note = f"FollowReferences followed {name!r} from {_id(self.passage)}, whose score {self.passage.score:.3f} it has"
        for each in candidates:
            trace = each.trace + Trace(notes=(*self.notes, *self.way, note))
            child = Referring.of(
                replace(each, score=self.passage.score, trace=trace), self.query, key, self.origins | {name}
            )
            child.way = (*self.way, note)
            self.led_to.append(child)

    def replaced(self, keep: bool) -> Iterator[Candidate]:
        """The passages that replace this one, which comes first with ``keep``, or alone if no reference led anywhere."""
        others = [each for child in self.led_to for each in child.replaced(keep)]
        if keep or not (others or self.elsewhere):
            vain = (_VAIN,) if self.led_to and not others else ()
            yield replace(self.passage, trace=self.passage.trace + Trace(notes=(*self.notes, *vain)))
        yield from others


def _id(candidate: Candidate) -> str:
    return candidate.span.id if candidate.outside is None else candidate.outside.id


def _text(reference: object) -> str:
    """The referenced name, or "" if ``reference`` is not a name."""
    return reference if isinstance(reference, str) and reference.strip() else ""


def follow_once(
    passages: Sequence[Referring], results: Mapping[Reference, Sequence[Candidate] | str], seen: set[Reference], key: str
) -> list[Referring]:
    """Add to passages what their references led to, and return the added passages, whose references come next."""
    for passage in passages:
        answers = {name: results[passage.query, name] for name in passage.names}
        for name, result in answers.items():  # first, since passages added below get these notes
            if not result or isinstance(result, str):
                passage.notes.append(f"FollowReferences: the reference {name!r} {result or 'led to nothing'}")
        for name, result in answers.items():
            if not result or isinstance(result, str):
                continue
            if (passage.query, name) in seen:
                passage.elsewhere = True
            else:
                seen.add((passage.query, name))
                passage.lead_to(name, result, key)
    return [each for passage in passages for each in passage.led_to]


def in_place(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Each result once, at its first place. Overlapping results become one, at the first of their places."""
    first: dict[str, Candidate] = {}
    places: dict[LeafId, int] = {}
    for place, each in enumerate(candidates):
        before = first.get(each.span.id)
        first[each.span.id] = each if before is None else replace(before, trace=before.trace + each.trace)
        for id_ in each.span.leaf_ids:
            places.setdefault(id_, place)
    return sorted(unite(first.values()), key=lambda each: min(places[id_] for id_ in each.span.leaf_ids))


def nearest_leaves_of(
    references: Sequence[tuple[int, str]], queries: Sequence[Query], where: Where | None, most: int, instruction: str
) -> StrategyFlow[dict[tuple[int, str], list[Candidate]]]:
    """The leaves of each document or passage that are nearest to a query, in one comparison for all pairs.

    Documents are listed before they are read, so an id that the view or the filter hides leads to no leaf.
    """
    names = list(dict.fromkeys(name for _, name in references))
    runs = {name: run for name in names if (run := run_of_id(name)) is not None}
    documents = F("doc_id").in_(list(dict.fromkeys([*names, *(leaf.document_id for leaf, _ in runs.values())])))
    listed: list[Hit] = yield ListLeaves(0, sys.maxsize, documents if where is None else where & documents)
    ids_listed = {hit.leaf for hit in listed}
    leaves: dict[str, list[LeafId]] = {}
    for hit in listed:
        leaves.setdefault(hit.leaf.document_id, []).append(hit.leaf)
    for name, (first, last) in runs.items():
        if name not in leaves and first.ordinal <= last < first.ordinal + len(ids_listed):
            ids = [first._replace(ordinal=ordinal) for ordinal in range(first.ordinal, last + 1)]
            if all(id_ in ids_listed for id_ in ids):
                leaves[name] = ids
    pairs = [(number, name) for number, name in references if name in leaves]
    if not pairs:
        return {}
    ids = list(dict.fromkeys(id_ for _, name in pairs for id_ in leaves[name]))
    numbers = list(dict.fromkeys(number for number, _ in pairs))
    vectors = yield from query_vectors([queries[number] for number in numbers], instruction)
    cosines = yield Similarities(vectors, tuple(ids))
    column = {id_: place for place, id_ in enumerate(ids)}
    row = {number: place for place, number in enumerate(numbers)}
    nearest: dict[tuple[int, str], list[tuple[LeafId, float]]] = {}
    for number, name in pairs:
        compared = [(id_, float(cosines[row[number]][column[id_]])) for id_ in leaves[name]]
        nearest[number, name] = sorted(compared, key=lambda each: -each[1])[:most]  # ties keep the order of the text
    loaded = yield Load(tuple(dict.fromkeys(id_ for hits in nearest.values() for id_, _ in hits)))
    return {
        each: [scored(loaded[id_], cosine, "vector", rank) for rank, (id_, cosine) in enumerate(hits, start=1)]
        for each, hits in nearest.items()
    }


_WIDER = 4


_DEEPEST = 100
