"""Multi-query: a question searched in several phrasings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from leafspan.errors import InvalidArgument
from leafspan.phrasing import DEFAULT_PROMPT, check_prompt, fill, read
from leafspan.queries import to_queries
from leafspan.requests import Asking, Generate
from leafspan.strategies.fusing import Ranked, fuse
from leafspan.strategies.hybrid import Hybrid
from leafspan.strategies.strategy import Reach, Strategy, check_choice, check_strategy, whole
from leafspan.values import Found, Query

_FUSIONS = ("reciprocal rank", "maximum")


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiQuery:
    """What ``base`` finds for each query and for other phrasings of it, all in one search, fused into one list a query.

    ``phrasings`` (texts, vectors or Query values) are searched beside every query. ``generate``, a function from a prompt
    to a text, is asked for ``count`` more of each query, which it writes one a line; ``agenerate`` is its coroutine twin.
    ``prompt`` is a template with ``{question}`` and ``{count}``. The query itself is always searched, and no phrasing
    twice. Where the model fails, writes nothing of use, or there is no text to rephrase, the rest is searched, and each
    passage's trace says so. At most ``candidates`` results a query.

    ``fusion`` decides what the score means: ``"reciprocal rank"``, the mean of 1 / (60 + rank) over all phrasings, in
    (0, 1 / 61]; ``"maximum"``, the best of the base's own scores. The trace says for which phrasing each step was done.
    Where ``base`` finds longer runs than leaves, those that overlap become one passage, with the best score among them.

    Raises:
        InvalidArgument: if ``base`` is no strategy, ``phrasings`` are no queries, ``generate`` or ``agenerate`` cannot be
            called or the latter comes without the former, ``count`` is not positive, ``prompt`` is not such a template, or
            ``fusion`` is unknown.
    """

    base: Strategy = field(default_factory=Hybrid)
    phrasings: Sequence[str | Sequence[float] | Query] = ()
    generate: Callable[[str], str] | None = None
    agenerate: Callable[[str], Awaitable[str]] | None = None
    count: int = 3
    prompt: str = DEFAULT_PROMPT
    fusion: Literal["reciprocal rank", "maximum"] = "reciprocal rank"

    def __post_init__(self) -> None:
        check_strategy("base", self.base)
        phrasings, single = to_queries(self.phrasings)
        if single and not isinstance(self.phrasings, str | Query):
            raise InvalidArgument(f"phrasings must be a list of texts, vectors or Query values, got {self.phrasings!r}")
        object.__setattr__(self, "phrasings", tuple(phrasings))
        for name in ("generate", "agenerate"):
            function = getattr(self, name)
            if function is not None and not callable(function):
                raise InvalidArgument(f"{name} must be a function from a prompt to a text, got {function!r}")
        if self.agenerate is not None and self.generate is None:
            raise InvalidArgument("agenerate must have generate beside it, got agenerate alone")
        whole("count", self.count, 1)
        check_prompt(self.prompt)
        check_choice("fusion", self.fusion, _FUSIONS)

    @property
    def finds_spans(self) -> bool:
        """Whether the base finds longer runs than leaves."""
        return bool(getattr(self.base, "finds_spans", False))

    def retrieve(self, queries: Sequence[Query], reach: Reach) -> Asking[list[list[Found]]]:
        """See Strategy: one request to the language model, if any, and one search for all phrasings of all queries."""
        given = to_queries(self.phrasings)[0]
        variants = [list(dict.fromkeys([query, *given])) for query in queries]
        generated, notes = yield from self._generated(variants)
        for own, more in zip(variants, generated, strict=True):
            own += [Query(text) for text in more]
        rows = iter((yield from self.base.retrieve([query for own in variants for query in own], reach.below)))
        results = []
        for own, note in zip(variants, notes, strict=True):
            lists = [_ranked(_name(number, query), next(rows)) for number, query in enumerate(own)]
            results.append(fuse(lists, fusion=self.fusion, notes=note)[: reach.candidates])
        return results

    def _generated(self, variants: Sequence[Sequence[Query]]) -> Asking[tuple[list[list[str]], list[list[str]]]]:
        """For each query the phrasings that the model wrote, and notes on why there are none."""
        texts: list[list[str]] = [[] for _ in variants]
        notes: list[list[str]] = [[] for _ in variants]
        if self.generate is None:
            return texts, notes
        questions = {number: own[0].text for number, own in enumerate(variants) if own[0].text}
        prompts = tuple(fill(self.prompt, question, self.count) for question in questions.values())
        answers = iter((yield Generate(prompts, self.generate, self.agenerate)) if prompts else ())
        for number, own in enumerate(variants):
            reason = "the query is a vector"
            if number in questions:
                answer = next(answers)
                if isinstance(answer, Exception):
                    reason = f"{type(answer).__name__}: {answer}"
                elif not isinstance(answer, str):
                    reason = f"TypeError: the answer must be a text, got {answer!r}"
                else:
                    known = [query.text for query in own if query.text is not None]
                    texts[number] = read(answer, known=known, count=self.count)
                    reason = f"there is none in the answer {answer[:80]!r}"
            if not texts[number]:
                notes[number] = [f"no phrasings were generated: {reason}"]
        return texts, notes


def _ranked(name: str, found: Sequence[Found]) -> Ranked:
    """What was found for a phrasing, whose name its traces tell."""
    return Ranked(name, [replace(each, trace=each.trace.done_for(name)) for each in found])


def _name(number: int, query: Query) -> str:
    """What a phrasing is called in the trace."""
    if number == 0:
        return "the query"
    return f"phrasing {number}" if query.text is None else f'"{query.text}"'
