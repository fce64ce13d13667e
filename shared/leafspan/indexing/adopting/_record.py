"""A record of a collection, with its place in a document according to its metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from leafspan.checks import is_reserved
from leafspan.documents import CHUNK_ID, made_id, metadata_key, place_of, shared_by_chunks
from leafspan.engines.chroma import NODE_KEY

_NODE_KEYS = frozenset({NODE_KEY, "_node_type", "document_id", "doc_id", "ref_doc_id"})  # added by LlamaIndex itself
_SOURCE, _PARENT, _CHILDREN = "1", "4", "5"  # LlamaIndex's relationships of a node


@dataclass(frozen=True, slots=True)
class Record:
    """A record without its text.

    Attributes:
        id: Its id.
        metadata: The user's own metadata.
        whole: Id of the document that it is a piece of. None if unknown.
        start: The character at which it starts in the document, or in ``parent``. None if unknown.
        parent: Id of the LlamaIndex node that it was split from. None if it was split from the document itself.
        children: Ids of the LlamaIndex nodes that were split from it.
        node: Its LlamaIndex node, without the text. None for other records.
        hidden: Keys of its metadata that no model may see.
        reserved: Keys of its metadata that leafspan reserves, and that got other names for this.
    """

    id: str
    metadata: Mapping[str, Any]
    whole: str | None
    start: int | None
    parent: str | None = None
    children: tuple[str, ...] = ()
    node: Mapping[str, Any] | None = None
    hidden: tuple[str, ...] = ()
    reserved: tuple[str, ...] = ()


def new_name(key: str) -> str:
    """Return the name that a reserved metadata key gets unless the user gives another one."""
    return f"adopted_{key}"


def read_record(id_: str, metadata: Mapping[str, Any] | None, renamed: Mapping[str, str]) -> Record:
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
        record = Record(id_, own, None, None, node=record.node, hidden=record.hidden)
    return replace(record, reserved=reserved) if reserved else record


def _chunk(id_: str, own: Mapping[str, Any]) -> Record:
    """Read a record of LangChain, Haystack or Chroma."""
    start = place_of(own)
    if start is None:
        return Record(id_, own, None, None)
    source = own.get("source_id")  # Haystack's
    whole = source if isinstance(source, str) and source else made_id(metadata_key(own), shared_by_chunks(own))
    return Record(id_, own, whole, start)


def _node(content: object) -> dict[str, Any] | None:
    """Return a LlamaIndex node as a mapping."""
    try:
        node = json.loads(content) if isinstance(content, str) else None
    except ValueError:
        return None
    return node if isinstance(node, dict) else None


def _own(stored: Mapping[str, Any], node: Mapping[str, Any]) -> dict[str, Any]:
    """Return the user's metadata of a node. Values under LlamaIndex's own keys are only in the node itself."""
    given = node.get("metadata") or {}
    hidden = {key: given[key] for key in sorted(_NODE_KEYS) if key in given}
    return {**{key: value for key, value in stored.items() if key not in _NODE_KEYS}, **hidden}


def _from_node(id_: str, own: Mapping[str, Any], node: Mapping[str, Any], names: Mapping[str, str]) -> Record:
    """Read a node of LlamaIndex. ``names`` has the new names of its metadata keys, also for hidden ones."""
    excluded = node.get("excluded_llm_metadata_keys") or ()
    relationships = node.get("relationships") or {}
    start = node.get("start_char_idx")
    return Record(
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


def embedded_texts(record: Record, text: str) -> list[str]:
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
