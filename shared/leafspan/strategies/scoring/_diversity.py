"""Diversity: chooses results that are relevant and not all alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Chosen(NamedTuple):
    """A result in its new place."""

    place: int  # its place in the given results, from 0
    score: float  # its marginal relevance. No score is higher than the one before it
    similarity: float  # its cosine similarity to the most similar result before it. 0 for the first result


def maximal_marginal_relevance(
    relevance: Sequence[float], vectors: Any, *, diversity: float, count: int | None = None
) -> list[Chosen]:
    """The results reordered: each is the result with the highest marginal relevance, given the results before it.

    The marginal relevance of a result is (1 - ``diversity``) * its relevance - ``diversity`` * its cosine similarity to the
    most similar result before it. For the first result this similarity is 0. Ties keep the given order. A vector of zeros
    is similar to no other, with a cosine of 0.
    """
    import numpy as np

    if not len(relevance):
        return []
    matrix = np.asarray(vectors, dtype=np.float64).reshape(len(relevance), -1)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    matrix = np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0)
    relevant = np.asarray(relevance, dtype=np.float64) * (1 - diversity)
    closest = np.zeros(len(matrix))
    left = np.ones(len(matrix), dtype=bool)
    chosen: list[Chosen] = []
    for _ in range(len(matrix) if count is None else min(count, len(matrix))):
        values = np.where(left, relevant - diversity * closest, -np.inf)
        place = int(np.argmax(values))  # the first of equals
        # With negative cosines, the second result can have a higher value than the first.
        score = min(float(values[place]), chosen[-1].score) if chosen else float(values[place])
        chosen.append(Chosen(place, score, float(closest[place])))
        left[place] = False
        # No matrix product, whose rounding depends on the row: equal vectors must tie.
        cosines = (matrix * matrix[place]).sum(axis=1)
        closest = cosines if len(chosen) == 1 else np.maximum(closest, cosines)
    return chosen
