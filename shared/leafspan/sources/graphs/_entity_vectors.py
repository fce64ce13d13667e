"""Keeps the vectors of a graph's entities as long as the graph's store exists."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import Any

from leafspan.embedding import Embedder, check_vectors, default_embedder, embed_in_batches, normalize, to_embedder
from leafspan.flows import run

_Texts = dict[str, Any]  # from a text to its vector

_kept: weakref.WeakKeyDictionary[Any, dict[int, tuple[object, Embedder, _Texts]]] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def similarities(store: Any, embedder: object, question: str, texts: Sequence[str]) -> list[float]:
    """The cosine of the question with each text. Only new texts are embedded."""
    import numpy as np

    model, kept = _vectors(store, embedder)
    new = [text for text in dict.fromkeys(texts) if text not in kept]
    vectors = run(embed_in_batches(lambda batch: _embed(model, batch), new))
    if vectors:
        kept = {**kept, **dict(zip(new, vectors, strict=True))}
        _keep(store, embedder, model, {text: kept[text] for text in texts})
    asked = normalize(check_vectors(model.queries([question]), [question], name=model.name))[0]
    matrix = np.stack([kept[text] for text in texts])
    return [float(cosine) for cosine in matrix @ asked]


def _embed(model: Embedder, texts: Sequence[str]) -> Any:
    vectors = yield model.embed_documents(texts)
    return normalize(check_vectors(vectors, texts, name=model.name))


def _vectors(store: Any, embedder: object) -> tuple[Embedder, _Texts]:
    with _lock:
        known = _of(store).get(id(embedder))
    if known is not None:
        return known[1], known[2]
    return default_embedder() if embedder is None else to_embedder(embedder), {}


def _keep(store: Any, embedder: object, model: Embedder, vectors: _Texts) -> None:
    with _lock:
        # The embedder is kept too, so that no other embedder can get its id.
        _of(store)[id(embedder)] = (embedder, model, vectors)


def _of(store: Any) -> dict[int, tuple[object, Embedder, _Texts]]:
    try:
        return _kept.setdefault(store, {})
    except TypeError:  # the store cannot be hashed or weakly referenced, so that nothing is kept
        return {}
