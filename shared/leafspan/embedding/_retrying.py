"""Embedding texts with a service that may fail for a while: it is asked again, and for less if it refuses so much."""

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

_ATTEMPTS = 4  # few, since most clients have tried again themselves
_MOST_SECONDS = 120.0  # waited for one batch in all


class RetryingEmbedder:
    """Embeds texts to be stored. Where the embedder is not local, failures that may pass are waited out.

    A batch is tried four times: after about 1, 2 and 4 seconds, or as many as the service asks for, but no longer than two
    minutes in all. A batch that is refused as too large is halved, and so are those after it.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._most = sys.maxsize  # texts at once that were not refused

    def documents(self, texts: Sequence[str]) -> Flow[NDArray[np.float32]]:
        """A vector, as a row, for each text.

        Raises:
            FunctionFailed: if the embedder fails after all attempts, or returns anything but a vector of finite numbers for
                each text.
        """
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
        """The vectors, after as many attempts as it takes."""
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
