"""Reads chunks, entities and relations from LightRAG's answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from leafspan.sources.graphs._result import GraphResult, leaf_or_none, plain
from leafspan.strategies import HostResult

_SEPARATOR = "<SEP>"  # between the ids of the chunks where an entity was found
_CHUNK_OF = re.compile(r"(.+)-chunk-\d+", re.DOTALL)  # the id of a chunk that LightRAG itself split


async def read_data(instance: Any, data: Mapping[str, Any]) -> GraphResult:
    """The chunks, entities and relations of an answer, each with the ids of the documents that it comes from."""
    found = data.get("data") or {}
    chunks, entities, relations = (found.get(name) or [] for name in ("chunks", "entities", "relationships"))
    met = [str(each.get("chunk_id", "")) for each in chunks]
    met += [id_ for each in (*entities, *relations) for id_ in _split(each.get("source_id"))]
    documents = await _documents(instance, list(dict.fromkeys(met)))

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
    known = leaf_or_none(source) or id_ or None
    return HostResult(known, str(chunk.get("content", "")), None, plain(metadata), "chunk")


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
