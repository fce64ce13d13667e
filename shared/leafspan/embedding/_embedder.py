"""The embedder of an index: its functions, and its identity, by which an index recognises the embedder that made it."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leafspan.flows import Call, Flow

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

PROBE = "The quick brown fox jumps over the lazy dog."
"""The text whose vector identifies an embedder."""

SAME = 0.999
"""Two embedders are treated as the same if the cosine of their vectors of the probe text is above this."""

_BATCH = 128  # texts per call of the embedder: a failure may lose this many, and a progress bar moves by this many


@dataclass(frozen=True, slots=True)
class Embedder:
    """The functions that embed texts and questions. Each takes a list of texts and returns a vector for each.

    Args:
        name: Name of the model, for messages and for the index.
        documents: Function that embeds texts to be stored.
        queries: Function that embeds questions.
        adocuments: Coroutine function like ``documents``. Default: None, ``documents`` runs in a thread.
        aqueries: Coroutine function like ``queries``. Default: None, ``queries`` runs in a thread.
        local: Whether the model runs on this machine. If not, calls may cost money or fail: leafspan keeps its vectors
            in the embedding cache, and retries after a rate limit or a timeout. Default: False.
        model: Name of the model. With it, other indexes can reuse the model's vectors from the embedding cache.
            Default: None, only the same index reuses them, since leafspan cannot notice that a function has changed.
        settings: Text that names the model's settings, such as the length at which it cuts texts. The embedding cache
            returns only vectors that were made with the same settings. Default: none.
    """

    name: str
    documents: Callable[[list[str]], Any]
    queries: Callable[[list[str]], Any]
    adocuments: Callable[[list[str]], Any] | None = None
    aqueries: Callable[[list[str]], Any] | None = None
    local: bool = False
    model: str | None = None
    settings: str = ""

    @classmethod
    def of(cls, model: object, *, document_prefix: str = "", query_prefix: str = "") -> Embedder:
        """An embedder of a library, with your own text before each stored text and each question.

        A known model (e5, bge, nomic, mxbai, arctic) of another library that you give as ``embedder=`` directly gets the
        prefixes that it was trained with. ``of`` turns them off.

        Args:
            model: An embedder that ``Index.open`` accepts, or its name. ``"e5"`` keeps the prefixes that come with it.
            document_prefix: Text before each text that is stored. Default: none.
            query_prefix: Text before each question. Default: none.

        Raises:
            InvalidArgument: if it is no such embedder.
        """
        from leafspan.embedding._recognizing import to_embedder

        return to_embedder(model, prefixes=False).with_prefixes(document_prefix, query_prefix)

    def with_prefixes(self, documents: str, queries: str) -> Embedder:
        """Return the same embedder with these prefixes for texts and queries. Its name contains them."""
        if not documents and not queries:
            return self
        return Embedder(
            f"{self.name} with {documents!r} before texts and {queries!r} before questions",
            _with_prefix(documents, self.documents),
            _with_prefix(queries, self.queries),
            self.adocuments and _with_prefix_async(documents, self.adocuments),
            self.aqueries and _with_prefix_async(queries, self.aqueries),
            local=self.local,
            model=self.model,
            settings=f"{self.settings} {documents!r}",
        )

    def embed_documents(self, texts: Sequence[str]) -> Call:
        """Return the call that embeds texts to be stored."""
        return Call(self.documents, (list(texts),), native=self.adocuments, what=f"the embedder {self.name}")

    def embed_queries(self, texts: Sequence[str]) -> Call:
        """Return the call that embeds queries."""
        return Call(self.queries, (list(texts),), native=self.aqueries, what=f"the embedder {self.name}")


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """The identity of an index's embedder, as the index stores it."""

    name: str  # name of the embedder
    dimension: int  # length of its vectors
    probe: str  # its vector for the probe text: little-endian float32, in base64

    @classmethod
    def of(cls, name: str, vector: Vectors) -> EmbedderIdentity:
        """Return the identity of an embedder with this name and this vector for the probe text."""
        return cls(name, len(vector), base64.b64encode(vector.astype("<f4").tobytes()).decode())

    @property
    def vector(self) -> Vectors:
        """The vector for the probe text."""
        import numpy as np

        return np.frombuffer(base64.b64decode(self.probe), dtype="<f4")

    def is_same(self, vector: Vectors) -> bool:
        """Whether a vector for the probe text has the stored dimension, and a cosine above 0.999 with the stored vector."""
        import numpy as np

        stored = self.vector
        if len(stored) != len(vector):
            return False
        lengths = float(np.linalg.norm(stored) * np.linalg.norm(vector))
        if not lengths:  # an embedder with its own vocabulary may know no word of the probe text
            return bool(not stored.any() and not vector.any())
        return float(stored @ vector) / lengths > SAME


Embed = Callable[[Sequence[str]], Flow[Any]]
"""A function from texts to a flow of their vectors, one row for each text."""


def embed_in_batches(embed: Embed, texts: Sequence[str], done: Callable[[int], None] = lambda _: None) -> Flow[list[Any]]:
    """Return a vector for each text."""
    vectors: list[Any] = []
    for start in range(0, len(texts), _BATCH):
        batch = texts[start : start + _BATCH]
        vectors.extend((yield from embed(batch)))
        done(len(batch))
    return vectors


def _with_prefix(prefix: str, embed: Callable[[list[str]], Any]) -> Callable[[list[str]], Any]:
    return lambda texts: embed([prefix + text for text in texts])


def _with_prefix_async(prefix: str, embed: Callable[[list[str]], Any]) -> Callable[[list[str]], Any]:
    async def embedded(texts: list[str]) -> Any:
        return await embed([prefix + text for text in texts])

    return embedded
