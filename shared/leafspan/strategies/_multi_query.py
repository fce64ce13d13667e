"""Multi-query: a question searched in several phrasings, which a language model may write."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from leafspan.checks import check_flag, check_model, keep_whole, refuse_coroutine, shown
from leafspan.config import register
from leafspan.errors import InvalidArgument
from leafspan.language_model import DEFAULT_PROMPT, check_prompt, read_phrasings, without_reasoning
from leafspan.strategies._fuse import Fusion, Ranked, fuse, to_fusion
from leafspan.strategies._hybrid import Hybrid
from leafspan.strategies._queries import to_queries
from leafspan.strategies._requests import Generate, RetrievalContext, StrategyFlow
from leafspan.strategies._strategy import Strategy, check_strategy
from leafspan.trace import Trace
from leafspan.values import Candidate, Query

THE_QUERY = "the query"  # the name of the query itself in the trace, beside other phrasings


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiQuery(Strategy):
    """What ``base`` finds for each query and for other phrasings of it, in one search, fused into one list per query.

    No phrasing is searched twice. If the language model fails or writes nothing usable, leafspan searches the query and the
    given ``phrasings``, and each passage's trace says so. The trace also says for which phrasing each step was done. If
    ``base`` finds spans longer than leaves, those that overlap become one passage, with the best score among them.

    Args:
        base: A strategy. Default: ``Hybrid()``.
        phrasings: Texts, vectors or Query values to search in addition to every query. Needed without a language model;
            may be an empty list. Default: none.
        generate: Function from a prompt to a text, which is asked for more phrasings. Needed without ``phrasings``.
            Default: none.
        agenerate: Its coroutine function.
        include_original: Whether the query itself is searched as well. It always is if there are no phrasings. Default:
            True.
        count: Number of phrasings to ask for, >= 1. Default: 3.
        prompt: Template with ``{question}`` and ``{count}``. The answer has a phrasing on each line.
        fusion: What a score means. ``"rrf"``: the mean of 1 / (60 + rank) over all phrasings, in (0, 1 / 61].
            ``"maximum"``: the best of the base's own scores. Default: ``"rrf"``.

    Raises:
        InvalidArgument: if an option is out of its range, neither ``phrasings`` nor ``generate`` are given, or
            ``agenerate`` is given without ``generate``.

    Ties are ordered by document id, then position.
    """

    base: Strategy = field(default_factory=Hybrid)
    phrasings: Sequence[str | Sequence[float] | Query] | None = None
    generate: Callable[[str], str] | None = None
    agenerate: Callable[[str], Awaitable[str]] | None = None
    include_original: bool = True
    count: int = 3
    prompt: str = DEFAULT_PROMPT
    fusion: Literal["rrf", "maximum"] = "rrf"

    def __post_init__(self) -> None:
        check_strategy("base", self.base)
        if self.phrasings is not None:
            phrasings = [self.phrasings] if isinstance(self.phrasings, str | Query) else self.phrasings
            object.__setattr__(self, "phrasings", tuple(to_queries(phrasings, name="phrasings")))
        check_model(self.generate, self.agenerate)
        check_flag("include_original", self.include_original)
        keep_whole(self, "count", 1)
        check_prompt(self.prompt)
        object.__setattr__(self, "fusion", to_fusion(self.fusion, ("rrf", "maximum")))
        if self.generate is None and self.phrasings is None:
            raise InvalidArgument(
                "MultiQuery must have a language model or phrasings, got neither, so only the question would be searched: "
                "give llm=... in LangChain and LlamaIndex, generate=... in plain Python, or phrasings=[...]"
            )

    @property
    def finds_spans(self) -> bool:
        return self.base.finds_spans

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """One request to the language model, if any, and one search for all phrasings of all queries."""
        phrasings = to_queries(self.phrasings or ())
        variants = [list(dict.fromkeys([query, *phrasings])) for query in queries]
        generated, notes = yield from self._generated(variants)
        for own, more in zip(variants, generated, strict=True):
            own += [Query(text) for text in more]
        searches = []
        for own, note in zip(variants, notes, strict=True):
            names = [THE_QUERY, *(phrasing_name(number, each) for number, each in enumerate(own) if number)]
            searched = self.include_original or len(own) == 1 or own[0] in phrasings
            searches.append(Phrased(list(zip(names, own, strict=True))[not searched :], () if note is None else (note,)))
        return (yield from search_phrasings(self.base, searches, context, self.fusion))

    def _generated(self, variants: Sequence[Sequence[Query]]) -> StrategyFlow[tuple[list[list[str]], list[str | None]]]:
        """For each query the phrasings that the model wrote, and a note on why it wrote no phrasing."""
        if self.generate is None:
            return [[] for _ in variants], [None for _ in variants]

        queries = [own[0] for own in variants]
        texts = [[query.text for query in own if query.text is not None] for own in variants]
        written = yield from write_phrasings(queries, self.prompt, self.count, texts, self.generate, self.agenerate)
        notes = [None if texts else f"no phrasings were generated: {reason}" for texts, reason in written]
        return [texts for texts, _ in written], notes


@dataclass(frozen=True, slots=True)
class Phrased:
    phrasings: Sequence[tuple[str, Query]]  # each with its name in the trace
    notes: tuple[str, ...] = ()
    is_fused: bool = True  # whether the results of the phrasings are fused. If not, there is one phrasing


def search_phrasings(
    base: Strategy, questions: Sequence[Phrased], context: RetrievalContext, fusion: Fusion
) -> StrategyFlow[list[list[Candidate]]]:
    """What ``base`` finds for the phrasings of each query, all in one search, in one list a query."""
    together = [query for each in questions for _, query in each.phrasings]
    rows = iter((yield from base.retrieve(together, context.for_base)))
    results = []
    for each in questions:
        named = [(name, [replace(one, trace=one.trace.done_for(name)) for one in next(rows)]) for name, _ in each.phrasings]
        lists = [Ranked(name, candidates) for name, candidates in named]
        if each.is_fused:
            results.append(fuse(lists, fusion=fusion, notes=each.notes)[: context.candidates])
        else:
            [only] = lists
            noted = Trace(notes=each.notes)
            results.append([replace(candidate, trace=candidate.trace + noted) for candidate in only.candidates])
    return results


def phrasing_name(number: int, query: Query) -> str:
    """The name of a further phrasing in the trace."""
    return f"phrasing {number}" if query.text is None else f'"{query.text}"'


def write_phrasings(
    queries: Sequence[Query],
    prompt: str,
    count: int,
    without: Sequence[Sequence[str]],
    generate: Callable[[str], str],
    agenerate: Callable[[str], Awaitable[str]] | None,
    *,
    read: Callable[..., list[str]] = read_phrasings,
) -> StrategyFlow[list[tuple[list[str], str]]]:
    """For each query up to ``count`` texts that a language model writes, and the reason if it writes no text.

    ``without`` has the texts to leave out of each answer, which ``read`` reads.
    """
    answers = yield from ask_for_each(
        queries, lambda question: prompt.format(question=question, count=count), generate, agenerate, name="generate"
    )
    written: list[tuple[list[str], str]] = []
    for (answer, reason), texts in zip(answers, without, strict=True):
        if reason:
            written.append(([], reason))
        elif not isinstance(answer, str):
            written.append(([], f"TypeError: the answer must be a text, got {shown(answer)}"))
        else:
            own = read(without_reasoning(answer), without=texts, count=count)
            written.append((own, f"nothing usable in the answer {answer[:80]!r}"))
    return written


def ask_for_each(
    queries: Sequence[Query],
    prompt: Callable[[str], str],
    function: Callable[[str], Any],
    native: Callable[[str], Awaitable[Any]] | None,
    *,
    name: str,
) -> StrategyFlow[list[tuple[Any, str]]]:
    """For each query what a function returns, and the reason if it returned no value, else ""."""
    questions = {number: query.text for number, query in enumerate(queries) if query.text and query.text.strip()}
    prompts = tuple(prompt(question) for question in questions.values())
    answer_to = dict(zip(questions, (yield Generate(prompts, function, native)) if prompts else (), strict=True))
    answers: list[tuple[Any, str]] = []
    for number, query in enumerate(queries):
        answer = answer_to.get(number)
        if number not in questions:
            answers.append((None, "the query has no text" if query.vector is None else "the query is a vector"))
        elif isinstance(answer, Exception):
            answers.append((None, f"{type(answer).__name__}: {answer}"))
        else:
            refuse_coroutine(name, answer)
            answers.append((answer, ""))
    return answers


register(Query)
