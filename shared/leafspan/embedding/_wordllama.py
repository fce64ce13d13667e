"""The default embedder: the model that comes with WordLlama, so nothing is downloaded.

A text's vector is the mean of its tokens' vectors. leafspan computes it from the files of the package wordllama, with the
same bits as ``WordLlama.embed``. WordLlama itself pads each 64 texts to the length of the longest, which takes twice as
long, and gigabytes if one text is long. Importing it also loads an HTTP client.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leafspan.embedding._embedders import Embedder
from leafspan.errors import MissingExtra

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_MODEL = "l2_supercat"
_DIMENSION = 256
_AT_ONCE = 256  # texts whose tokens are in memory together
_MANY = 100  # from this many texts on, converting the model to single precision pays


def default_embedder() -> Embedder:
    """Return the embedder WordLlama: vectors of 256 dimensions and length 1. The model is loaded at first use."""
    return Embedder(f"WordLlama({_MODEL}_{_DIMENSION})", _embed, _embed, local=True, model=f"{_MODEL}_{_DIMENSION}")


def _embed(texts: list[str]) -> Any:
    import numpy as np

    vectors = _model().means(texts)
    # An empty text's vector has no direction. It stays zero, and a search finds it similar to no other vector.
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


class _Model:
    """The tokenizer, and a vector for each token."""

    def __init__(self, tokenizer: Tokenizer, vectors: Any) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self._tokenizer = tokenizer
        self._vectors = vectors

    def means(self, texts: Sequence[str]) -> Any:
        """Return the mean of the vectors of each text's tokens, or zero for a text without tokens."""
        import numpy as np

        if len(texts) >= _MANY:
            # The same numbers as in half precision, which takes half the memory and loads sooner.
            self._vectors = self._vectors.astype(np.float32, copy=False)
        means = np.zeros((len(texts), self._vectors.shape[1]), np.float32)
        for begin in range(0, len(texts), _AT_ONCE):
            some = list(texts[begin : begin + _AT_ONCE])
            for row, tokens in enumerate(self._tokenizer.encode_batch_fast(some, add_special_tokens=False), begin):
                if tokens.ids:
                    means[row] = self._vectors[tokens.ids].astype(np.float32, copy=False).mean(axis=0)
        return means


@cache
def _model() -> _Model:
    found = find_spec("wordllama")
    if found is None or not found.submodule_search_locations:
        raise _missing("the default embedder is not installed")
    folder = Path(found.submodule_search_locations[0])
    tokens = folder / "tokenizers" / f"{_MODEL}_tokenizer_config.json"
    weights = folder / "weights" / f"{_MODEL}_{_DIMENSION}.safetensors"
    for file in (tokens, weights):
        if not file.is_file():
            raise _missing(f"the default embedder's model is not complete: {str(file)!r} is missing")
    from safetensors import safe_open
    from tokenizers import Tokenizer

    with safe_open(weights, framework="np") as opened:
        return _Model(Tokenizer.from_file(str(tokens)), opened.get_tensor("embedding.weight"))


def _missing(what: str) -> MissingExtra:
    return MissingExtra(f'{what}: pip install "wordllama>=0.4,<0.5", or open the index with embedder=')
