"""What a retriever of LlamaIndex finds in a property graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from leafspan.sources.graphs._result import GraphResult, leaf_or_none
from leafspan.strategies import HostResult

_ARROW = " -> "
# What LlamaIndex writes before facts and the text of a chunk.
_PREAMBLE = "Here are some facts extracted from the provided text:\n\n"


def ask_retriever(retriever: Any, question: str) -> GraphResult:
    """The chunks and relations that a retriever returns, and the leaves that the relations come from, each once.

    LlamaIndex writes relations as texts, ``a -> knows -> b``, and puts them before the text of their chunk if the retriever
    includes that. They are taken apart again.
    """
    chunks: list[HostResult] = []
    relations: list[HostResult] = []
    for found in retriever.retrieve(question):
        node, score, text = found.node, found.score, found.node.get_content()
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
    """The results by id, best first; of those of one id the first with a text."""
    found: dict[str | None, HostResult] = {}
    for each in sorted(results, key=lambda each: -(each.score or 0.0)):
        if each.id not in found or (each.text and not found[each.id].text):
            found[each.id] = each
    return tuple(found.values())
