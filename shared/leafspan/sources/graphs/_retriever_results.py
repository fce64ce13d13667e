"""Reads the results of a LlamaIndex retriever over a property graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from leafspan.sources.graphs._result import GraphResult, leaf_or_none
from leafspan.strategies import HostResult

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
    """The results, best first, one for each id. If several have an id, the first one with a text wins."""
    found: dict[str | None, HostResult] = {}
    for each in sorted(results, key=lambda each: -(each.score or 0.0)):
        if each.id not in found or (each.text and not found[each.id].text):
            found[each.id] = each
    return tuple(found.values())
