"""The answers of a retrieval, with a record of what was asked and how long each answer took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from leafspan.flows import Flow
from leafspan.retrieval._index_answers import IndexAnswers
from leafspan.strategies import AskHost, CallFunction, Request


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """A request of a strategy that was answered.

    Attributes:
        request: The request.
        answer: Its answer.
        seconds: How long that took. Functions of a tuple of requests are called together, and so are host retrievers: each
            then has the time of all.
    """

    request: Request
    answer: Any
    seconds: float


class RecordedAnswers(IndexAnswers):
    """Like ``IndexAnswers``, and ``record`` has every request, in the order in which they were answered.

    A class of its own, so that a retrieval that nobody asks about pays nothing for it.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.record: list[Answered] = []
        self._records = True

    def end_record(self) -> None:
        """Forget the record, and record nothing more.

        If the answers of many retrievals were kept to the end, Python's garbage collector would take as long as these.
        """
        self.record = []
        self._records = False

    def answer(self, request: Request) -> Flow[Any]:
        """The answer to a request that no strategy makes."""
        return (yield from super()._answer(request))

    def _answer(self, request: Request) -> Flow[Any]:
        if isinstance(request, AskHost | CallFunction):  # these are recorded where they are called
            return (yield from super()._answer(request))
        began = perf_counter()
        answer = yield from super()._answer(request)
        self._note(request, answer, perf_counter() - began)
        return answer

    def _call_functions(self, requests: Sequence[CallFunction]) -> Flow[list[Any]]:
        began = perf_counter()
        answers = yield from super()._call_functions(requests)
        seconds = perf_counter() - began
        for each, answer in zip(requests, answers, strict=True):
            self._note(each, answer, seconds)
        return answers

    def _ask_hosts(self, requests: tuple[Request, ...]) -> Flow[None]:
        new = [each for each in requests if isinstance(each, AskHost) and not self.has_asked(each)]
        began = perf_counter()
        yield from super()._ask_hosts(requests)
        seconds = perf_counter() - began
        for each in new:
            self._note(each, (yield from self._ask_host(each)), seconds)

    def _note(self, request: Request, answer: Any, seconds: float) -> None:
        if self._records:
            self.record.append(Answered(request, answer, seconds))
