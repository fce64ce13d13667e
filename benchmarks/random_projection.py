"""An embedder that is bad on purpose: an idf-weighted random projection of words.

Each word has a direction that is drawn from its hash. A text's vector is the sum of its words' directions, each weighted by
the word's idf among the documents. So vectors show which words two texts share, with much noise, but know neither stems nor
synonyms. Results with these vectors do not depend on a good embedder.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from leafspan import Embedder

DIMENSIONS = 64
"""Dimensions of the vectors: so few that unrelated words look alike."""

_WORD = re.compile(r"\w+")


def random_projection(texts: Iterable[str], dimensions: int = DIMENSIONS) -> Embedder:
    """Make the embedder. The same texts give the same embedder, on every machine.

    Args:
        texts: The documents' texts, from which idf is computed.
        dimensions: Dimensions of the vectors, >= 1. Default: 64.
    """
    found = Counter[str]()
    documents = 0
    for text in texts:
        found.update(set(_words(text)))
        documents += 1

    @cache
    def weighted(word: str) -> NDArray[np.float64]:
        seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
        idf = log((documents + 1) / (found[word] + 0.5))
        return idf * np.random.default_rng(seed).standard_normal(dimensions) / sqrt(dimensions)

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        # A text without words has a direction, too.
        nothing = np.eye(1, dimensions)[0] * 1e-6
        return np.array([sum(map(weighted, _words(text)), nothing) for text in texts], dtype=np.float32)

    return Embedder(f"random projection to {dimensions} dimensions", embed, embed, local=True)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
