"""A question in several phrasings, in LlamaIndex."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from llama_index.core.prompts import PromptTemplate
from llama_index.core.prompts.mixin import PromptDictType
from llama_index.core.schema import QueryBundle

from leafspan import MultiQuery, Query, Strategy
from leafspan.hosting import DEFAULT_PROMPT, check_prompt
from llamaindex_ext.language_model import as_generate
from llamaindex_ext.retriever import BasedRetriever


@dataclass(kw_only=True, eq=False, repr=False)
class MultiQueryRetriever(BasedRetriever):
    """Like the core's ``MultiQuery``, but a LlamaIndex retriever, and its ``base`` may be one too.

    In place of ``generate`` and ``agenerate`` it has an ``llm``. ``prompt`` can also be read by ``get_prompts`` and
    changed by ``update_prompts``.
    """

    kind: ClassVar[type[Strategy]] = MultiQuery

    llm: Any = None
    phrasings: Sequence[str | Sequence[float] | Query] = ()
    count: int = 3
    prompt: str = DEFAULT_PROMPT
    fusion: Literal["rrf", "maximum"] = "rrf"

    def _converted(self, bundle: QueryBundle | None) -> dict[str, Any]:
        return {**super()._converted(bundle), **as_generate(self.llm)}

    def _get_prompts(self) -> PromptDictType:
        return {"prompt": PromptTemplate(self.prompt)}

    def _update_prompts(self, prompts_dict: PromptDictType) -> None:
        if "prompt" in prompts_dict:
            # What is filled in beforehand (partial_format) is kept, and our two fields stay open.
            prompt = prompts_dict["prompt"].format(question="{question}", count="{count}")
            check_prompt(prompt)
            self.prompt = prompt
