"""The leaves that were found for one query: the evidence for each leaf, and its weight."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from math import exp, fsum, log, log1p
from typing import NamedTuple, TypeAlias

from leafspan.flows import NDArray, np
from leafspan.strategies._requests import LexicalMatches, Mention, ScaleWeights
from leafspan.strategies.scoring import answer_probability
from leafspan.trace import Contribution, Fused, Reference
from leafspan.values import Hit, LeafId

Numbers: TypeAlias = "NDArray[np.int64]"

WORDS, VECTORS = 100, 50  # leaves that each search finds, at least
COMPARED = 60  # best leaves whose words are compared with the words of the question
VECTOR, SOFT = "vector", "soft matches"
SOURCES = ("bm25", "bm25 of the parent", "bm25 of the section", "bm25 of the document")

_DOCUMENT = 1 << 32  # more than any document's number of leaves
_COUNTED = 100  # best leaves whose weights are the total, which so does not depend on how many leaves are asked for
_TO_THE_BEST = 0.5  # the best leaf gets all; another leaf gets (1 - this) * its weight / the best leaf's weight
_MOST = 2.0  # how many times as much evidence as the best leaf a summary can have


class Evidence(NamedTuple):
    """The most evidence that each part can give, and the share of its weight that a leaf gives to its neighbours.

    Evidence is the logarithm of a weight: with 1 more, a leaf is 2.7 times as probable.
    """

    words: float = 3.2
    parent: float = 2.8
    section: float = 3.0
    document: float = 0.9
    vectors: float = 1.4
    soft_matches: float = 5.0
    neighbours: float = 0.07

    @property
    def scales(self) -> ScaleWeights:
        """The most evidence that a leaf and the larger nodes above it give."""
        return ScaleWeights(*self[:4])

    def balanced(self, weights: tuple[float, float]) -> Evidence:
        """The same evidence with other weights of words and of vectors."""
        words, vectors = (weight / sum(weights) / usual for weight, usual in zip(weights, BALANCE, strict=True))
        leaf, parent, section, document = (words * each for each in self.scales)
        return Evidence(leaf, parent, section, document, vectors * self.vectors, self.soft_matches, self.neighbours)


# Chosen so that the first leaves hold the answers of as many questions as possible, for the worst set as well, and scaled
# so that probabilities are true. ``benchmarks/choosing.py`` compares other numbers.
EVIDENCE = Evidence()
BALANCE = (0.7, 0.3)  # the weights of words and of vectors that leave this evidence as it is


class Weighed(NamedTuple):
    """A leaf or summary with its weight: of its evidence, from a neighbour, and from a mention."""

    leaf: LeafId
    weight: float
    own: float
    neighbour: float = 0.0
    mention: float = 0.0


class Pool:
    """The leaves that two searches found for a query, with their neighbours.

    The evidence for a leaf is the sum of its parts, and its weight is ``exp(evidence)``, which is 1 without evidence. To
    this come shares of what evidence adds to its better neighbour, and of the weight of a leaf that mentions its document.
    Its probability is its share of all weights, times the probability that the index holds an answer.
    """

    def __init__(
        self, matches: LexicalMatches | None, near: Sequence[Hit], most: Evidence, *, with_summaries: bool = False
    ) -> None:
        """Weigh the leaves by ``most``, the most evidence of each part. ``matches`` is None for a query without words."""
        self._most = most
        self._matches = matches = matches or LexicalMatches([], 0.0)
        self.words = matches.words
        self._soft: dict[LeafId, tuple[float, float]] = {}
        self.summaries: dict[LeafId, float] = {}  # their weights
        self.references: Mapping[LeafId, Reference] = {}  # what leaves have from mentions

        of_vectors = [hit for hit in near if not hit.leaf.is_summary] if with_summaries else near
        hits = [hit for hit in matches.hits if not hit.leaf.is_summary] if with_summaries else matches.hits
        self._best = hits[0].score if hits else 0.0
        shares = _scaled([score for _, score in near], [score for _, score in of_vectors[:VECTORS]])
        self._near = {
            hit.leaf: (rank, hit.score, share) for rank, (hit, share) in enumerate(zip(near, shares, strict=True), start=1)
        }
        self.probability_of_an_answer = answer_probability(matches.words_found, matches.leaves)

        nearest = [leaf for leaf, _ in of_vectors]
        leaves = [*matches.among, *nearest]
        self._documents = sorted({leaf[:2] for leaf in leaves})
        self._firsts = {document: place * _DOCUMENT for place, document in enumerate(self._documents)}
        nodes = matches.nodes
        rows = [None if nodes is None else nodes.rows(document_id) for document_id, _ in self._documents]
        sizes = np.array([0 if each is None else each.stop - each.start for each in rows], np.int64)
        numbers = self._numbers_of(leaves)
        self._numbers = _with_neighbours(numbers, sizes)
        self._evidence = np.zeros(len(self._numbers))
        if nodes is not None:
            starts = np.array([-_DOCUMENT if each is None else each.start for each in rows], np.int64)
            places, ordinals = np.divmod(self._numbers, _DOCUMENT)
            self._evidence += nodes.evidence(starts[places] + ordinals, most.scales)
        self._add(numbers[len(matches.among) :], [most.vectors * self._near[leaf][2] for leaf in nearest])

    @property
    def is_empty(self) -> bool:
        """Whether no leaf was found."""
        return not len(self._numbers)

    def best_leaves(self, count: int) -> list[LeafId]:
        """The leaves with the highest weights, without what they have from mentions."""
        places = (divmod(number, _DOCUMENT) for number in self._numbers[self._best_first[:count]].tolist())
        return [LeafId._make((*self._documents[place], ordinal)) for place, ordinal in places]

    def add_soft_matches(self, leaves: Sequence[LeafId], scores: Sequence[float]) -> None:
        """Add to leaves the evidence of similar words: by how much a leaf's score exceeds the least score."""
        self._soft_scores = sorted(scores, reverse=True)
        shares = [self._most.soft_matches * (score - self._soft_scores[-1]) for score in scores]
        self._soft = dict(zip(leaves, zip(scores, shares, strict=True), strict=True))
        self._add(self._numbers_of(leaves), shares)

    def weigh_summaries(self) -> None:
        """Weigh the summaries that were found. One that is first in both searches weighs as much as the best leaf."""
        hits = chain(self._near, (hit.leaf for hit in self._matches.hits))
        summaries = list(dict.fromkeys(leaf for leaf in hits if leaf.is_summary))
        self.summaries = {leaf: _weight(self._parts(leaf)) for leaf in summaries}

    def note_mentions(self, best: Sequence[LeafId], mentions: Mapping[LeafId, Sequence[Mention]], share: float) -> None:
        """Note what leaves have because one of the ``best`` leaves mentions their document.

        A leaf gives each document that it mentions ``share`` times its own weight times the strength of the mention. If
        several leaves mention a document, the largest amount counts. The document's best leaf gets all of it, another one
        half of it times its own weight divided by the best leaf's. If no leaf was found, the first one gets all. There is
        one step only: a leaf does not pass on what it gets.
        """
        largest: dict[str, tuple[float, LeafId, Mention]] = {}
        for leaf in best:
            for mention in mentions.get(leaf, ()):
                amount = share * self._weighed(leaf).weight * mention.strength
                if amount > (largest[mention.document_id][0] if mention.document_id in largest else 0.0):
                    largest[mention.document_id] = amount, leaf, mention
        references = {}
        for amount, by, mention in largest.values():
            document = (mention.document_id, mention.version)
            leaves = self._leaves_of(document) or [LeafId(*document, 0)]
            weights = [self._weighed(leaf).weight for leaf in leaves]
            top = max(weights)
            for leaf, weight in zip(leaves, weights, strict=True):
                part = 1.0 if weight == top else (1 - _TO_THE_BEST) * weight / top
                references[leaf] = Reference(str(by), mention.written, amount * part)
        self.references = references

    def best(self, count: int, *, with_summaries: bool) -> list[tuple[Weighed, float]]:
        """The leaves, and with ``with_summaries`` the summaries, with the highest weights, and the probability of each.

        The probabilities of leaves add up to the probability that the index holds an answer.
        """
        places = self._best_first[:count]
        own, neighbours = self._weights[places].tolist(), self._neighbours[places].tolist()
        weighed = {
            leaf: Weighed(leaf, weight + bonus, weight, bonus)
            for leaf, weight, bonus in zip(self.best_leaves(count), own, neighbours, strict=True)
        }
        raised = {leaf: self._weighed(leaf) for leaf in self.references}
        more = fsum(each.mention if self.has(each.leaf) else each.weight for each in raised.values())
        total = (self._total + more or 1.0) / self.probability_of_an_answer
        every = [*(weighed | raised).values()]
        if with_summaries:
            every += [Weighed(leaf, weight, weight) for leaf, weight in self.summaries.items()]
        every.sort(key=lambda each: (-each.weight, each.leaf.document_id, each.leaf.ordinal))
        return [(each, min(1.0, each.weight / total)) for each in every[:count]]

    def has(self, leaf: LeafId) -> bool:
        """Whether a leaf, or a neighbour of it, was found."""
        return self._place(leaf) is not None

    def fused(self, weighed: Weighed) -> Fused:
        """The evidence for a leaf or summary, and how much each bonus raises the logarithm of its weight."""
        leaf, weight, logs = weighed.leaf, weighed.own, []
        for bonus in (weighed.neighbour, weighed.mention):
            logs.append(log1p(bonus / weight))
            weight += bonus
        neighbour, mention = logs
        by = replace(self.references[leaf], bonus=mention) if leaf in self.references else None
        parts = tuple(self._parts(leaf))
        return Fused(leaf.ordinal, leaf.ordinal, "evidence", parts, log(weight), neighbour, reference=by)

    def _parts(self, leaf: LeafId) -> Iterator[Contribution]:
        if leaf.is_summary:
            yield from self._of_summary(leaf)
        elif self._matches.nodes is not None:
            for source, node, weight in zip(SOURCES, self._matches.nodes.of(leaf), self._most, strict=False):
                if node is not None:
                    yield Contribution(source, node.rank, node.score, node.share * weight, weight)
        if leaf in self._near:
            weight = self._most.vectors * (self._of_best_leaf if leaf.is_summary else 1.0)
            rank, cosine, share = self._near[leaf]
            yield Contribution(VECTOR, rank, cosine, share * weight, weight)
        if leaf in self._soft:
            score, share = self._soft[leaf]
            rank = self._soft_scores.index(score) + 1
            yield Contribution(SOFT, rank, score, share, self._most.soft_matches)

    def _of_summary(self, summary: LeafId) -> Iterator[Contribution]:
        weight = self._of_best_leaf * self._most.words
        for rank, hit in enumerate(self._matches.hits, start=1):
            if hit.leaf == summary:
                share = min(hit.score / self._best, _MOST) if self._best > 0 else 1.0
                yield Contribution(SOURCES[0], rank, hit.score, share * weight, weight)

    @property
    def _of_best_leaf(self) -> float:
        """What a summary's evidence is multiplied by, so that the first of both searches has as much as the best leaf."""
        return max(float(self._evidence.max(initial=0.0)), 1.0) / (self._most.words + self._most.vectors)

    def _weighed(self, leaf: LeafId) -> Weighed:
        place = self._place(leaf)
        if place is None:
            own, neighbour = _weight(self._parts(leaf)), 0.0
        else:
            own, neighbour = float(self._weights[place]), float(self._neighbours[place])
        mention = self.references[leaf].bonus if leaf in self.references else 0.0
        return Weighed(leaf, own + neighbour + mention, own, neighbour, mention)

    def _add(self, numbers: Numbers, shares: Sequence[float]) -> None:
        """Add evidence to leaves, given by their numbers, and weigh all leaves again."""
        self._evidence[self._numbers.searchsorted(numbers)] += shares
        self._weights = np.exp(self._evidence)
        gives, touches = np.expm1(self._evidence), self._numbers[1:] - self._numbers[:-1] == 1
        better = np.zeros(len(gives))
        better[1:] = np.where(touches, gives[:-1], 0.0)
        better[:-1] = np.maximum(better[:-1], np.where(touches, gives[1:], 0.0))
        self._neighbours = self._most.neighbours * better
        weights = self._weights + self._neighbours
        self._best_first = (-weights).argsort(kind="stable")
        self._total = fsum(weights[self._best_first[:_COUNTED]].tolist())

    def _numbers_of(self, leaves: Sequence[LeafId]) -> Numbers:
        """Numbers that sort leaves by document and position; neighbours have neighbouring numbers."""
        firsts = self._firsts
        return np.fromiter((firsts[leaf[:2]] + leaf[2] for leaf in leaves), np.int64, len(leaves))

    def _place(self, leaf: LeafId) -> int | None:
        """The place of a leaf in the arrays, None if it is not there."""
        if leaf[:2] not in self._firsts:
            return None
        number = self._firsts[leaf[:2]] + leaf[2]
        place = int(self._numbers.searchsorted(number))
        return place if place < len(self._numbers) and self._numbers[place] == number else None

    def _leaves_of(self, document: tuple[str, str]) -> list[LeafId]:
        if document not in self._firsts:
            return []
        first = self._firsts[document]
        start, end = self._numbers.searchsorted([first, first + _DOCUMENT]).tolist()
        return [LeafId._make((*document, number - first)) for number in self._numbers[start:end].tolist()]


def _scaled(cosines: Sequence[float], of_leaves: Sequence[float]) -> list[float]:
    """Cosines scaled so that the nearest leaf has 1, and the last of the nearest leaves 0."""
    high, low = (of_leaves or cosines or (0.0,))[0], (of_leaves or cosines or (0.0,))[-1]
    if high == low:
        return [float(cosine >= high) for cosine in cosines]
    return [min(max(0.0, (cosine - low) / (high - low)), _MOST) for cosine in cosines]


def _weight(parts: Iterable[Contribution]) -> float:
    """The weight of a leaf or summary with this evidence."""
    return exp(fsum(part.share for part in parts))


def _with_neighbours(numbers: Numbers, sizes: Numbers) -> Numbers:
    """The numbers of leaves and of the leaves beside them; ``sizes`` has the number of leaves of each document."""
    places, ordinals = np.divmod(numbers, _DOCUMENT)
    before, behind = numbers[(ordinals > 0) & (sizes[places] > 0)] - 1, numbers[ordinals + 1 < sizes[places]] + 1
    every = np.sort(np.concatenate([numbers, before, behind]))
    return every[np.diff(every, prepend=-1) > 0]  # like np.unique, in a third of the time
