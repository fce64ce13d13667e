"""The vectors that queries are searched with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from leafspan.errors import InvalidArgument
from leafspan.strategies._requests import Embed, StrategyFlow
from leafspan.values import Query

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def query_vectors(queries: Sequence[Query], instruction: str) -> StrategyFlow[NDArray[np.float32]]:
    """A row for each query: its own vector where it brings one along, else that of its text, or the mean of several.

    Raises:
        InvalidArgument: if a vector has another length than those of the texts, or than the first one where there are none.
    """
    import numpy as np

    texts = tuple(instruction + text for query in queries for text in _to_embed(query))
    embedded: Sequence[Any] = (yield Embed(texts)) if texts else ()
    rows = iter(embedded)
    vectors = [_mean([next(rows) for _ in _to_embed(query)]) if query.vector is None else query.vector for query in queries]
    lengths = [len(vector) for vector in (*embedded, *vectors)]
    for length in lengths:
        if length != lengths[0]:
            raise InvalidArgument(f"a query's vector must have {lengths[0]} dimensions, got {length}")
    return np.asarray(vectors, dtype=np.float32)


def _mean(vectors: Sequence[Any]) -> Any:
    import numpy as np

    return vectors[0] if len(vectors) == 1 else np.mean(vectors, axis=0)


def _to_embed(query: Query) -> tuple[str, ...]:
    """The texts whose mean vector stands for the query; none where it brings its vector along."""
    if query.vector is not None:
        return ()
    return query.embedding_texts or (query.text or "",)
