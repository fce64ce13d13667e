"""Retrieval from RAPTOR trees: collapsed, or from the top down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, Literal, NamedTuple, TypeAlias

from leafspan.checks import check_choice, check_flag, check_number, keep_whole, shown
from leafspan.errors import InvalidArgument
from leafspan.flows import NDArray, np
from leafspan.spans import without_repeats
from leafspan.strategies._hybrid import Hybrid
from leafspan.strategies._over_base import Filtered
from leafspan.strategies._queries import query_vectors, those_that_reach
from leafspan.strategies._requests import HasTrees, Load, RetrievalContext, Similarities, StrategyFlow, TreeRoot, TreeRoots
from leafspan.strategies._strategy import Strategy, check_strategy
from leafspan.trace import Trace
from leafspan.values import Candidate, Hit, LeafId, Query, scored

Mode: TypeAlias = Literal["collapsed", "traversal"]

_TOP_K = 5  # of each layer, as in the paper
_NO_TREES = "no tree is built, so only leaves were searched: build_tree of the index builds them"
_EXPANDED = 3  # leaves for each summary with expand=True


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree(Strategy):
    """Leaves and summaries of the RAPTOR trees that ``Index.build_tree`` builds.

    Collapsed, leaves and summaries of all layers are ranked together by ``base``, with its scores. In a traversal, the
    summaries of the highest layer that are most similar to the query are chosen, then the most similar of their children,
    and so on down to the leaves; results come layer by layer, with their cosine similarity as score.

    A lower tree, or a document without a tree, joins a traversal at its own highest layer. A summary that covers
    filtered-out text is hidden; the highest visible summaries below it replace it. If no tree was built, only
    leaves are searched, and the trace says so.

    Args:
        mode: ``"collapsed"`` or ``"traversal"``. Default: ``"collapsed"``.
        base: What ranks in a collapsed tree: ``Hybrid()``, ``Vector()`` (the paper's) or ``BM25()``. A traversal only uses
            its instruction. Default: ``Hybrid()``.
        top_k: Most results, >= 1; in a traversal, of each layer. Default: as many as are asked for; in a traversal 5, or
            any number with ``min_score``.
        min_score: Lowest score of a result. Without ``k`` or a budget of the call, all that reach it are returned.
            Default: any.
        start_layer: Highest layer of a traversal, >= 0. Default: the highest there is.
        end_layer: Lowest layer of a traversal, >= 0 (the leaves). Default: 0.
        expand: Whether to return, instead of a summary, the leaves it covers that are most similar to the query: True for
            three of them, or a number >= 1. Each leaf comes once, with its similarity as score. Default: False.
        keep_covered_summaries: Whether a summary stays even if all of its leaves are among the results. Default: False.

    Raises:
        InvalidArgument: if an option is out of its range or does not belong to the mode, or ``base`` cannot search
            summaries.

    ``k`` or a budget keeps the first results, which in a traversal are the upper layers. Without both, a traversal,
    ``top_k`` and ``min_score`` return everything that was chosen. Ties are ordered by document id, then position.
    Source: Sarthi et al., RAPTOR, ICLR 2024, section 3.
    """

    finds_spans = True
    mode: Mode = "collapsed"
    base: Strategy = field(default_factory=Hybrid)
    top_k: int | None = None
    min_score: float | None = None
    start_layer: int | None = None
    end_layer: int = 0
    expand: bool | int = False
    keep_covered_summaries: bool = False

    def __post_init__(self) -> None:
        check_choice("mode", self.mode, ("collapsed", "traversal"))
        check_strategy("base", self.base)
        if self.base.with_summaries() is None:
            raise InvalidArgument(
                f"base must be a strategy that can search summaries, such as Hybrid(), got {shown(self.base)}"
            )
        if self.mode == "traversal" and isinstance(self.base, Filtered):
            raise InvalidArgument(
                "base is not used for mode='traversal', and so its filter would not hold: give it to the call"
            )
        keep_whole(self, "top_k", 1, optional=True)
        check_number("min_score", self.min_score, optional=True)
        keep_whole(self, "start_layer", 0, optional=True)
        keep_whole(self, "end_layer", 0)
        if self.mode == "collapsed" and (self.start_layer is not None or self.end_layer):
            raise InvalidArgument("start_layer and end_layer are for mode='traversal': a collapsed tree has no layers")
        if self.start_layer is not None and self.start_layer < self.end_layer:
            raise InvalidArgument(f"start_layer must be >= end_layer, got {self.start_layer} and {self.end_layer}")
        if not isinstance(self.expand, bool):
            keep_whole(self, "expand", 1)
        check_flag("keep_covered_summaries", self.keep_covered_summaries)

    @property
    def returns_all(self) -> bool:
        """True in a traversal, and with ``top_k`` or ``min_score``."""
        return self.mode == "traversal" or self.top_k is not None or self.min_score is not None

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """If no tree was built, each trace says so."""
        results = yield from self._retrieve(queries, context)
        if not any(results) or any(each.summary for row in results for each in row) or (yield HasTrees()):
            return results
        noted = Trace(notes=(_NO_TREES,))
        return [[replace(each, trace=each.trace + noted) for each in row] for row in results]

    def _retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        vectors: Any = None
        if self.mode == "traversal" or self.expand:
            vectors = yield from query_vectors(queries, self.base.query_instruction)
            # So that the base embeds no query again.
            queries = [replace(query, vector=tuple(v.tolist())) for query, v in zip(queries, vectors, strict=True)]
        if self.mode == "traversal":
            rows = yield from self._traverse(vectors, context)
            return (yield from self._without_repeats(vectors, rows, context))
        most = context.candidates if self.top_k is None else self.top_k
        # Few summaries repeat others: loading twice ``k`` is mostly enough.
        # With a budget load all, since summaries longer than the budget are skipped.
        few = most if context.k is None or context.words is not None else min(2 * context.k, most)
        rows = yield from self._collapse(queries, context, few)
        results = yield from self._without_repeats(vectors, rows, context)
        if few < most and any(
            len(row) == few and len(kept) < (context.k or 0) for row, kept in zip(rows, results, strict=True)
        ):
            rows = yield from self._collapse(queries, context, most)
            results = yield from self._without_repeats(vectors, rows, context)
        return results

    def _collapse(
        self, queries: Sequence[Query], context: RetrievalContext, count: int
    ) -> StrategyFlow[list[list[Candidate]]]:
        """The ``count`` best of the leaves and summaries of all layers."""
        base = self.base.with_summaries()
        assert base is not None
        rows = yield from base.retrieve(queries, replace(context, k=count, candidates=max(context.candidates, count)))
        kept = yield from those_that_reach(self.min_score, queries, rows, attrgetter("score"))
        return [row[:count] for row in kept]

    def _without_repeats(
        self, vectors: Any, rows: Sequence[list[Candidate]], context: RetrievalContext
    ) -> StrategyFlow[list[list[Candidate]]]:
        """The candidates without repeated texts: summaries are expanded, or left out if all of their leaves are there."""
        if self.expand:
            return (yield from self._expand(vectors, rows, context.k))
        if self.keep_covered_summaries:
            return list(rows)
        return [without_repeats(row, results=context.k, words=context.words) for row in rows]

    def _traverse(self, vectors: Any, context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """Layer by layer, the most similar nodes among the chosen nodes' children and the roots of that layer."""
        roots: Sequence[TreeRoot] = yield TreeRoots(context.where, self.start_layer)
        by_layer: dict[int, list[LeafId]] = {}
        for root in roots:
            by_layer.setdefault(root.layer, []).append(root.id)
        rows: list[dict[LeafId, Candidate]] = [{} for _ in vectors]
        below: list[list[LeafId]] = [[] for _ in vectors]
        for layer in range(max(by_layer, default=0), self.end_layer - 1, -1):
            pools = [[*by_layer.get(layer, []), *children] for children in below]
            chosen = yield from self._choose(vectors, pools, rows)
            loaded: dict[LeafId, Candidate] = yield Load(tuple({id_: None for row in chosen for id_, _ in row}))
            for row, picked in zip(rows, chosen, strict=True):
                candidates = [scored(loaded[id_], score, "tree", rank) for rank, (id_, score) in enumerate(picked, start=1)]
                row.update((each.id, each) for each in candidates if _layer(each) >= self.end_layer)
            below = [self._children([loaded[id_] for id_, _ in picked]) for picked in chosen]
        return [list(row.values()) for row in rows]

    def _children(self, chosen: Sequence[Candidate]) -> list[LeafId]:
        """The children of the chosen nodes, each once, in order; without leaves if ``end_layer`` is above 0."""
        children = dict.fromkeys(child for candidate in chosen if candidate.summary for child in candidate.summary.children)
        return [child for child in map(LeafId.parse, children) if self.end_layer == 0 or child.is_summary]

    def _choose(
        self, vectors: Any, pools: Sequence[Sequence[LeafId]], taken: Sequence[Mapping[LeafId, Candidate]]
    ) -> StrategyFlow[list[list[Hit]]]:
        """The best candidates of each query's pool that are not taken yet."""
        cosines = yield from _compare(vectors, (id_ for pool in pools for id_ in pool))
        limit = _TOP_K if self.top_k is None and self.min_score is None else self.top_k
        best = []
        for number, (pool, before) in enumerate(zip(pools, taken, strict=True)):
            fresh = [id_ for id_ in dict.fromkeys(pool) if id_ not in before]
            best.append(_best(fresh, cosines.of(number, fresh), limit, self.min_score))
        return best

    def _expand(
        self, vectors: Any, rows: Sequence[Sequence[Candidate]], most: int | None
    ) -> StrategyFlow[list[list[Candidate]]]:
        """Replace each summary by its best leaves that have not come yet; keep the first ``most`` of each row."""
        covered = {each.id: list(map(LeafId.parse, each.summary.leaf_ids)) for row in rows for each in row if each.summary}
        cosines = yield from _compare(vectors, (leaf for leaves in covered.values() for leaf in leaves))
        expanded = [self._expand_row(row, covered, cosines, number, most) for number, row in enumerate(rows)]
        missing = tuple({id_: None for row in expanded for id_, item in row.items() if not isinstance(item, Candidate)})
        loaded: dict[LeafId, Candidate] = yield Load(missing)
        return [
            [item if isinstance(item, Candidate) else scored(loaded[id_], item, "tree") for id_, item in row.items()]
            for row in expanded
        ]

    def _expand_row(
        self,
        row: Sequence[Candidate],
        covered: Mapping[LeafId, Sequence[LeafId]],
        cosines: _Cosines,
        number: int,
        most: int | None,
    ) -> dict[LeafId, Candidate | float]:
        """For each leaf, in order, the found candidate, or the score of a leaf that is not loaded yet."""
        count = _EXPANDED if self.expand is True else int(self.expand)
        items: dict[LeafId, Candidate | float] = {}
        for each in row:
            if most is not None and len(items) >= most:
                break
            if each.summary is None:
                items.setdefault(each.id, each)
            else:
                fresh = [leaf for leaf in covered[each.id] if leaf not in items]
                items.update(_best(fresh, cosines.of(number, fresh), count))
        return items


class _Cosines(NamedTuple):
    """Cosines of vectors (rows) with ids (columns)."""

    matrix: Any
    columns: Mapping[LeafId, int]

    def of(self, row: int, ids: Sequence[LeafId]) -> NDArray[np.float64]:
        return self.matrix[row, [self.columns[id_] for id_ in ids]] if ids else np.empty(0)


def _compare(vectors: Any, ids: Iterator[LeafId]) -> StrategyFlow[_Cosines]:
    columns = {id_: column for column, id_ in enumerate(dict.fromkeys(ids))}
    return _Cosines((yield Similarities(vectors, tuple(columns))) if columns else None, columns)


def _best(
    ids: Sequence[LeafId], scores: NDArray[np.float64], count: int | None, min_score: float | None = None
) -> list[Hit]:
    """The ``count`` best (None: all) that score at least ``min_score``, best first; ties by document, then position."""
    at = np.arange(len(ids)) if min_score is None else np.flatnonzero(scores >= min_score)
    if count is not None and len(at) > count:
        at = at[scores[at] >= np.partition(scores[at], len(at) - count)[len(at) - count]]
    hits = (Hit(ids[place], float(scores[place])) for place in at.tolist())
    return sorted(hits, key=lambda hit: hit.order)[:count]


def _layer(candidate: Candidate) -> int:
    return candidate.summary.layer if candidate.summary else 0
