"""What a retriever of LlamaIndex finds in a property graph."""

from __future__ import annotations

from typing import Any

from leafspan.graphs._result import GraphResult, leaf_or_none
from leafspan.strategies import HostResult

_ARROW = " -> "


def ask_retriever(retriever: Any, question: str) -> GraphResult:
    """The chunks and relations that a retriever returns, and the chunks that the relations come from.

    LlamaIndex writes relations as texts, ``a -> knows -> b``, and puts them before the text of their chunk if the retriever
    includes that. Such a chunk is known by its id.
    """
    chunks: dict[str, HostResult] = {}
    relations: dict[str, HostResult] = {}
    for found in retriever.retrieve(question):
        node, score = found.node, found.score
        text, source = node.get_content(), str(node.ref_doc_id or "")
        parts = text.split(_ARROW)
        if len(parts) == 3 and "\n" not in text:
            metadata = {"source": parts[0], "label": parts[1], "target": parts[2], "source_ids": [source] if source else []}
            relations.setdefault(text, HostResult(f"relation:{text}", text, score, metadata, "relation", found))
            if source in chunks or not leaf_or_none(source):
                continue
            id_, text = source, ""
        else:
            id_ = leaf_or_none(str(node.node_id)) or leaf_or_none(source) or str(node.node_id)
        if not chunks.get(id_) or not chunks[id_].text:
            chunks[id_] = HostResult(id_, text, score, dict(node.metadata), "chunk", found)
    return GraphResult(chunks=_ranked(chunks), relations=_ranked(relations))


def _ranked(found: dict[str, HostResult]) -> tuple[HostResult, ...]:
    return tuple(sorted(found.values(), key=lambda each: -(each.score or 0.0)))
