"""The default embedder: WordLlama. Its model is part of its package, so nothing is downloaded."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from leafspan.embedding._embedders import Embedder
from leafspan.errors import MissingExtra


def default_embedder() -> Embedder:
    """The embedder WordLlama: vectors of 256 dimensions and length 1. The model is loaded at the first use."""
    return Embedder("WordLlama(l2_supercat_256)", _embed, _embed, local=True, model="l2_supercat_256")


def _embed(texts: list[str]) -> Any:
    import numpy as np

    vectors = _model().embed(texts)
    # The vector of an empty text has no direction. It stays zero, and Chroma finds it similar to nothing.
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


@contextmanager
def _logging_left_alone() -> Iterator[None]:
    """Restore the root logger, which wordllama configures on import to print all messages from INFO up."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


@cache
def _model() -> Any:
    try:
        with _logging_left_alone():
            import wordllama
    except ImportError as error:
        command = 'pip install "wordllama>=0.4,<0.5"'
        raise MissingExtra(f"the default embedder is not installed: {command}, or open the index with embedder=") from error

    # By default its loader looks for the tokenizer in a folder of the user instead of its own package.
    return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
