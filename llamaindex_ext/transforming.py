"""A LlamaIndex query transform as what says what is searched in place of a question."""

from __future__ import annotations

from typing import Any

from llama_index.core.indices.query.query_transform.base import BaseQueryTransform

from leafspan import Query
from llamaindex_ext.retriever import to_query


def as_transformation(how: Any) -> dict[str, Any]:
    """Options that ask a query transform, such as a ``HyDEQueryTransform``; none for anything else."""
    if not isinstance(how, BaseQueryTransform):
        return {}

    def ask(question: str) -> str | Query:
        return to_query(how.run(question))

    return {"how": ask}
