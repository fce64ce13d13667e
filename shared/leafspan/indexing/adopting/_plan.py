"""Plans which records of a collection become which documents, from their metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from leafspan.checks import check_flag, check_path, is_reserved, is_unicode, shown
from leafspan.documents import CHUNK_ID, clean_metadata, made_id, metadata_key, place_of, shared_by_chunks
from leafspan.engines import Record
from leafspan.engines.chroma import MADE_BY_LEAFSPAN, NODE_KEY, ForeignCollection, find_collection, open_chroma
from leafspan.errors import InvalidArgument, InvalidDocument
from leafspan.flows import Call, Flow, Progress

_NODE_KEYS = frozenset({NODE_KEY, "_node_type", "document_id", "doc_id", "ref_doc_id"})  # added by LlamaIndex itself
_SOURCE, _PARENT, _CHILDREN = "1", "4", "5"  # LlamaIndex's relationships of a node
DELETED = "it was deleted while the collection was read"


@dataclass(frozen=True, slots=True)
class Source:
    collection: ForeignCollection
    embedder: Any = None  # the vector store's embedder. None if unknown
    docstore: Any = None  # LlamaIndex's store of the documents or nodes. None without such a store
    opened: Any = None  # Chroma client to close at the end. None if the user opened it

    def close(self) -> None:
        """Close the client that was opened for it."""
        if self.opened is not None:
            self.opened.close()


def open_source(thing: Any, collection: str | None, docstore: Any, timeout: float) -> Flow[Source]:
    """Return the collection that a user means. It is recognised by its methods, so that no framework must be installed."""
    if collection is not None and (not isinstance(collection, str) or not is_unicode(collection)):
        raise InvalidArgument(f"collection must be the name of a collection, got {shown(collection)}")
    if docstore is not None and not hasattr(docstore, "get_document"):
        raise InvalidArgument(f"docstore must be a docstore of LlamaIndex, got {shown(docstore)}")
    source = yield from _opened(thing, collection, docstore, timeout)
    try:
        if (yield from source.collection.maker()) == MADE_BY_LEAFSPAN:
            name = source.collection.name
            raise InvalidArgument(f"the collection {name!r} belongs to an index already: open it with Index.open")
    except BaseException:
        source.close()
        raise
    return source


def _opened(thing: Any, collection: str | None, docstore: Any, timeout: float) -> Flow[Source]:
    if isinstance(thing, str | Path):
        check_path("source", thing)
        client = yield Call(open_chroma, (thing,))
        try:
            own = yield from find_collection(client, collection, place=f"in {str(thing)!r}")
        except BaseException:
            client.close()
            raise
        return Source(own, docstore=docstore, opened=client)
    if hasattr(thing, "get_collection") and hasattr(thing, "list_collections"):
        return Source((yield from find_collection(thing, collection, timeout=timeout)), docstore=docstore)
    if collection is not None:
        raise InvalidArgument(f"collection must only be given with a folder or a client, got {shown(collection)}")
    embedder = None
    if hasattr(thing, "vector_store"):  # LlamaIndex's StorageContext or VectorStoreIndex
        embedder = getattr(thing, "_embed_model", None)
        docstore = thing.docstore if docstore is None else docstore
        thing = thing.vector_store
    handle = getattr(thing, "_collection", thing)
    if not all(hasattr(handle, name) for name in ("get", "query", "count", "name")):
        raise InvalidArgument(
            "source must be a Chroma of LangChain, a ChromaVectorStore, StorageContext or VectorStoreIndex of LlamaIndex, "
            f"a collection or client of chromadb, or a folder, got {type(thing).__name__}"
        )
    return Source(ForeignCollection(handle, timeout), getattr(thing, "embeddings", None) or embedder, docstore)


@dataclass(frozen=True, slots=True)
class SkippedRecord:
    """A record that was not adopted.

    Attributes:
        id: Its id in the collection.
        reason: Why it was not adopted, and what you could do.
    """

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """A record without its text."""

    id: str
    metadata: Mapping[str, Any]  # the user's own metadata
    whole: str | None  # id of the document that it is a piece of. None if unknown
    start: int | None  # the character at which it starts in the document, or in ``parent``. None if unknown
    parent: str | None = None  # id of the LlamaIndex node that it was split from
    children: tuple[str, ...] = ()  # ids of the LlamaIndex nodes that were split from it
    node: Mapping[str, Any] | None = None  # its LlamaIndex node, without the text. None for other records
    hidden: tuple[str, ...] = ()  # keys of its metadata that no model may see
    reserved: tuple[str, ...] = ()  # keys of its metadata that leafspan reserves, and that got other names for this


def new_name(key: str) -> str:
    """Return the name that a reserved metadata key gets unless the user gives another one."""
    return f"adopted_{key}"


def read_record(id_: str, metadata: Mapping[str, Any] | None, renamed: Mapping[str, str]) -> SourceRecord:
    """Make a record from its metadata in Chroma."""
    stored = dict(metadata or {})
    node = _node(stored.get(NODE_KEY))
    own = stored if node is None else _own(stored, node)
    # If the record already uses the new name, the key keeps its old name, so that no value is lost.
    reserved = tuple(key for key in own if is_reserved(key) and key not in renamed)
    renamed = {**renamed, **{key: new_name(key) for key in reserved}}
    names = {key: key if renamed.get(key) in own else renamed.get(key, key) for key in own}
    own = {names[key]: value for key, value in own.items()}
    record = _chunk(id_, own) if node is None else _from_node(id_, own, node, names)
    if own.get(CHUNK_ID, id_) != id_:  # a leaf stores the record's id under this metadata key
        record = SourceRecord(id_, own, None, None, node=record.node, hidden=record.hidden)
    return replace(record, reserved=reserved) if reserved else record


def _chunk(id_: str, own: Mapping[str, Any]) -> SourceRecord:
    """Read a record of LangChain, Haystack or Chroma."""
    start = place_of(own)
    if start is None:
        return SourceRecord(id_, own, None, None)
    source = own.get("source_id")  # Haystack's
    whole = source if isinstance(source, str) and source else made_id(metadata_key(own), shared_by_chunks(own))
    return SourceRecord(id_, own, whole, start)


def _node(content: object) -> dict[str, Any] | None:
    try:
        node = json.loads(content) if isinstance(content, str) else None
    except ValueError:
        return None
    return node if isinstance(node, dict) else None


def _own(stored: Mapping[str, Any], node: Mapping[str, Any]) -> dict[str, Any]:
    """Return the user's metadata of a node. Values under LlamaIndex's own keys are only in the node itself."""
    of_node = node.get("metadata") or {}
    hidden = {key: of_node[key] for key in sorted(_NODE_KEYS) if key in of_node}
    return {**{key: value for key, value in stored.items() if key not in _NODE_KEYS}, **hidden}


def _from_node(id_: str, own: Mapping[str, Any], node: Mapping[str, Any], names: Mapping[str, str]) -> SourceRecord:
    """Read a node of LlamaIndex. ``names`` has the new names of its metadata keys, also for hidden ones."""
    excluded = node.get("excluded_llm_metadata_keys") or ()
    relationships = node.get("relationships") or {}
    start = node.get("start_char_idx")
    return SourceRecord(
        id_,
        own,
        _related(relationships.get(_SOURCE)),
        start if type(start) is int and start >= 0 else None,
        _related(relationships.get(_PARENT)),
        tuple(child for each in relationships.get(_CHILDREN) or () if (child := _related(each))),
        node,
        tuple(name for key, name in names.items() if key in excluded),
    )


def _related(node: Any) -> str | None:
    return (node.get("node_id") or None) if isinstance(node, Mapping) else None


def embedded_texts(record: SourceRecord, text: str) -> list[str]:
    """Return the texts that the record's vector may be made from: its own, and LlamaIndex's with metadata before it."""
    node = record.node
    if node is None:
        return [text]
    hidden = node.get("excluded_embed_metadata_keys") or ()
    template = node.get("metadata_template") or "{key}: {value}"
    separator = node.get("metadata_separator", node.get("metadata_seperator")) or "\n"
    lines = [
        template.format(key=key, value=str(value))
        for key, value in (node.get("metadata") or {}).items()
        if key not in hidden
    ]
    if not lines:
        return [text]
    whole = node.get("text_template") or "{metadata_str}\n\n{content}"
    return [whole.format(metadata_str=separator.join(lines), content=text).strip(), text]


class Member(NamedTuple):
    """A record that becomes a leaf of a document."""

    id: str
    start: int | None


class PlannedDocument(NamedTuple):
    id: str
    members: tuple[Member, ...]  # the records


@dataclass(frozen=True, slots=True)
class Plan:
    """Which records become which documents."""

    documents: Sequence[PlannedDocument]
    records: int  # number of records in the collection
    skipped: Sequence[SkippedRecord]  # records that cannot be adopted
    renamed: Mapping[str, str]  # the user's metadata keys that get new names
    reserved: Sequence[str] = ()  # the metadata keys that leafspan reserves, and that the user has not given new names


def read_plan(source: Source, *, join: bool, rename: Mapping[str, str] | None, show: bool | None) -> Flow[Plan]:
    """Read the metadata of all records, in pages, and plan the documents."""
    check_flag("join", join)
    renamed = _checked_names(rename or {})
    ids = list((yield from source.collection.scan([])))
    usable: list[SourceRecord] = []
    skipped: list[SkippedRecord] = []
    with Progress(len(ids), show=show, what="Reading", unit=" records") as progress:
        for start in range(0, len(ids), source.collection.batch):
            page = ids[start : start + source.collection.batch]
            stored = yield from source.collection.get(page, ["metadata"])
            records = yield Call(_read_page, (stored, renamed))
            usable += [record for record in records if isinstance(record, SourceRecord)]
            skipped += [record for record in records if isinstance(record, SkippedRecord)]
            skipped += [SkippedRecord(id_, DELETED) for id_ in page if id_ not in stored]
            progress.advance(len(page))
    documents = yield Call(_Planning(usable, source.docstore, join, skipped).documents)
    reserved = sorted({key for record in usable for key in record.reserved})
    return Plan(documents, len(ids), skipped, renamed, reserved)


def _checked_names(rename: Mapping[str, str]) -> dict[str, str]:
    names = [name for pair in rename.items() for name in pair] if isinstance(rename, Mapping) else [None]
    if not all(isinstance(name, str) and name for name in names) or len(set(rename.values())) < len(rename):
        raise InvalidArgument(f"rename must be a mapping from metadata keys to different new names, got {shown(rename)}")
    if reserved := [name for name in rename.values() if is_reserved(name)]:
        raise InvalidArgument(f"rename must give names that are not reserved, got {shown(reserved[0])}")
    return dict(rename)


def _read_page(records: Mapping[str, Record], renamed: Mapping[str, str]) -> list[SourceRecord | SkippedRecord]:
    return [_checked(read_record(id_, record.metadata, renamed)) for id_, record in records.items()]


def _checked(record: SourceRecord) -> SourceRecord | SkippedRecord:
    """Return what planning needs of the record, or why it cannot be adopted."""
    for key in sorted(record.metadata):
        if is_reserved(key):
            reason = f"its metadata key {key!r} is reserved, and it has its new name, too: rename it to something else"
            return SkippedRecord(record.id, reason)
    try:
        clean_metadata(record.id, record.metadata)
    except InvalidDocument as error:
        return SkippedRecord(record.id, str(error))
    return replace(record, metadata={}, node=None, hidden=())  # memory holds all records


@dataclass(slots=True)
class _Planning:
    """Finds each record's document, and the record's place in it."""

    records: Sequence[SourceRecord]
    docstore: Any
    join: bool
    skipped: list[SkippedRecord]
    by_id: dict[str, SourceRecord] = field(default_factory=dict)
    starts: dict[str, int | None] = field(default_factory=dict)  # of LlamaIndex's nodes, in their documents

    def documents(self) -> list[PlannedDocument]:
        self.by_id = {record.id: record for record in self.records}
        members: dict[str, list[Member]] = {}
        alone: list[str] = []
        for record in self.records:
            if record.children and all(child in self.by_id for child in record.children):
                self._skip(record.id, "the LlamaIndex nodes below it have its text, and are adopted")
                continue
            whole, start = self._place(record) if self.join else (None, None)
            if whole is None or start is None:
                alone.append(record.id)
            else:
                members.setdefault(whole, []).append(Member(record.id, start))
        planned = [
            PlannedDocument(whole, tuple(sorted(pieces, key=attrgetter("start", "id"))))
            for whole, pieces in members.items()
        ]
        for id_ in alone:
            if id_ in members:
                self._skip(id_, "its id belongs to a document that other records are pieces of")
            else:
                planned.append(PlannedDocument(id_, (Member(id_, None),)))
        return planned

    def _skip(self, id_: str, reason: str) -> None:
        self.skipped.append(SkippedRecord(id_, reason))

    def _place(self, record: SourceRecord) -> tuple[str | None, int | None]:
        """Return the record's document, and the character at which it starts there.

        A LlamaIndex node that was split from another node gives its place in that node. If that node's own place is
        unknown, leafspan treats that node as a document.
        """
        if record.parent is None or record.start is None:
            return record.whole, record.start
        above = self._start(record.parent)
        if above is None or record.whole is None:
            return record.parent, record.start
        return record.whole, above + record.start

    def _start(self, id_: str) -> int | None:
        """Return the character at which a LlamaIndex node starts in its document, or None if unknown."""
        if id_ not in self.starts:
            self.starts[id_] = None  # in case a node is its own parent
            start, parent = self._node(id_)
            above = 0 if parent is None else self._start(parent)
            self.starts[id_] = None if start is None or above is None else above + start
        return self.starts[id_]

    def _node(self, id_: str) -> tuple[int | None, str | None]:
        """Return a node's place in its parent, and its parent, from the collection or else from the docstore."""
        if (record := self.by_id.get(id_)) is not None:
            return record.start, record.parent
        node = None if self.docstore is None else self.docstore.get_document(id_, raise_error=False)
        if node is None:
            return None, None
        parent = getattr(node, "parent_node", None)
        return getattr(node, "start_char_idx", None), None if parent is None else parent.node_id
