"""Embedders of any library behind one interface, and how two of them are told apart."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from leafspan.engine import Call, Flow
from leafspan.errors import InvalidArgument

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

PROBE = "The quick brown fox jumps over the lazy dog."
"""The text whose vector identifies an embedder."""

SAME = 0.999
"""The cosine of two vectors of the probe text above which their embedders are the same."""

_BATCH = 512  # texts that the embedder gets at a time


@dataclass(frozen=True, slots=True)
class Embedder:
    """The functions that embed texts and questions. Each takes a list of texts and returns a vector for each.

    Args:
        name: Name of the model, for messages and for the index.
        documents: Function that embeds texts to be stored.
        queries: Function that embeds questions.
        adocuments: Coroutine function like ``documents``. Default: None, ``documents`` in a thread.
        aqueries: Coroutine function like ``queries``. Default: None, ``queries`` in a thread.
    """

    name: str
    documents: Callable[[list[str]], Any]
    queries: Callable[[list[str]], Any]
    adocuments: Callable[[list[str]], Any] | None = None
    aqueries: Callable[[list[str]], Any] | None = None

    def embed_documents(self, texts: Sequence[str]) -> Call:
        """The call that embeds texts to be stored."""
        return Call(self.documents, (list(texts),), native=self.adocuments)

    def embed_queries(self, texts: Sequence[str]) -> Call:
        """The call that embeds questions."""
        return Call(self.queries, (list(texts),), native=self.aqueries)


def to_embedder(thing: object) -> Embedder:
    """An ``Embedder`` from an embedder of any library, which is recognised by its methods.

    Args:
        thing: LangChain's ``Embeddings``, LlamaIndex's ``BaseEmbedding``, Chroma's ``EmbeddingFunction``, or a function
            from a list of texts to a list of vectors.

    Raises:
        InvalidArgument: if it is none of these.
    """
    if isinstance(thing, Embedder):
        return thing
    model: Any = thing
    if hasattr(model, "embed_documents") and hasattr(model, "embed_query"):
        return _from_langchain(model)
    if hasattr(model, "get_text_embedding_batch") and hasattr(model, "get_query_embedding"):
        return _from_llamaindex(model)
    if callable(model):
        queries = getattr(model, "embed_query", model)  # Chroma's method of this name takes a list
        return Embedder(_name(model), model, queries)
    raise InvalidArgument(
        "an embedder must be a LangChain Embeddings, a LlamaIndex BaseEmbedding, a Chroma EmbeddingFunction, or a function "
        f"from texts to vectors, got {type(thing).__name__}"
    )


Embed = Callable[[Sequence[str]], Flow[Any]]
"""A function from texts to a flow of their vectors, one row for each text."""


def embed_in_batches(embed: Embed, texts: Sequence[str], done: Callable[[int], None] = lambda _: None) -> Flow[list[Any]]:
    """A vector for each text.

    Args:
        embed: Function that embeds a batch.
        texts: The texts. A batch has 512 of them.
        done: Function to call after each batch, with the number of its texts. Default: none.
    """
    vectors: list[Any] = []
    for start in range(0, len(texts), _BATCH):
        batch = texts[start : start + _BATCH]
        vectors.extend((yield from embed(batch)))
        done(len(batch))
    return vectors


def check_vectors(vectors: Any, count: int, *, name: str, dimension: int | None = None) -> Vectors:
    """The vectors as an array of shape (count, dimension), float32.

    Args:
        vectors: What the embedder returned.
        count: Number of vectors that it must have.
        name: Name of the embedder, for error messages.
        dimension: Length that the vectors must have. Default: None, any.

    Raises:
        InvalidArgument: if the number of vectors or their length is wrong, or they hold anything but finite numbers.
    """
    import numpy as np

    try:
        array = np.asarray(vectors, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(f"{name} must give vectors of numbers of one length: {error}") from error
    if array.ndim != 2 or len(array) != count or (dimension is not None and array.shape[1] != dimension):
        wanted = f"({count}, {dimension if dimension is not None else 'dimension'})"
        raise InvalidArgument(f"{name} must give vectors of shape {wanted}, got {array.shape}")
    if not np.isfinite(array).all():
        raise InvalidArgument(f"{name} must give finite numbers, got nan or infinity")
    return array


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """The identity of the embedder that an index was made with, as the index stores it.

    Attributes:
        name: Name of the embedder.
        dimension: Length of its vectors.
        probe: Its vector for the probe text: little-endian float32, in base64.
    """

    name: str
    dimension: int
    probe: str

    @classmethod
    def of(cls, name: str, vector: Vectors) -> EmbedderIdentity:
        """The identity of an embedder with this name and this vector for the probe text."""
        return cls(name, len(vector), base64.b64encode(vector.astype("<f4").tobytes()).decode())

    def is_same(self, vector: Vectors) -> bool:
        """Whether a vector for the probe text has the stored dimension, and a cosine above 0.999 with the stored vector."""
        import numpy as np

        stored = np.frombuffer(base64.b64decode(self.probe), dtype="<f4")
        if len(stored) != len(vector):
            return False
        lengths = float(np.linalg.norm(stored) * np.linalg.norm(vector))
        if not lengths:  # an embedder with a vocabulary of its own may know no word of the probe text
            return bool(not stored.any() and not vector.any())
        return float(stored @ vector) / lengths > SAME


def _name(model: Any) -> str:
    """The class or function name of a model, with the name of the model in brackets if it has one."""
    kind = getattr(model, "__qualname__", type(model).__qualname__)
    label = next((str(v) for k in ("model_name", "model") if isinstance(v := getattr(model, k, None), str)), None)
    return f"{kind}({label})" if label else str(kind)


def _from_langchain(model: Any) -> Embedder:
    def queries(texts: list[str]) -> list[Any]:
        return [model.embed_query(text) for text in texts]

    async def aqueries(texts: list[str]) -> list[Any]:
        return [await model.aembed_query(text) for text in texts]

    native = _overrides(model, "aembed_query", "langchain_core.embeddings")
    return Embedder(
        _name(model),
        model.embed_documents,
        queries,
        model.aembed_documents if _overrides(model, "aembed_documents", "langchain_core.embeddings") else None,
        aqueries if native else None,
    )


def _from_llamaindex(model: Any) -> Embedder:
    def queries(texts: list[str]) -> list[Any]:
        return [model.get_query_embedding(text) for text in texts]

    # The asynchronous methods of most LlamaIndex embedders block, so they are not used: a thread is always right.
    return Embedder(_name(model), partial(model.get_text_embedding_batch, show_progress=False), queries)


def _overrides(model: Any, method: str, base_module: str) -> bool:
    """Whether the model has a coroutine function of its own, rather than its base class's, which only uses a thread."""
    function = getattr(type(model), method, None)
    return function is not None and not getattr(function, "__module__", "").startswith(base_module)
