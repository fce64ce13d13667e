"""The same strategy asked through LangChain, through LlamaIndex, and through neither."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from leafspan.cli.strategies import STRATEGIES
from leafspan.index import Index


@dataclass(frozen=True, slots=True)
class Returned:
    """A passage as a framework's user gets it."""

    id: str
    document_id: str
    start: int
    end: int
    score: float
    text: str


class Asking(Protocol):
    """One way to the passages of a strategy, which is given by its name in ``STRATEGIES``."""

    def __call__(self, index: Index, strategy: str, question: str, k: int) -> Sequence[Returned]:
        """The ``k`` best passages."""
        ...


def ask_core(index: Index, strategy: str, question: str, k: int) -> list[Returned]:
    """Ask the index itself."""
    passages = index.retrieve(question, STRATEGIES[strategy].strategy, k=k)
    return [Returned(p.id, p.document_id, p.start, p.end, p.score, p.text) for p in passages]


def ask_langchain(index: Index, strategy: str, question: str, k: int) -> list[Returned]:
    """Ask LangChain's retriever.

    Raises:
        MissingExtra: if LangChain is not installed.
    """
    import langchain_ext

    retriever = getattr(langchain_ext, STRATEGIES[strategy].retriever)(index=index, k=k)
    return [
        Returned(
            document.id,
            document.metadata["doc_id"],
            document.metadata["start"],
            document.metadata["end"],
            document.metadata["score"],
            document.page_content,
        )
        for document in retriever.invoke(question)
    ]


def ask_llamaindex(index: Index, strategy: str, question: str, k: int) -> list[Returned]:
    """Ask LlamaIndex's retriever.

    Raises:
        MissingExtra: if LlamaIndex is not installed.
    """
    import llamaindex_ext

    retriever = getattr(llamaindex_ext, STRATEGIES[strategy].retriever)(index, similarity_top_k=k)
    return [
        Returned(
            scored.node.node_id,
            scored.node.metadata["doc_id"],
            scored.node.start_char_idx,
            scored.node.end_char_idx,
            scored.score,
            scored.node.get_content(),
        )
        for scored in retriever.retrieve(question)
    ]


FRAMEWORKS: dict[str, Asking] = {"LangChain": ask_langchain, "LlamaIndex": ask_llamaindex}
