"""The default embedder: WordLlama, whose model comes with its package and needs no download."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from leafspan.embedding._embedders import Embedder


def default_embedder() -> Embedder:
    """WordLlama's 256 dimensions, normalised; loaded at the first use."""
    return Embedder("WordLlama(l2_supercat_256)", _embed, _embed)


def _embed(texts: list[str]) -> Any:
    import numpy as np

    vectors = _model().embed(texts)
    # The empty text has no direction; it stays zero, which Chroma takes as similar to nothing.
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


@contextmanager
def _logging_left_alone() -> Iterator[None]:
    """Undo what wordllama does when it is imported: it configures the root logger to print everything from INFO up."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


@cache
def _model() -> Any:
    with _logging_left_alone():
        import wordllama

    # Its loader looks for its tokenizer in a folder of the user's unless told where the package is.
    return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
