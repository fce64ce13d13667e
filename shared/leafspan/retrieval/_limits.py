"""What a retrieval is given: limits, the defaults for a call without options, and the parts of an open index."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any, TypedDict

from leafspan.checks import check_number, check_whole, shown, with_option_names
from leafspan.embedding import CheckedEmbedder, EmbedderIdentity
from leafspan.engines import MOST_RESULTS
from leafspan.errors import InvalidArgument
from leafspan.filters import Where, checked_moment, to_filter, valid_documents
from leafspan.flows import Flow
from leafspan.search import SearchIndexes, nearest_leaves
from leafspan.spans import Budget
from leafspan.store import Reader, Store, read_consistently
from leafspan.strategies import DEFAULT, RetrievalContext, Strategy, to_strategy
from leafspan.text import UnicodeErrors
from leafspan.trees import Trees
from leafspan.values import Candidate

DEFAULT_K = 5  # largest number of passages if a call sets no other limit
_LEAST_CANDIDATES = 24
_CANDIDATES_A_PASSAGE = 4
_WORDS_A_LEAF = 30  # for the default splitter; if leaves are shorter, a second look reads more


def check_timeout(timeout: float | None, name: str = "timeout") -> None:
    """Check the timeout of a retrieval; ``name`` is the option's name."""
    check_number(name, timeout, above=0, unit="seconds", optional=True)


class CallOptions(TypedDict, total=False):
    """The options of ``retrieve``, which documents them."""

    k: int | None
    candidates: int | None
    budget: int | Budget | None
    where: object
    min_score: float | None
    per_document: int | None
    as_of: date | str | None
    timeout: float | None


takes_call_options = partial(with_option_names, more=tuple(CallOptions.__annotations__))
"""A decorator for functions with ``CallOptions``: its error message for an unknown option names the known ones."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one call: see ``Index.retrieve``."""

    k: int | None  # most passages, or None if it was not given
    candidates: int | None  # number of leaves to read, or None if it was not given
    budget: Budget | None  # most words or tokens, or None if it was not given
    where: Where | None  # filter on the documents, or None for all
    min_score: float | None = None  # lowest score of a passage, or None for any
    per_document: int | None = None  # most passages of one document, or None for any number
    as_of: str | None = None  # moment at which documents must be valid, or None for any
    private: bool = False  # whether the call is on a private view

    @classmethod
    def of(
        cls,
        k: int | None = None,
        candidates: int | None = None,
        budget: int | Budget | None = None,
        where: object = None,
        min_score: float | None = None,
        per_document: int | None = None,
        as_of: Any = None,
    ) -> Limits:
        if k is not None:
            k = check_whole("k", k, 1)
        if candidates is not None:
            candidates = check_whole("candidates", candidates, 1)
            if candidates > MOST_RESULTS:
                raise InvalidArgument(f"candidates must be <= {MOST_RESULTS}, got {shown(candidates)}")
        if budget is not None and not isinstance(budget, Budget):
            budget = Budget(budget)
        check_number("min_score", min_score, optional=True)
        if per_document is not None:
            per_document = check_whole("per_document", per_document, 1)
        if as_of is not None:
            as_of = checked_moment("as_of", as_of, now=True)
        return cls(k, candidates, budget, to_filter(where), min_score, per_document, as_of)

    def split(self, results: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
        """The results that reach the lowest allowed score, and the others."""
        least = self.min_score
        if least is None:
            return list(results), []
        return [each for each in results if each.score >= least], [each for each in results if each.score < least]

    def context(self, strategy: Strategy, embedder: str | None) -> RetrievalContext:
        """The strategy's first context. ``search_until_full`` makes further ones if its results are not enough."""
        # With min_score, all results with that score are returned, as with a strategy that has its own lowest score.
        returns_all = self.k is None and self.budget is None and (strategy.returns_all or self.min_score is not None)
        k = DEFAULT_K if self.k is None and self.budget is None and not returns_all else self.k
        words = self.budget.words if self.budget else None
        candidates = self.candidates or max(_LEAST_CANDIDATES, _CANDIDATES_A_PASSAGE * (k or 0))
        if words is not None and self.candidates is None:
            for_words = _LEAST_CANDIDATES + words // _WORDS_A_LEAF
            candidates = for_words if k is None else min(candidates, for_words)
        if self.candidates is None and (strategy.looks_once or (returns_all and not strategy.needs_query)):
            candidates = sys.maxsize  # nothing is ranked, so the first search may read everything
        where = self.where if self.as_of is None else valid_documents(self.where, self.as_of)
        return RetrievalContext(
            candidates, where, k, words, embedder, exactly=self.candidates is not None, private=self.private
        )


@dataclass(frozen=True, slots=True)
class Defaults:
    """A strategy and limits for calls without their own: see ``Config``."""

    strategy: Strategy = DEFAULT
    k: int | None = None  # most passages, or None for no limit
    candidates: int | None = None  # number of leaves to read, or None for automatic
    budget: int | Budget | None = None  # most words or tokens, or None for no limit
    min_score: float | None = None  # lowest score of a passage, or None for any
    per_document: int | None = None  # most passages of one document, or None for any number
    as_of: date | str | None = None  # moment at which documents must be valid, or None for any

    def strategy_of(self, strategy: object) -> Strategy:
        return self.strategy if strategy is None else to_strategy("strategy", strategy)

    def limits_of(self, options: CallOptions) -> Limits:
        """The limits of a call. A call that gives one of ``k`` and ``budget`` gets no default for the other."""
        call: dict[str, Any] = {name: value for name, value in options.items() if value is not None and name != "timeout"}
        own: dict[str, Any] = {name: getattr(self, name) for name in ("candidates", "min_score", "per_document", "as_of")}
        if "k" not in call and "budget" not in call:
            own |= {"k": self.k, "budget": self.budget}
        return Limits.of(**{**own, **call})


@dataclass(frozen=True, slots=True)
class Sources:
    indexes: SearchIndexes  # the store of the documents, and the indexes that search it
    embedder: CheckedEmbedder
    trees: Trees
    defaults: Defaults  # strategy and limits for calls without their own
    reopen: Callable[[], Any] | None = None
    unicode_errors: UnicodeErrors = "strict"  # how to treat documents and questions with half of a surrogate pair

    @property
    def store(self) -> Store:
        return self.indexes.store

    def close(self) -> None:
        self.indexes.close()
        self.trees.close()


def import_numpy() -> None:
    """Import numpy before threads need it.

    numpy's modules import each other in circles. If two threads start at different modules, Python lets them see half-made
    modules. So this imports the module that Chroma starts with, and Python lets other threads wait for it.
    """
    import numpy.typing  # noqa: F401


def warm(sources: Sources) -> Flow[None]:
    """Load the embedder, and the segments of the documents and of the trees."""
    identity = yield from sources.embedder.confirm(record=False)
    if identity is None:  # the index is empty
        return
    trees = yield from sources.trees.existing()
    for indexes in (sources.indexes, trees):
        if indexes is not None:
            yield from read_consistently(indexes.store, partial(_load, indexes=indexes, identity=identity))


def _load(reader: Reader, *, indexes: SearchIndexes, identity: EmbedderIdentity) -> Flow[None]:
    yield from indexes.words.warm(reader)
    if indexes.vectors is not None:
        yield from indexes.vectors.current(reader)
    yield from indexes.refresh(reader)
    # A server loads its vectors at its first search.
    yield from nearest_leaves(reader, indexes.vectors, identity.vector[None], 1, None)
