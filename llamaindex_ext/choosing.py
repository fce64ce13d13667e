"""A LlamaIndex selector as what chooses retrievers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llama_index.core.base.base_selector import BaseSelector, SelectorResult
from llama_index.core.tools import ToolMetadata


def as_choice(choose: Any, retrievers: object, descriptions: object) -> dict[str, Any]:
    """Options that ask a selector, which is shown the names and descriptions of retrievers; none for anything else."""
    if not isinstance(choose, BaseSelector) or not isinstance(retrievers, Mapping):
        return {}
    names = list(retrievers)
    about = descriptions if isinstance(descriptions, Mapping) else {}
    choices = [ToolMetadata(description=str(about.get(name, name)), name=str(name)) for name in names]

    def chosen(result: SelectorResult) -> list[Any]:
        # A number that none has is left as it is, and refused: as an index, -1 would be the last one.
        return [names[each.index] if 0 <= each.index < len(names) else each.index for each in result.selections]

    def ask(question: str) -> list[Any]:
        return chosen(choose.select(choices, question))

    async def aask(question: str) -> list[Any]:
        return chosen(await choose.aselect(choices, question))

    return {"choose": ask, "achoose": aask}
