"""Embeds texts with a service that may fail temporarily: leafspan retries, and halves batches that are too large."""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from leafspan.checks import calling
from leafspan.embedding._embedders import Embedder, check_vectors
from leafspan.embedding._failures import asks_for_less, may_pass, retry_after
from leafspan.flows import Call, Flow

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ATTEMPTS = 4  # few, since most clients retry themselves
_MOST_SECONDS = 120.0  # waits for one batch in all


class RetryingEmbedder:
    """Embeds texts to be stored. If the embedder is not local, temporary failures are retried.

    A batch is tried four times: after about 1, 2 and 4 seconds, or as many as the service asks for, and two minutes
    in all at most. A batch that is refused as too large is halved, and so are later ones.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._most = sys.maxsize  # texts of the largest batch that may be accepted

    def documents(self, texts: Sequence[str]) -> Flow[NDArray[np.float32]]:
        """Return a vector, as a row, for each text."""
        with calling("the embedder", self._embedder.name, texts):
            return (yield from self._documents(texts))

    def _documents(self, texts: Sequence[str]) -> Flow[NDArray[np.float32]]:
        import numpy as np

        if self._embedder.local:
            return self._checked((yield self._embedder.embed_documents(texts)), texts)
        before = self._most
        parts: list[NDArray[np.float32]] = []
        start = 0
        while start < len(texts):
            some = texts[start : start + self._most]
            try:
                parts.append((yield from self._try(some)))
            except Exception as error:
                if len(some) == 1 or not asks_for_less(error):
                    self._most = before
                    raise
                self._most = len(some) // 2
                continue
            start += len(some)
        return np.concatenate(parts)

    def _try(self, texts: Sequence[str]) -> Flow[NDArray[np.float32]]:
        """Return the vectors after as many attempts as needed."""
        attempts, waited = 0, 0.0
        while True:
            try:
                return self._checked((yield self._embedder.embed_documents(texts)), texts)
            except Exception as error:
                attempts += 1
                seconds = max(2.0 ** (attempts - 1), retry_after(error)) * random.uniform(1.0, 1.25)
                is_last = attempts == _ATTEMPTS or waited + seconds > _MOST_SECONDS
                if is_last or not may_pass(error) or (len(texts) > 1 and asks_for_less(error)):
                    raise
            yield Call(time.sleep, (seconds,), native=asyncio.sleep)
            waited += seconds

    def _checked(self, vectors: object, texts: Sequence[str]) -> NDArray[np.float32]:
        return check_vectors(vectors, texts, name=self._embedder.name)
