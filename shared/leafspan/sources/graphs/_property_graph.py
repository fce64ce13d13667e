"""PropertyGraph: searches a property graph of LlamaIndex from the entities that match a question."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Literal, get_args

from leafspan.checks import check_model, check_number, keep_whole, shown
from leafspan.embedding import to_embedder
from leafspan.errors import InvalidArgument
from leafspan.language_model import check_prompt, read_phrasings, without_reasoning
from leafspan.sources._waiting import acall_within, call_within, late
from leafspan.sources.graphs._graph import (
    GraphKind,
    GraphResult,
    ask_once,
    check_kinds,
    check_question,
    failures_of,
    lead_back,
    leaf_or_none,
)
from leafspan.sources.graphs._search_graph import GraphSearch, check_graph, find_retriever, find_store
from leafspan.strategies import Generate, HostResult, Query, RetrievalContext, Strategy, StrategyFlow, query_texts
from leafspan.trace import Trace
from leafspan.values import Candidate

PropertyGraphShape = Literal["chunks", "strings", "dict"]

_NAME = "PropertyGraph"
_OF_SEARCH = ("embedder", "generate", "agenerate", "keywords", "prompt", "entities", "depth", "limit")


KEYWORD_PROMPT = """\
Name up to {count} keywords for the question below: the persons, places and things that it is about, and other words for
them, as they may be called in an encyclopedia. Write each on a line of its own, and nothing else.

Question: {question}
"""


@dataclass(frozen=True, slots=True)
class PropertyGraph(Strategy):
    """What a search of LlamaIndex's property graph finds: chunks of text, entities and relations, as passages.

    The search starts from the entities that the question names, and from those that are most similar to it, and follows
    relations. An entity that the question names has the score 1, another one its cosine with the question, in (0, 1]; each
    further step halves the score. A relation has the better score of the entities from which the search reached it. A chunk
    has the best score of the entities and relations that were found in it. A chunk that was made from a leaf of the index
    is that leaf. A chunk of one of the index's documents is the span that holds it. Other results are passages without a
    place in a document.

    Args:
        graph: A ``PropertyGraphIndex``, one of LlamaIndex's property graph stores, or a retriever of such an index. A
            retriever does its own search, and its scores are kept. Otherwise all entities are read for each question, which
            suits graphs of up to some ten thousand entities.
        kinds: Kinds of passages to return: ``"chunk"``, ``"entity"`` and ``"relation"``. Chunks alone can be merged or
            widened by another strategy, if all of them are leaves. Default: ('chunk', 'entity', 'relation').
        embedder: An embedder of any kind that ``Index.open`` takes, which compares the question with the entities. Default:
            the bundled one.
        generate: Function from a prompt to a text: a language model that is asked for keywords. Entities that a keyword
            names are treated as named by the question. If the model fails, the search goes on without keywords, and each
            passage's trace says so. Default: none.
        agenerate: A coroutine function with the same task, for an event loop.
        keywords: Number of keywords to ask for, >= 1. Default: 10.
        prompt: Template with ``{question}`` and ``{count}``. The answer has a keyword on each line.
        entities: Number of entities to start from, beside those that are named, >= 0. Default: 4.
        depth: Number of steps along relations, >= 0. Default: 1.
        limit: Most relations, >= 1. Default: 30.
        timeout: Most seconds for the graph, and as many for the language model, > 0. Default: 60.

    Raises:
        InvalidArgument: if an option is out of its range, ``graph`` is something else, or an option for the search is given
            together with a retriever.

    Ties are ordered as in ``kinds``, then by id. Source: LlamaIndex's ``VectorContextRetriever`` and
    ``LLMSynonymRetriever``, which this combines, also for stores without vectors.
    """

    graph: Any = field(repr=False)
    kinds: Sequence[GraphKind] = field(default=("chunk", "entity", "relation"), kw_only=True)
    embedder: Any = field(default=None, kw_only=True, repr=False)
    generate: Callable[[str], str] | None = field(default=None, kw_only=True)
    agenerate: Callable[[str], Awaitable[str]] | None = field(default=None, kw_only=True)
    keywords: int = field(default=10, kw_only=True)
    prompt: str = field(default=KEYWORD_PROMPT, kw_only=True)
    entities: int = field(default=4, kw_only=True)
    depth: int = field(default=1, kw_only=True)
    limit: int = field(default=30, kw_only=True)
    timeout: float = field(default=60.0, kw_only=True)

    def __post_init__(self) -> None:
        check_graph(self.graph)
        object.__setattr__(self, "kinds", check_kinds(self.kinds))
        if self.embedder is not None:
            to_embedder(self.embedder)
        check_model(self.generate, self.agenerate)
        check_prompt(self.prompt)
        keep_whole(self, "keywords", 1)
        keep_whole(self, "entities", 0)
        keep_whole(self, "depth", 0)
        keep_whole(self, "limit", 1)
        check_number("timeout", self.timeout, above=0, unit="seconds")
        self._check_search_options()

    @property
    def finds_spans(self) -> bool:
        """Yes, unless ``kinds`` has only chunks."""
        return tuple(self.kinds) != ("chunk",)

    @property
    def returns_all(self) -> bool:
        """Yes: everything within ``limit``."""
        return True

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """See Strategy. It makes at most one request to the language model, and one search for each query.

        Raises:
            InvalidArgument: if a query is a vector only.
            SourceTimeout: if the graph does not answer in time.
            SourceFailed: if the graph fails.
        """
        texts = query_texts(_NAME, queries)
        keywords = [Keywords() for _ in texts]
        if (model := self._model) is not None:
            prompts = tuple(self._prompt_for(text) for text in texts)
            answers = yield Generate(prompts, model, model.ask)
            keywords = [Keywords.read(answer, self.keywords) for answer in answers]
        words = {text: each.words for text, each in zip(texts, keywords, strict=True)}
        ask, aask = partial(self._ask, words), partial(self._aask, words)
        results = yield from ask_once(texts, (*self._key, *words.items()), ask, aask)
        rows = yield from lead_back(_NAME, texts, [each.passages(self.kinds) for each in results], context)
        return [[_noted(candidate, each.note) for candidate in row] for row, each in zip(rows, keywords, strict=True)]

    def retrieve_data(self, question: str, shape: PropertyGraphShape = "chunks") -> Any:
        """Return the graph's results for a question, in one of several shapes.

        Args:
            question: The question.
            shape: ``"chunks"``: a list of Passages, of ``kinds``. ``"strings"``: their texts. ``"dict"``: a dictionary with
                lists of dictionaries: ``nodes``, ``edges`` and ``chunks``. Without results, the shape is empty.
                Default: ``"chunks"``.

        Raises:
            InvalidArgument: if ``question`` is blank or not a text, or ``shape`` is not one of these.
            SourceTimeout: if the graph does not answer in time.
            SourceFailed: if the graph fails.
        """
        check_question(question, shape, get_args(PropertyGraphShape))
        answer = self._model.outcome(self._prompt_for(question)) if self._model else None
        return self._ask({question: self._words(answer)}, question).in_shape(shape, self.kinds, _NAME)

    async def aretrieve_data(self, question: str, shape: PropertyGraphShape = "chunks") -> Any:
        """Like ``retrieve_data``, without blocking the event loop."""
        check_question(question, shape, get_args(PropertyGraphShape))
        answer = await self._model.aoutcome(self._prompt_for(question)) if self._model else None
        return (await self._aask({question: self._words(answer)}, question)).in_shape(shape, self.kinds, _NAME)

    @property
    def _model(self) -> BoundedModel | None:
        return None if self.generate is None else BoundedModel(self.generate, self.agenerate, self.timeout)

    def _prompt_for(self, question: str) -> str:
        return self.prompt.format(question=question, count=self.keywords)

    def _words(self, answer: object) -> tuple[str, ...]:
        return Keywords.read(answer, self.keywords).words if self.generate is not None else ()

    @property
    def _key(self) -> tuple[Any, ...]:
        """Everything besides the question that decides the answer."""
        return (id(self.graph), id(self.embedder), self.entities, self.depth, self.limit, self.timeout)

    def _ask(self, words: Mapping[str, Sequence[str]], question: str) -> GraphResult:
        return call_within(self.timeout, _NAME, self._find, question, words[question])

    async def _aask(self, words: Mapping[str, Sequence[str]], question: str) -> GraphResult:
        # The store's blocking methods, since most of its asynchronous methods block as well.
        return await acall_within(self.timeout, _NAME, self._find, question, words[question])

    def _find(self, question: str, words: Sequence[str]) -> GraphResult:
        store = find_store(self.graph)
        with failures_of("the graph"):
            if store is None:
                return ask_retriever(find_retriever(self.graph), question)
            search = GraphSearch(entities=self.entities, depth=self.depth, limit=self.limit, embedder=self.embedder)
            return search.find(store, question, words)

    def _check_search_options(self) -> None:
        if find_store(self.graph) is not None:
            return
        for each in fields(self):
            if each.name in _OF_SEARCH and getattr(self, each.name) != each.default:
                raise InvalidArgument(
                    f"{each.name} must not be given where graph is a retriever, got {shown(getattr(self, each.name))}: the "
                    "retriever has its own, or pass the index itself"
                )


def _noted(candidate: Candidate, note: str) -> Candidate:
    return replace(candidate, trace=candidate.trace + Trace(notes=(f"{_NAME}: {note}",))) if note else candidate


_ARROW = " -> "
# LlamaIndex writes this before facts and a chunk's text.
_PREAMBLE = "Here are some facts extracted from the provided text:\n\n"


def ask_retriever(retriever: Any, question: str) -> GraphResult:
    """Return the chunks and relations that a retriever finds, and each leaf that the relations come from once.

    LlamaIndex writes relations as texts, ``a -> knows -> b``, and puts them before their chunk's text if the retriever
    includes the text. This function separates them again.
    """
    chunks: list[HostResult] = []
    relations: list[HostResult] = []
    for scored in retriever.retrieve(question):
        node, score, text = scored.node, scored.score, scored.node.get_content()
        source = str(node.ref_doc_id or "")
        if _is_relation(text):
            relations.append(_relation(text, source, score))
            if leaf_or_none(source):
                chunks.append(HostResult(source, "", score, {"source_ids": [source]}, "chunk"))
            continue
        id_ = leaf_or_none(str(node.node_id)) or leaf_or_none(source) or str(node.node_id)
        if text.startswith(_PREAMBLE):
            facts, _, text = text.removeprefix(_PREAMBLE).partition("\n\n")
            relations += [_relation(line, id_, score) for line in facts.splitlines() if _is_relation(line)]
        metadata = {**node.metadata, "source_ids": [source or id_]}
        hidden = tuple(node.excluded_llm_metadata_keys)
        chunks.append(HostResult(id_, text, score, metadata, "chunk", hidden=hidden))
    return GraphResult(chunks=_each_once(chunks), relations=_each_once(relations))


def _is_relation(text: str) -> bool:
    return len(text.split(_ARROW)) == 3 and "\n" not in text


def _relation(text: str, source: str, score: float | None) -> HostResult:
    start, label, end = text.split(_ARROW)
    metadata = {"source": start, "label": label, "target": end, "source_ids": [source] if source else []}
    return HostResult(f"relation:{text}", text, score, metadata, "relation")


def _each_once(results: Iterable[HostResult]) -> tuple[HostResult, ...]:
    """The results, best first, one for each id. If several have an id, the first one with a text wins."""
    best: dict[str | None, HostResult] = {}
    for each in sorted(results, key=lambda each: -(each.score or 0.0)):
        if each.id not in best or (each.text and not best[each.id].text):
            best[each.id] = each
    return tuple(best.values())


_MODEL = "the language model"


@dataclass(frozen=True, slots=True)
class Keywords:
    """The keywords that a language model wrote, or a note on why there are no keywords."""

    words: tuple[str, ...] = ()
    note: str = ""

    @classmethod
    def read(cls, answer: object, count: int) -> Keywords:
        """Read an answer: a text with one keyword on each line, or the Exception that was raised instead."""
        if isinstance(answer, Exception):
            reason = f"{type(answer).__name__}: {answer}"
        elif not isinstance(answer, str):
            reason = f"TypeError: the answer must be a text, got {shown(answer)}"
        elif words := read_phrasings(without_reasoning(answer), without=(), count=count):
            return cls(tuple(words))
        else:
            reason = f"there is no keyword in the answer {answer[:80]!r}"
        return cls(note=f"no keywords were generated: {reason}")


@dataclass(frozen=True, slots=True)
class BoundedModel:
    """A language model with a time limit. Equal models give equal answers."""

    generate: Callable[[str], str]
    agenerate: Callable[[str], Awaitable[str]] | None
    timeout: float

    def __call__(self, prompt: str) -> str:
        """Return the answer."""
        return call_within(self.timeout, _MODEL, self.generate, prompt)

    async def ask(self, prompt: str) -> str:
        """Like a call, without blocking the event loop."""
        if self.agenerate is None:
            return await acall_within(self.timeout, _MODEL, self.generate, prompt)
        limit = asyncio.timeout(self.timeout)
        try:
            async with limit:
                return await self.agenerate(prompt)
        except TimeoutError:
            if limit.expired():
                raise late(_MODEL, self.timeout) from None
            raise

    def outcome(self, prompt: str) -> Any:
        """Return the answer, or the Exception that was raised instead."""
        try:
            return self(prompt)
        except Exception as error:
            return error

    async def aoutcome(self, prompt: str) -> Any:
        """Like ``outcome``, without blocking the event loop."""
        try:
            return await self.ask(prompt)
        except Exception as error:
            return error
