"""Routers: choose retrievers for each question."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from leafspan.checks import (
    check_choice,
    check_functions,
    check_model,
    check_number,
    did_you_mean,
    keep_whole,
    refuse_coroutine,
    shown,
)
from leafspan.errors import InvalidArgument, UnusableResult
from leafspan.flows import np
from leafspan.language_model import (
    CHOOSING_PROMPT,
    check_choosing_prompt,
    fill_choosing_prompt,
    read_names,
    without_reasoning,
)
from leafspan.strategies._fuse import (
    ON_FAILURE,
    Fusion,
    OnFailure,
    Ranked,
    fuse,
    left_out,
    noted,
    split_failures,
    to_fusion,
    went_on_without,
)
from leafspan.strategies._queries import query_vectors
from leafspan.strategies._requests import (
    Generate,
    RetrievalContext,
    RunStrategies,
    StrategyFlow,
    StrategyResults,
    StrategyRun,
)
from leafspan.strategies._strategy import Strategy, check_named_strategies
from leafspan.trace import Trace
from leafspan.values import Candidate, Query

Chooses = Callable[[str], str | Sequence[str] | None]
AsyncChooses = Callable[[str], Awaitable[str | Sequence[str] | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Router(Strategy):
    """The results of the retrievers that a rule, a language model or descriptions choose for each question.

    With ``choose`` a function of yours chooses, with ``generate`` a language model, and with neither the cosine of the
    question and the descriptions. If one retriever is chosen, its results are returned as they are. The results of
    several are fused. If no retriever is chosen, the ``default`` is asked. It is also asked if choosing fails, with a
    RuntimeWarning. The trace of each passage says what was chosen and why. Each retriever searches all of its questions at
    once.

    Args:
        retrievers: A strategy for each name.
        descriptions: What each retriever is for, by its name: a sentence or two, best in words that questions have. Needed
            without ``choose``. Default: none.
        choose: Function from a question to the name of a retriever, a list of names, or None for the default.
            Default: none.
        achoose: Its coroutine function.
        generate: Function from a prompt to a text, which is asked for names of retrievers. Default: none.
        agenerate: Its coroutine function.
        prompt: Template with ``{retrievers}``, ``{question}`` and ``{count}``. The answer has a name on each line.
        most: Most retrievers for a question, >= 1. Default: 1, or as many as ``choose`` names.
        min_similarity: Lowest cosine of a question and a description that is chosen, in [-1, 1]. Default: any.
        default: Name, or list of names, of the retrievers for questions without a chosen retriever. Default: all, fused.
        fusion: What a score means if several retrievers were chosen; see ``Ensemble``. ``"rrf"``, ``"relative_score"``,
            ``"distribution_based"`` or ``"maximum"``. Default: ``"rrf"``.
        timeout: Seconds that each retriever may take, > 0. A retriever that takes longer has failed. Default: no limit.
        on_failure: ``"raise"`` raises the error of a retriever that failed, with a note that names it. ``"skip"`` goes
            on with the others that were chosen for the question, and says so in the trace. An InvalidArgument, and the
            failure of all that were chosen, are always raised. Default: ``"raise"``.

    Raises:
        InvalidArgument: if an option is out of its range, a name is unknown (also one that ``choose`` returns), or a
            description is missing.

    Ties between descriptions are ordered as in ``retrievers``, and between fused passages by document id, then position.
    """

    retrievers: Mapping[str, Strategy] = field(hash=False)
    descriptions: Mapping[str, str] = field(default_factory=dict, hash=False)
    choose: Chooses | None = None
    achoose: AsyncChooses | None = None
    generate: Callable[[str], str] | None = None
    agenerate: Callable[[str], Awaitable[str]] | None = None
    prompt: str = CHOOSING_PROMPT
    most: int | None = None
    min_similarity: float | None = None
    default: str | Sequence[str] | None = None
    fusion: Fusion = "rrf"
    timeout: float | None = None
    on_failure: OnFailure = "raise"

    def __post_init__(self) -> None:
        object.__setattr__(self, "retrievers", check_named_strategies("retrievers", "retriever", self.retrievers))
        if not self.retrievers:
            raise InvalidArgument(f"retrievers must have at least one strategy, got {shown(self.retrievers)}")
        self._check_what_chooses()
        object.__setattr__(self, "descriptions", self._checked_descriptions())
        check_choosing_prompt(self.prompt)
        keep_whole(self, "most", 1, optional=True)
        check_number("min_similarity", self.min_similarity, at_least=-1, at_most=1, optional=True)
        object.__setattr__(self, "default", self._checked_default())
        object.__setattr__(self, "fusion", to_fusion(self.fusion))
        check_number("timeout", self.timeout, above=0, unit="seconds", optional=True)
        check_choice("on_failure", self.on_failure, ON_FAILURE)

    def _check_what_chooses(self) -> None:
        check_functions("choose", self.choose, self.achoose, "a function from a question to names", optional=True)
        check_model(self.generate, self.agenerate)
        if self.choose is not None and self.generate is not None:
            raise InvalidArgument("give either choose or a language model, got both: only one of them can choose")
        if self.min_similarity is not None and (self.choose is not None or self.generate is not None):
            raise InvalidArgument("min_similarity is for a choice by descriptions: leave out choose and the language model")

    def _checked_descriptions(self) -> dict[str, str]:
        rule = "descriptions must be a text, not blank, for names of retrievers"
        if not isinstance(self.descriptions, Mapping):
            raise InvalidArgument(f"{rule}, got {shown(self.descriptions)}")
        for name, about in self.descriptions.items():
            check_choice("a name in descriptions", name, tuple(self.retrievers))
            if not isinstance(about, str) or not about.strip():
                raise InvalidArgument(f"{rule}, got {shown(about)} for {name!r}")
        missing = [name for name in self.retrievers if name not in self.descriptions]
        if missing and self.choose is None:
            raise InvalidArgument(
                f"descriptions must say of each retriever what it is for, got none for {', '.join(map(repr, missing))}: "
                "retrievers are chosen by them, unless you give a function choose=..."
            )
        return dict(self.descriptions)

    def _checked_default(self) -> str | tuple[str, ...] | None:
        if self.default is None:
            return None
        if isinstance(self.default, str):
            check_choice("default", self.default, tuple(self.retrievers))
            return self.default
        if not isinstance(self.default, Sequence) or not self.default:
            raise InvalidArgument(f"default must be a name or a list of names, got {shown(self.default)}")
        for name in self.default:
            check_choice("each name in default", name, tuple(self.retrievers))
        return tuple(dict.fromkeys(self.default))

    @property
    def finds_spans(self) -> bool:
        return any(retriever.finds_spans for retriever in self.retrievers.values())

    @property
    def returns_all(self) -> bool:
        """Whether all retrievers return everything they find."""
        return all(retriever.returns_all for retriever in self.retrievers.values())

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """A choice for each query, then one run of each retriever with all of its queries."""
        routes = [self._or_default(route) for route in (yield from self._routes(queries))]
        # A retriever can be alone for one query and fused for another; fusing needs all of its results.
        numbers_of: dict[tuple[str, bool], list[int]] = {}
        for name in self.retrievers:
            for number, route in enumerate(routes):
                if name in route.names:
                    numbers_of.setdefault((name, len(route.names) == 1), []).append(number)
        answers: list[StrategyResults] = yield RunStrategies(
            tuple(
                StrategyRun(
                    self.retrievers[name],
                    [queries[number] for number in numbers],
                    context if alone else context.for_base,
                    self.timeout,
                )
                for (name, alone), numbers in numbers_of.items()
            )
        )
        called = [f"retriever {name!r}" for name, _ in numbers_of]
        outcomes, failed = split_failures(called, answers, on_failure=self.on_failure, owner="router")
        rows = {
            (name, number): row
            for (name, alone), numbers, each in zip(numbers_of, numbers_of.values(), outcomes, strict=True)
            if each is not None
            for number, row in zip(numbers, each, strict=True)
        }
        results = []
        for number, route in enumerate(routes):
            lists = [Ranked(name, rows[name, number]) for name in route.names if (name, number) in rows]
            own = {
                called: failed[called]
                for called, name in ((f"retriever {name!r}", name) for name in route.names)
                if (name, number) not in rows
            }
            if not lists:
                raise noted(own, "router")
            notes = [f"Router chose {_listed(route.names)}: {route.reason}", *left_out(own)]
            if len(route.names) == 1:
                results.append(
                    [replace(each, trace=each.trace + Trace(notes=tuple(notes))) for each in lists[0].candidates]
                )
            else:
                results.append(fuse(lists, fusion=self.fusion, notes=notes)[: context.candidates])
        return results

    def _or_default(self, route: Route) -> Route:
        if route.names:
            return route
        if self.default is None:
            return Route(tuple(self.retrievers), f"all, since {route.reason}")
        names = (self.default,) if isinstance(self.default, str) else tuple(self.default)
        return Route(names, f"the default, since {route.reason}")

    def _routes(self, queries: Sequence[Query]) -> StrategyFlow[list[Route]]:
        if self.choose is not None:
            # Asked like a model: each question once, even if the retrieval runs again, and an error is an answer.
            return (yield from self._answered(queries, self.choose, self.achoose, str, ruled_route, self.most))
        if self.generate is not None:
            most = self.most or 1

            def prompt(question: str) -> str:
                return fill_choosing_prompt(self.prompt, question, self._described, most)

            return (yield from self._answered(queries, self.generate, self.agenerate, prompt, answered_route, most))
        return (yield from self._nearest(queries))

    @property
    def _described(self) -> dict[str, str]:
        return {name: self.descriptions[name] for name in self.retrievers}

    def _answered(
        self,
        queries: Sequence[Query],
        function: Callable[[str], Any],
        native: Callable[[str], Awaitable[Any]] | None,
        prompt: Callable[[str], str],
        read: Callable[[Any, Sequence[str], Any], Route],
        most: int | None,
    ) -> StrategyFlow[list[Route]]:
        questions = list(dict.fromkeys(query.text for query in queries if query.text))
        answers = (yield Generate(tuple(map(prompt, questions)), function, native)) if questions else []
        names = tuple(self.retrievers)
        routes = {question: read(answer, names, most) for question, answer in zip(questions, answers, strict=True)}
        return [routes.get(query.text or "", Route((), "the query is a vector")) for query in queries]

    def _nearest(self, queries: Sequence[Query]) -> StrategyFlow[list[Route]]:
        described = [Query(about) for about in self._described.values()]
        vectors = np.asarray((yield from query_vectors([*queries, *described], "")), dtype=np.float64)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        units = vectors / np.where(lengths > 0, lengths, 1)
        names, most = tuple(self.retrievers), self.most or 1
        questions, about = units[: len(queries)], units[len(queries) :]
        # Each cosine alone, so that the number of queries does not change it.
        cosines = [[float((question * each).sum()) for each in about] for question in questions]
        return [nearest_route(row, names, most, self.min_similarity) for row in cosines]


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


_SHOWN = 80  # characters of an answer in a note
_COMPARED = 5  # similarities in a note


@dataclass(frozen=True, slots=True)
class Route:
    """The retrievers that were chosen for a question."""

    names: tuple[str, ...]  # their names, best first; empty if no retriever was chosen
    reason: str


def nearest_route(similarities: Sequence[float], names: Sequence[str], most: int, least: float | None) -> Route:
    """The retrievers whose descriptions are nearest to the question. Ties keep the order of the names."""
    ranked = sorted(zip(names, similarities, strict=True), key=lambda each: -each[1])
    listed = ", ".join(f"{name} {similarity:.3f}" for name, similarity in ranked[:_COMPARED])
    near = tuple(name for name, similarity in ranked[:most] if least is None or similarity >= least)
    if near:
        return Route(near, f"its description is nearest to the question ({listed})" if most == 1 else f"nearest: {listed}")
    return Route((), f"no description has a similarity of {least:g} with the question ({listed})")


def answered_route(answer: object, names: Sequence[str], most: int) -> Route:
    """The retrievers that a language model named."""
    if isinstance(answer, Exception):
        return Route((), went_on_without("the model", answer))
    refuse_coroutine("generate", answer)
    if not isinstance(answer, str):
        return Route((), f"the model's answer must be a text, got {shown(answer)}")
    said = without_reasoning(answer)
    chosen = read_names(said, names, most)
    beginning = repr((said or answer)[:_SHOWN])
    return Route(tuple(chosen), f"the model answered {beginning}" if chosen else f"the model named none in {beginning}")


def ruled_route(answer: Any, names: Sequence[str], most: int | None) -> Route:
    """The retrievers that a user's function named."""
    if isinstance(answer, Exception):
        return Route((), went_on_without("choose", answer))
    refuse_coroutine("choose", answer)
    names_in_it = [answer] if isinstance(answer, str) and answer else answer
    if names_in_it is None or (isinstance(names_in_it, str | list | tuple) and len(names_in_it) == 0):
        return Route((), f"choose returned {shown(answer)}")
    for name in names_in_it if isinstance(names_in_it, list | tuple) else [names_in_it]:
        if name not in names:
            rule = f"choose must return a name, a list of names or None, with names among {', '.join(map(repr, names))}"
            raise UnusableResult(f"{rule}; it returned {shown(answer)}{did_you_mean(name, names)}", rule)
    chosen = tuple(dict.fromkeys(names_in_it))
    reason = f"choose returned {shown(answer)}"
    if most is not None and len(chosen) > most:
        reason += f"; at most {most} {'is' if most == 1 else 'are'} asked"
    return Route(chosen[:most], reason)
