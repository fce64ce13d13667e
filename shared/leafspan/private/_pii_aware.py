"""Retrieval that adds leaves about the people and numbers in a question to leaves that match its meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from leafspan.checks import check_number, check_text, keep_whole, shown
from leafspan.errors import InvalidArgument
from leafspan.filters import F, Where
from leafspan.private.pseudonyms import pseudonyms_in
from leafspan.strategies import (
    LexicalMatches,
    LexicalSearch,
    Load,
    Ranked,
    RetrievalContext,
    Similarities,
    Strategy,
    StrategyFlow,
    Vector,
    VectorSearch,
    check_strategy,
    fuse,
    query_vectors,
)
from leafspan.values import Candidate, Hit, LeafId, Query, scored

_MENTIONS = 10  # for each wanted leaf, this number of leaves with a pseudonym are compared with the question
_MOST = 10_000


class HasPrivacy(Protocol):
    """An index, or a view of one."""

    @property
    def is_private(self) -> bool:
        """Whether names and numbers are pseudonyms in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PIIAware(Strategy):
    """Leaves that mention a name, address or number from the question, combined with the results of ``base``.

    It needs a private view (``private_view``), which replaces names in texts and questions by pseudonyms. Over any other
    index or view, it raises an error. It finds the leaves that have a pseudonym of the question in text, title or headings,
    and ranks them by their vectors' distance to the question's vector. For a question without a pseudonym, it asks only the
    base. If ``base`` finds spans longer than leaves, overlapping spans become one passage.

    Args:
        weights: Weights of the leaves with a pseudonym, and of the base, both > 0; only their ratio matters. Default:
            (0.2, 0.8).
        rank_constant: The constant of reciprocal rank fusion, >= 0: a result at rank r adds its list's weight
            / (rank_constant + r) to its score. Default: 60.
        min_candidates: Fewest leaves that each of the two lists is asked for, >= 1. Default: 1.
        entities_field: Metadata key with the list of a document's pseudonyms, the same as in the private view. Default:
            ``"entities"``.
        base: Strategy that searches by meaning. Default: ``Vector()``.

    Raises:
        InvalidArgument: if an option is out of its range, or the view that is asked is not a private one.

    Ties are ordered by document id, then position. Source of the fusion: Cormack et al., SIGIR 2009.
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
        keep_whole(self, "min_candidates", 1)
        check_text("entities_field", self.entities_field)
        F(self.entities_field)  # raises an error if no document can have the key
        check_strategy("base", self.base)

    @property
    def finds_spans(self) -> bool:
        """As the base."""
        return self.base.finds_spans

    @property
    def query_instruction(self) -> str:
        """As the base."""
        return self.base.query_instruction

    @staticmethod
    def check_view(view: HasPrivacy) -> None:
        """Check that the retriever searches a private view.

        Raises:
            InvalidArgument: if it does not.
        """
        if not view.is_private:
            raise InvalidArgument(
                f"index must be a private view for PIIAware, private_view(index, vault), got {shown(view)}: only a private "
                "view replaces the names in a question by the pseudonyms in the texts"
            )

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """See Strategy. The leaves with pseudonyms come first, then the base runs."""
        if not context.private:
            raise InvalidArgument(
                "PIIAware must be asked through a private view, private_view(index, vault): only such a view replaces the "
                "names in a question by the pseudonyms in the texts"
            )
        deep = replace(context.for_base, candidates=max(context.candidates, self.min_candidates))
        mentions = yield from self._mentions(queries, deep)
        nearest = yield from self.base.retrieve(queries, deep)
        results = []
        for mentioning, near in zip(mentions, nearest, strict=True):
            lists = [Ranked("entities", mentioning, self.weights[0]), Ranked("meaning", near, self.weights[1])]
            results.append(fuse(lists, fusion="rrf", rank_constant=self.rank_constant)[: deep.candidates])
        return results

    def _mentions(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """For each question the leaves that mention one of its pseudonyms, nearest to the question first."""
        words = [tuple(dict.fromkeys(mention.word for mention in pseudonyms_in(query.text or ""))) for query in queries]
        mentioning = [number for number, own in enumerate(words) if own]
        rows: list[list[Candidate]] = [[] for _ in queries]
        if not mentioning:
            return rows
        vectors = yield from query_vectors([queries[number] for number in mentioning], self.query_instruction)
        wheres = [self._where(words[number], context) for number in mentioning]
        count = min(_MOST, _MENTIONS * context.candidates)
        matches: list[list[LexicalMatches]] = yield tuple(
            LexicalSearch((" ".join(words[number]),), count, where)
            for number, where in zip(mentioning, wheres, strict=True)
        )
        # The user's own analyzer may cut pseudonyms, but the documents that mention a pseudonym are known anyway.
        compared = yield tuple(
            Similarities(vector[None], tuple(hit.leaf for hit in lexical.hits))
            if lexical.hits
            else VectorSearch(vector[None], context.candidates, where)
            for vector, [lexical], where in zip(vectors, matches, wheres, strict=True)
        )
        nearest = [
            _nearest(lexical.hits, answer, context.candidates) if lexical.hits else answer
            for [lexical], [answer] in zip(matches, compared, strict=True)
        ]
        loaded: dict[LeafId, Candidate] = yield Load(tuple(dict.fromkeys(hit.leaf for hits in nearest for hit in hits)))
        for number, hits in zip(mentioning, nearest, strict=True):
            rows[number] = [scored(loaded[hit.id], hit.score, "entities", rank) for rank, hit in enumerate(hits, start=1)]
        return rows

    def _where(self, words: Sequence[str], context: RetrievalContext) -> Where:
        has_one = F(self.entities_field).contains_any(words)
        return has_one if context.where is None else context.where & has_one


def _nearest(hits: Sequence[Hit], cosines: Sequence[float], most: int) -> list[Hit]:
    near = (Hit(hit.leaf, float(cosine)) for hit, cosine in zip(hits, cosines, strict=True))
    return sorted(near, key=lambda hit: hit.order)[:most]
