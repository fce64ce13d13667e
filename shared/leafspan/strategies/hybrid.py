"""Search by words and by vectors at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, nlargest
from typing import NamedTuple

from leafspan.calibration import EMBEDDER, answerable, probability, total_weight
from leafspan.errors import InvalidArgument
from leafspan.lexical import BM25Settings
from leafspan.neighbours import Place, neighbour_bonuses
from leafspan.requests import Asking, Load, Match, Matched, Nearest
from leafspan.strategies.fusing import FUSIONS, Fusion, shares_beside, shares_of
from leafspan.strategies.query_vectors import query_vectors
from leafspan.strategies.searching import searching
from leafspan.strategies.strategy import Reach, check_choice, flag, is_number, whole
from leafspan.trace import Calibrated, Fused, Part, Trace, TracedHit
from leafspan.tree.node import is_tree
from leafspan.values import Found, Hit, Query, leaf_id

_ABOVE = 50  # summaries whose leaves are looked at
_WIDEST = 1_000  # leaves below a summary, beyond which it says nothing of any of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Hybrid:
    """The leaves that match the query's words and its meaning, by BM25 and by vectors, whose scores become one.

    The legs give their best ``depth`` leaves (by words, by vectors), or as many as are asked for where that is more; one
    number is for both. The scores of a leg are told apart from its last one on, so that a short leg is a sharp one.
    ``fusion`` is as in ``Ensemble``: ``"relative score"`` brings each leg's scores to [0, 1] and adds them by ``weights``
    (of words, of vectors; only their ratio counts). To that comes ``neighbour_bonus`` times the score of the better
    neighbour in the document.

    ``calibrate``: scores are probabilities that the leaf holds (part of) what was asked for, which mean the same across
    queries and leave the order as it is, see ``leafspan.calibration``; where the index has another embedder than the one
    they were measured with, the trace says that they are not calibrated. Without it, or with another ``fusion``, the score
    is the sum. ``min_score``: leaves of a lower score are left out. ``min_answerable``: a query finds nothing where all
    probabilities together, that the index holds an answer at all, are less: 0.5 keeps about nine of ten questions that have
    one, and drops about as many that belong to another field. ``settings``: of BM25, by default those of the index.
    ``instruction``: put before the query's text for the embedder. ``summaries``: search those of the index's trees, too,
    as if they were leaves; they have no neighbours. ``summary_bonus``: evidence from above, for questions about a theme:
    each leaf gets so many times the score of the best summary that covers it, be they results or not.

    A query that is a vector only is searched by vectors only.

    Raises:
        InvalidArgument: if a weight or ``depth`` is not positive, ``neighbour_bonus`` is not in [0, 1], or ``fusion``
            unknown.
    """

    weights: tuple[float, float] = (0.7, 0.3)
    fusion: Fusion = "relative score"
    depth: int | tuple[int, int] = (100, 50)
    neighbour_bonus: float = 0.4
    calibrate: bool = True
    min_score: float | None = None
    min_answerable: float | None = None
    settings: BM25Settings | None = None
    instruction: str = ""
    summaries: bool = False
    summary_bonus: float = 0.0

    def __post_init__(self) -> None:
        weights = self.weights
        if not isinstance(weights, Sequence) or len(weights) != 2 or not all(is_number(w) and w > 0 for w in weights):
            raise InvalidArgument(f"weights must be two numbers > 0, of words and of vectors, got {weights!r}")
        object.__setattr__(self, "weights", tuple(weights))
        check_choice("fusion", self.fusion, FUSIONS)
        depths = self.depth if isinstance(self.depth, Sequence) else (self.depth, self.depth)
        if len(depths) != 2:
            raise InvalidArgument(f"depth must be a whole number, or two, of words and of vectors, got {self.depth!r}")
        for depth in depths:
            whole("depth", depth, 1)
        object.__setattr__(self, "depth", tuple(depths))
        if not is_number(self.neighbour_bonus) or not 0 <= self.neighbour_bonus <= 1:
            raise InvalidArgument(f"neighbour_bonus must be in [0, 1], got {self.neighbour_bonus!r}")
        if self.min_score is not None and not is_number(self.min_score):
            raise InvalidArgument(f"min_score must be a number, got {self.min_score!r}")
        if self.min_answerable is not None and not (
            self._calibrates and is_number(self.min_answerable) and 0 <= self.min_answerable <= 1
        ):
            raise InvalidArgument(
                f"min_answerable must be in [0, 1], of scores that are calibrated, got {self.min_answerable!r}"
            )
        if self.settings is not None and not isinstance(self.settings, BM25Settings):
            raise InvalidArgument(f"settings must be BM25Settings, got {self.settings!r}")
        if not isinstance(self.instruction, str):
            raise InvalidArgument(f"instruction must be a string, got {self.instruction!r}")
        flag("summaries", self.summaries)
        if not is_number(self.summary_bonus) or not 0 <= self.summary_bonus <= 1:
            raise InvalidArgument(f"summary_bonus must be in [0, 1], got {self.summary_bonus!r}")

    @property
    def finds_spans(self) -> bool:
        """Whether what it finds may be no single leaves."""
        return self.summaries

    @property
    def _calibrates(self) -> bool:
        return self.calibrate and self.fusion == "relative score"

    def retrieve(self, queries: Sequence[Query], reach: Reach) -> Asking[list[list[Found]]]:
        """See Strategy: both legs for all queries at once, then one fetch of what is returned."""
        vectors = yield from query_vectors(queries, self.instruction)
        assert isinstance(self.depth, tuple)
        of_words, of_vectors = (max(depth, reach.candidates) for depth in self.depth)
        texts = tuple(query.text for query in queries if query.text)
        near, matched = yield from searching(
            Nearest(vectors, of_vectors, reach.where),
            Match(texts, of_words, reach.where, self.settings),
            summaries=self.summaries or self.summary_bonus > 0,
        )
        words = iter(matched)
        trusted = reach.embedder == EMBEDDER and not self.summary_bonus
        pools = [self._pool(next(words) if query.text else None, hits) for query, hits in zip(queries, near, strict=True)]
        if self.summary_bonus:
            yield from self._look_above(pools)
        rows = [self._best(pool, reach.results) for pool in pools]
        found = tuple(leaf_id(*each.place) for row in rows for each in row if each.parts)
        beside = tuple(leaf_id(*each.place) for row in rows for each in row if not each.parts)
        loaded: dict[str, Found] = yield Load(found, beside)
        there = [[(loaded[id_], each) for each in row if (id_ := leaf_id(*each.place)) in loaded] for row in rows]
        return [[self._found(*each, trusted) for each in row[: reach.results]] for row in there]

    def _pool(self, matched: Matched | None, near: Sequence[Hit]) -> _Pool:
        """What the legs found, their scores made one."""
        legs = [("vector", near, self.weights[1])]
        if matched is not None:
            legs.insert(0, ("bm25", matched.hits, self.weights[0]))
        total = 1.0 if self.fusion == "maximum" else sum(weight for _, _, weight in legs)
        pool = _Pool(_coverage(matched))
        for source, hits, weight in legs:
            shares = self._shares(hits, weight / total)
            pool.given.append((source, hits, shares, {place: at for at, (place, _) in enumerate(shares)}))
            mixed = self.summaries or self.summary_bonus
            for place, share in shares:
                fused = pool.summaries if mixed and is_tree(place[1]) else pool.leaves
                if place not in fused:
                    fused[place] = share
                else:
                    fused[place] = max(fused[place], share) if self.fusion == "maximum" else fused[place] + share
        return pool

    def _look_above(self, pools: Sequence[_Pool]) -> Asking[None]:
        """The bonus of each leaf that is below one of the best summaries."""
        best = [nlargest(_ABOVE, pool.summaries.items(), key=lambda item: item[1]) for pool in pools]
        loaded: dict[str, Found] = yield Load(tuple({leaf_id(*place): None for row in best for place, _ in row}))
        for pool, row in zip(pools, best, strict=True):
            for place, score in row:
                summary = loaded[leaf_id(*place)].summary
                assert summary is not None
                if sum(run.last + 1 - run.first for run in summary.covers) > _WIDEST:
                    continue
                for run in summary.covers:
                    for ordinal in range(run.first, run.last + 1):
                        leaf = (run.document_id, run.version, ordinal)
                        pool.above[leaf] = max(pool.above.get(leaf, 0.0), self.summary_bonus * score)

    def _best(self, pool: _Pool, count: int) -> list[_Scored]:
        """The best of a pool by score, then document, then position.

        Among them may be leaves that neither leg found, but that stand next to one, and are perhaps not there: so there are
        ``count`` of the others.
        """
        leaves, above = pool.leaves, pool.above
        bonuses = neighbour_bonuses(leaves, self.neighbour_bonus)
        scores = {place: leaves.get(place, 0.0) + bonus for place, bonus in bonuses.items()}
        for place, bonus in above.items():
            scores[place] = scores.get(place, 0.0) + bonus
        # The leaves alone: what summaries add must not make them less likely.
        total = total_weight(scores.values(), pool.share) if self._calibrates else 1.0
        if self.min_answerable is not None and answerable(pool.share, total) < self.min_answerable:
            return []
        if self.summaries:
            scores |= pool.summaries
        # Few of them are wanted: a heap is faster than sorting them all.
        order = [(-score, place[0], place[2], place) for place, score in scores.items()]
        heapify(order)
        best = []
        left = count
        while order:
            place = heappop(order)[-1]
            score = min(1.0, probability(scores[place], total)) if self._calibrates else scores[place]
            if left == 0 or (self.min_score is not None and score < self.min_score):
                break
            # A leaf before one that was found is there, too; one behind it need not be.
            beside = (place[0], place[1], place[2] + 1)
            left -= place in leaves or beside in leaves or place in above or place in pool.summaries
            parts = tuple(
                Part(source, at[place] + 1, hits[at[place]].score, shares[at[place]][1])
                for source, hits, shares, at in pool.given
                if place in at
            )
            best.append(_Scored(place, score, scores[place], bonuses.get(place, 0.0), above.get(place, 0.0), parts))
        return best

    def _shares(self, hits: Sequence[Hit], weight: float) -> list[tuple[Place, float]]:
        """What one leg gives, in the order of its hits: to leaves as if there were no summaries, and these beside them."""
        plain = not (self.summaries or self.summary_bonus)
        if plain and self.fusion == "relative score" and hits and hits[-1].score < hits[0].score:
            # What shares_of does, of scores that need not be looked at first.
            low, width = hits[-1].score, hits[0].score - hits[-1].score
            return [(hit[:3], (hit[3] - low) / width * weight) for hit in hits]
        ranking = [(hit[:3], hit.score) for hit in hits]
        if plain:
            return shares_of(ranking, weight, self.fusion)
        leaves = [each for each in ranking if not is_tree(each[0][1])]
        others = [each for each in ranking if is_tree(each[0][1])]
        shares = shares_of(leaves, weight, self.fusion)
        given = dict([*shares, *shares_beside(leaves, shares, others, weight, self.fusion)])
        return [(place, given[place]) for place, _ in ranking]

    def _found(self, found: Found, scored: _Scored, trusted: bool) -> Found:
        ordinal = scored.place[2]
        trace = Trace(
            hits=tuple(TracedHit(ordinal, part.score, part.source, part.rank) for part in scored.parts),
            fused=(Fused(ordinal, ordinal, self.fusion, scored.parts, scored.raw, scored.bonus, scored.above),),
            calibrated=(Calibrated(ordinal, scored.score, trusted),) if self._calibrates else (),
            layer=found.summary.layer if found.summary else 0,
        )
        return Found(found.span, scored.score, trace, found.metadata, found.words, found.leaf, found.summary)


def _coverage(matched: Matched | None) -> float:
    """The best leaf's BM25 score as a share of the most that one could get."""
    if matched is None or matched.ideal <= 0:
        return 0.0
    return next((hit.score for hit in matched.hits if not is_tree(hit.version)), 0.0) / matched.ideal


@dataclass(slots=True)
class _Pool:
    """What the legs found for one query: fused scores, and what is added from above.

    ``share``: the best leaf's BM25 score as a share of the most that one could get. ``given``: of each leg its name, hits,
    what it gave to each, and where a place is among them.
    """

    share: float
    leaves: dict[Place, float] = field(default_factory=dict)
    summaries: dict[Place, float] = field(default_factory=dict)
    above: dict[Place, float] = field(default_factory=dict)
    given: list[tuple[str, Sequence[Hit], list[tuple[Place, float]], dict[Place, int]]] = field(default_factory=list)


class _Scored(NamedTuple):
    place: Place
    score: float
    raw: float  # before it became a probability
    bonus: float
    above: float
    parts: tuple[Part, ...]  # empty for a leaf that neither leg found
