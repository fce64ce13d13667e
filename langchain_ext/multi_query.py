"""A question in several phrasings, in LangChain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from langchain_ext.generating import as_generate
from langchain_ext.retriever import BasedRetriever
from leafspan import MultiQuery
from leafspan.language_model import DEFAULT_PROMPT


class MultiQueryRetriever(BasedRetriever):
    """Like the core's ``MultiQuery``, but a LangChain retriever, and its ``base`` may be one too.

    In place of ``generate`` and ``agenerate`` it has an ``llm``: a chat model, or any Runnable from a prompt to a message
    or a text.
    """

    llm: Any = None
    phrasings: Sequence[Any] = ()
    count: int = 3
    prompt: str = DEFAULT_PROMPT
    fusion: Literal["reciprocal rank", "maximum"] = "reciprocal rank"

    def _strategy(self, child: Any = None) -> MultiQuery:
        return MultiQuery(
            **self._base(child),
            **as_generate(self.llm, child),
            phrasings=self.phrasings,
            count=self.count,
            prompt=self.prompt,
            fusion=self.fusion,
        )
