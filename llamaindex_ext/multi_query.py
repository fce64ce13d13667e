"""A question in several phrasings, in LlamaIndex."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from llama_index.core.prompts import PromptTemplate
from llama_index.core.prompts.mixin import PromptDictType
from llama_index.core.schema import QueryBundle

from leafspan import MultiQuery, View
from leafspan.language_model import DEFAULT_PROMPT, check_prompt
from llamaindex_ext.generating import as_generate
from llamaindex_ext.retriever import BasedRetriever


class MultiQueryRetriever(BasedRetriever):
    """Like the core's ``MultiQuery``, but a LlamaIndex retriever, and its ``base`` may be one too.

    In place of ``generate`` and ``agenerate`` it has an ``llm`` of LlamaIndex's, by default none. ``prompt`` can also be
    read by ``get_prompts`` and changed by ``update_prompts``.
    """

    def __init__(
        self,
        index: View,
        *,
        llm: Any = None,
        phrasings: Sequence[Any] = (),
        count: int = 3,
        prompt: str = DEFAULT_PROMPT,
        fusion: Literal["reciprocal rank", "maximum"] = "reciprocal rank",
        **options: Any,
    ) -> None:
        self.llm = llm
        self.phrasings = phrasings
        self.count = count
        self.prompt = prompt
        self.fusion = fusion
        super().__init__(index, **options)

    def _strategy(self, bundle: QueryBundle | None = None) -> MultiQuery:
        return MultiQuery(
            **self._base(bundle),
            **as_generate(self.llm),
            phrasings=self.phrasings,
            count=self.count,
            prompt=self.prompt,
            fusion=self.fusion,
        )

    def _get_prompts(self) -> PromptDictType:
        return {"prompt": PromptTemplate(self.prompt)}

    def _update_prompts(self, prompts_dict: PromptDictType) -> None:
        if "prompt" in prompts_dict:
            # What is filled in beforehand (partial_format) is kept, and our two fields stay open.
            prompt = prompts_dict["prompt"].format(question="{question}", count="{count}")
            check_prompt(prompt)
            self.prompt = prompt
