"""Search by words and by vectors at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from math import inf

from leafspan.checks import check_flag, check_number, check_text, check_whole, is_number, shown
from leafspan.errors import InvalidArgument
from leafspan.lexical import BM25Settings
from leafspan.strategies._bm25 import check_bm25
from leafspan.strategies._fuse import Fusion, to_fusion
from leafspan.strategies._hybrid_pool import (
    LOOKED_THROUGH,
    NODE_SOURCES,
    SEARCHES,
    Pool,
    ScoredLeaf,
    add_soft_matches,
    best_of,
    fused_pool,
    leaves_to_compare,
    probability_of_an_answer,
    reference_bonuses,
)
from leafspan.strategies._queries import note_too_low, query_vectors, search
from leafspan.strategies._requests import (
    FindMentions,
    LexicalSearch,
    Load,
    Mention,
    NoteWhyEmpty,
    RetrievalContext,
    ScaleWeights,
    SoftMatches,
    StrategyFlow,
    VectorSearch,
)
from leafspan.strategies._strategy import Strategy
from leafspan.trace import Calibrated, Fused, Trace, TracedHit
from leafspan.values import Candidate, LeafId, Query

_SUMMARIES_LOOKED_AT = 50
_COMPARED = 40  # leaves that soft matches are computed for
_WIDEST = 1_000  # leaves below a summary; a summary of more leaves gives no bonus


@dataclass(frozen=True, slots=True, kw_only=True)
class Hybrid(Strategy):
    """The leaves that match the query's words and its meaning, by BM25 and by vectors. Scores are probabilities.

    BM25 and vectors each find their best leaves, and their scores are fused. Four more parts are added: BM25 of the
    leaf's parent, section and document; how similar the words of the best leaves are to the query's words; a share of
    the score of the better neighbour in the document; and a share of the scores of leaves that mention the document. A
    query that is a vector only is searched by vectors only.

    Args:
        weights: Weights of BM25 and of vectors, both > 0; only their ratio matters. Default: (0.55, 0.45).
        fusion: How the two scores become one, as in ``Ensemble``. Default: ``"relative_score"``, which scales each one's
            scores to [0, 1].
        depth: Leaves that BM25 and vectors look at, >= 1: one number, or two. At least as many as are asked for.
            Default: (100, 50).
        scales: Weights of the BM25 scores of a leaf's parent, section and document, each >= 0, beside
            ``weights`` scaled to the sum 1. The best parent adds its full weight to its leaves, others add less. Needs
            ``fusion="relative_score"``, otherwise it has no effect. Default: (0.3, 0.3, 0.3).
        soft_matches: Weight of how similar the leaf's words are to the query's words, by vectors of single words, >= 0.
            Only the 40 best leaves are compared: the most similar one gets the weight, others less. Needs a
            weight above 0 in ``scales``, and acts only in documents that are read as English. Default: 0.5.
        neighbour_bonus: Share of the better neighbour's score to add, in [0, 1]. Default: 0.3.
        calibrate: Whether a score is the probability that the leaf holds (part of) the answer. Probabilities can be
            compared across queries, and keep the order. Needs ``fusion="relative_score"``; otherwise scores are sums.
            Default: True.
        min_score: Lowest score of a result. Without ``k`` or a budget of the call, all that reach it are returned.
            Default: any.
        min_answer_probability: Lowest probability, in [0, 1], that the index holds an answer at all: a query below it
            finds nothing. 0.5 keeps about nine of ten questions that have an answer, and refuses about nine of ten
            questions from another field. Needs calibrated scores. Default: any.
        bm25: k1, b and the variant of BM25, as ``BM25Settings``. Default: the index's.
        instruction: Text before each query when it is embedded. Default: none.
        summaries: Whether to search the summaries of the index's trees as well, as if they were leaves without
            neighbours. Default: False.
        summary_bonus: Share, in [0, 1], of the score of the best summary above a leaf to add to the leaf's, even if the
            summary is no result. For questions about a theme. Default: 0.
        references: Share of their score, in [0, 1], that the six best leaves pass on to documents that they mention by
            a rare title, an alias, a link or a path. Default: 0.6. At 0, texts are not searched for mentions.
        aliases: Metadata key under which documents have further names, a text or a list of texts. Default: ``"aliases"``.
            None: documents have no further names.

    Raises:
        InvalidArgument: if an option is out of its range, or needs another one.

    Ties are ordered by document id, then position. How scores are calibrated: docs/scores.md.
    """

    weights: tuple[float, float] = (0.55, 0.45)
    fusion: Fusion = "relative_score"
    depth: int | tuple[int, int] = (100, 50)
    scales: tuple[float, float, float] = (0.3, 0.3, 0.3)
    soft_matches: float = 0.5
    neighbour_bonus: float = 0.3
    calibrate: bool = True
    min_score: float | None = None
    min_answer_probability: float | None = None
    bm25: BM25Settings | None = None
    instruction: str = ""
    summaries: bool = False
    summary_bonus: float = 0.0
    references: float = 0.6
    aliases: str | None = "aliases"

    def __post_init__(self) -> None:
        if not isinstance(self.weights, Sequence) or len(self.weights) != 2:
            raise InvalidArgument(f"weights must be two numbers > 0, of BM25 and of vectors, got {shown(self.weights)}")
        for weight in self.weights:
            if is_number(weight) and weight == 0:
                raise InvalidArgument(
                    "weights must be two numbers > 0, of BM25 and of vectors, got "
                    f"{shown(self.weights)}: one of them alone is BM25() or Vector()"
                )
            check_number("weights", weight, above=0)
        object.__setattr__(self, "weights", tuple(self.weights))
        object.__setattr__(self, "fusion", to_fusion(self.fusion))
        depths = self.depth if isinstance(self.depth, Sequence) else (self.depth, self.depth)
        if len(depths) != 2:
            raise InvalidArgument(f"depth must be a whole number, or two, of BM25 and of vectors, got {shown(self.depth)}")
        object.__setattr__(self, "depth", tuple(check_whole("depth", depth, 1) for depth in depths))
        if not isinstance(self.scales, Sequence) or len(self.scales) != len(NODE_SOURCES):
            raise InvalidArgument(
                f"scales must be three numbers >= 0, of the parent, the section and the document, got {shown(self.scales)}"
            )
        for weight in self.scales:
            check_number("scales", weight, at_least=0)
        object.__setattr__(self, "scales", tuple(self.scales))
        check_number("soft_matches", self.soft_matches, at_least=0)
        check_number("neighbour_bonus", self.neighbour_bonus, at_least=0, at_most=1)
        check_flag("calibrate", self.calibrate)
        check_number("min_score", self.min_score, optional=True)
        if self.min_answer_probability is not None:
            check_number("min_answer_probability", self.min_answer_probability, at_least=0, at_most=1)
            if not self.scores_are_probabilities:
                raise InvalidArgument(
                    "min_answer_probability needs scores that are probabilities: leave calibrate=True and "
                    f"fusion='relative_score', got calibrate={self.calibrate} and fusion={self.fusion!r}"
                )
        check_bm25(self.bm25)
        check_text("instruction", self.instruction)
        check_flag("summaries", self.summaries)
        check_number("summary_bonus", self.summary_bonus, at_least=0, at_most=1)
        check_number("references", self.references, at_least=0, at_most=1)
        if self.aliases is not None:
            check_text("aliases", self.aliases)

    @property
    def finds_spans(self) -> bool:
        return self.summaries

    @property
    def query_instruction(self) -> str:
        return self.instruction

    @property
    def scores_are_probabilities(self) -> bool:
        """Whether ``calibrate`` has an effect."""
        return self.calibrate and self.fusion == "relative_score"

    @property
    def searches_summaries(self) -> bool:
        """Whether summaries are searched, as results or for their bonus."""
        return self.summaries or self.summary_bonus > 0

    @property
    def returns_all(self) -> bool:
        """True with ``min_score``."""
        return self.min_score is not None

    def with_summaries(self) -> Hybrid:
        """The same strategy with ``summaries=True``."""
        return replace(self, summaries=True)

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """Both searches for all queries at once, then one fetch of the results.

        If leaves mention documents, a second fetch loads the results that these mentions add.
        """
        if self.summaries and context.words is not None:
            context = context.for_base  # summaries longer than the budget are skipped, so load all
        vectors = yield from query_vectors(queries, self.instruction)
        assert isinstance(self.depth, tuple)
        by_words, by_vectors = (max(depth, context.candidates) for depth in self.depth)
        texts = tuple(query.text for query in queries if query.text)
        near, matches = yield from search(
            VectorSearch(vectors, by_vectors, context.where),
            LexicalSearch(texts, by_words, context.where, self.bm25, scales=self._scale_weights),
            summaries=self.searches_summaries,
        )
        words = iter(matches)
        pools = [
            fused_pool(
                next(words) if query.text else None,
                hits,
                weights=self.weights,
                fusion=self.fusion,
                scales=self.scales,
                soft_matches=self.soft_matches,
                neighbour_bonus=self.neighbour_bonus,
                with_summaries=self.searches_summaries,
            )
            for query, hits in zip(queries, near, strict=True)
        ]
        if self.soft_matches:
            yield from self._add_soft_matches([pool for pool in pools if pool.words])
        if self.summary_bonus:
            yield from self._add_bonuses_from_summaries(pools)
        # ``k`` and ``min_score`` must not change the score that a leaf gets from mentions in other leaves.
        looked_through = LOOKED_THROUGH if self.references else 0
        rows = [self._best(pool, max(context.results, looked_through), looked_through) for pool in pools]
        loaded = yield from self._load(rows)
        if self.references and (yield from self._note_references(pools, rows, loaded, context)):
            rows = [
                self._best(pool, context.results) if pool.references else row for pool, row in zip(pools, rows, strict=True)
            ]
            loaded = yield from self._load(rows, loaded)
        existing = [[(candidate, each) for each in row if (candidate := loaded[each.leaf]) is not None] for row in rows]
        least = -inf if self.min_score is None else self.min_score
        good = [[pair for pair in row[: context.results] if pair[1].score >= least] for row in existing]
        results = [self._candidates(pool, row) for pool, row in zip(pools, good, strict=True)]
        for query, pool, result in zip(queries, pools, results, strict=True):
            if not pool.is_empty and not result:
                yield from self._note_why_empty(query, pool)
        return results

    def _note_why_empty(self, query: Query, pool: Pool) -> StrategyFlow[None]:
        """Note which option removes all results."""
        best = replace(self, min_score=None, min_answer_probability=None)._best(pool, LOOKED_THROUGH)
        documents = tuple(dict.fromkeys(each.leaf.document_id for each in best))
        answered = probability_of_an_answer(pool)
        if self.min_answer_probability is not None and answered < self.min_answer_probability:
            yield NoteWhyEmpty(
                query,
                f"the probability that the index holds an answer is {answered:.3g}, below "
                f"min_answer_probability={self.min_answer_probability:g}",
                documents,
            )
        elif self.min_score is not None and best and best[0].score < self.min_score:
            yield from note_too_low(query, self.min_score, best[0].score, documents)

    def _best(self, pool: Pool, count: int, at_least: int = 0) -> list[ScoredLeaf]:
        return best_of(
            pool,
            count,
            probabilities=self.scores_are_probabilities,
            min_score=self.min_score,
            min_answer_probability=self.min_answer_probability,
            summaries=self.summaries,
            at_least=at_least,
        )

    def _note_references(
        self,
        pools: Sequence[Pool],
        rows: Sequence[Sequence[ScoredLeaf]],
        loaded: Mapping[LeafId, Candidate | None],
        context: RetrievalContext,
    ) -> StrategyFlow[bool]:
        """Note the documents that each pool's best leaves mention, and return whether there are any."""
        leaves = (
            [each for each in row if each.leaf not in pool.summaries and loaded[each.leaf]]
            for pool, row in zip(pools, rows, strict=True)
        )
        best = [row[:LOOKED_THROUGH] for row in leaves]
        ids = tuple(dict.fromkeys(each.leaf for row in best for each in row))
        if not ids:
            return False
        mentions: dict[LeafId, list[Mention]] = yield FindMentions(ids, context.where, self.aliases)
        if not mentions:
            return False
        for pool, row in zip(pools, best, strict=True):
            documents = {mention.document_id for each in row for mention in mentions.get(each.leaf, ())}
            sums = pool.leaves.sums_in({*documents, *(each.leaf.document_id for each in row)})
            pool.references = reference_bonuses(sums, [each.leaf for each in row], mentions, self.references)
        return True

    @property
    def _scale_weights(self) -> ScaleWeights | None:
        """The weights of leaves and larger nodes, None for leaves alone."""
        if self.fusion != "relative_score" or not any(self.scales):
            return None
        return ScaleWeights(self.weights[0] / sum(self.weights), *self.scales)

    def _add_soft_matches(self, pools: Sequence[Pool]) -> StrategyFlow[None]:
        """Compare the best leaves of each pool with the words of its question."""
        compared = [leaves_to_compare(pool, _COMPARED) for pool in pools]
        if not any(compared):
            return
        rows: list[list[float]] = yield SoftMatches([pool.words for pool in pools], compared)
        for pool, leaves, scores in zip(pools, compared, rows, strict=True):
            add_soft_matches(pool, leaves, scores, self.soft_matches)

    def _add_bonuses_from_summaries(self, pools: Sequence[Pool]) -> StrategyFlow[None]:
        """Add the bonus of each leaf below one of the best summaries."""
        best = [nlargest(_SUMMARIES_LOOKED_AT, pool.summaries.items(), key=lambda item: item[1]) for pool in pools]
        loaded: dict[LeafId, Candidate] = yield Load(tuple({leaf: None for row in best for leaf, _ in row}))
        for pool, row in zip(pools, best, strict=True):
            bonuses: dict[LeafId, float] = {}
            for leaf, score in row:
                summary = loaded[leaf].summary
                assert summary is not None
                if summary.size > _WIDEST:
                    continue
                for run in summary.covers:
                    for ordinal in range(run.first, run.last + 1):
                        below = LeafId(run.document_id, run.version, ordinal)
                        bonuses[below] = max(bonuses.get(below, 0.0), self.summary_bonus * score)
            pool.add_summary_bonuses(bonuses)

    def _load(
        self, rows: Sequence[Sequence[ScoredLeaf]], loaded: Mapping[LeafId, Candidate | None] | None = None
    ) -> StrategyFlow[dict[LeafId, Candidate | None]]:
        """The best leaves of each query and those loaded before. None for a guessed leaf that does not exist."""
        candidates = dict(loaded or {})
        best = {each.leaf: each for row in rows for each in row if each.leaf not in candidates}
        certain = tuple(leaf for leaf, each in best.items() if each.is_known)
        guessed = tuple(leaf for leaf, each in best.items() if not each.is_known)
        if best or loaded is None:
            more: dict[LeafId, Candidate] = yield Load(certain, guessed)
            candidates |= {leaf: more.get(leaf) for leaf in best}
        return candidates

    def _candidates(self, pool: Pool, row: Sequence[tuple[Candidate, ScoredLeaf]]) -> list[Candidate]:
        """The candidates of a query."""
        are_probabilities = self.scores_are_probabilities
        candidates = []
        contributions = pool.contributions([scored.leaf for _, scored in row])
        for (candidate, scored), parts in zip(row, contributions, strict=True):
            ordinal, bonuses = scored.leaf.ordinal, (scored.neighbour_bonus, scored.summary_bonus)
            trace = Trace(
                hits=tuple(
                    [TracedHit(ordinal, each.score, each.source, each.rank) for each in parts if each.source in SEARCHES]
                ),
                fused=(Fused(ordinal, ordinal, self.fusion, parts, scored.sum, *bonuses, reference=scored.reference),),
                calibrated=(Calibrated(ordinal, scored.score),) if are_probabilities else (),
                layer=candidate.summary.layer if candidate.summary else 0,
            )
            candidates.append(
                Candidate(
                    candidate.span,
                    scored.score,
                    trace,
                    candidate.metadata,
                    candidate.words,
                    candidate.leaf,
                    candidate.summary,
                )
            )
        return candidates
