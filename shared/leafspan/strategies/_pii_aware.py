"""PII-aware retrieval: leaves about the people and numbers of a question beside leaves of its meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from leafspan.checks import check_number, check_text, check_whole, shown
from leafspan.errors import InvalidArgument
from leafspan.filters import F, Where
from leafspan.privacy import pseudonyms_in
from leafspan.strategies._context import RetrievalContext
from leafspan.strategies._fuse import Ranked, fuse
from leafspan.strategies._query_vectors import query_vectors
from leafspan.strategies._requests import LexicalSearch, Load, Similarities, StrategyFlow, VectorSearch
from leafspan.strategies._strategy import Strategy, check_strategy
from leafspan.strategies._vector import Vector
from leafspan.values import Candidate, Hit, Query, scored

_MENTIONS = 10  # leaves with a pseudonym that are compared with the question, for each that is wanted
_MOST = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PIIAware(Strategy):
    """Leaves that mention a name, address or number of the question, fused with what ``base`` finds for the question.

    It is for private views (``Index.private``), in which these are pseudonyms. Of the leaves with a pseudonym of the
    question, and of its documents' titles and headings, those nearest to the question come first. For a question without
    a pseudonym, only the base counts. If ``base`` finds spans longer than leaves, those that overlap become one passage.

    Args:
        weights: Of the leaves with a pseudonym, and of the base, both > 0; only their ratio counts. Default: (0.2, 0.8).
        rank_constant: The constant of reciprocal rank fusion, >= 0: a result at rank r adds its list's weight
            / (rank_constant + r) to its score. Default: 60.
        min_candidates: Fewest leaves that each of the two lists is asked for, >= 1. Default: 1.
        entities_field: Metadata key that has the list of a document's pseudonyms, as the private view has it.
            Default: ``"entities"``.
        base: Strategy that searches by meaning. Default: ``Vector()``.

    Raises:
        InvalidArgument: if an option is out of its range, or the view that is asked is not a private one.

    Ties go by document id, then position. Source of the fusion: Cormack et al., SIGIR 2009.
    """

    weights: Sequence[float] = (0.2, 0.8)
    rank_constant: float = 60
    min_candidates: int = 1
    entities_field: str = "entities"
    base: Strategy = field(default_factory=Vector)

    def __post_init__(self) -> None:
        if not isinstance(self.weights, Sequence) or isinstance(self.weights, str) or len(self.weights) != 2:
            raise InvalidArgument(
                f"weights must be two numbers > 0, of leaves with a pseudonym and of the base, got {shown(self.weights)}"
            )
        for weight in self.weights:
            check_number("weights", weight, above=0)
        object.__setattr__(self, "weights", tuple(self.weights))
        check_number("rank_constant", self.rank_constant, at_least=0)
        check_whole("min_candidates", self.min_candidates, 1)
        check_text("entities_field", self.entities_field)
        F(self.entities_field)  # refuses keys that no document can have
        check_strategy("base", self.base)

    @property
    def finds_spans(self) -> bool:
        """As the base."""
        return self.base.finds_spans

    @property
    def query_instruction(self) -> str:
        """As the base."""
        return self.base.query_instruction

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """See Strategy: the leaves with pseudonyms, then the base."""
        if not context.private:
            raise InvalidArgument(
                "PIIAware must be asked through a private view, index.private(vault): otherwise the question is not masked"
            )
        deep = replace(context.for_base, candidates=max(context.candidates, self.min_candidates))
        mentions = []
        for query in queries:
            mentions.append((yield from self._mentions(query, deep)))
        found = yield from self.base.retrieve(queries, deep)
        results = []
        for mentioning, near in zip(mentions, found, strict=True):
            lists = [Ranked("entities", mentioning, self.weights[0]), Ranked("meaning", near, self.weights[1])]
            results.append(fuse(lists, fusion="rrf", rank_constant=self.rank_constant)[: deep.candidates])
        return results

    def _mentions(self, query: Query, context: RetrievalContext) -> StrategyFlow[list[Candidate]]:
        """The leaves that mention a pseudonym of the question, nearest to the question first."""
        words = tuple(dict.fromkeys(met.word for met in pseudonyms_in(query.text or "")))
        if not words:
            return []
        has_one = F(self.entities_field).contains_any(words)
        where: Where = has_one if context.where is None else context.where & has_one
        vectors = yield from query_vectors([query], self.query_instruction)
        count = min(_MOST, _MENTIONS * context.candidates)
        (matches,) = yield LexicalSearch((" ".join(words),), count, where)
        if matches.hits:
            (cosines,) = yield Similarities(vectors, tuple(hit.id for hit in matches.hits))
            near = [Hit(hit.leaf, float(cosine)) for hit, cosine in zip(matches.hits, cosines, strict=True)]
            hits = sorted(near, key=lambda hit: hit.order)[: context.candidates]
        else:  # an analyzer of the user's own may cut pseudonyms; the documents that mention one are known all the same
            (hits,) = yield VectorSearch(vectors, context.candidates, where)
        loaded: dict[str, Candidate] = yield Load(tuple(hit.id for hit in hits))
        return [scored(loaded[hit.id], hit.score, "entities", rank) for rank, hit in enumerate(hits, start=1)]
