"""A retrieval that can be asked of the core and of both adapters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from langchain_core.language_models import FakeListChatModel
from langchain_core.retrievers import BaseRetriever as LangChainRetriever
from llama_index.core.base.base_retriever import BaseRetriever as LlamaIndexRetriever

from leafspan import Strategy, View
from tests.hosts.contract import LangChain, LlamaIndex, WritingLLM
from tests.public import STRATEGIES


@dataclass(frozen=True)
class Scenario:
    """A retrieval by the options of a strategy, which has the same name in both adapters.

    Attributes:
        name: Its name.
        adapter: Name of the retriever.
        options: Options of the strategy.
        limits: Limits of the retrieval.
        scope: Filter of the view that is asked, None for the index.
        answer: What a language model answers, which is a plain function in the core, and a model of the host in an adapter.
        expected: Number of a question, with the ids and the scores, to four decimals, of what is found for it.
    """

    name: str
    adapter: str
    options: dict[str, Any] = field(default_factory=dict)
    limits: dict[str, Any] = field(default_factory=dict)
    scope: Any = None
    answer: str | None = None
    expected: tuple[int, dict[str, float]] | None = None

    @property
    def strategy(self) -> Strategy:
        model = {} if self.answer is None else {"generate": lambda _: self.answer}
        return STRATEGIES[self.adapter.removesuffix("Retriever")](**self.options, **model)

    @property
    def tree(self) -> bool:
        """Whether it looks among summaries."""
        return self.adapter == "TreeRetriever" or self.options.get("summaries", False)

    @property
    def finds_summaries(self) -> bool:
        """Whether it looks among summaries and leaves them as they are."""
        return self.tree and not self.options.get("expand") and self.options.get("start_layer") != 0

    @property
    def all_by_default(self) -> bool:
        """Whether all that is found comes back where neither ``k`` nor a budget is given."""
        if self.adapter == "TreeRetriever":
            return not {"mode", "top_k", "min_score"}.isdisjoint(self.options)
        return self.adapter == "BrowseRetriever" or "min_score" in {**self.options, **self.limits}

    @property
    def best_first(self) -> bool:
        """Whether results are ordered by score, and not by layer or by the summaries that they come from."""
        return self.options.get("mode") != "traversal" and not self.options.get("expand")

    def view(self, index: View) -> View:
        return index if self.scope is None else index.scoped(self.scope)

    def in_langchain(self, index: View, **more: Any) -> LangChainRetriever:
        model = {} if self.answer is None else {"llm": FakeListChatModel(responses=[self.answer])}
        return LangChain().make(self.adapter, self.view(index), **self.options, **model, **self.limits, **more)

    def in_llamaindex(self, index: View, **more: Any) -> LlamaIndexRetriever:
        model = {} if self.answer is None else {"llm": WritingLLM(write=lambda _: self.answer)}
        return LlamaIndex().make(self.adapter, self.view(index), **self.options, **model, **self.limits, **more)
