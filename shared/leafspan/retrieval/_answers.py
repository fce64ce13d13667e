"""Runs strategies, and answers their requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from time import perf_counter
from typing import Any, Protocol, get_args

from leafspan.checks import shown
from leafspan.engines import StaleRead
from leafspan.errors import InvalidArgument, LeafspanError, SourceFailed
from leafspan.flows import Call, Flow, np, run_concurrently, run_together
from leafspan.retrieval._host_results import outside_results
from leafspan.retrieval._index_answers import IndexAnswers
from leafspan.strategies import (
    AskHost,
    CallFunction,
    Embed,
    Generate,
    HostResult,
    LexicalMatches,
    LexicalSearch,
    ListLeaves,
    LoadedVectorSearch,
    LoadPassages,
    LoadTexts,
    NoteWhyEmpty,
    Request,
    RetrievalContext,
    Retrieves,
    RunStrategies,
    StrategyResults,
    VectorSearch,
)
from leafspan.values import Candidate, LeafId, Passage, Query

_REQUESTS = get_args(Request)
_SEARCHES = (VectorSearch, LoadedVectorSearch, LexicalSearch)
_WITHOUT_INDEX = (AskHost, CallFunction, Embed, Generate, LoadPassages, LoadTexts, NoteWhyEmpty, RunStrategies)


class QuestionEmbedder(Protocol):
    def queries(self, texts: Sequence[str]) -> Flow[Any]:
        """Return a matrix with the vector of each question as a row."""


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    request: Request
    answer: Any
    seconds: float  # how long the answer took


class Answers:
    """Runs strategies, and answers their requests: ``index`` answers those about leaves, this object all others.

    ``texts`` has the texts of found leaves by id, so that rendering fetches only missing texts. ``hits`` and
    ``summary_hits`` have the number of hits of each search of leaves and of summaries.

    A strategy may run again with more candidates. The second run does not embed a text again, and does not ask a language
    model or a host's retriever the same question again.
    """

    def __init__(
        self, embedder: QuestionEmbedder, index: IndexAnswers | None = None, *, record: list[Answered] | None = None
    ) -> None:
        self.texts: dict[LeafId, str] = {} if index is None else index.texts
        self.hits: list[int] = []
        self.summary_hits: list[int] = []
        self.record = record
        self._index = index
        self._reasons: dict[str | None, NoteWhyEmpty] = {}
        self._embedder = embedder
        self._vectors: dict[str, Any] = {}
        self._generated: dict[tuple[Hashable, str], str | Exception] = {}
        self._without_hash: dict[int, Callable[..., Any]] = {}
        self._host_replies: dict[Hashable, list[Candidate]] = {}
        self._returned: dict[Hashable, tuple[CallFunction, Any]] = {}

    def why_empty(self, query: Query, queries: int) -> NoteWhyEmpty | None:
        """The reason that a strategy noted for finding no result for a query. ``queries`` is the number of queries.

        If there is only one query, a reason for any text that the strategy searched belongs to it.
        """
        last = next(reversed(self._reasons.values()), None) if queries == 1 else None
        return self._reasons.get(query.text, last)

    def run(self, strategy: Retrieves, queries: Sequence[Query], context: RetrievalContext) -> Flow[list[list[Candidate]]]:
        """Run a strategy and return its results: see leafspan.strategies._requests for the protocol."""
        flow = strategy.retrieve(queries, context)
        if not isinstance(flow, Generator):
            raise _misuse(strategy, flow, "be a generator of requests")
        answer: Any = None
        while True:
            try:
                request = flow.send(answer)
            except StopIteration as stop:
                return self._checked_results(strategy, stop.value, len(queries))
            requests = request if isinstance(request, tuple) else (request,)
            for each in requests:
                if not isinstance(each, _WITHOUT_INDEX if self._index is None else _REQUESTS):
                    raise _refusal(strategy, each)
                if self._index is not None:
                    self._index.check(each)
            if isinstance(request, tuple):
                answer = (yield from self._answer_all(request)) if request else []
            else:
                answer = yield from self.answer(request)

    def answer(self, request: Request) -> Flow[Any]:
        began = perf_counter()
        match request:
            case Embed():
                answer = yield from self._embed(request)
            case AskHost():
                yield from self._ask_hosts((request,))
                answer = self._host_replies[self._host_key(request)]
            case Generate():
                answer = yield from self._generate(request)
            case CallFunction():
                [answer] = yield from self._call_functions([request])
            case LoadTexts():
                answer = yield from self._load_texts(request)
            case LoadPassages():
                answer = yield from self._load_passages(request)
            case RunStrategies():
                answer = yield from self._run_strategies(request)
            case NoteWhyEmpty():
                self._reasons[request.query.text] = request
                answer = None
            case _:
                assert self._index is not None
                answer = yield from self._index.answer(request)
        if isinstance(request, _SEARCHES):
            counts = [len(each.hits if isinstance(each, LexicalMatches) else each) for each in answer]
            summaries = isinstance(request, VectorSearch | LexicalSearch) and request.summaries
            (self.summary_hits if summaries else self.hits).extend(counts)
        elif isinstance(request, AskHost | ListLeaves):
            self.hits.append(len(answer))
        if self.record is not None and not isinstance(request, AskHost | CallFunction):  # the calls of these are recorded
            self.record.append(Answered(request, answer, perf_counter() - began))
        return answer

    def _answer_all(self, requests: tuple[Request, ...]) -> Flow[list[Any]]:
        functions = [request for request in requests if isinstance(request, CallFunction)]
        if len(functions) == len(requests):
            return (yield from self._call_functions(functions))
        # The user's functions are called in one thread, or at the same time in an event loop.
        if self._index is None or functions or any(isinstance(request, AskHost) for request in requests):
            yield from self._ask_hosts(requests)
            return (yield from self._answer_in_turn(requests, range(len(requests))))
        if (order := (yield from self._index.begin(requests))) is not None:
            return (yield from self._answer_in_turn(requests, order))
        # Answer all at the same time: one processor searches vectors while another looks up words.
        answers: list[Any] = yield run_together([self.answer(request) for request in requests])
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers

    def _answer_in_turn(self, requests: tuple[Request, ...], order: Sequence[int]) -> Flow[list[Any]]:
        answers: dict[int, Any] = {}
        for number in order:
            answers[number] = yield from self.answer(requests[number])
        return [answers[number] for number in range(len(requests))]

    def _note(self, request: Request, answer: Any, seconds: float) -> None:
        if self.record is not None:
            self.record.append(Answered(request, answer, seconds))

    def _ask_hosts(self, requests: tuple[Request, ...]) -> Flow[None]:
        """Ask host retrievers together. An event loop asks them at the same time."""
        hosts = {self._host_key(request): request for request in requests if isinstance(request, AskHost)}
        new = {key: request for key, request in hosts.items() if key not in self._host_replies}
        if not new:
            return
        began = perf_counter()
        replies: list[Sequence[HostResult]] = yield [ask_call(request) for request in new.values()]
        for (key, request), results in zip(new.items(), replies, strict=True):
            if self._index is None:
                candidates = outside_results(request, results)
            else:
                candidates = yield from self._index.recognise(request, results)
            self._host_replies[key] = candidates
            self._keep_texts(candidates)
            self._note(request, candidates, perf_counter() - began)

    def _host_key(self, request: AskHost) -> Hashable:
        """A key that is equal for the same question to the same host retriever."""
        functions = self._known_as(request.ask), self._known_as(request.aask)
        return request.name, request.question, *functions, request.where, request.elsewhere

    def _keep_texts(self, candidates: Iterable[Candidate]) -> None:
        self.texts.update((each.id, each.outside.text) for each in candidates if each.outside is not None)

    def _embed(self, request: Embed) -> Flow[Any]:
        new = tuple(text for text in dict.fromkeys(request.texts) if text not in self._vectors)
        if new:
            vectors = yield from self._embedder.queries(new)
            self._vectors.update(zip(new, vectors, strict=True))
        return np.stack([self._vectors[text] for text in request.texts])

    def _generate(self, request: Generate) -> Flow[list[str | Exception]]:
        model = self._known_as(request.generate)
        new = tuple(prompt for prompt in request.prompts if (model, prompt) not in self._generated)
        if new:
            texts = yield from generate_texts(replace(request, prompts=new))
            self._generated.update(((model, prompt), text) for prompt, text in zip(new, texts, strict=True))
        return [self._generated[model, prompt] for prompt in request.prompts]

    def _known_as(self, function: Callable[..., Any]) -> Hashable:
        """A key for a function during this retrieval: the function itself, or its id if it has no hash."""
        try:
            hash(function)
        except TypeError:
            self._without_hash[id(function)] = function  # kept, so that no other function gets the same id
            return id(function)
        return function

    def _call_functions(self, requests: Sequence[CallFunction]) -> Flow[list[Any]]:
        """Call functions whose answers are not known from an earlier run. An event loop calls them at the same time."""
        began = perf_counter()
        new = [request for request in requests if request.key is None or request.key not in self._returned]
        calls = [Call(each.function, each.arguments, native=each.native, what=each.what) for each in new]
        made = yield [replace(call, what=call.name or "a function that was given") for call in calls]
        fresh = {id(request): answer for request, answer in zip(new, made, strict=True)}
        # Keep the request, so that no other object gets an id that is part of the key.
        self._returned.update((each.key, (each, fresh[id(each)])) for each in new if each.key is not None)
        answers = [fresh[id(each)] if id(each) in fresh else self._returned[each.key][1] for each in requests]
        seconds = perf_counter() - began
        for each, answer in zip(requests, answers, strict=True):
            self._note(each, answer, seconds)
        return answers

    def _load_passages(self, request: LoadPassages) -> Flow[list[Passage]]:
        """Make passages of candidates. Candidates from other sources have a passage already."""
        if self._index is not None:
            return (yield from self._index.load_passages(request))
        yield from self._load_texts(
            LoadTexts(tuple(candidate.id for candidate in request.candidates if candidate.outside is None))
        )
        return [
            replace(candidate.outside, score=candidate.score, trace=candidate.trace)
            for candidate in request.candidates
            if candidate.outside is not None
        ]

    def _load_texts(self, request: LoadTexts) -> Flow[dict[LeafId, str]]:
        if self._index is not None:
            return (yield from self._index.load_texts(request.ids))
        if missing := [id_ for id_ in dict.fromkeys(request.ids) if id_ not in self.texts]:
            ids = shown(list(map(str, missing)))
            raise InvalidArgument(f"the texts of {ids} must be texts of an index, but this call has no index")
        return {id_: self.texts[id_] for id_ in request.ids}

    def _run_strategies(self, request: RunStrategies) -> Flow[list[StrategyResults]]:
        flows = [self.run(each.strategy, each.queries, each.context) for each in request.runs]
        # The timer does not accept numpy numbers.
        timeouts = [None if each.timeout is None else float(each.timeout) for each in request.runs]
        answers: list[StrategyResults] = yield run_concurrently(flows, timeouts)
        if any(isinstance(answer, StaleRead) for answer in answers):
            raise StaleRead
        return answers

    def _checked_results(self, strategy: Retrieves, results: Any, queries: int) -> list[list[Candidate]]:
        """Check the results of a strategy, which a user may have written."""
        rows = results if isinstance(results, list) and len(results) == queries else None
        if rows is None or not all(
            isinstance(row, list) and all(isinstance(each, Candidate) for each in row) for row in rows
        ):
            raise _misuse(strategy, results, f"return a list of Candidates for each of the {queries} queries")
        self._keep_texts(chain.from_iterable(rows))
        return rows


def _refusal(strategy: Retrieves, request: object) -> InvalidArgument:
    if isinstance(request, _REQUESTS):
        return InvalidArgument(
            f"{type(strategy).__name__} must have an index to search, but this call has no index: give one as index=, "
            "or call index.retrieve"
        )
    return _misuse(strategy, request, "yield requests, and run another strategy by `yield from`")


def _misuse(strategy: Retrieves, got: object, rule: str) -> InvalidArgument:
    return InvalidArgument(
        f"{type(strategy).__name__}.retrieve must {rule}, got {shown(got)}; see docs/write-a-strategy.md"
    )


def ask_call(request: AskHost) -> Call:
    def ask(question: str) -> Any:
        try:
            return request.ask(question)
        except LeafspanError:
            raise
        except Exception as error:
            raise _failed(request, error) from error

    async def aask(question: str) -> Any:
        try:
            return await request.aask(question)
        except LeafspanError:
            raise
        except Exception as error:
            raise _failed(request, error) from error

    native = aask if request.aask is not None else None
    return Call(ask, (request.question,), native=native, what=request.name)


def _failed(request: AskHost, error: Exception) -> SourceFailed:
    message = f"{request.name} failed on {shown(request.question)} with {type(error).__name__}: {error}"
    return SourceFailed.by(message, error)


def generate_texts(request: Generate) -> Flow[list[str | Exception]]:
    """The answer to each prompt, or the Exception that the model raised. An event loop asks all at once."""

    def ask(prompt: str) -> str | Exception:
        try:
            return request.generate(prompt)
        except Exception as error:
            return error

    async def aask(prompt: str, agenerate: Callable[[str], Awaitable[str]]) -> str | Exception:
        try:
            return await agenerate(prompt)
        except Exception as error:
            return error

    def native(prompt: str) -> Awaitable[str | Exception]:
        assert request.agenerate is not None
        return aask(prompt, request.agenerate)

    options: dict[str, Any] = {"native": native if request.agenerate else None, "what": "the language model"}
    calls = [Call(ask, (prompt,), **options) for prompt in request.prompts]
    answers: list[str | Exception] = yield calls
    return answers
