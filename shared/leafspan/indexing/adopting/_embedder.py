"""Checks that a collection was made with the index's embedder."""

from __future__ import annotations

from typing import Any

from leafspan.embedding import Embedder, check_vectors, normalize
from leafspan.errors import IndexMismatch
from leafspan.flows import Flow
from leafspan.indexing.adopting._plan import Plan
from leafspan.indexing.adopting._record import embedded_texts, read_record
from leafspan.indexing.adopting._source import Source

_COMPARED = 8  # records whose texts are embedded again
_SAME = 0.99  # least cosine of a text's vector and the stored one


def check_embedder(source: Source, plan: Plan, embedder: Embedder) -> Flow[None]:
    """Embed a few of a collection's texts, and compare their vectors with the stored ones.

    LlamaIndex may have embedded a node's text with metadata before it. At least half of the texts must match: others may
    have been changed without being embedded again.

    Raises:
        IndexMismatch: if the vectors have another dimension, or another direction.
        InvalidArgument: if the embedder does not return a vector of finite numbers for each text.
    """
    import numpy as np

    ids = [member.id for document in plan.documents for member in document.members]
    some = ids[:: max(1, len(ids) // _COMPARED)][:_COMPARED]
    records = yield from source.collection.read(some, "text", "metadata", "vector")
    stored, texts = [], []
    for id_, record in records.items():
        if record.text and record.vector is not None and np.any(record.vector):
            stored.append(np.asarray(record.vector, dtype=np.float32))
            texts.append(embedded_texts(read_record(id_, record.metadata, plan.renamed), record.text))
    if not texts:
        return
    every = [text for each in texts for text in each]
    vectors = check_vectors((yield embedder.embed_documents(every)), every, name=embedder.name)
    name = source.collection.name
    if vectors.shape[1] != len(stored[0]):
        raise IndexMismatch(
            f"the vectors of the collection {name!r} have {len(stored[0])} dimensions, the vectors of {embedder.name} have "
            f"{vectors.shape[1]}: give the embedder that the collection was made with"
        )
    cosines = _best(normalize(np.stack(stored)), normalize(vectors), [len(each) for each in texts])
    if 2 * sum(cosine >= _SAME for cosine in cosines) < len(cosines):
        raise IndexMismatch(
            f"{embedder.name} did not make the vectors of the collection {name!r}: of {len(cosines)} texts that were "
            f"embedded again, the cosines with the stored vectors are from {min(cosines):.2f} to {max(cosines):.2f}; give "
            "the embedder that the collection was made with"
        )


def _best(stored: Any, vectors: Any, counts: list[int]) -> list[float]:
    """Return for each stored vector the best cosine with its own new vectors; ``counts`` has their numbers."""
    cosines = []
    start = 0
    for vector, count in zip(stored, counts, strict=True):
        cosines.append(float((vectors[start : start + count] @ vector).max()))
        start += count
    return cosines
