"""Search by words and by vectors at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from math import inf
from typing import TypeAlias

from leafspan.checks import check_flag, check_number, check_text, is_number, shown, shown_below
from leafspan.errors import InvalidArgument
from leafspan.lexical import BM25Settings
from leafspan.strategies._bm25 import check_bm25
from leafspan.strategies._hybrid_pool import BALANCE, COMPARED, EVIDENCE, SOURCES, VECTOR, VECTORS, WORDS, Pool, Weighed
from leafspan.strategies._queries import note_too_low, query_vectors, search, with_spelling
from leafspan.strategies._requests import (
    FindMentions,
    LexicalSearch,
    Load,
    Mention,
    NoteWhyEmpty,
    RetrievalContext,
    SoftMatches,
    StrategyFlow,
    VectorSearch,
)
from leafspan.strategies._strategy import Strategy
from leafspan.trace import Calibrated, Trace, TracedHit, made_later
from leafspan.values import Candidate, LeafId, Query

_LOOKED_THROUGH = 6  # best leaves whose texts are searched for mentions
Row: TypeAlias = list[tuple[Weighed, float]]  # the best leaves of a query, each with its probability


@dataclass(frozen=True, slots=True, kw_only=True)
class Hybrid(Strategy):
    """The leaves that match the query's words and its meaning, best first. Scores are probabilities.

    BM25 and vectors each find their best leaves. What speaks for a leaf is added up as evidence: its BM25 and the BM25 of
    its parent, section and document, the similarity of its vector, and how similar its words are to the query's words. The
    BM25 of larger pieces counts as far as the best of them stand out. A share of a leaf's weight goes to its neighbours,
    and to the leaves of documents that it mentions. A query that is a vector only is searched by vectors only.

    Args:
        weights: Weights of words and of vectors, both > 0; only their ratio matters. Default: (0.7, 0.3).
        min_score: Lowest score of a result, in [0, 1]. Without ``k`` or a budget of the call, all that reach it are
            returned. Default: any.
        min_answer_probability: Lowest probability, in [0, 1], that the index holds an answer at all: a query below it
            finds nothing. 0.5 keeps about nine of ten questions that have an answer, and refuses about nine of ten
            questions from another field. Default: any.
        bm25: k1, b and the variant of BM25, as ``BM25Settings``. Default: the index's.
        instruction: Text before each query when it is embedded. Default: none.
        summaries: Whether to search the summaries of the index's trees as well, as if they were leaves without
            neighbours. Default: False.
        references: Share of their weight, in [0, 1], that the six best leaves pass on to documents that they mention by
            a rare title, an alias, a link or a path. Default: 0.8. At 0, texts are not searched for mentions.
        aliases: Metadata key under which documents have further names, a text or a list of texts. Default: ``"aliases"``.
            None: documents have no further names.
        spelling: Whether to read a misspelt word, which no document has, as a similar one that documents have.
            Default: True.

    Raises:
        InvalidArgument: if an option is out of its range.

    Ties are ordered by document id, then position. How scores are computed: docs/scores.md.
    """

    weights: tuple[float, float] = BALANCE
    min_score: float | None = None
    min_answer_probability: float | None = None
    bm25: BM25Settings | None = None
    instruction: str = ""
    summaries: bool = False
    references: float = 0.8
    aliases: str | None = "aliases"
    spelling: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.weights, Sequence) or len(self.weights) != 2:
            raise InvalidArgument(f"weights must be two numbers > 0, of words and of vectors, got {shown(self.weights)}")
        for weight in self.weights:
            if is_number(weight) and weight == 0:
                raise InvalidArgument(
                    "weights must be two numbers > 0, of words and of vectors, got "
                    f"{shown(self.weights)}: one of them alone is BM25() or Vector()"
                )
            check_number("weights", weight, above=0)
        object.__setattr__(self, "weights", tuple(self.weights))
        check_number("min_score", self.min_score, optional=True)
        check_number("min_answer_probability", self.min_answer_probability, at_least=0, at_most=1, optional=True)
        check_bm25(self.bm25)
        check_text("instruction", self.instruction)
        check_flag("summaries", self.summaries)
        check_flag("spelling", self.spelling)
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
    def returns_all(self) -> bool:
        """True with ``min_score``."""
        return self.min_score is not None

    def with_summaries(self) -> Hybrid:
        return replace(self, summaries=True)

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """Both searches for all queries at once, then one fetch of the results.

        If leaves mention documents, a second fetch loads the results that these mentions add.
        """
        if self.summaries and context.words is not None:
            context = context.for_base  # summaries longer than the budget are skipped, so load all
        vectors = yield from query_vectors(queries, self.instruction)
        evidence = EVIDENCE.balanced(self.weights)
        by_words, by_vectors = max(WORDS, context.candidates), max(VECTORS, context.candidates)
        texts = tuple(query.text for query in queries if query.text)
        near, matches = yield from search(
            VectorSearch(vectors, by_vectors, context.where),
            LexicalSearch(texts, by_words, context.where, self.bm25, scales=evidence.scales, spelling=self.spelling),
            summaries=self.summaries,
        )
        if any(row.respelt for row in matches):
            return (yield from with_spelling(self, queries, matches, context))
        words = iter(matches)
        pools = [
            Pool(next(words) if query.text else None, hits, evidence, with_summaries=self.summaries)
            for query, hits in zip(queries, near, strict=True)
        ]
        yield from self._add_soft_matches([pool for pool in pools if pool.words])
        if self.summaries:
            for pool in pools:
                pool.weigh_summaries()
        # ``k`` and ``min_score`` must not change the score that a leaf gets from mentions in other leaves.
        looked_through = _LOOKED_THROUGH if self.references else 0
        rows = [self._best(pool, max(context.results, looked_through), looked_through) for pool in pools]
        loaded = yield from self._load(rows, {})
        if self.references and (yield from self._note_mentions(pools, rows, context)):
            rows = [self._best(pool, context.results) for pool in pools]
            loaded = yield from self._load(rows, loaded)
        results = []
        for query, pool, row in zip(queries, pools, rows, strict=True):
            good = [each for each in row[: context.results] if self.min_score is None or each[1] >= self.min_score]
            results.append(_candidates(pool, good, loaded))
            if not pool.is_empty and not results[-1]:
                yield from self._note_why_empty(query, pool)
        return results

    def _best(self, pool: Pool, count: int, at_least: int = 0) -> Row:
        """The best of a pool, ``at_least`` this many even below the lowest score."""
        if pool.probability_of_an_answer < (self.min_answer_probability or 0):
            return []
        best = pool.best(count, with_summaries=self.summaries)
        least = -inf if self.min_score is None else self.min_score
        return [each for number, each in enumerate(best) if number < at_least or each[1] >= least]

    def _load(self, rows: Sequence[Row], loaded: dict[LeafId, Candidate]) -> StrategyFlow[dict[LeafId, Candidate]]:
        """The best leaves of each query and those loaded before."""
        ids = dict.fromkeys(each.leaf for row in rows for each, _ in row if each.leaf not in loaded)
        if loaded and not ids:
            return loaded
        more: dict[LeafId, Candidate] = yield Load(tuple(ids))
        return {**loaded, **more}

    def _add_soft_matches(self, pools: Sequence[Pool]) -> StrategyFlow[None]:
        """Compare the best leaves of each pool with the words of its question."""
        compared = [pool.best_leaves(COMPARED) for pool in pools]
        if any(compared):
            rows: list[list[float]] = yield SoftMatches([pool.words for pool in pools], compared)
            for pool, leaves, scores in zip(pools, compared, rows, strict=True):
                pool.add_soft_matches(leaves, scores)

    def _note_mentions(self, pools: Sequence[Pool], rows: Sequence[Row], context: RetrievalContext) -> StrategyFlow[bool]:
        """Note the documents that each pool's best leaves mention, and return whether there are any."""
        best = [[each.leaf for each, _ in row if not each.leaf.is_summary][:_LOOKED_THROUGH] for row in rows]
        ids = tuple(dict.fromkeys(chain.from_iterable(best)))
        mentions: dict[LeafId, list[Mention]] = (yield FindMentions(ids, context.where, self.aliases)) if ids else {}
        for pool, leaves in zip(pools, best, strict=True):
            pool.note_mentions(leaves, mentions, self.references)
        return bool(mentions)

    def _note_why_empty(self, query: Query, pool: Pool) -> StrategyFlow[None]:
        """Note which option removes all results."""
        best = pool.best(_LOOKED_THROUGH, with_summaries=self.summaries)
        documents = tuple(dict.fromkeys(each.leaf.document_id for each, _ in best))
        answered, least = pool.probability_of_an_answer, self.min_answer_probability
        if least is not None and answered < least:
            held = f"the probability that the index holds an answer is {shown_below(answered, least)}"
            yield NoteWhyEmpty(query, f"{held}, below min_answer_probability={least:g}", documents)
        elif self.min_score is not None and best and best[0][1] < self.min_score:
            yield from note_too_low(query, self.min_score, best[0][1], documents)


def _candidates(pool: Pool, row: Row, loaded: Mapping[LeafId, Candidate]) -> list[Candidate]:
    """The results of a query with their traces."""
    candidates = []
    for weighed, probability in row:
        own = loaded[weighed.leaf]
        calibrated = (Calibrated(weighed.leaf.ordinal, probability, pool.probability_of_an_answer),)
        trace = made_later(partial(_trace, pool, weighed, calibrated, own.summary.layer if own.summary else 0), calibrated)
        candidates.append(Candidate(own.span, probability, trace, own.metadata, own.words, own.leaf, own.summary))
    return candidates


def _trace(pool: Pool, weighed: Weighed, calibrated: tuple[Calibrated, ...], layer: int) -> Trace:
    """How a result of a query came about."""
    fused = pool.fused(weighed)
    searched = (each for each in fused.contributions if each.source in (SOURCES[0], VECTOR))
    hits = tuple(TracedHit(fused.first, each.score, each.source, each.rank) for each in searched)
    return Trace(hits, (fused,), calibrated, layer=layer)
