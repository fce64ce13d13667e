"""Retrieval from RAPTOR trees: collapsed, or from the top down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

from leafspan.errors import InvalidArgument
from leafspan.requests import Asking, Compare, Load, Root, Roots
from leafspan.strategies.hybrid import Hybrid
from leafspan.strategies.query_vectors import query_vectors
from leafspan.strategies.strategy import Reach, Strategy, check_choice, check_strategy, flag, is_number, whole
from leafspan.tree.node import leaf_ids
from leafspan.tree.repeats import without_repeats
from leafspan.values import Found, Query, scored

Mode: TypeAlias = Literal["collapsed", "traversal"]

_TOP_K = 5  # of each layer, as in the paper


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """Leaves and summaries of the trees that ``Index.build_tree`` builds (RAPTOR; Sarthi et al., ICLR 2024, section 3).

    ``mode="collapsed"``: leaves and summaries of all layers are ranked together by ``base``: ``Hybrid()``, ``Vector()``
    (the paper's) or ``BM25()``. Scores are those of the base.

    ``mode="traversal"``: of the highest layer the summaries most similar to the query are chosen, then of their children,
    and so on down to the leaves; results come layer by layer, each with its cosine similarity as score. It begins at
    ``start_layer`` (None: the highest there is) and ends with ``end_layer`` (0: the leaves). A tree that is lower than
    that begins at its own height, and so do the leaves of documents without one; where a summary cannot be seen, since it
    covers what is filtered out, what is highest below it takes its place. A child that is more than one layer below its
    parent is chosen among its siblings. ``base`` is not used.

    ``top_k``: at most so many are chosen; in a traversal, of each layer, 5 by default. ``threshold``: only those that
    score more than this. ``expand``: in place of a summary return the leaves it covers that are most similar to the query,
    ``True`` for three of them, or so many, with their similarity as score. ``overlap``: let a summary stay where all of
    its leaves are among the results.

    With a budget or ``k`` the first are kept, so that in a traversal upper layers win. Where no tree was built, every
    document is its leaves.

    Raises:
        InvalidArgument: if an option is out of its range or does not belong to the mode, or ``base`` cannot search
            summaries.
    """

    mode: Mode = "collapsed"
    base: Strategy = field(default_factory=Hybrid)
    top_k: int | None = None
    threshold: float | None = None
    start_layer: int | None = None
    end_layer: int = 0
    expand: bool | int = False
    overlap: bool = False

    finds_spans = True

    def __post_init__(self) -> None:
        check_choice("mode", self.mode, get_args(Mode))
        check_strategy("base", self.base)
        if not hasattr(self.base, "summaries"):
            raise InvalidArgument(f"base must be a strategy that can search summaries, such as Hybrid(), got {self.base!r}")
        if self.top_k is not None:
            whole("top_k", self.top_k, 1)
        if self.threshold is not None and not is_number(self.threshold):
            raise InvalidArgument(f"threshold must be a number, got {self.threshold!r}")
        if self.start_layer is not None:
            whole("start_layer", self.start_layer, 0)
        whole("end_layer", self.end_layer, 0)
        if self.mode == "collapsed" and (self.start_layer is not None or self.end_layer):
            raise InvalidArgument("start_layer and end_layer are for mode='traversal': a collapsed tree has no layers")
        if self.start_layer is not None and self.start_layer < self.end_layer:
            raise InvalidArgument(f"start_layer must be >= end_layer, got {self.start_layer} and {self.end_layer}")
        if not isinstance(self.expand, bool):
            whole("expand", self.expand, 1)
        flag("overlap", self.overlap)

    @property
    def all_by_default(self) -> bool:
        """Whether all results come back where neither ``k`` nor a budget is given."""
        return self.mode == "traversal"

    def retrieve(self, queries: Sequence[Query], reach: Reach) -> Asking[list[list[Found]]]:
        """See Strategy."""
        if self.mode == "collapsed":
            base = replace(self.base, summaries=True)  # type: ignore[type-var]
            rows: list[list[Found]] = yield from base.retrieve(queries, reach.below)
            rows = [[each for each in row if self._passes(each.score)][: self.top_k] for row in rows]
        else:
            rows = yield from self._traverse(queries, reach)
        if self.expand:
            rows = yield from self._expand(queries, rows)
        if self.overlap:
            return rows
        return [without_repeats(row, results=reach.k, words=reach.words) for row in rows]

    def _passes(self, score: float) -> bool:
        return self.threshold is None or score > self.threshold

    def _traverse(self, queries: Sequence[Query], reach: Reach) -> Asking[list[list[Found]]]:
        """Layer by layer: of the children of what was chosen, and of the roots at this height, the most similar ones."""
        vectors = yield from query_vectors(queries, "")
        roots: list[Root] = yield Roots(reach.where, self.start_layer)
        by_layer: dict[int, list[str]] = {}
        for root in roots:
            by_layer.setdefault(root.layer, []).append(root.id)
        rows: list[dict[str, Found]] = [{} for _ in queries]
        below: list[list[str]] = [[] for _ in queries]
        for layer in range(max(by_layer, default=0), self.end_layer - 1, -1):
            pools = [[*by_layer.get(layer, []), *children] for children in below]
            chosen = yield from self._choose(vectors, pools, rows)
            loaded: dict[str, Found] = yield Load(tuple({id_: None for row in chosen for id_, _ in row}))
            for row, picked in zip(rows, chosen, strict=True):
                row.update((id_, scored(loaded[id_], score, "tree")) for id_, score in picked)
            below = [_children([loaded[id_] for id_, _ in picked]) for picked in chosen]
        return [list(row.values()) for row in rows]

    def _choose(
        self, vectors: Any, pools: Sequence[Sequence[str]], taken: Sequence[Mapping[str, Found]]
    ) -> Asking[list[list[tuple[str, float]]]]:
        """Of each query's pool the best that are not taken yet, with their scores; ties by document, then place."""
        ids = tuple({id_: None for pool in pools for id_ in pool})
        if not ids:
            return [[] for _ in pools]
        cosines = yield Compare(vectors, ids)
        place = {id_: column for column, id_ in enumerate(ids)}
        found = []
        for row, (pool, before) in enumerate(zip(pools, taken, strict=True)):
            fresh = [(id_, float(cosines[row, place[id_]])) for id_ in dict.fromkeys(pool) if id_ not in before]
            best = sorted((each for each in fresh if self._passes(each[1])), key=_order)
            limit = self.top_k if self.top_k is not None else None if self.threshold is not None else _TOP_K
            found.append(best[:limit])
        return found

    def _expand(self, queries: Sequence[Query], rows: Sequence[list[Found]]) -> Asking[list[list[Found]]]:
        """Each summary replaced by the best of its leaves that are not there yet."""
        summaries = {each.span.id: each.summary for row in rows for each in row if each.summary}
        covered = {id_: leaf_ids(summary.covers) for id_, summary in summaries.items()}
        ids = tuple({leaf: None for leaves in covered.values() for leaf in leaves})
        if not ids:
            return list(rows)
        vectors = yield from query_vectors(queries, "")
        cosines = yield Compare(vectors, ids)
        place = {id_: column for column, id_ in enumerate(ids)}
        count = 3 if self.expand is True else int(self.expand)
        wanted: list[list[str | Found]] = []
        for number, row in enumerate(rows):
            there = {leaf for each in row if each.summary is None for leaf in each.span.leaf_ids}
            items: list[str | Found] = []
            for each in row:
                if each.summary is None:
                    items.append(each)
                    continue
                fresh = [(leaf, float(cosines[number, place[leaf]])) for leaf in covered[each.span.id] if leaf not in there]
                best = [leaf for leaf, _ in sorted(fresh, key=_order)[:count]]
                there.update(best)
                items += best
            wanted.append(items)
        loaded: dict[str, Found] = yield Load(tuple({id_: None for row in wanted for id_ in row if isinstance(id_, str)}))
        return [
            [
                scored(loaded[item], float(cosines[number, place[item]]), "tree") if isinstance(item, str) else item
                for item in items
            ]
            for number, items in enumerate(wanted)
        ]


def _order(item: tuple[str, float]) -> tuple[float, str, int]:
    document_id, _, ordinal = item[0].rsplit("#", 2)
    return (-item[1], document_id, int(ordinal))


def _children(chosen: Sequence[Found]) -> list[str]:
    """Their children, each once, in the order in which they are met."""
    return list(dict.fromkeys(child for found in chosen if found.summary for child in found.summary.children))
