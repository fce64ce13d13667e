"""Searches a question in several phrasings at once, and lets a language model write phrasings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from leafspan.checks import refuse_coroutine, shown
from leafspan.language_model import without_reasoning
from leafspan.strategies._context import RetrievalContext
from leafspan.strategies._fuse import Fusion, Ranked, fuse
from leafspan.strategies._requests import Generate, StrategyFlow
from leafspan.strategies._strategy import Strategy
from leafspan.trace import Trace
from leafspan.values import Candidate, Query

THE_QUERY = "the query"
"""The name of the query itself in the trace, beside other phrasings."""


@dataclass(frozen=True, slots=True)
class Phrased:
    """A query with its phrasings."""

    phrasings: Sequence[tuple[str, Query]]  # each with its name in the trace
    notes: tuple[str, ...] = ()
    is_fused: bool = True  # whether the results of the phrasings are fused. If not, there is one phrasing


def search_phrasings(
    base: Strategy, asked: Sequence[Phrased], context: RetrievalContext, fusion: Fusion
) -> StrategyFlow[list[list[Candidate]]]:
    """What ``base`` finds for the phrasings of each query, all in one search, in one list a query."""
    together = [query for each in asked for _, query in each.phrasings]
    rows = iter((yield from base.retrieve(together, context.for_base)))
    results = []
    for each in asked:
        lists = [Ranked(name, [_done_for(name, found) for found in next(rows)]) for name, _ in each.phrasings]
        if each.is_fused:
            results.append(fuse(lists, fusion=fusion, notes=each.notes)[: context.candidates])
        else:
            [only] = lists
            noted = Trace(notes=each.notes)
            results.append([replace(found, trace=found.trace + noted) for found in only.found])
    return results


def _done_for(name: str, found: Candidate) -> Candidate:
    """The candidate, with the name of its phrasing in the trace."""
    return replace(found, trace=found.trace.done_for(name))


def phrasing_name(number: int, query: Query) -> str:
    """The name of a further phrasing in the trace."""
    return f"phrasing {number}" if query.text is None else f'"{query.text}"'


def write_phrasings(
    queries: Sequence[Query],
    prompt: Callable[[str], str],
    read: Callable[[str, int], list[str]],
    generate: Callable[[str], str],
    agenerate: Callable[[str], Awaitable[str]] | None,
) -> StrategyFlow[list[tuple[list[str], str]]]:
    """For each query the texts that a language model writes, and the reason if it writes no text."""
    answers = yield from ask_for_each(queries, prompt, generate, agenerate, name="generate")
    written: list[tuple[list[str], str]] = []
    for number, (answer, reason) in enumerate(answers):
        if reason:
            written.append(([], reason))
        elif not isinstance(answer, str):
            written.append(([], f"TypeError: the answer must be a text, got {shown(answer)}"))
        else:
            written.append((read(without_reasoning(answer), number), f"nothing usable in the answer {answer[:80]!r}"))
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
    given = dict(zip(questions, (yield Generate(prompts, function, native)) if prompts else (), strict=True))
    answers: list[tuple[Any, str]] = []
    for number, query in enumerate(queries):
        answer = given.get(number)
        if number not in questions:
            answers.append((None, "the query has no text" if query.vector is None else "the query is a vector"))
        elif isinstance(answer, Exception):
            answers.append((None, f"{type(answer).__name__}: {answer}"))
        else:
            refuse_coroutine(name, answer)
            answers.append((answer, ""))
    return answers
