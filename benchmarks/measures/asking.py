"""Measures questions: one at a time, in batches of 32, from 16 callers at a time, and with a filter."""

from __future__ import annotations

import asyncio
import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from corpus import Corpus
from peers._asking import Asked
from results import Figure
from side_by_side import Times, take_turns

BATCH = 32
CALLERS = 16
EACH = 2  # questions of a caller, one after the other
SHARES = {"10 %": 0.1, "1 %": 0.01}


@dataclass(frozen=True)
class Limits:
    """The limits of a measurement.

    Attributes:
        seconds: Seconds after which a slow system no longer takes part.
        warm: Whether some turns come first that are not measured.
    """

    seconds: float
    warm: bool


def beside_plain(times: Times, plain: str, part: str) -> Iterator[Figure]:
    """Each system's time over plain Chroma's time."""
    for name in times.seconds:
        middle, low, high = times.ratio(name, plain)
        yield Figure(name, middle, part=part, middle_half=(low, high))


def alone(systems: Sequence[Asked], corpus: Corpus, questions: Sequence[str], limits: Limits) -> Iterator[Figure]:
    """One question at a time, and for systems that search vectors the share of the nearest leaves that they find."""
    times = take_turns({each.name: each.ask for each in systems}, questions, warm=5 * limits.warm, most=limits.seconds)
    yield from beside_plain(times, systems[0].name, "alone")
    for each in systems:
        if each.kind == "vectors" and each.within is not None:
            yield Figure(each.name, _recall(corpus, each, questions[:40]), part="recall")


def batches(systems: Sequence[Asked], questions: Sequence[str], limits: Limits) -> Iterator[Figure]:
    """32 questions, in one call if the system has such a call."""

    def answer(each: Asked) -> Callable[[Sequence[str]], Any]:
        many = each.many
        return (lambda rows: [each.ask(row) for row in rows]) if many is None else (lambda rows: many(list(rows)))

    groups = [questions[first : first + BATCH] for first in range(0, len(questions) - BATCH + 1, BATCH)]
    times = take_turns({each.name: answer(each) for each in systems}, groups, warm=1 * limits.warm, most=limits.seconds)
    yield from beside_plain(times, systems[0].name, "batches")


def callers(systems: Sequence[Asked], questions: Sequence[str], limits: Limits) -> Iterator[Figure]:
    """Questions of 16 callers at a time on one event loop: in threads if the system has no coroutine."""

    async def one_after_another(each: Asked, rows: Sequence[str]) -> None:
        for row in rows:
            await (each.aask(row) if each.aask else asyncio.to_thread(each.ask, row))

    async def all_callers(each: Asked, rows: Sequence[str]) -> None:
        await asyncio.gather(*(one_after_another(each, rows[caller::CALLERS]) for caller in range(CALLERS)))

    count = CALLERS * EACH
    groups = [questions[first : first + count] for first in range(0, len(questions) - count + 1, count)]
    with asyncio.Runner() as runner:
        work = {each.name: lambda rows, each=each: runner.run(all_callers(each, rows)) for each in systems}
        times = take_turns(work, groups, warm=1 * limits.warm, most=limits.seconds)
    yield from beside_plain(times, systems[0].name, "callers")


def filtered(systems: Sequence[Asked], corpus: Corpus, questions: Sequence[str], limits: Limits) -> Iterator[Figure]:
    """A question about a part of the documents, a new part each time, and the share of the nearest leaves found."""
    documents = len(corpus.documents)
    some = [each for each in systems if each.within is not None and each.kind in ("vectors", "words and vectors")]
    for share, part in SHARES.items():
        wide = max(2, round(part * documents))
        generator = random.Random(5)
        asked = []
        for question in questions:
            first = generator.randrange(documents - wide + 1)
            asked.append((question, first, first + wide))
        work = {each.name: (lambda given, each=each: each.within(*given)) for each in some}
        times = take_turns(work, asked, warm=3 * limits.warm, most=limits.seconds)
        yield from beside_plain(times, some[0].name, f"filtered, {share}")
        for each in some:
            if each.kind == "vectors":
                found = [(given, each.within(*given)) for given in asked[:40]]  # type: ignore[misc]
                recalls = [
                    corpus.recall(question, ids, each.count, (first, last)) for (question, first, last), ids in found
                ]
                yield Figure(each.name, statistics.fmean(recalls), part=f"filtered, {share}, recall")


def _recall(corpus: Corpus, system: Asked, questions: Sequence[str]) -> float:
    """The mean share of the wanted nearest leaves that are found."""
    return statistics.fmean(corpus.recall(question, system.ask(question), system.count) for question in questions)
