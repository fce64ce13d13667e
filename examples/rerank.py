"""Results in another order: by a function, by a LangChain document compressor, and for diversity.

A count of common words replaces a cross-encoder, so that the example needs no model: python examples/rerank.py
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor
from langchain_core.documents import Document as LangChainDocument

from langchain_ext import RerankRetriever
from leafspan import Index, Rerank, SentenceWindow, Strategy, Vector
from leafspan.examples import example_documents


def judge(question: str, texts: list[str]) -> list[float]:
    """Replaces a cross-encoder, such as ``model.predict([(question, text) for text in texts])``."""
    wanted = {word.strip("?.,").lower() for word in question.split()}
    return [len(wanted.intersection(text.lower().split())) / len(wanted) for text in texts]


class ShortestFirst(BaseDocumentCompressor):
    """Replaces a LangChain compressor, such as one that calls a reranking service."""

    def compress_documents(
        self, documents: Sequence[LangChainDocument], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[LangChainDocument]:
        """Return the three shortest documents."""
        return sorted(documents, key=lambda document: len(document.page_content))[:3]


def main() -> None:
    """Ask one question in three orders."""
    question = "What caused the Black Death, and how did it spread?"
    with tempfile.TemporaryDirectory() as folder, Index.open(Path(folder) / "kb") as index:
        index.add(example_documents())

        def show(title: str, strategy: Strategy) -> None:
            print(f"\n{title}:")
            for passage in index.retrieve(question, strategy, k=3):
                print(f"  {passage.score:.3f}  {' '.join(passage.text.split())[:90]}")
                print(f"         {passage.trace.explain()[-1]}")

        show("nearest", Vector())
        show("by a function, windows", Rerank(base=SentenceWindow(), rerank=judge))
        show("unlike each other", Rerank(base=Vector(), diversity=0.3))
        print("\nby a document compressor of LangChain:")
        for document in RerankRetriever(index=index, rerank=ShortestFirst()).invoke(question):
            print(f"  {document.metadata['score']:.3f}  {' '.join(document.page_content.split())[:90]}")


if __name__ == "__main__":
    main()
