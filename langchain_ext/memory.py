"""An index as the long-term memory of LangGraph's agents."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from leafspan import Document, DocumentInfo, F, Hybrid, InvalidArgument, MissingExtra, Passage, View
from leafspan.errors import DocumentNotFound
from leafspan.hosting import Call, Flow, arun, check_number, check_whole, run, shown
from leafspan.strategies import StrategyLike

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        get_text_at_path,
        tokenize_path,
    )
except ModuleNotFoundError as error:  # pragma: no cover
    raise MissingExtra.of("LeafspanStore needs langgraph", "agents") from error

_HIDDEN = ("prefixes", "value", "created_at", "updated_at", "expires_at", "ttl")
_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": lambda value, other: value == other,
    "$ne": lambda value, other: value != other,
    "$gt": lambda value, other: float(value) > float(other),
    "$gte": lambda value, other: float(value) >= float(other),
    "$lt": lambda value, other: float(value) < float(other),
    "$lte": lambda value, other: float(value) <= float(other),
}


class LeafspanStore(BaseStore):
    """A ``BaseStore`` over an index: what an agent remembers, by namespace and key, found by filters and questions.

    Give it to ``create_agent(store=...)``, to a graph's ``compile(store=...)``, or to deep agents' ``StoreBackend``. Items
    are in the index as documents, so they survive the process, and several processes share them. ``search(query=...)``
    finds them by words and meaning. ``put`` with ``index=False`` keeps an item out of this search.

    Args:
        index: An index for these items alone.
        fields: Paths of the texts in a value that questions find, such as ``("text", "tags[*]")``, as in LangGraph's
            ``IndexConfig``. ``put(index=[...])`` overrides them. Default: all of the value.
        strategy: The strategy of ``search(query=...)``. Default: ``Hybrid()``.
        ttl: LangGraph's ``TTLConfig``: ``default_ttl`` in minutes, and ``refresh_on_read``. An expired item is no longer
            shown, and ``sweep_ttl`` deletes it. Default: items do not expire.

    Raises:
        InvalidArgument: if an option is of a wrong type, or a value cannot be written as JSON.
    """

    supports_ttl = True

    def __init__(
        self,
        index: View,
        *,
        fields: Sequence[str] = ("$",),
        strategy: StrategyLike | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        if not isinstance(index, View):
            raise InvalidArgument(f"index must be an Index or a view of one, got {shown(index)}")
        if not isinstance(fields, list | tuple) or not all(isinstance(each, str) for each in fields):
            raise InvalidArgument(f"fields must be a list of paths, got {shown(fields)}")
        self._index = index
        self._fields = tuple(fields)
        self._strategy = Hybrid() if strategy is None else strategy
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """The results of operations. All of them read what was there before, then items are written."""
        return run(self._results(ops))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Like ``batch``, without blocking the event loop."""
        return await arun(self._results(ops))

    def sweep_ttl(self) -> int:
        """Delete expired items, and return their number."""
        return len(self._index.delete(where=F("expires_at") <= _now().timestamp()))

    async def asweep_ttl(self) -> int:
        """Like ``sweep_ttl``, without blocking the event loop."""
        return len(await self._index.adelete(where=F("expires_at") <= _now().timestamp()))

    def _results(self, ops: Iterable[Op]) -> Flow[list[Result]]:
        results: list[Result] = []
        puts: dict[str, PutOp] = {}
        for op in ops:
            if isinstance(op, GetOp):
                results.append((yield from self._item(op)))
            elif isinstance(op, SearchOp):
                results.append((yield from self._search(op)))
            elif isinstance(op, ListNamespacesOp):
                results.append(_namespaces(op, (yield from self._documents(()))))
            elif isinstance(op, PutOp):
                puts[_id(op.namespace, op.key)] = op
                results.append(None)
            else:
                raise InvalidArgument(f"operations must be of LangGraph's BaseStore, got {shown(op)}")
        yield from self._put(puts)
        return results

    def _item(self, op: GetOp) -> Flow[Item | None]:
        document = yield from self._stored(op_id := _id(op.namespace, op.key))
        if document is None:
            return None
        if op.refresh_ttl and "ttl" in document.metadata:
            yield from self._refresh([op_id])
        return Item(**_item_fields(document))

    def _stored(self, id_: str) -> Flow[Document | None]:
        """The document of an item that has not expired."""
        try:
            document: Document = yield Call(self._index.get, (id_,), native=self._index.aget)
        except DocumentNotFound:
            return None
        expires_at: Any = document.metadata.get("expires_at")
        return None if expires_at is not None and expires_at <= _now().timestamp() else document

    def _documents(self, prefix: tuple[str, ...]) -> Flow[list[DocumentInfo]]:
        listed: list[DocumentInfo] = yield Call(self._index.documents, (_below(prefix),), native=self._index.adocuments)
        return [each for each in listed if each.id.endswith("]")]  # others were put through another view

    def _search(self, op: SearchOp) -> Flow[list[SearchItem]]:
        end = check_whole("offset", op.offset, 0) + check_whole("limit", op.limit, 0)
        ranked: dict[str, float] = {}
        matches: dict[str, DocumentInfo | Passage] = {}
        most = max(end, 1)
        while op.query and op.query.strip():
            how = {"strategy": self._strategy, "k": most, "per_document": 1, "where": _below(op.namespace_prefix)}
            passages = yield Call(self._index.retrieve, (op.query,), how, native=self._index.aretrieve)
            matches = {
                each.document_id: each for each in passages if each.document_id.endswith("]") and _matches(each, op.filter)
            }
            ranked = {each.document_id: each.score for each in passages}
            if len(matches) >= end or len(passages) < most:
                break
            most *= 4
        if len(matches) < end:  # the items that no question finds come last
            others = yield from self._documents(op.namespace_prefix)
            matches |= {each.id: each for each in others if each.id not in matches and _matches(each, op.filter)}
        shown_items = list(matches.items())[op.offset : end]
        if op.refresh_ttl and any("ttl" in each.metadata for _, each in shown_items):
            yield from self._refresh([id_ for id_, _ in shown_items])
        return [SearchItem(**_item_fields(each), score=ranked.get(id_)) for id_, each in shown_items]

    def _refresh(self, ids: Iterable[str]) -> Flow[None]:
        """Let items expire their time after now."""
        again = []
        for id_ in ids:
            document = yield from self._stored(id_)
            if document is not None and isinstance(minutes := document.metadata.get("ttl"), float | int):
                metadata = {**document.metadata, **_expiry(minutes)}
                again.append(Document(id_, document.text, metadata=metadata, hidden=_HIDDEN))
        if again:
            yield Call(self._index.add, (again,), {"progress": False}, native=self._index.aadd)

    def _put(self, puts: Mapping[str, PutOp]) -> Flow[None]:
        documents = []
        for id_, op in puts.items():
            if op.value is not None:
                before = yield from self._stored(id_)
                documents.append(self._document(id_, op, None if before is None else before.metadata["created_at"]))
        if gone := [id_ for id_, op in puts.items() if op.value is None]:
            yield Call(self._index.delete, (gone,), native=self._index.adelete)
        if documents:
            yield Call(self._index.add, (documents,), {"progress": False}, native=self._index.aadd)

    def _document(self, id_: str, op: PutOp, created_at: object) -> Document:
        if not isinstance(op.value, Mapping):
            raise InvalidArgument(f"a value must be a mapping, got {shown(op.value)}")
        if op.ttl is not None:
            check_number("ttl", op.ttl, above=0)
        try:
            value = json.dumps(op.value, ensure_ascii=False)
        except (TypeError, ValueError) as error:
            raise InvalidArgument(f"a value must be written as JSON, got {shown(op.value)}: {error}") from None
        now = _now().isoformat()
        metadata: dict[str, object] = {
            "prefixes": [json.dumps(op.namespace[:length]) for length in range(len(op.namespace) + 1)],
            "value": value,
            "created_at": created_at or now,
            "updated_at": now,
            **({} if op.ttl is None else _expiry(op.ttl)),
        }
        paths = () if op.index is False else self._fields if op.index is None else op.index
        text = "\n\n".join(text for path in paths for text in _texts(op.value, path))
        return Document(id_, text, metadata=metadata, hidden=_HIDDEN)


def _now() -> datetime:
    return datetime.now(UTC)


def _expiry(minutes: float) -> dict[str, float]:
    return {"ttl": minutes, "expires_at": _now().timestamp() + 60 * minutes}


def _id(namespace: tuple[str, ...], key: str) -> str:
    return json.dumps([*namespace, key], ensure_ascii=False)


def _below(prefix: tuple[str, ...]) -> Any:
    """The filter of the items below a namespace that have not expired."""
    return F("prefixes").contains(json.dumps(prefix)) & ~(F("expires_at") <= _now().timestamp())


def _texts(value: Mapping[str, Any], path: str) -> list[str]:
    """The texts at a path. All of a value is a line for each field."""
    if path != "$":
        return get_text_at_path(value, tokenize_path(path))
    return ["\n".join(f"{key}: {each if isinstance(each, str) else json.dumps(each)}" for key, each in value.items())]


def _item_fields(item: Document | DocumentInfo | Passage) -> dict[str, Any]:
    """The fields of an ``Item``."""
    *namespace, key = json.loads(item.document_id if isinstance(item, Passage) else item.id)
    times = {name: datetime.fromisoformat(str(item.metadata[name])) for name in ("created_at", "updated_at")}
    return {"namespace": tuple(namespace), "key": key, "value": json.loads(str(item.metadata["value"])), **times}


def _matches(item: DocumentInfo | Passage, conditions: Mapping[str, Any] | None) -> bool:
    """Whether a value matches LangGraph's filter."""
    value = json.loads(str(item.metadata["value"])) if conditions else {}
    return all(_is_as(value.get(key), condition) for key, condition in (conditions or {}).items())


def _is_as(value: Any, condition: Any) -> bool:
    if isinstance(condition, Mapping) and any(str(key).startswith("$") for key in condition):
        for operator in condition:
            if operator not in _COMPARED:
                raise InvalidArgument(f"operators of a filter are {', '.join(_COMPARED)}, got {shown(operator)}")
        with suppress(TypeError, ValueError):  # of what is no number
            return all(_COMPARED[operator](value, other) for operator, other in condition.items())
        return False
    if isinstance(condition, Mapping):
        return isinstance(value, Mapping) and all(_is_as(value.get(key), each) for key, each in condition.items())
    return bool(value == condition)


def _namespaces(op: ListNamespacesOp, documents: Iterable[DocumentInfo]) -> list[tuple[str, ...]]:
    every = {tuple(json.loads(each.id)[:-1]) for each in documents}
    matching = (each for each in every if all(_is_at(condition, each) for condition in op.match_conditions or ()))
    return sorted({each[: op.max_depth] for each in matching})[op.offset : op.offset + op.limit]


def _is_at(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    """Whether a namespace begins, or ends, with a path; ``*`` is any part."""
    length = len(condition.path)
    part = namespace[:length] if condition.match_type == "prefix" else namespace[len(namespace) - length :]
    return len(part) == length and all(wanted in ("*", own) for wanted, own in zip(condition.path, part, strict=True))
