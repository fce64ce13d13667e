"""Running strategies, and answering those of their requests that need no index."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Protocol, get_args

from leafspan.checks import shown
from leafspan.errors import InvalidArgument
from leafspan.flows import Call, Flow, run_concurrently
from leafspan.retrieval._asking_hosts import ask_call
from leafspan.retrieval._host_results import outside_results
from leafspan.retrieval._language_model import generate_texts
from leafspan.strategies import (
    AskHost,
    CallFunction,
    Embed,
    Generate,
    HostResult,
    LoadPassages,
    LoadTexts,
    NoteWhyEmpty,
    Request,
    RetrievalContext,
    Retrieves,
    RunStrategies,
    StrategyResults,
    StrategyRun,
)
from leafspan.values import Candidate, Passage, Query

_REQUESTS = get_args(Request)


class QuestionEmbedder(Protocol):
    """What embeds questions."""

    def queries(self, texts: Sequence[str]) -> Flow[Any]:
        """A vector, as a row, for each question."""
        ...


class Answers:
    """Runs strategies, and answers their requests, as far as that needs no index.

    ``texts`` holds the texts of what was found, by id, so that rendering fetches only what is missing. ``hits`` and
    ``summary_hits`` have the number of hits of each search of leaves and of summaries.

    A strategy may be run again with more candidates. Nothing is embedded twice then, and neither a language model nor a
    host's retriever is asked the same again.

    Args:
        embedder: What embeds questions.
    """

    # Of the class: functions of the object itself would keep it, and the files that it reads, until garbage is collected.
    _by_type: ClassVar[dict[type, Callable[[Any, Any], Flow[Any]]]] = {
        Embed: lambda self, request: self._embed(request),
        AskHost: lambda self, request: self._ask_host(request),
        Generate: lambda self, request: self._generate(request),
        CallFunction: lambda self, request: self._call_function(request),
        LoadTexts: lambda self, request: self._load_texts(request),
        LoadPassages: lambda self, request: self._load_passages(request),
        RunStrategies: lambda self, request: self._run_strategies(request),
        NoteWhyEmpty: lambda self, request: self._note_why_empty(request),
    }

    def __init__(self, embedder: QuestionEmbedder) -> None:
        self.texts: dict[str, str] = {}
        self.hits: list[int] = []
        self.summary_hits: list[int] = []
        self._reasons: dict[str | None, str] = {}
        self._embedder = embedder
        self._vectors: dict[str, Any] = {}
        self._generated: dict[tuple[Hashable, str], str | Exception] = {}
        self._without_hash: dict[int, Callable[..., Any]] = {}
        self._host_replies: dict[Hashable, list[Candidate]] = {}
        self._returned: dict[Hashable, tuple[CallFunction, Any]] = {}

    def forget_hits(self) -> None:
        """Count hits anew."""
        self.hits.clear()
        self.summary_hits.clear()

    @property
    def most_hits(self) -> int:
        """The most hits of a search. Leaves and summaries are searched apart, and their hits come together."""
        return max(self.hits, default=0) + max(self.summary_hits, default=0)

    def run(self, strategy: Retrieves, queries: Sequence[Query], context: RetrievalContext) -> Flow[list[list[Candidate]]]:
        """What the strategy finds: see leafspan.strategies._requests for the protocol."""
        flow = strategy.retrieve(queries, context)
        if not isinstance(flow, Generator):
            raise _misuse(strategy, flow, "be a generator of requests")
        answer: Any = None
        while True:
            try:
                request = flow.send(answer)
            except StopIteration as stop:
                return self._checked_results(strategy, stop.value, len(queries))
            for each in request if isinstance(request, tuple) else (request,):
                self._check_request(strategy, each)
            if isinstance(request, tuple):
                answer = (yield from self._answer_all(request)) if request else []
            else:
                answer = yield from self._answer(request)

    def _check_request(self, strategy: Retrieves, request: object) -> None:
        if type(request) in self._by_type:
            return
        if isinstance(request, _REQUESTS):
            raise InvalidArgument(
                f"{type(strategy).__name__} must have an index to search, and there is none here: give one as index=, or "
                "call index.retrieve"
            )
        raise _misuse(strategy, request, "yield requests, and run another strategy by `yield from`")

    def _answer(self, request: Request) -> Flow[Any]:
        answer = yield from self._by_type[type(request)](self, request)
        if isinstance(request, AskHost):
            self.hits.append(len(answer))
        return answer

    def _answer_all(self, requests: tuple[Request, ...]) -> Flow[list[Any]]:
        functions = [request for request in requests if isinstance(request, CallFunction)]
        if len(functions) == len(requests):
            return (yield from self._call_functions(functions))
        yield from self._ask_hosts(requests)
        answers = []
        for each in requests:
            answers.append((yield from self._answer(each)))
        return answers

    def _ask_hosts(self, requests: tuple[Request, ...]) -> Flow[None]:
        """The hosts' retrievers are asked together, which an event loop does at the same time."""
        hosts = {self._host_key(request): request for request in requests if isinstance(request, AskHost)}
        asked = {key: request for key, request in hosts.items() if key not in self._host_replies}
        if not asked:
            return
        calls = [ask_call(request) for request in asked.values()]
        for (key, request), results in zip(asked.items(), (yield calls), strict=True):
            self._host_replies[key] = found = yield from self._recognise(request, results)
            self.keep_texts(found)

    def has_asked(self, request: AskHost) -> bool:
        """Whether the answer to a question to a host's retriever is known from an earlier look."""
        return self._host_key(request) in self._host_replies

    def _ask_host(self, request: AskHost) -> Flow[list[Candidate]]:
        yield from self._ask_hosts((request,))
        return self._host_replies[self._host_key(request)]

    def _host_key(self, request: AskHost) -> Hashable:
        """What tells a question to a host's retriever apart from others."""
        functions = self._known_as(request.ask), self._known_as(request.aask)
        return request.name, request.question, *functions, request.where, request.elsewhere

    def _recognise(self, request: AskHost, results: Sequence[HostResult]) -> Flow[list[Candidate]]:
        """What a host's retriever returned, as candidates."""
        return outside_results(request, results)
        yield

    def keep_texts(self, found: Sequence[Candidate]) -> None:
        """Keep the texts of passages of other sources, which are there already."""
        self.texts.update((each.id, each.outside.text) for each in found if each.outside is not None)

    def _embed(self, request: Embed) -> Flow[Any]:
        import numpy as np

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
        """What a function is known as during this retrieval: itself, or its identity if it has no hash."""
        try:
            hash(function)
        except TypeError:
            self._without_hash[id(function)] = function  # kept, so that no other one gets the same identity
            return id(function)
        return function

    def _call_function(self, request: CallFunction) -> Flow[Any]:
        return (yield from self._call_functions([request]))[0]

    def _call_functions(self, requests: Sequence[CallFunction]) -> Flow[list[Any]]:
        """Call functions, in an event loop at the same time, unless what they return is known from an earlier look."""
        new = [request for request in requests if request.key is None or request.key not in self._returned]
        calls = [Call(each.function, each.arguments, native=each.native, what=each.what) for each in new]
        made = yield [replace(call, what=call.name or "a function that was given") for call in calls]
        fresh = {id(request): answer for request, answer in zip(new, made, strict=True)}
        # With the request, so that nothing it refers to is freed, and no other object gets an id that is part of the key.
        self._returned.update((each.key, (each, fresh[id(each)])) for each in new if each.key is not None)
        return [fresh[id(each)] if id(each) in fresh else self._returned[each.key][1] for each in requests]

    def why_empty(self, query: Query, queries: int) -> str | None:
        """Why a strategy says that nothing is found for a query, None if none says so.

        Args:
            query: The query.
            queries: How many are asked. What is searched in place of a single one can only be for that.
        """
        last = next(reversed(self._reasons.values()), None) if queries == 1 else None
        return self._reasons.get(query.text, last)

    def _note_why_empty(self, request: NoteWhyEmpty) -> Flow[None]:
        self._reasons[request.query.text] = request.reason
        return
        yield

    def _load_passages(self, request: LoadPassages) -> Flow[list[Passage]]:
        """Make passages of candidates: those of other sources are passages already."""
        missing = [found.id for found in request.candidates if found.outside is None]
        if missing:
            yield from self._load_missing_texts(tuple(missing))
        return [
            replace(found.outside, score=found.score, trace=found.trace)
            for found in request.candidates
            if found.outside is not None
        ]

    def _load_texts(self, request: LoadTexts) -> Flow[dict[str, str]]:
        missing = tuple(id_ for id_ in dict.fromkeys(request.ids) if id_ not in self.texts)
        if missing:
            yield from self._load_missing_texts(missing)
        return {id_: self.texts[id_] for id_ in request.ids}

    def _load_missing_texts(self, ids: tuple[str, ...]) -> Flow[None]:
        """Load texts that are not kept yet: of leaves, which only an index has."""
        raise InvalidArgument(f"the texts of {shown(list(ids))} must be those of an index, and there is none here")
        yield

    def _run_strategies(self, request: RunStrategies) -> Flow[list[StrategyResults]]:
        """Run strategies at the same time."""
        flows = [self.run(each.strategy, each.queries, each.context) for each in request.runs]
        answers: list[StrategyResults] = yield self._concurrently(flows, request.runs)
        return answers

    def _concurrently(self, flows: Sequence[Flow[Any]], runs: Sequence[StrategyRun]) -> Call:
        # A number of numpy is no number of seconds for what waits.
        return run_concurrently(flows, [None if each.timeout is None else float(each.timeout) for each in runs])

    def _checked_results(self, strategy: Retrieves, results: Any, queries: int) -> list[list[Candidate]]:
        """The results of a strategy, which somebody else may have written.

        Raises:
            InvalidArgument: if they are anything but a list of Candidates for each query.
        """
        rows = results if isinstance(results, list) and len(results) == queries else None
        if rows is None or not all(
            isinstance(row, list) and all(isinstance(each, Candidate) for each in row) for row in rows
        ):
            raise _misuse(strategy, results, f"return a list of Candidates for each of the {queries} queries")
        for row in rows:
            self.keep_texts(row)
        return rows


def _misuse(strategy: Retrieves, got: object, rule: str) -> InvalidArgument:
    return InvalidArgument(
        f"{type(strategy).__name__}.retrieve must {rule}, got {shown(got)}; see docs/write-a-strategy.md"
    )
