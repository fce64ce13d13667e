"""The pool of Hybrid: fused scores of leaves, plus the shares of neighbours, larger nodes, words and mentions."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from leafspan.strategies._fuse import Fusion, only_the_best, shares_beside, shares_of
from leafspan.strategies._fused_leaves import FusedLeaves, LeafNumbers, MatchingNodes, NodeHit
from leafspan.strategies._requests import LexicalMatches, Mention
from leafspan.strategies.scoring import (
    absence_weight,
    answer_probability,
    probability,
    same_absence,
    total_weight,
)
from leafspan.trace import Contribution, Reference
from leafspan.values import Hit, LeafId

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LOOKED_THROUGH = 6
"""The number of best leaves whose texts are searched for mentions."""

_TO_THE_BEST = 0.5  # the best leaf gets all; another leaf gets (1 - this) * score / best score of it


class _Support(NamedTuple):
    """What a document gets from mentions: the largest amount that a mention gives."""

    share: float
    by: LeafId
    mention: Mention


def reference_bonuses(
    sums: Mapping[LeafId, float], best: Sequence[LeafId], mentions: Mapping[LeafId, Sequence[Mention]], references: float
) -> dict[LeafId, Reference]:
    """What leaves get because other leaves mention their documents.

    A leaf gives each document that it mentions ``references`` times its own score times the strength of the mention. If
    several leaves mention a document, the largest amount counts. The document's best leaf gets all of it. Any other leaf of
    the document gets half of it times its own score divided by the best leaf's score. If no leaf has a score, the first one
    gets all. There is one step only: a leaf does not pass on what it gets.
    """
    supports: dict[str, _Support] = {}
    for leaf in best:
        for mention in mentions.get(leaf, ()):
            share = references * sums[leaf] * mention.strength
            if share > 0 and (mention.document_id not in supports or supports[mention.document_id].share < share):
                supports[mention.document_id] = _Support(share, leaf, mention)
    scores: dict[str, dict[LeafId, float]] = {document_id: {} for document_id in supports}
    for leaf, score in sums.items() if supports else ():
        to = supports.get(leaf.document_id)
        # An ordinal after the last leaf is a guessed neighbour that does not exist.
        if to is not None and score > 0 and leaf.version == to.mention.version and leaf.ordinal < to.mention.leaves:
            scores[leaf.document_id][leaf] = score
    bonuses = {}
    for document_id, (share, by, mention) in supports.items():
        of_document = scores[document_id] or {LeafId(document_id, mention.version, 0): 1.0}
        top = max(of_document.values())
        for leaf, score in of_document.items():
            part = 1.0 if score == top else (1 - _TO_THE_BEST) * score / top
            bonuses[leaf] = Reference(str(by), mention.written, share * part)
    return bonuses


SEARCHES = ("bm25", "vector")
NODE_SOURCES = ("bm25 of the parent", "bm25 of the section", "bm25 of the document")


@dataclass(frozen=True, slots=True)
class SearchShares:
    """What BM25 or vectors found, best first, and what each hit adds to the fused score (in the same order).

    The weights are the most that a leaf and a summary can get. A summary's weight is higher where a summary matches better
    than any leaf.
    """

    source: str
    hits: Sequence[Hit]
    shares: Sequence[tuple[LeafId, float]]
    weight: float  # for leaves
    weight_of_summaries: float

    def contributions(self, leaves: Collection[LeafId], summaries: Container[LeafId]) -> dict[LeafId, Contribution]:
        """What this search adds to the scores of the leaves and summaries that it found."""
        wanted = set(leaves)
        contributions = {}
        for rank, ((leaf, share), hit) in enumerate(zip(self.shares, self.hits, strict=True), start=1):
            if leaf in wanted:
                weight = self.weight_of_summaries if leaf in summaries else self.weight
                contributions[leaf] = Contribution(self.source, rank, hit.score, share, weight)
        return contributions


@dataclass(slots=True)
class Pool:
    """What was found for one query."""

    fusion: Fusion  # how the scores of BM25 and of vectors become one
    neighbour_bonus: float  # share of the better neighbour's score to add
    absence: float  # the weight of the case that the index holds no answer
    leaves: FusedLeaves = field(init=False)
    words: Mapping[str, float] = field(default_factory=dict)
    summaries: dict[LeafId, float] = field(default_factory=dict)  # the fused scores
    summary_bonuses: Mapping[LeafId, float] = field(default_factory=dict)
    searches: list[SearchShares] = field(default_factory=list)
    nodes: MatchingNodes | None = None  # the larger nodes that match, None if larger nodes have no weight
    in_nodes: FusedLeaves | None = None  # the leaves whose scores include the larger nodes
    soft: dict[LeafId, tuple[int, float, float]] = field(default_factory=dict)
    soft_weight: float = 0.0  # the share of the best soft match
    scales: Sequence[float] = ()  # the share of the best node of each scale
    unit: float = 1.0  # the share for a weight of 1, after the weights of all parts that count are scaled to a sum of 1
    references: Mapping[LeafId, Reference] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether no leaf was found."""
        return not len(self.leaves.numbers)

    def add_summary_bonuses(self, bonuses: Mapping[LeafId, float]) -> None:
        """Add to each leaf the bonus for the best summary above it."""
        self.summary_bonuses = bonuses
        self.leaves = self.leaves.raised(bonuses)

    def contributions(self, leaves: Sequence[LeafId]) -> list[tuple[Contribution, ...]]:
        """The parts of each leaf's or summary's fused score without bonuses; empty if it was not found."""
        nodes: Sequence[Sequence[NodeHit | None]] = [()] * len(leaves)
        if self.nodes is not None and self.in_nodes is not None:
            are_fused = self.in_nodes.have_found(leaves)
            nodes = [of_leaf if has else () for of_leaf, has in zip(self.nodes.of(leaves), are_fused, strict=True)]
        searched = [each.contributions(leaves, self.summaries) for each in self.searches]
        return [
            self._contributions(leaf, of_leaf, [parts[leaf] for parts in searched if leaf in parts])
            for leaf, of_leaf in zip(leaves, nodes, strict=True)
        ]

    def _contributions(
        self, leaf: LeafId, nodes: Sequence[NodeHit | None], own: Sequence[Contribution]
    ) -> tuple[Contribution, ...]:
        if self.fusion == "maximum":
            return tuple(only_the_best(own))
        larger = [
            Contribution(source, node.rank, node.score, node.share * weight, weight)
            for source, node, weight in zip(NODE_SOURCES, nodes, self.scales, strict=False)
            if node is not None and weight
        ]
        soft = [Contribution("soft matches", *self.soft[leaf], self.soft_weight)] if leaf in self.soft else []
        return (*own, *larger, *soft)


class ScoredLeaf(NamedTuple):
    """A leaf or summary of a pool with its final ``score``, the ``sum`` behind that score, and the bonuses in the sum.

    It ``is_known`` to exist if a search has found it, or if another leaf mentions its document.
    """

    leaf: LeafId
    score: float
    sum: float
    neighbour_bonus: float
    summary_bonus: float
    reference: Reference | None
    is_known: bool


def fused_pool(
    matches: LexicalMatches | None,
    near: Sequence[Hit],
    *,
    weights: tuple[float, float],
    fusion: Fusion,
    scales: Sequence[float],
    soft_matches: float,
    neighbour_bonus: float,
    with_summaries: bool,
) -> Pool:
    """The leaves of both searches with their fused scores, added up.

    The weights of all parts that count for this query are scaled to a sum of 1, so that a score means the same for any set
    of parts. Summaries have no larger nodes and no soft matches: both searches together give a summary up to 1, and more if
    it matches better than any leaf.
    """
    import numpy as np

    by_words, by_vectors = SEARCHES
    searches = [(by_vectors, near, weights[1])]
    if matches is not None:
        searches.insert(0, (by_words, matches.hits, weights[0]))
    total = 1.0 if fusion == "maximum" else sum(weight for _, _, weight in searches)
    pool = Pool(fusion, neighbour_bonus, _absence(matches))
    among: Sequence[Hit] = ()
    if matches is not None and matches.nodes is not None:
        among = matches.among
        pool.unit = 1 / (1 + sum(scales) + (soft_matches if matches.words else 0.0))
        pool.words, pool.nodes, pool.scales = matches.words, matches.nodes, [scale * pool.unit for scale in scales]
    fused: list[tuple[LeafId, float]] = []
    for source, hits, weight in searches:
        of_leaves = weight / total * pool.unit
        shares = _shares(hits, of_leaves, fusion, with_summaries=with_summaries)
        if with_summaries:
            shares = [(leaf, share / pool.unit if leaf.is_summary else share) for leaf, share in shares]
        of_summaries = weight / total
        if with_summaries and fusion == "relative_score":
            of_summaries = max([of_summaries, *(share for leaf, share in shares if leaf.is_summary)])
        pool.searches.append(SearchShares(source, hits, shares, of_leaves, of_summaries))
        if with_summaries:
            for leaf, share in shares:
                if leaf.is_summary:
                    so_far = pool.summaries.get(leaf, -inf if fusion == "maximum" else 0.0)
                    pool.summaries[leaf] = max(so_far, share) if fusion == "maximum" else so_far + share
            shares = [(leaf, share) for leaf, share in shares if not leaf.is_summary]
        fused += shares
    known_as = LeafNumbers.among(leaf for each in (fused, among) for leaf, _ in each)
    numbers, scores = known_as.of([leaf for leaf, _ in fused]), [share for _, share in fused]
    if pool.nodes is not None:
        of_nodes, more = _shares_of_nodes(pool, pool.nodes, among, known_as, numbers)
        numbers, scores = np.concatenate([numbers, of_nodes]), [*scores, *more]
    pool.leaves = FusedLeaves.of(known_as, numbers, np.array(scores), neighbour_bonus, add_up=fusion != "maximum")
    pool.in_nodes = pool.leaves
    return pool


def _shares_of_nodes(
    pool: Pool, nodes: MatchingNodes, among: Sequence[Hit], known_as: LeafNumbers, fused: NDArray[np.int64]
) -> tuple[NDArray[np.int64], list[float]]:
    """The shares that larger nodes give to the found leaves and to the leaves with the best nodes, by leaf number."""
    import numpy as np

    numbers = known_as.of([leaf for leaf, _ in among])
    others = list({*fused.tolist()}.difference(numbers.tolist()))  # found by vectors alone
    shares = nodes.shares(list(known_as.leaves(others)), pool.scales)
    more = np.array(others, np.int64)
    return np.concatenate([numbers, more]), [*(share * pool.unit for _, share in among), *shares.tolist()]


def leaves_to_compare(pool: Pool, count: int) -> list[LeafId]:
    """The best leaves so far, to compare with the question word by word. All of them surely exist."""
    exists = pool.leaves.are_there
    return list(islice((leaf for place, leaf in pool.leaves.best_first() if exists[place]), count))


def add_soft_matches(pool: Pool, leaves: Sequence[LeafId], scores: Sequence[float], weight: float) -> None:
    """Add the shares of soft matches to leaves: most to the best, 0 to the last, in proportion to the others."""
    pool.soft_weight = weight * pool.unit
    ranking = sorted((Hit(leaf, score) for leaf, score in zip(leaves, scores, strict=True)), key=lambda hit: -hit.score)
    shares = _shares(ranking, pool.soft_weight, "relative_score", with_summaries=False)
    pool.leaves = pool.leaves.plus([leaf for leaf, _ in shares], [share for _, share in shares], pool.neighbour_bonus)
    for rank, ((leaf, share), (_, score)) in enumerate(zip(shares, ranking, strict=True), start=1):
        pool.soft[leaf] = rank, score, share


def probability_of_an_answer(pool: Pool) -> float:
    """The probability that one of the leaves of a pool holds an answer, in [0, 1]."""
    return answer_probability(pool.absence, total_weight(pool.leaves.sums.tolist(), pool.absence))


def best_of(
    pool: Pool,
    count: int,
    *,
    probabilities: bool,
    min_score: float | None,
    min_answer_probability: float | None,
    summaries: bool,
    at_least: int = 0,
) -> list[ScoredLeaf]:
    """The best of a pool by score, then document, then position; ``at_least`` this many even below the lowest score.

    ``count`` of them surely exist. The list may also have guessed neighbours of found leaves, which may not exist.
    """
    leaves = pool.leaves
    # The total leaves out summaries, which must not lower the leaves' probabilities.
    total = total_weight(leaves.sums.tolist(), pool.absence) if probabilities else 1.0
    if min_answer_probability is not None and answer_probability(pool.absence, total) < min_answer_probability:
        return []
    if pool.references:
        before = leaves.sums_of(pool.references)
        leaves = leaves.raised({leaf: reference.bonus for leaf, reference in pool.references.items()})
        if probabilities:
            after = leaves.sums_of(pool.references)
            total = same_absence(total, pool.absence, list(zip(before, after, strict=True)))
    if summaries and pool.summaries:
        leaves = leaves.raised(pool.summaries)
    exists = leaves.are_there
    best: list[ScoredLeaf] = []
    left = count
    for place, leaf in leaves.best_first():
        fused = float(leaves.sums[place])
        score = probability(fused, total) if probabilities else fused
        if left == 0 or (min_score is not None and score < min_score and count - left >= at_least):
            break
        reference = pool.references.get(leaf)
        is_known = reference is not None or bool(leaves.are_found[place]) or leaf in pool.summaries
        left -= is_known or bool(exists[place]) or leaf in pool.summary_bonuses
        bonus, summary_bonus = float(leaves.bonuses[place]), pool.summary_bonuses.get(leaf, 0.0)
        best.append(ScoredLeaf(leaf, score, fused, bonus, summary_bonus, reference, is_known))
    return best


def _shares(hits: Sequence[Hit], weight: float, fusion: Fusion, *, with_summaries: bool) -> list[tuple[LeafId, float]]:
    """What one search adds to each hit. Summaries do not change what leaves get; summaries get as much as an equal leaf."""
    if not with_summaries and fusion == "relative_score" and hits and hits[-1].score < hits[0].score:
        # Like shares_of, for scores that are finite and sorted.
        low, width = hits[-1].score, hits[0].score - hits[-1].score
        return [(leaf, (score - low) / width * weight) for leaf, score in hits]
    ranking: list[tuple[LeafId, float]] = [(hit.leaf, hit.score) for hit in hits]
    if not with_summaries:
        return shares_of(ranking, weight, fusion)
    leaves = [each for each in ranking if not each[0].is_summary]
    others = [each for each in ranking if each[0].is_summary]
    shares = shares_of(leaves, weight, fusion)
    share_of = dict([*shares, *shares_beside(leaves, shares, others, weight, fusion)])
    return [(leaf, share_of[leaf]) for leaf, _ in ranking]


def _absence(matches: LexicalMatches | None) -> float:
    """The weight of the case that no answer exists; a vector query counts as a question without known words."""
    if matches is None:
        return absence_weight(0.0, 1)
    best = next((hit.score for hit in matches.hits if not hit.leaf.is_summary), 0.0)
    return absence_weight(best / matches.ideal if matches.ideal > 0 else 0.0, matches.leaves)
