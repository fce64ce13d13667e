"""Retrieval from RAPTOR trees: collapsed, or from the top down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from leafspan.errors import InvalidArgument
from leafspan.requests import Asking, Compare, Load, Root, Roots
from leafspan.strategies.hybrid import Hybrid
from leafspan.strategies.narrowed import Narrowed
from leafspan.strategies.query_vectors import query_vectors
from leafspan.strategies.searching import with_summaries
from leafspan.strategies.strategy import Reach, Strategy, check_choice, check_strategy, flag, is_number, whole
from leafspan.tree.node import is_summary, leaf_ids
from leafspan.tree.repeats import without_repeats
from leafspan.values import Found, Query, scored

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
    parent is chosen among its siblings, unless it is below ``end_layer``. Of ``base`` only the instruction is used.

    ``top_k``: at most so many are chosen; in a traversal, of each layer, by default 5, or any number with a ``threshold``.
    ``threshold``: only those that score more than this. ``expand``: in place of a summary return the leaves it covers that
    are most similar to the query, ``True`` for three of them, or so many, with their similarity as score; each leaf once.
    ``overlap``: let a summary stay where all of its leaves are among the results, which for a budget of tokens are taken to
    be those of three quarters as many words.

    With a budget or ``k`` the first are kept, so that in a traversal upper layers win. Without them all that were chosen
    come back in a traversal, or where ``top_k`` or ``threshold`` says how many. Where no tree was built, every document is
    its leaves.

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
        if with_summaries(self.base) is None:
            raise InvalidArgument(f"base must be a strategy that can search summaries, such as Hybrid(), got {self.base!r}")
        if self.mode == "traversal" and isinstance(self.base, Narrowed):
            raise InvalidArgument(
                "base is not used for mode='traversal', and so its filter would not hold: give it to the call"
            )
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
        return self.mode == "traversal" or self.top_k is not None or self.threshold is not None

    @property
    def _instruction(self) -> str:
        """Of the base: what is put before each query for the embedder."""
        base = self.base
        while isinstance(base, Narrowed):
            base = base.base
        return getattr(base, "instruction", "")

    def retrieve(self, queries: Sequence[Query], reach: Reach) -> Asking[list[list[Found]]]:
        """See Strategy."""
        vectors: Any = None
        if self.mode == "traversal" or self.expand:
            vectors = yield from query_vectors(queries, self._instruction)
            # So that none is embedded once more by the base.
            queries = [replace(query, vector=tuple(v.tolist())) for query, v in zip(queries, vectors, strict=True)]
        if self.mode == "traversal":
            rows = yield from self._traverse(vectors, reach)
            return (yield from self._finished(vectors, rows, reach))
        most = reach.candidates if self.top_k is None else self.top_k
        # Few repeat others: mostly it is enough to load twice as many as are wanted.
        few = most if reach.k is None else min(2 * reach.k, most)
        rows = yield from self._collapse(queries, reach, few)
        found = yield from self._finished(vectors, rows, reach)
        if few < most and any(
            len(row) == few and len(kept) < (reach.k or 0) for row, kept in zip(rows, found, strict=True)
        ):
            rows = yield from self._collapse(queries, reach, most)
            found = yield from self._finished(vectors, rows, reach)
        return found

    def _collapse(self, queries: Sequence[Query], reach: Reach, count: int) -> Asking[list[list[Found]]]:
        """The ``count`` best of the leaves and summaries of all layers."""
        base = with_summaries(self.base)
        assert base is not None
        rows = yield from base.retrieve(queries, replace(reach, k=count, candidates=max(reach.candidates, count)))
        return [[each for each in row if self.threshold is None or each.score > self.threshold][:count] for row in rows]

    def _finished(self, vectors: Any, rows: Sequence[list[Found]], reach: Reach) -> Asking[list[list[Found]]]:
        """What was chosen, without what it repeats."""
        if self.expand:
            return (yield from self._expand(vectors, rows, reach.k))
        if self.overlap:
            return list(rows)
        return [without_repeats(row, results=reach.k, words=reach.words) for row in rows]

    def _traverse(self, vectors: Any, reach: Reach) -> Asking[list[list[Found]]]:
        """Layer by layer: of the children of what was chosen, and of the roots at this height, the most similar ones."""
        roots: Sequence[Root] = yield Roots(reach.where, self.start_layer)
        by_layer: dict[int, list[str]] = {}
        for root in roots:
            by_layer.setdefault(root.layer, []).append(root.id)
        rows: list[dict[str, Found]] = [{} for _ in vectors]
        below: list[list[str]] = [[] for _ in vectors]
        for layer in range(max(by_layer, default=0), self.end_layer - 1, -1):
            pools = [[*by_layer.get(layer, []), *children] for children in below]
            chosen = yield from self._choose(vectors, pools, rows)
            loaded: dict[str, Found] = yield Load(tuple({id_: None for row in chosen for id_, _ in row}))
            for row, picked in zip(rows, chosen, strict=True):
                found = [scored(loaded[id_], score, "tree") for id_, score in picked]
                row.update((each.span.leaf_ids[0], each) for each in found if _layer(each) >= self.end_layer)
            below = [self._children([loaded[id_] for id_, _ in picked]) for picked in chosen]
        return [list(row.values()) for row in rows]

    def _children(self, chosen: Sequence[Found]) -> list[str]:
        """Their children, each once, in the order in which they are met; no leaves where these are not wanted."""
        children = dict.fromkeys(child for found in chosen if found.summary for child in found.summary.children)
        return [child for child in children if self.end_layer == 0 or is_summary(child)]

    def _choose(
        self, vectors: Any, pools: Sequence[Sequence[str]], taken: Sequence[Mapping[str, Found]]
    ) -> Asking[list[list[tuple[str, float]]]]:
        """Of each query's pool the best that are not taken yet, with their scores; ties by document, then place."""
        ids = tuple({id_: None for pool in pools for id_ in pool})
        if not ids:
            return [[] for _ in pools]
        cosines = yield Compare(vectors, ids)
        place = {id_: column for column, id_ in enumerate(ids)}
        limit = _TOP_K if self.top_k is None and self.threshold is None else self.top_k
        found = []
        for row, (pool, before) in enumerate(zip(pools, taken, strict=True)):
            fresh = [id_ for id_ in dict.fromkeys(pool) if id_ not in before]
            found.append(_best(fresh, cosines[row, [place[id_] for id_ in fresh]], limit, self.threshold))
        return found

    def _expand(self, vectors: Any, rows: Sequence[Sequence[Found]], most: int | None) -> Asking[list[list[Found]]]:
        """Each summary replaced by the best of its leaves that have not come yet; the first ``most`` of each row."""
        summaries = {each.span.id: each.summary for row in rows for each in row if each.summary}
        covered = {id_: leaf_ids(summary.covers) for id_, summary in summaries.items()}
        ids = tuple({leaf: None for leaves in covered.values() for leaf in leaves})
        cosines: Any = (yield Compare(vectors, ids)) if ids else None
        place = {id_: column for column, id_ in enumerate(ids)}
        count = 3 if self.expand is True else int(self.expand)
        wanted: list[dict[str, tuple[Found | None, float]]] = []  # by leaf: what was found, or None for one to be loaded
        for number, row in enumerate(rows):
            items: dict[str, tuple[Found | None, float]] = {}
            for each in row:
                if most is not None and len(items) >= most:
                    break
                if each.summary is None:
                    items.setdefault(each.span.leaf_ids[0], (each, each.score))
                    continue
                fresh = [leaf for leaf in covered[each.span.id] if leaf not in items]
                best = _best(fresh, cosines[number, [place[leaf] for leaf in fresh]], count)
                items.update((leaf, (None, score)) for leaf, score in best)
            wanted.append(items)
        missing = tuple({id_: None for items in wanted for id_, (found, _) in items.items() if found is None})
        loaded: dict[str, Found] = yield Load(missing)
        return [[found or scored(loaded[id_], score, "tree") for id_, (found, score) in items.items()] for items in wanted]


def _best(
    ids: Sequence[str], scores: NDArray[np.float64], count: int | None, threshold: float | None = None
) -> list[tuple[str, float]]:
    """The ``count`` best (None: all) of those that score more than the threshold, best first."""
    import numpy as np

    at = np.arange(len(ids)) if threshold is None else np.flatnonzero(scores > threshold)
    if count is not None and len(at) > count:
        at = at[scores[at] >= np.partition(scores[at], len(at) - count)[len(at) - count]]
    return sorted(((ids[place], float(scores[place])) for place in at.tolist()), key=_order)[:count]


def _order(item: tuple[str, float]) -> tuple[float, str, int]:
    document_id, _, ordinal = item[0].rsplit("#", 2)
    return (-item[1], document_id, int(ordinal))


def _layer(found: Found) -> int:
    return found.summary.layer if found.summary else 0
