"""Retrieves with the same strategy through LangChain, through LlamaIndex, and without a framework."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from leafspan.cli._strategies import STRATEGIES
from leafspan.index import Index


@dataclass(frozen=True, slots=True)
class FrameworkPassage:
    """A passage as a framework's user gets it.

    Attributes:
        id: Its id.
        document_id: Id of its document. "" for a summary of several documents.
        start: Its first character in the document. None for a summary of several documents.
        end: The character after its last one, likewise.
        layer: Layer of a summary, >= 1. 0 for a piece of a document.
        score: Its score.
        text: Its text.
    """

    id: str
    document_id: str
    start: int | None
    end: int | None
    layer: int
    score: float
    text: str


class Framework(Protocol):
    """A way to retrieve passages."""

    def __call__(self, index: Index, strategy: str, question: str, k: int) -> Sequence[FrameworkPassage]:
        """Return the best passages, best first.

        Args:
            index: The index.
            strategy: Name of the strategy in ``STRATEGIES``.
            question: The question.
            k: Most passages, >= 1.
        """
        ...


def ask_core(index: Index, strategy: str, question: str, k: int) -> list[FrameworkPassage]:
    """See Framework: what the index itself returns."""
    passages = index.retrieve(question, STRATEGIES[strategy].strategy, k=k)
    return [FrameworkPassage(p.id, p.document_id, p.start, p.end, p.layer, p.score, p.text) for p in passages]


def ask_langchain(index: Index, strategy: str, question: str, k: int) -> list[FrameworkPassage]:
    """See Framework: what LangChain's retriever returns.

    Raises:
        MissingExtra: if LangChain is not installed.
    """
    import langchain_ext

    named = STRATEGIES[strategy]
    retriever = getattr(langchain_ext, named.retriever)(index=index, k=k, **named.options)
    return [
        _passage(document.id, document.metadata, document.metadata["score"], document.page_content)
        for document in retriever.invoke(question)
    ]


def ask_llamaindex(index: Index, strategy: str, question: str, k: int) -> list[FrameworkPassage]:
    """See Framework: what LlamaIndex's retriever returns.

    Raises:
        MissingExtra: if LlamaIndex is not installed.
    """
    import llamaindex_ext

    named = STRATEGIES[strategy]
    retriever = getattr(llamaindex_ext, named.retriever)(index, similarity_top_k=k, **named.options)
    return [
        _passage(scored.node.node_id, scored.node.metadata, scored.score, scored.node.get_content())
        for scored in retriever.retrieve(question)
    ]


def _passage(id_: str, metadata: Mapping[str, Any], score: float, text: str) -> FrameworkPassage:
    """Make a passage from a framework's result. A summary of several documents gets the core's values for missing keys."""
    place = metadata.get("doc_id", ""), metadata.get("start", 0), metadata.get("end", 0), metadata.get("layer", 0)
    return FrameworkPassage(id_, *place, score, text)


FRAMEWORKS: dict[str, Framework] = {"LangChain": ask_langchain, "LlamaIndex": ask_llamaindex}
