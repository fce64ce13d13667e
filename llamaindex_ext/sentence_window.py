"""Sentence windows, in LlamaIndex."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from leafspan import SentenceWindow, Strategy
from llamaindex_ext.retriever import BasedRetriever


@dataclass(kw_only=True, eq=False, repr=False)
class SentenceWindowRetriever(BasedRetriever):
    """Like the core's ``SentenceWindow``, but a LlamaIndex retriever, and its ``base`` may be one too."""

    kind: ClassVar[type[Strategy]] = SentenceWindow

    before: int = 0
    after: int = 1
