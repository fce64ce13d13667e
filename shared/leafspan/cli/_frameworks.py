"""The same strategy asked through LangChain, through LlamaIndex, and through neither."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from leafspan.cli._strategies import STRATEGIES
from leafspan.index import Index


@dataclass(frozen=True, slots=True)
class Returned:
    """A passage as a framework's user gets it; a summary has a ``layer`` above 0."""

    id: str
    document_id: str
    start: int
    end: int
    layer: int
    score: float
    text: str


class Framework(Protocol):
    """One way to the passages of a strategy, which is given by its name in ``STRATEGIES``."""

    def __call__(self, index: Index, strategy: str, question: str, k: int) -> Sequence[Returned]:
        """The ``k`` best passages."""
        ...


def ask_core(index: Index, strategy: str, question: str, k: int) -> list[Returned]:
    """Ask the index itself."""
    passages = index.retrieve(question, STRATEGIES[strategy].strategy, k=k)
    return [Returned(p.id, p.document_id, p.start, p.end, p.layer, p.score, p.text) for p in passages]


def ask_langchain(index: Index, strategy: str, question: str, k: int) -> list[Returned]:
    """Ask LangChain's retriever.

    Raises:
        MissingExtra: if LangChain is not installed.
    """
    import langchain_ext

    named = STRATEGIES[strategy]
    retriever = getattr(langchain_ext, named.retriever)(index=index, k=k, **named.options)
    return [
        _returned(document.id, document.metadata, document.metadata["score"], document.page_content)
        for document in retriever.invoke(question)
    ]


def ask_llamaindex(index: Index, strategy: str, question: str, k: int) -> list[Returned]:
    """Ask LlamaIndex's retriever.

    Raises:
        MissingExtra: if LlamaIndex is not installed.
    """
    import llamaindex_ext

    named = STRATEGIES[strategy]
    retriever = getattr(llamaindex_ext, named.retriever)(index, similarity_top_k=k, **named.options)
    return [
        _returned(scored.node.node_id, scored.node.metadata, scored.score, scored.node.get_content())
        for scored in retriever.retrieve(question)
    ]


def _returned(id_: str, metadata: Mapping[str, Any], score: float, text: str) -> Returned:
    """What a summary of several documents has not, is as in the core."""
    place = metadata.get("doc_id", ""), metadata.get("start", 0), metadata.get("end", 0), metadata.get("layer", 0)
    return Returned(id_, *place, score, text)


FRAMEWORKS: dict[str, Framework] = {"LangChain": ask_langchain, "LlamaIndex": ask_llamaindex}
