"""Multi-query: a question searched in several phrasings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from leafspan.checks import check_whole, shown
from leafspan.errors import InvalidArgument
from leafspan.language_model import DEFAULT_PROMPT, check_prompt, fill_prompt, read_phrasings
from leafspan.strategies._context import RetrievalContext
from leafspan.strategies._fuse import Ranked, fuse, to_fusion
from leafspan.strategies._hybrid import Hybrid
from leafspan.strategies._queries import to_queries
from leafspan.strategies._requests import Generate, StrategyFlow
from leafspan.strategies._strategy import Strategy, check_strategy
from leafspan.values import Candidate, Query


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiQuery(Strategy):
    """What ``base`` finds for each query and for other phrasings of it, all in one search, fused into one list a query.

    The query itself is always searched, and no phrasing twice. If the language model fails or writes nothing of use, the
    rest is searched, and each passage's trace says so. The trace also says for which phrasing each step was done. If
    ``base`` finds spans longer than leaves, those that overlap become one passage, with the best score among them.

    Args:
        base: A strategy. Default: ``Hybrid()``.
        phrasings: Texts, vectors or Query values to search beside every query. Default: none.
        generate: Function from a prompt to a text, which is asked for more phrasings. Default: none is asked.
        agenerate: Its coroutine function.
        count: Number of phrasings to ask for, >= 1. Default: 3.
        prompt: Template with ``{question}`` and ``{count}``. The answer has a phrasing on each line.
        fusion: What a score means. ``"rrf"``: the mean of 1 / (60 + rank) over all phrasings, in (0, 1 / 61].
            ``"maximum"``: the best of the base's own scores. Default: ``"rrf"``.

    Raises:
        InvalidArgument: if an option is out of its range, or ``agenerate`` is given without ``generate``.

    Ties go by document id, then position.
    """

    base: Strategy = field(default_factory=Hybrid)
    phrasings: Sequence[str | Sequence[float] | Query] = ()
    generate: Callable[[str], str] | None = None
    agenerate: Callable[[str], Awaitable[str]] | None = None
    count: int = 3
    prompt: str = DEFAULT_PROMPT
    fusion: Literal["rrf", "maximum"] = "rrf"

    def __post_init__(self) -> None:
        check_strategy("base", self.base)
        phrasings, single = to_queries(self.phrasings)
        if single and not isinstance(self.phrasings, str | Query):
            raise InvalidArgument(
                f"phrasings must be a list of texts, vectors or Query values, got {shown(self.phrasings)}"
            )
        object.__setattr__(self, "phrasings", tuple(phrasings))
        for name in ("generate", "agenerate"):
            function = getattr(self, name)
            if function is not None and not callable(function):
                raise InvalidArgument(f"{name} must be a function from a prompt to a text, got {shown(function)}")
        if self.agenerate is not None and self.generate is None:
            raise InvalidArgument("agenerate must have generate beside it, got agenerate alone")
        check_whole("count", self.count, 1)
        check_prompt(self.prompt)
        object.__setattr__(self, "fusion", to_fusion(self.fusion, ("rrf", "maximum")))

    @property
    def finds_spans(self) -> bool:
        """As the base."""
        return self.base.finds_spans

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """See Strategy: one request to the language model, if any, and one search for all phrasings of all queries."""
        given = to_queries(self.phrasings)[0]
        variants = [list(dict.fromkeys([query, *given])) for query in queries]
        generated, notes = yield from self._generated(variants)
        for own, more in zip(variants, generated, strict=True):
            own += [Query(text) for text in more]
        rows = iter((yield from self.base.retrieve([query for own in variants for query in own], context.for_base)))
        results = []
        for own, note in zip(variants, notes, strict=True):
            lists = [_ranked(_name(number, query), next(rows)) for number, query in enumerate(own)]
            results.append(fuse(lists, fusion=self.fusion, notes=note)[: context.candidates])
        return results

    def _generated(self, variants: Sequence[Sequence[Query]]) -> StrategyFlow[tuple[list[list[str]], list[list[str]]]]:
        """For each query the phrasings that the model wrote, and notes on why there are none."""
        texts: list[list[str]] = [[] for _ in variants]
        notes: list[list[str]] = [[] for _ in variants]
        if self.generate is None:
            return texts, notes
        questions = {number: own[0].text for number, own in enumerate(variants) if own[0].text}
        prompts = tuple(fill_prompt(self.prompt, question, self.count) for question in questions.values())
        answers = iter((yield Generate(prompts, self.generate, self.agenerate)) if prompts else ())
        for number, own in enumerate(variants):
            reason = "the query is a vector"
            if number in questions:
                texts[number], reason = self._read(next(answers), own)
            if not texts[number]:
                notes[number] = [f"no phrasings were generated: {reason}"]
        return texts, notes

    def _read(self, answer: object, own: Sequence[Query]) -> tuple[list[str], str]:
        """The phrasings in an answer of the model, and why there are none, should there be none."""
        if isinstance(answer, Exception):
            return [], f"{type(answer).__name__}: {answer}"
        if not isinstance(answer, str):
            return [], f"TypeError: the answer must be a text, got {shown(answer)}"
        known = [query.text for query in own if query.text is not None]
        return read_phrasings(answer, known=known, count=self.count), f"there is none in the answer {answer[:80]!r}"


def _ranked(name: str, found: Sequence[Candidate]) -> Ranked:
    """What was found for a phrasing, whose name its traces carry."""
    return Ranked(name, [replace(each, trace=each.trace.done_for(name)) for each in found])


def _name(number: int, query: Query) -> str:
    """What a phrasing is called in the trace."""
    if number == 0:
        return "the query"
    return f"phrasing {number}" if query.text is None else f'"{query.text}"'
