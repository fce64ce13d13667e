"""Sentence windows, in LangChain."""

from __future__ import annotations

from typing import ClassVar

from langchain_ext.retriever import BasedRetriever
from leafspan import SentenceWindow, Strategy


class SentenceWindowRetriever(BasedRetriever):
    """Like the core's ``SentenceWindow``, but a LangChain retriever, and its ``base`` may be one too."""

    kind: ClassVar[type[Strategy]] = SentenceWindow

    before: int = 0
    after: int = 1
