"""FollowReferences: follows references in passages to other retrievers, documents and leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from leafspan.checks import check_choice, check_flag, check_number, check_text, keep_whole, shown
from leafspan.errors import InvalidArgument
from leafspan.strategies._context import MOST_CANDIDATES, RetrievalContext
from leafspan.strategies._failures import ON_FAILURE, OnFailure, in_words, split_failures
from leafspan.strategies._hybrid import Hybrid
from leafspan.strategies._named import check_named_strategies
from leafspan.strategies._references import Asked, Referring, follow_once, in_place, nearest_leaves_of
from leafspan.strategies._requests import RunStrategies, StrategyFlow, StrategyResults, StrategyRun
from leafspan.strategies._strategy import Strategy, check_strategy
from leafspan.values import Candidate, Query

_WIDER = 4
_DEEPEST = 100


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
        if self.timeout is not None:
            check_number("timeout", self.timeout, above=0, unit="seconds")
        check_choice("on_failure", self.on_failure, ON_FAILURE)

    @property
    def finds_spans(self) -> bool:
        """Whether the base or a target finds spans."""
        return self.base.finds_spans or any(target.finds_spans for target in self.targets.values())

    @property
    def returns_all(self) -> bool:
        """The same as the base's."""
        return self.base.returns_all

    @property
    def query_instruction(self) -> str:
        """The same as the base's."""
        return self.base.query_instruction

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """See Strategy. At each depth it follows all references of all queries together."""
        known: dict[Asked, Sequence[Candidate] | str] = {}
        rows = yield from self.base.retrieve(queries, context.for_base)
        results = yield from self._followed(queries, dict(enumerate(rows)), context, known)
        # When passages unite, further passages of the base move up, in each query separately.
        wider = context.for_base
        short = [number for number, row in enumerate(rows) if len(results[number]) < min(len(row), context.results)]
        while short and not context.exactly and wider.candidates < MOST_CANDIDATES:
            wider = replace(wider, candidates=min(_WIDER * wider.candidates, MOST_CANDIDATES))
            found = yield from self.base.retrieve([queries[number] for number in short], wider)
            grown = {number: row for number, row in zip(short, found, strict=True) if _has_more(row, rows[number])}
            results |= yield from self._followed(queries, grown, context, known)
            for number, row in grown.items():
                rows[number] = row
            short = [number for number in grown if len(results[number]) < context.results]
        return [results[number][: context.candidates] for number in range(len(queries))]

    def _followed(
        self,
        queries: Sequence[Query],
        rows: Mapping[int, Sequence[Candidate]],
        context: RetrievalContext,
        known: dict[Asked, Sequence[Candidate] | str],
    ) -> StrategyFlow[dict[int, list[Candidate]]]:
        """The final results by query number; ``known`` collects what each reference led to."""
        tops = {number: [Referring.of(each, number, self.key) for each in row] for number, row in rows.items()}
        level = [each for row in tops.values() for each in row]
        seen: set[Asked] = set()
        for _ in range(self.depth):
            asked = dict.fromkeys((each.query, name) for each in level for name in each.names)
            if not asked:
                break
            new = [each for each in asked if each not in known]
            if new:
                known |= yield from self._found_at(new, queries, context)
            level = follow_once(level, known, seen, self.key)
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
        self, asked: Sequence[Asked], queries: Sequence[Query], context: RetrievalContext
    ) -> StrategyFlow[dict[Asked, Sequence[Candidate] | str]]:
        """The results for each pair of query and name, or a remark on why there are no results."""
        found: dict[Asked, Sequence[Candidate] | str] = {}
        numbers: dict[str, list[int]] = {}
        for number, name in asked:
            if name in self.targets:
                numbers.setdefault(name, []).append(number)
        if numbers:
            own = replace(context, k=self.per_reference)
            answers: list[StrategyResults] = yield RunStrategies(
                tuple(
                    StrategyRun(self.targets[name], [queries[number] for number in of], own, self.timeout)
                    for name, of in numbers.items()
                )
            )
            called = [f"target {name!r}" for name in numbers]
            results, failed = split_failures(called, answers, on_failure=self.on_failure, owner="FollowReferences")
            for (name, of), rows in zip(numbers.items(), results, strict=True):
                if rows is None:
                    error = in_words(failed[f"target {name!r}"])
                    found |= {(number, name): f"was left out: {error}" for number in of}
                else:
                    for number, row in zip(of, rows, strict=True):
                        found[number, name] = row[: self.per_reference]
        others = [each for each in asked if each[1] not in self.targets]
        # An index without documents has no embedder yet; without an index, there are no documents.
        if others and context.embedder is not None:
            found |= yield from nearest_leaves_of(
                others, queries, context.where, self.per_reference, self.query_instruction
            )
        return found | {each: [] for each in others if each not in found}


def _has_more(row: Sequence[Candidate], than: Sequence[Candidate]) -> bool:
    known = {id_ for each in than for id_ in each.span.leaf_ids}
    return any(id_ not in known for each in row for id_ in each.span.leaf_ids)
