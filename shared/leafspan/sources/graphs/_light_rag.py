"""LightRAG: a graph of entities and relations that a language model makes and searches."""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args

from leafspan.checks import (
    check_choice,
    check_flag,
    check_number,
    check_text,
    check_whole,
    did_you_mean,
    shown,
    whole_number,
)
from leafspan.errors import InvalidArgument, MissingExtra, SourceFailed
from leafspan.sources.graphs._graph import (
    GraphKind,
    GraphResult,
    ask_once,
    check_kinds,
    check_question,
    failures_of,
    lead_back,
    leaf_or_none,
    plain,
)
from leafspan.sources.graphs._thread import LightRAGThread, awork_on, check_initialized, check_instance, home_loop, work_on
from leafspan.strategies import HostResult, Query, RetrievalContext, Strategy, StrategyFlow, query_texts
from leafspan.values import Candidate, Passage

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
        results = yield from ask_once(texts, self._key, self._ask, self._aask)
        return (yield from lead_back(_NAME, texts, [each.passages(self.kinds) for each in results], context))

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
        check_question(question, shape, get_args(LightRAGShape))

        async def work(instance: Any) -> Any:
            if shape in ("context", "answer"):
                return await self._text(instance, question, only_need_context=shape == "context")
            result = await self._find(instance, question)
            return result.in_shape(shape, self.kinds, _NAME)

        return work

    def _ask(self, question: str) -> GraphResult:
        return work_on(*self._home(), lambda instance: self._find(instance, question), self.timeout)

    async def _aask(self, question: str) -> GraphResult:
        return await awork_on(*self._home(), lambda instance: self._find(instance, question), self.timeout)

    async def _find(self, instance: Any, question: str) -> GraphResult:
        with failures_of(_NAME):
            data = await instance.aquery_data(question, make_param(instance, self.mode, self.params or {}))
            _check_reply(data)
            return await read_data(instance, data)

    async def _text(self, instance: Any, question: str, *, only_need_context: bool) -> str:
        """LightRAG's context or answer, or "" if it apologises that it has found no results."""
        if only_need_context and self.mode == "bypass":
            return ""
        with failures_of(_NAME):
            param = make_param(instance, self.mode, self.params or {}, only_need_context=only_need_context)
            reply = await instance.aquery_llm(question, param)
            _check_reply(reply)
            if reply.get("status") != "success":
                return ""
            return str((reply.get("llm_response") or {}).get("content") or "")


def _check_reply(reply: Mapping[str, Any]) -> None:
    """Check that a reply is not a failure. An empty result is not a failure."""
    found_nothing = (reply.get("metadata") or {}).get("failure_reason") == "no_results"
    if reply.get("status") == "failure" and not found_nothing:
        raise SourceFailed(f"LightRAG must answer the question, but: {reply.get('message')}")


_OURS = {
    "mode": "it is an option of its own",
    "only_need_context": 'ask retrieve_data for "context" or "answer" instead',
    "only_need_prompt": 'ask retrieve_data for "context" instead',
    "stream": "results are never streamed here",
}


def check_params(params: object) -> None:
    """Check that ``params`` has options of ``lightrag.QueryParam``, and that each value has the right type."""
    if not isinstance(params, Mapping):
        raise InvalidArgument(f"params must be a mapping of options of lightrag.QueryParam, got {shown(params)}")
    default = _query_param()()
    names = [each.name for each in dataclasses.fields(default) if each.name not in _OURS]
    for name, value in params.items():
        if name in _OURS:
            raise InvalidArgument(f"params must not have {name!r}: {_OURS[name]}")
        if name not in names:
            raise InvalidArgument(
                f"params must have options of lightrag.QueryParam, got {shown(name)}{did_you_mean(name, names)}; "
                f"they are {', '.join(names)}"
            )
        _check_value(name, value, getattr(default, name))


def make_param(instance: Any, mode: str, params: Mapping[str, Any], *, only_need_context: bool = True) -> Any:
    """Make the ``lightrag.QueryParam`` of a question. Each question gets its own, since LightRAG writes into it."""
    # Without a reranking model LightRAG would log a warning at each question.
    reranks = getattr(instance, "rerank_model_func", None) is not None
    own = {name: _plain(value) for name, value in params.items()}
    options = {"enable_rerank": reranks, **own, "mode": mode, "only_need_context": only_need_context, "stream": False}
    return _query_param()(**options)


def _plain(value: object) -> object:
    """A value that LightRAG can write as JSON."""
    if isinstance(value, list | tuple):
        return list(value)
    number = whole_number(value)
    return value if number is None else number


def _check_value(name: str, value: object, default: object) -> None:
    rule = f"params[{name!r}]"
    if isinstance(default, bool):
        check_flag(rule, value)
    elif isinstance(default, int):
        check_whole(rule, value, 1)
    elif isinstance(default, str):
        check_text(rule, value)
    elif isinstance(default, list) and not isinstance(value, list | tuple):
        raise InvalidArgument(f"{rule} must be a list, got {shown(value)}")


def _query_param() -> Any:
    try:
        from lightrag import QueryParam
    except ImportError as error:
        raise MissingExtra.of("LightRAG needs lightrag-hku", "lightrag") from error
    return QueryParam


_SEPARATOR = "<SEP>"  # between the ids of the chunks where an entity was found
_CHUNK_OF = re.compile(r"(.+)-chunk-\d+", re.DOTALL)  # the id of a chunk that LightRAG itself split


async def read_data(instance: Any, data: Mapping[str, Any]) -> GraphResult:
    """The chunks, entities and relations of an answer, each with the ids of the documents that it comes from."""
    content = data.get("data") or {}
    chunks, entities, relations = (content.get(name) or [] for name in ("chunks", "entities", "relationships"))
    chunk_ids = [str(each.get("chunk_id", "")) for each in chunks]
    chunk_ids += [id_ for each in (*entities, *relations) for id_ in _split(each.get("source_id"))]
    documents = await _documents(instance, list(dict.fromkeys(chunk_ids)))

    def sources(each: Mapping[str, Any]) -> list[str]:
        return list(dict.fromkeys(documents[id_] for id_ in _split(each.get("source_id"))))

    return GraphResult(
        chunks=tuple(_chunk(each, documents) for each in chunks),
        entities=tuple(_entity(each, sources) for each in entities),
        relations=tuple(_relation(each, sources) for each in relations),
    )


async def _documents(instance: Any, chunk_ids: Sequence[str]) -> dict[str, str]:
    """For each chunk the id of its document, as passed to LightRAG in ``ids``, or else the chunk's own id."""
    documents = {id_: match[1] for id_ in chunk_ids if (match := _CHUNK_OF.fullmatch(id_))}
    others = [id_ for id_ in chunk_ids if id_ and id_ not in documents]
    chunks = getattr(instance, "text_chunks", None)
    stored = await chunks.get_by_ids(others) if others and chunks is not None else []
    for id_, chunk in zip(others, stored, strict=False):
        if isinstance(chunk, Mapping) and chunk.get("full_doc_id"):
            documents[id_] = str(chunk["full_doc_id"])
    return {id_: documents.get(id_, id_) for id_ in chunk_ids}


def _chunk(chunk: Mapping[str, Any], documents: Mapping[str, str]) -> HostResult:
    id_ = str(chunk.get("chunk_id", ""))
    source = documents.get(id_, "")
    metadata = {"chunk_id": id_, "source_ids": [source] if source else [], "file_path": chunk.get("file_path")}
    # The chunk of a leaf gets the leaf's id, and so becomes that leaf.
    result_id = leaf_or_none(source) or id_ or None
    return HostResult(result_id, str(chunk.get("content", "")), None, plain(metadata), "chunk")


def _entity(entity: Mapping[str, Any], sources: Callable[[Mapping[str, Any]], list[str]]) -> HostResult:
    name, type_, description = (str(entity.get(key) or "") for key in ("entity_name", "entity_type", "description"))
    metadata = {
        "name": name,
        "type": type_,
        "description": description,
        "source_ids": sources(entity),
        "file_paths": _split(entity.get("file_path")),
    }
    title = f"{name} ({type_})" if type_ else name
    return HostResult(f"entity:{name}", _joined(title, description), None, plain(metadata), "entity")


def _relation(relation: Mapping[str, Any], sources: Callable[[Mapping[str, Any]], list[str]]) -> HostResult:
    source, target, description, keywords = (
        str(relation.get(key) or "") for key in ("src_id", "tgt_id", "description", "keywords")
    )
    metadata = {
        "source": source,
        "target": target,
        "description": description,
        "keywords": keywords,
        "weight": relation.get("weight"),
        "source_ids": sources(relation),
        "file_paths": _split(relation.get("file_path")),
    }
    title = f"{source} -- {target}" + (f" ({keywords})" if keywords else "")
    return HostResult(f"relation:{source}--{target}", _joined(title, description), None, plain(metadata), "relation")


def _joined(title: str, description: str) -> str:
    return f"{title}: {description}" if description else title


def _split(text: object) -> list[str]:
    return [part for part in str(text or "").split(_SEPARATOR) if part]


class HasLeaves(Protocol):
    """An index, or a view of one."""

    def leaves(self) -> Iterable[Passage]:
        """All leaves."""


def lightrag_inputs(index: HasLeaves, *, whole: bool = False) -> dict[str, list[str]]:
    """Return an index's leaves or documents as arguments of ``LightRAG.ainsert``, so that results can be cited.

    LightRAG asks its language model about each chunk. Each leaf becomes a chunk, and a result is exactly this leaf. Whole
    documents make fewer and larger chunks, which cost less. A result is then the span of leaves that holds the chunk. If
    several texts are the same, LightRAG keeps one of them.

    Args:
        index: The index, or a view of one.
        whole: Whether to give whole documents. Default: False, the leaves.

    Raises:
        InvalidArgument: if ``whole`` is not a bool.
    """
    check_flag("whole", whole)
    texts: dict[str, str] = {}
    for leaf in index.leaves():
        id_ = leaf.document_id if whole else leaf.id
        texts[id_] = texts.get(id_, "") + leaf.text
    texts = {id_: text for id_, text in texts.items() if text.strip()}  # LightRAG refuses blank texts
    return {"input": list(texts.values()), "ids": list(texts), "file_paths": list(texts)}
