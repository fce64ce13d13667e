"""PropertyGraph: searches a property graph of LlamaIndex from the entities that match a question."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Literal, get_args

from leafspan.checks import check_choice, check_model, check_number, check_text, keep_whole, shown
from leafspan.embedding import to_embedder
from leafspan.errors import InvalidArgument, LeafspanError, SourceFailed
from leafspan.flows import acall_within, call_within
from leafspan.language_model import check_prompt, fill_prompt
from leafspan.sources.graphs._keywords import KEYWORD_PROMPT, BoundedModel, Keywords
from leafspan.sources.graphs._leading_back import ask_once, lead_back
from leafspan.sources.graphs._result import GraphKind, GraphResult, as_passage, check_kinds
from leafspan.sources.graphs._retriever_results import ask_retriever
from leafspan.sources.graphs._search_graph import GraphSearch
from leafspan.sources.graphs._stores import check_graph, find_retriever, find_store
from leafspan.strategies import (
    Generate,
    Query,
    RetrievalContext,
    Strategy,
    StrategyFlow,
    query_texts,
)
from leafspan.trace import Trace
from leafspan.values import Candidate

PropertyGraphShape = Literal["chunks", "strings", "dict"]

_NAME = "PropertyGraph"
_OF_SEARCH = ("embedder", "generate", "agenerate", "keywords", "prompt", "entities", "depth", "limit")


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
        asked = [Keywords() for _ in texts]
        if (model := self._model) is not None:
            prompts = tuple(self._prompt_for(text) for text in texts)
            answers = yield Generate(prompts, model, model.ask)
            asked = [Keywords.read(answer, self.keywords) for answer in answers]
        words = {text: each.words for text, each in zip(texts, asked, strict=True)}
        ask, aask = partial(self._ask, words), partial(self._aask, words)
        results = yield from ask_once(texts, (*self._key, *words.items()), ask, aask)
        found = [each.passages(self.kinds) for each in results]
        rows = yield from lead_back(_NAME, texts, found, context)
        return [[_noted(found, each.note) for found in row] for row, each in zip(rows, asked, strict=True)]

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
        _check_question(question, shape)
        answer = self._model.outcome(self._prompt_for(question)) if self._model else None
        return self._in_shape(self._ask({question: self._words(answer)}, question), shape)

    async def aretrieve_data(self, question: str, shape: PropertyGraphShape = "chunks") -> Any:
        """Like ``retrieve_data``, without blocking the event loop."""
        _check_question(question, shape)
        answer = await self._model.aoutcome(self._prompt_for(question)) if self._model else None
        return self._in_shape(await self._aask({question: self._words(answer)}, question), shape)

    @property
    def _model(self) -> BoundedModel | None:
        return None if self.generate is None else BoundedModel(self.generate, self.agenerate, self.timeout)

    def _prompt_for(self, question: str) -> str:
        return fill_prompt(self.prompt, question, self.keywords)

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
        try:
            if store is None:
                return ask_retriever(find_retriever(self.graph), question)
            search = GraphSearch(entities=self.entities, depth=self.depth, limit=self.limit, embedder=self.embedder)
            return search.find(store, question, words)
        except LeafspanError:
            raise
        except Exception as error:
            raise SourceFailed.by(
                f"the graph must answer the question, but: {type(error).__name__}: {error}", error
            ) from error

    def _in_shape(self, found: GraphResult, shape: str) -> Any:
        if shape == "dict":
            return found.dictionary()
        passages = [as_passage(each, _NAME) for each in found.passages(self.kinds)]
        return passages if shape == "chunks" else [each.text for each in passages]

    def _check_search_options(self) -> None:
        if find_store(self.graph) is not None:
            return
        for each in fields(self):
            if each.name in _OF_SEARCH and getattr(self, each.name) != each.default:
                raise InvalidArgument(
                    f"{each.name} must not be given where graph is a retriever, got {shown(getattr(self, each.name))}: the "
                    "retriever has its own, or pass the index itself"
                )


def _check_question(question: object, shape: object) -> None:
    check_text("question", question)
    if not str(question).strip():
        raise InvalidArgument(f"question must be a text that is not blank, got {shown(question)}")
    check_choice("shape", shape, get_args(PropertyGraphShape))


def _noted(found: Candidate, note: str) -> Candidate:
    return replace(found, trace=found.trace + Trace(notes=(f"{_NAME}: {note}",))) if note else found
