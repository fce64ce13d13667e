"""The default embedder: WordLlama, whose model comes with its package and needs no download."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from leafspan.embedding import Embedder


def default_embedder() -> Embedder:
    """WordLlama's 256 dimensions, normalised; loaded at the first use."""
    return Embedder("WordLlama(l2_supercat_256)", _embed, _embed)


def _embed(texts: list[str]) -> Any:
    import numpy as np

    vectors = _model().embed(texts)
    # The empty text has no direction; it stays zero, which Chroma takes as similar to nothing.
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


@cache
def _model() -> Any:
    import wordllama

    # Its loader looks for its tokenizer in a folder of the user's unless told where the package is.
    return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
