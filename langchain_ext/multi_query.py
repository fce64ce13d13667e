"""A question in several phrasings, in LangChain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from langchain_ext.language_model import as_generate
from langchain_ext.retriever import BasedRetriever
from leafspan import MultiQuery, Query, Strategy
from leafspan.hosting import DEFAULT_PROMPT


class MultiQueryRetriever(BasedRetriever):
    """Like the core's ``MultiQuery``, but a LangChain retriever, and its ``base`` may be one too.

    In place of ``generate`` and ``agenerate`` it has an ``llm``.
    """

    kind: ClassVar[type[Strategy]] = MultiQuery

    llm: Any = None
    phrasings: Sequence[str | Sequence[float] | Query] = ()
    count: int = 3
    prompt: str = DEFAULT_PROMPT
    fusion: Literal["rrf", "maximum"] = "rrf"

    def _converted(self, child: Any) -> dict[str, Any]:
        return {**super()._converted(child), **as_generate(self.llm, child)}
