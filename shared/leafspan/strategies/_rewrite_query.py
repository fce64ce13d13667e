"""RewriteQuery: leafspan searches a better query instead of the question."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from leafspan.checks import check_flag, check_functions, check_model, did_you_mean, keep_whole, shown
from leafspan.errors import InvalidArgument
from leafspan.language_model import PROMPTS, Transformation, check_prompt, read_phrasings, read_whole
from leafspan.strategies._fuse import to_fusion
from leafspan.strategies._hybrid import Hybrid
from leafspan.strategies._multi_query import (
    THE_QUERY,
    Phrased,
    ask_for_each,
    phrasing_name,
    search_phrasings,
    write_phrasings,
)
from leafspan.strategies._over_base import OverBase
from leafspan.strategies._queries import to_query
from leafspan.strategies._requests import RetrievalContext, StrategyFlow
from leafspan.strategies._strategy import Strategy, check_strategy
from leafspan.values import Candidate, Query

_ALWAYS_FUSED = ("step-back", "decompose")
_DEFAULT_COUNTS: dict[Transformation, int] = {"decompose": 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteQuery(OverBase):
    """What ``base`` finds for rewritten queries instead of the original ones, all in one search.

    If a query becomes one other query, scores are the base's. If it may become several, their results are fused. If the
    language model or the function fails, or writes nothing usable, the query itself is searched, and the trace of each
    passage says so. A query that is a vector only is searched as it is.

    Args:
        base: A strategy. Default: ``Hybrid()``.
        how: What is searched. ``"rewrite"``: the question in better words. ``"hyde"``: the question's words, and the mean
            vector of answers that the model imagines (HyDE). ``"step-back"``: the question, and a more general one.
            ``"decompose"``: the question, and simpler ones that it consists of. A function from a question to a text, a
            Query, or a list of these, which are fused, needs no language model. Default: ``"rewrite"``.
        ahow: Coroutine function of ``how``, if that is a function. Default: none.
        generate: Function from a prompt to a text, which is asked for what to search. Needed unless ``how`` is a function.
        agenerate: Its coroutine function.
        count: Number of texts that the model is asked for, >= 1. Default: 3 for ``"decompose"``, otherwise 1.
        prompt: Template with ``{question}``, and ``{count}`` if wanted. The answer has a text on each line; with a single
            ``"hyde"``, the whole answer is one text. Default: one for each ``how``.
        keep_question: Whether the question itself is searched, too; with ``"hyde"``, whether its own vector is part of
            the mean. Default: False for ``"rewrite"`` and for a function, otherwise True.
        fusion: What a score means where results are fused. ``"rrf"``: the mean of 1 / (60 + rank) over all queries, in
            (0, 1 / 61]. ``"maximum"``: the best of the base's own scores. Default: ``"rrf"``.

    Raises:
        InvalidArgument: if an option is out of its range, or the function returns anything but texts, queries and None.

    Ties are ordered by document id, then position. Sources: Gao et al. 2022 (HyDE), Zheng et al. 2023 (step-back).
    """

    base: Strategy = field(default_factory=Hybrid)
    how: Transformation | Callable[[str], Any] = "rewrite"
    ahow: Callable[[str], Awaitable[Any]] | None = None
    generate: Callable[[str], str] | None = None
    agenerate: Callable[[str], Awaitable[str]] | None = None
    count: int | None = None
    prompt: str | None = None
    keep_question: bool | None = None
    fusion: Literal["rrf", "maximum"] = "rrf"

    def __post_init__(self) -> None:
        check_strategy("base", self.base)
        check_model(self.generate, self.agenerate)
        if callable(self.how):
            check_functions("how", self.how, self.ahow)
            self._check_alone("how is a function", ("generate", "agenerate", "count", "prompt"))
        else:
            if not isinstance(self.how, str) or self.how not in PROMPTS:
                names = ", ".join(map(repr, PROMPTS))
                hint = did_you_mean(self.how, PROMPTS)
                raise InvalidArgument(f"how must be one of {names}, or a function, got {shown(self.how)}{hint}")
            self._check_alone("how is no function", ("ahow",))
            if self.generate is None:
                raise InvalidArgument(
                    f"how={self.how!r} must have a language model, got none: give llm=... in LangChain and LlamaIndex, "
                    "generate=... in plain Python"
                )
        keep_whole(self, "count", 1, optional=True)
        if self.prompt is not None:
            check_prompt(self.prompt, needs_count=False)
        if self.keep_question is not None:
            check_flag("keep_question", self.keep_question)
        object.__setattr__(self, "fusion", to_fusion(self.fusion, ("rrf", "maximum")))

    def _check_alone(self, case: str, names: Iterable[str]) -> None:
        for name in names:
            if (value := getattr(self, name)) is not None:
                raise InvalidArgument(f"{name} must be left out where {case}, got {shown(value)}")

    @property
    def template(self) -> str | None:
        """The prompt for the language model: ``prompt``, or the default. None if ``how`` is a function."""
        return self.prompt or (PROMPTS[self.how] if isinstance(self.how, str) else None)

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """One request to the model or function for all queries, then one search."""
        if isinstance(self.how, str):
            searches = yield from self._written(queries, self.how)
        else:
            searches = yield from self._returned(queries, self.how)
        return (yield from search_phrasings(self.base, searches, context, self.fusion))

    def _written(self, queries: Sequence[Query], how: Transformation) -> StrategyFlow[list[Phrased]]:
        """The phrasings that the language model writes for each query."""
        assert self.generate is not None
        count = self.count or _DEFAULT_COUNTS.get(how, 1)
        keeps = how != "rewrite" if self.keep_question is None else self.keep_question
        is_fused = how in _ALWAYS_FUSED or (how == "rewrite" and (count > 1 or keeps))

        without = [[query.text or ""] if is_fused and keeps else [] for query in queries]
        read = read_whole if how == "hyde" and count == 1 else read_phrasings
        written = yield from write_phrasings(
            queries, self.template or "", count, without, self.generate, self.agenerate, read=read
        )
        searches = []
        for query, (texts, reason) in zip(queries, written, strict=True):
            if not texts:
                searches.append(_as_it_is(query, f"{how} wrote nothing to search: {reason}", is_fused))
            elif how == "hyde":
                searches.append(_imagined(query, texts, keeps))
            else:
                searches.append(_in_its_place(query, [Query(text) for text in texts], keeps, is_fused))
        return searches

    def _returned(self, queries: Sequence[Query], function: Callable[[str], Any]) -> StrategyFlow[list[Phrased]]:
        """The phrasings that the user's function returns for each query."""
        keeps = bool(self.keep_question)
        searches = []
        answers = yield from ask_for_each(queries, str, function, self.ahow, name="how")
        for query, (answer, reason) in zip(queries, answers, strict=True):
            several = isinstance(answer, list | tuple)
            phrasings = [] if reason else _queries_in(answer)
            if phrasings:
                searches.append(_in_its_place(query, phrasings, keeps, several or keeps))
            else:
                why = reason or f"it returned {shown(answer)}"
                searches.append(_as_it_is(query, f"the function gave nothing to search: {why}", keeps))
        return searches


def _as_it_is(query: Query, reason: str, is_fused: bool) -> Phrased:
    return Phrased([(THE_QUERY, query)], (f"RewriteQuery: {reason}",), is_fused)


def _imagined(query: Query, answers: Sequence[str], keeps: bool) -> Phrased:
    own = query.embedding_texts or (query.text or "",)
    notes = tuple(f"RewriteQuery: searched with the vector of the imagined answer {shown(answer)}" for answer in answers)
    searched = Query(query.text, embedding_texts=(*answers, *(own if keeps else ())))
    return Phrased([(THE_QUERY, searched)], notes, is_fused=False)


def _in_its_place(query: Query, phrasings: Sequence[Query], keeps: bool, is_fused: bool) -> Phrased:
    searched = dict.fromkeys([query, *phrasings] if keeps else phrasings)
    names = [
        (THE_QUERY if each == query else phrasing_name(number, each), each)
        for number, each in enumerate(searched, start=0 if keeps else 1)
    ]
    return Phrased(names, is_fused=is_fused)


def _queries_in(answer: object) -> list[Query]:
    """The queries in a function's answer; an empty list for None or only blank texts."""
    several = answer if isinstance(answer, list | tuple) else [answer]
    queries = []
    for each in several:
        if each is None or (isinstance(each, str) and not each.strip()):
            continue
        if not isinstance(each, str | Query):
            raise InvalidArgument(
                f"how must return a text, a Query, a list of these, or None for the question as it is, got {shown(answer)}"
            )
        queries.append(to_query(each))
    return queries
