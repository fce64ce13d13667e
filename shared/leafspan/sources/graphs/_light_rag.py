"""LightRAG: a graph of entities and relations that a language model makes and searches."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from leafspan.checks import check_choice, check_number, check_text, shown
from leafspan.errors import InvalidArgument, LeafspanError, SourceFailed
from leafspan.sources.graphs._instance import check_initialized, check_instance, home_loop
from leafspan.sources.graphs._leading_back import ask_once, lead_back
from leafspan.sources.graphs._lightrag_data import read_data
from leafspan.sources.graphs._loops import awork_on, work_on
from leafspan.sources.graphs._query_param import check_params, make_param
from leafspan.sources.graphs._result import GraphKind, GraphResult, as_passage, check_kinds
from leafspan.sources.graphs._thread import LightRAGThread
from leafspan.strategies import Query, RetrievalContext, Strategy, StrategyFlow, query_texts
from leafspan.values import Candidate

LightRAGMode = Literal["local", "global", "hybrid", "naive", "mix", "bypass"]
LightRAGShape = Literal["chunks", "strings", "dict", "context", "answer"]

_NAME = "LightRAG"


@dataclass(frozen=True, slots=True)
class LightRAG(Strategy):
    """What LightRAG finds in its graph: chunks of text, entities and relations between them, as passages.

    A chunk that was made from a leaf of the index is that leaf. A chunk of one of the index's documents is the span that
    holds it: see ``lightrag_inputs``. Other results are passages without a place in a document. LightRAG returns no scores,
    so result number r of each kind has the score 1 / r.

    Args:
        instance: A ``lightrag.LightRAG`` that is initialised, or a ``LightRAGThread``.
        mode: ``"local"``: entities that fit the question, and what belongs to them. ``"global"``: relations. ``"hybrid"``:
            both. ``"naive"``: chunks by their vectors, without the graph. ``"mix"``: all of these. ``"bypass"``: no search,
            only for answers. Default: ``"mix"``.
        kinds: Kinds of passages to return: ``"chunk"``, ``"entity"`` and ``"relation"``. Chunks alone can be merged or
            widened by another strategy, if all of them are leaves. Default: ('chunk', 'entity', 'relation').
        params: Further options of ``lightrag.QueryParam`` by name, such as ``{"top_k": 20, "hl_keywords": ["tea"]}``.
            Default: LightRAG's own. Chunks are reranked only if the instance has a model for it.
        timeout: Most seconds for a question, > 0. Default: 60.

    Raises:
        InvalidArgument: if an option is out of its range, or ``instance`` is no LightRAG or not initialised.
        MissingExtra: if lightrag-hku is not installed.

    Ties are ordered as in ``kinds``. Source: Guo et al., "LightRAG: Simple and Fast Retrieval-Augmented Generation",
    2024; the modes are from lightrag-hku.
    """

    instance: Any = field(repr=False)
    mode: LightRAGMode = field(default="mix", kw_only=True)
    kinds: Sequence[GraphKind] = field(default=("chunk", "entity", "relation"), kw_only=True)
    params: Mapping[str, Any] | None = field(default=None, kw_only=True)
    timeout: float = field(default=60.0, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.instance, LightRAGThread):
            check_instance(self.instance)
        check_choice("mode", self.mode, get_args(LightRAGMode))
        object.__setattr__(self, "kinds", check_kinds(self.kinds))
        check_number("timeout", self.timeout, above=0, unit="seconds")
        if self.params is not None:
            check_params(self.params)

    @property
    def finds_spans(self) -> bool:
        """Yes, unless ``kinds`` has only chunks."""
        return tuple(self.kinds) != ("chunk",)

    @property
    def returns_all(self) -> bool:
        """Yes: everything that LightRAG returns, within its own limits."""
        return True

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """See Strategy. LightRAG answers all queries at once in an event loop, otherwise one after the other.

        Raises:
            InvalidArgument: if a query is a vector only.
            SourceTimeout: if LightRAG does not answer in time.
            SourceFailed: if LightRAG fails.
        """
        texts = query_texts(_NAME, queries)
        found = yield from ask_once(texts, self._key, self._ask, self._aask)
        return (yield from lead_back(_NAME, texts, [each.passages(self.kinds) for each in found], context))

    def retrieve_data(self, question: str, shape: LightRAGShape = "chunks") -> Any:
        """Return the graph's results for a question, in one of several shapes.

        Args:
            question: The question, with at least 3 letters.
            shape: ``"chunks"``: a list of Passages, of ``kinds``. ``"strings"``: their texts. ``"dict"``: a dictionary with
                lists of dictionaries: ``nodes``, ``edges`` and ``chunks``. ``"context"``: the text that LightRAG makes of
                them for a language model. ``"answer"``: the answer that LightRAG's language model writes with the
                context. Without results, the shape is empty. Default: ``"chunks"``.

        Raises:
            InvalidArgument: if ``question`` is blank or not a text, or ``shape`` is not one of these.
            SourceTimeout: if LightRAG does not answer in time.
            SourceFailed: if LightRAG fails.
        """
        work = self._in_shape(question, shape)
        return work_on(*self._home(), work, self.timeout)

    async def aretrieve_data(self, question: str, shape: LightRAGShape = "chunks") -> Any:
        """Like ``retrieve_data``, without blocking the event loop."""
        work = self._in_shape(question, shape)
        return await awork_on(*self._home(), work, self.timeout)

    @property
    def _key(self) -> tuple[Any, ...]:
        """Everything besides the question that decides the answer."""
        return (id(self.instance), self.mode, tuple(self.kinds), repr(dict(self.params or {})), self.timeout)

    def _home(self) -> tuple[asyncio.AbstractEventLoop, Any]:
        """The LightRAG, and its event loop."""
        if isinstance(self.instance, LightRAGThread):
            return self.instance.loop, self.instance.instance
        check_initialized(self.instance)  # it may have been closed in the meantime
        return home_loop(self.instance), self.instance

    def _in_shape(self, question: str, shape: LightRAGShape) -> Callable[[Any], Awaitable[Any]]:
        check_text("question", question)
        if not question.strip():
            raise InvalidArgument(f"question must be a text that is not blank, got {shown(question)}")
        check_choice("shape", shape, get_args(LightRAGShape))

        async def work(instance: Any) -> Any:
            if shape in ("context", "answer"):
                return await self._text(instance, question, only_need_context=shape == "context")
            found = await self._find(instance, question)
            if shape == "dict":
                return found.dictionary()
            passages = [as_passage(each, _NAME) for each in found.passages(self.kinds)]
            return passages if shape == "chunks" else [each.text for each in passages]

        return work

    def _ask(self, question: str) -> GraphResult:
        return work_on(*self._home(), lambda instance: self._find(instance, question), self.timeout)

    async def _aask(self, question: str) -> GraphResult:
        return await awork_on(*self._home(), lambda instance: self._find(instance, question), self.timeout)

    async def _find(self, instance: Any, question: str) -> GraphResult:
        with _failures_told():
            data = await instance.aquery_data(question, make_param(instance, self.mode, self.params or {}))
            _check_reply(data)
            return await read_data(instance, data)

    async def _text(self, instance: Any, question: str, *, only_need_context: bool) -> str:
        """LightRAG's context or answer, or "" if it apologises that it has found no results."""
        if only_need_context and self.mode == "bypass":
            return ""
        with _failures_told():
            param = make_param(instance, self.mode, self.params or {}, only_need_context=only_need_context)
            reply = await instance.aquery_llm(question, param)
            _check_reply(reply)
            if reply.get("status") != "success":
                return ""
            return str((reply.get("llm_response") or {}).get("content") or "")


def _check_reply(reply: Mapping[str, Any]) -> None:
    """Check that a reply is not a failure. An empty result is not a failure.

    Raises:
        SourceFailed: if the reply is a failure.
    """
    found_nothing = (reply.get("metadata") or {}).get("failure_reason") == "no_results"
    if reply.get("status") == "failure" and not found_nothing:
        raise SourceFailed(f"LightRAG must answer the question, but: {reply.get('message')}")


@contextmanager
def _failures_told() -> Iterator[None]:
    """Turn exceptions of LightRAG, and of the libraries that it uses, into leafspan's errors."""
    try:
        yield
    except LeafspanError:
        raise
    except Exception as error:
        raise SourceFailed.by(f"LightRAG must answer the question, but: {type(error).__name__}: {error}", error) from error
