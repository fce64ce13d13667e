"""An index's embedder, with a check that the same embedder made the index."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from leafspan.checks import calling
from leafspan.embedding._cache import CacheFile, Space, text_key
from leafspan.embedding._embedder import PROBE, Embedder, EmbedderIdentity, recorded_embedder
from leafspan.embedding._retrying import RetryingEmbedder
from leafspan.embedding._vectors import check_vectors
from leafspan.errors import IndexMismatch
from leafspan.flows import Call, Flow
from leafspan.text import visible

_logger = logging.getLogger(__name__)
_warned: set[str] = set()  # embedders that the log has already named


class IdentityRecord(Protocol):
    """Where an index stores its embedder's identity."""

    def read(self) -> Flow[EmbedderIdentity | None]:
        """Return the identity of the index's embedder, or None before the first embedding."""

    def write_first(self, identity: EmbedderIdentity, timeout: float) -> Flow[EmbedderIdentity]:
        """Store this identity, unless another writer was first."""


@dataclass(frozen=True)
class _KnownIdentity:
    """A recorded identity."""

    identity: EmbedderIdentity | None

    def read(self) -> Flow[EmbedderIdentity | None]:
        yield from ()
        return self.identity

    def write_first(self, identity: EmbedderIdentity, timeout: float) -> Flow[EmbedderIdentity]:
        """The process that sent the identity has recorded it."""
        yield from ()
        return self.identity or identity


class CheckedEmbedder:
    """Embeds texts for an index. The first embedding checks that this embedder made the index.

    Without an embedder, it uses the index's own if that comes with leafspan, and the default one otherwise.
    """

    def __init__(
        self,
        record: IdentityRecord,
        embedder: Embedder | None,
        timeout: float,
        cache: CacheFile | None = None,
        index_id: str = "",
    ) -> None:
        self._record = record
        self._is_given = embedder is not None
        self._use(embedder or recorded_embedder(None))
        self._timeout = timeout
        self._cache = cache
        self._index_id = index_id
        self._identity: EmbedderIdentity | None = None
        self._recorded: EmbedderIdentity | None = None
        self._checked = threading.Event()

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep the checked identity in another process."""
        given = (self._embedder, self._timeout, self._cache, self._index_id)
        return CheckedEmbedder, (_KnownIdentity(self._identity or self._recorded), *given)

    def _use(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._retrying = RetryingEmbedder(embedder)

    @property
    def embedder(self) -> Embedder:
        """The embedder, for another index."""
        return self._embedder

    @property
    def local(self) -> bool:
        """Whether it runs on this machine, so that embedding needs neither money nor a network."""
        return self._embedder.local

    def documents(self, texts: Sequence[str], *, view: str = "") -> Flow[Any]:
        """Return a vector, as a row, for each text that will be stored. Texts in the cache are not embedded again."""
        yield from self.confirm(record=True)
        assert self._identity is not None
        if self._cache is None:
            return self._checked_vectors((yield from self._retrying.documents(texts)), texts)
        shared = self._embedder.model is not None and not view
        owner = "" if shared else self._index_id + view
        space = Space(self._identity, f"{self._embedder.settings} {owner}")
        can_pay_twice = self._embedder.model is None and not view and self._embedder.name not in _warned
        if can_pay_twice and (yield Call(self._cache.knows_of_others, (space,))):
            _warned.add(self._embedder.name)
            _logger.warning(
                "the embedder %s does not say which model it is, so texts that it has embedded for another index are "
                "embedded again: open the index with embedder=leafspan.Embedder(..., model=...) to share vectors",
                visible(self._embedder.name),
            )
        keys = [text_key(text) for text in texts]
        vectors = yield Call(self._cache.find, (space, keys))
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in vectors}
        if missing:
            wanted = list(missing.values())
            made = yield from self._retrying.documents(wanted)
            new = dict(zip(missing, self._checked_vectors(made, wanted), strict=True))
            yield Call(self._cache.keep, (space, new), finish=True)
            vectors |= new
        return self._checked_vectors([vectors[key] for key in keys], texts)

    def queries(self, texts: Sequence[str]) -> Flow[Any]:
        """Return a vector, as a row, for each query."""
        yield from self.confirm(record=False)
        with calling("the embedder", self._embedder.name, texts):
            vectors = yield self._embedder.embed_queries(texts)
        return self._checked_vectors(vectors, texts)

    def identity(self) -> Flow[EmbedderIdentity | None]:
        """Return the identity of the index's embedder, or None before its first document."""
        if self._identity is None and self._recorded is None:
            self._recorded = yield from self._record.read()
            if not self._is_given and self._recorded is not None:
                self._use(recorded_embedder(self._recorded))
        return self._identity or self._recorded

    def warm(self) -> Flow[EmbedderIdentity | None]:
        """Load the embedder, and check that it made the index."""
        yield from self.confirm(record=False)
        return self._identity

    def _checked_vectors(self, vectors: Any, texts: Sequence[str]) -> Any:
        dimension = self._identity.dimension if self._identity else None
        return check_vectors(vectors, texts, name=self._embedder.name, dimension=dimension)

    def confirm(self, *, record: bool) -> Flow[None]:
        """Check that this embedder made the index. If no identity is stored and ``record`` is set, store this one."""
        if self._checked.is_set():
            return
        if not self._is_given:
            yield from self.identity()
        if record:
            probe = (yield from self._retrying.documents([PROBE]))[0]
        else:  # someone waits for an answer
            with calling("the embedder", self._embedder.name, PROBE):
                vectors = yield self._embedder.embed_documents([PROBE])
            probe = check_vectors(vectors, [PROBE], name=self._embedder.name)[0]
        identity = yield from self._record.read()
        if identity is None and record:
            own = EmbedderIdentity.of(self._embedder.name, probe)
            identity = yield from self._record.write_first(own, self._timeout)
        if identity is None:
            return
        if not identity.is_same(probe):
            raise IndexMismatch(
                f"the index was made with the embedder {identity.name} ({identity.dimension} dimensions), it cannot go "
                f"on with {self._embedder.name} ({len(probe)} dimensions), whose vectors differ: open the index with "
                "embedder= (on the command line --embedder) the one it was made with, or make another index"
            )
        self._identity = identity
        self._checked.set()
