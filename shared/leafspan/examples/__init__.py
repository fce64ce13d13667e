"""Six short texts from Wikipedia to try retrieval with, and questions that they answer. Sources: ATTRIBUTION.md."""

from __future__ import annotations

from importlib.resources import files

from leafspan.values import Document

__all__ = ["EXAMPLE_QUESTIONS", "example_documents"]

EXAMPLE_QUESTIONS = (
    "How do phagocytes destroy pathogens?",
    "Who discovered oxygen first, Scheele or Priestley?",
    "What was the first commercially successful steam engine?",
)
"""Questions whose answers are in the texts of ``example_documents``."""


def example_documents() -> list[Document]:
    """The texts as documents, by title. Their ids are the names of the articles, such as ``Steam_engine``."""
    articles = [file for file in files(__package__).joinpath("articles").iterdir() if file.name.endswith(".txt")]
    return [
        Document(
            id=file.name.removesuffix(".txt"),
            text=file.read_bytes().decode(),
            title=file.name.removesuffix(".txt").replace("_", " "),
            metadata={"source": "Wikipedia", "licence": "CC BY-SA 4.0"},
        )
        for file in sorted(articles, key=lambda file: file.name)
    ]
