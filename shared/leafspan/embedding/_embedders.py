"""Embedders of any kind behind one face, and what makes two of them the same."""

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
SAME = 0.999
_AT_A_TIME = 512  # texts given to the embedder


@dataclass(frozen=True, slots=True)
class Embedder:
    """How texts and queries are embedded; ``a...`` are coroutine functions, where the embedder has them.

    Each takes a list of texts and gives a vector for each.
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
    """An embedder of any kind, recognised by its shape: LangChain's ``Embeddings``, LlamaIndex's ``BaseEmbedding``,
    Chroma's ``EmbeddingFunction``, or a function from a list of texts to a list of vectors.

    Raises:
        InvalidArgument: if it is none of them.
    """
    if isinstance(thing, Embedder):
        return thing
    model: Any = thing
    if hasattr(model, "embed_documents") and hasattr(model, "embed_query"):
        return _from_langchain(model)
    if hasattr(model, "get_text_embedding_batch") and hasattr(model, "get_query_embedding"):
        return _from_llamaindex(model)
    if callable(model):
        queries = getattr(model, "embed_query", model)  # Chroma's, which takes a list in spite of its name
        return Embedder(_name(model), model, queries)
    raise InvalidArgument(
        "an embedder must be a LangChain Embeddings, a LlamaIndex BaseEmbedding, a Chroma EmbeddingFunction, or a function "
        f"from texts to vectors, got {type(thing).__name__}"
    )


Embed = Callable[[Sequence[str]], Flow[Any]]
"""A flow from texts to their vectors, a row each."""


def embed_in_batches(embed: Embed, texts: Sequence[str], done: Callable[[int], None] = lambda _: None) -> Flow[list[Any]]:
    """A vector for each text.

    Args:
        embed: What embeds a batch.
        texts: The texts, which are embedded 512 at a time.
        done: Called after each batch with the number of texts in it.
    """
    vectors: list[Any] = []
    for start in range(0, len(texts), _AT_A_TIME):
        some = texts[start : start + _AT_A_TIME]
        vectors.extend((yield from embed(some)))
        done(len(some))
    return vectors


def check_vectors(vectors: Any, count: int, *, name: str, dimension: int | None = None) -> Vectors:
    """The vectors as an array of shape (count, dimension), float32.

    Raises:
        InvalidArgument: if there are more or fewer than ``count``, they differ in length or from ``dimension``, or hold
            anything but finite numbers.
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
    """What an index remembers of the embedder that made it: its name and the vector of a probe text."""

    name: str
    dimension: int
    probe: str

    @classmethod
    def of(cls, name: str, vector: Vectors) -> EmbedderIdentity:
        """The identity of the embedder that gave this vector for the probe text."""
        return cls(name, len(vector), base64.b64encode(vector.astype("<f4").tobytes()).decode())

    def is_same(self, vector: Vectors) -> bool:
        """True where the probe's vector has the same dimension, and a cosine above 0.999 with the one remembered."""
        import numpy as np

        mine = np.frombuffer(base64.b64decode(self.probe), dtype="<f4")
        if len(mine) != len(vector):
            return False
        lengths = float(np.linalg.norm(mine) * np.linalg.norm(vector))
        if not lengths:  # an embedder that counts words of its own may know none of the probe's
            return bool(not mine.any() and not vector.any())
        return float(mine @ vector) / lengths > SAME


def _name(model: Any) -> str:
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

    # Most of LlamaIndex's embedders answer their asynchronous calls with a blocking one: a thread is always right.
    return Embedder(_name(model), partial(model.get_text_embedding_batch, show_progress=False), queries)


def _overrides(model: Any, method: str, base_module: str) -> bool:
    """Whether the model has a coroutine of its own, rather than the base class's detour through a thread."""
    function = getattr(type(model), method, None)
    return function is not None and not getattr(function, "__module__", "").startswith(base_module)
