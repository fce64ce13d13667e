"""An index's embedder, with a check that the same embedder made the index, and with further attempts after failures.

Errors of services are recognised by their attributes and messages: their classes differ, and need not be installed.
"""

from __future__ import annotations

import asyncio
import logging
import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any

from leafspan.checks import calling
from leafspan.embedding._cache import CacheFile, Space, text_key
from leafspan.embedding._embedder import PROBE, Embedder, EmbedderIdentity, recorded_embedder
from leafspan.embedding._vectors import check_vectors
from leafspan.errors import IndexMismatch, LeafspanError
from leafspan.flows import METRICS, Call, Flow, NDArray, instrument, np
from leafspan.text import visible

_logger = logging.getLogger(__name__)
_warned: set[str] = set()  # embedders that the log has already named

_ATTEMPTS = 4  # few, since most clients retry themselves
_MOST_SECONDS = 120.0  # waits for one batch in all
_TOO_MANY_REQUESTS = 429
_PAYLOAD_TOO_LARGE = 413
_PASSING = {408, 409, 425, _TOO_MANY_REQUESTS}
_SERVER_ERRORS = range(500, 600)
_STATUS_NAMES = ("status_code", "http_status", "status", "code")
_PASSING_NAMES = re.compile(
    "Timeout|TimedOut|ConnectionError|ConnectError|ConnectionClosed|ProtocolError|ReadError|WriteError|gaierror|RateLimit|"
    "TooManyRequests|Throttl|ResourceExhausted|ServiceUnavailable|InternalServerError|Overloaded"
)
_TOO_LARGE = re.compile(r"too (large|long)", re.IGNORECASE)
_TOO_MUCH = re.compile(
    r"too (large|long|many (inputs|tokens|texts|items|documents))|max(imum)?\b.{0,60}(tokens|inputs|batch|items|texts)|"
    r"batch.{0,30}(size|limit|exceed)|(tokens|inputs|items|texts).{0,60}(max|exceed)",
    re.IGNORECASE | re.DOTALL,
)


class CheckedEmbedder:
    """Embeds texts for an index. The first embedding checks that this embedder made the index.

    Without an embedder, it uses the index's own if that comes with leafspan, and the default one otherwise.
    """

    def __init__(
        self,
        read: Callable[[], Flow[EmbedderIdentity | None]],
        write_first: Callable[[EmbedderIdentity], Flow[EmbedderIdentity]],
        embedder: Embedder | None,
        cache: CacheFile | None = None,
        index_id: str = "",
    ) -> None:
        self._read = read
        self._write_first = write_first  # records an identity unless one is recorded, and returns the recorded one
        self._is_given = embedder is not None
        self._use(embedder or recorded_embedder(None))
        self._cache = cache
        self._index_id = index_id
        self._identity: EmbedderIdentity | None = None
        self._recorded: EmbedderIdentity | None = None

    @classmethod
    def unrecorded(cls, embedder: Embedder, cache: CacheFile | None, index_id: str) -> CheckedEmbedder:
        """Return an embedder that no index has recorded yet."""
        return cls(partial(_same, None), _same, embedder, cache, index_id)

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep the identity in another process. This process has recorded it."""
        identity = self._identity or self._recorded
        return CheckedEmbedder, (partial(_same, identity), _same, self.embedder, self._cache, self._index_id)

    def _use(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._retrying = RetryingEmbedder(embedder)

    def documents(self, texts: Sequence[str], *, view: str = "") -> Flow[Any]:
        """Return a vector, as a row, for each text that will be stored. Texts in the cache are not embedded again."""
        identity = yield from self.confirm(record=True)
        assert identity is not None
        if self._cache is None:
            if METRICS in sys.modules:
                instrument("leafspan.embed.texts")(len(texts), {"leafspan.cached": False})
            return (yield from self._retrying.documents(texts, identity.dimension))
        embedder = self.embedder
        owner = "" if embedder.model is not None and not view else self._index_id + view
        space = Space(identity, f"{embedder.settings} {owner}")
        can_pay_twice = embedder.model is None and not view and embedder.name not in _warned
        if can_pay_twice and (yield Call(self._cache.knows_of_others, (space,))):
            _warned.add(embedder.name)
            _logger.warning(
                "the embedder %s does not say which model it is, so texts that it has embedded for another index are "
                "embedded again: open the index with embedder=leafspan.Embedder(..., model=...) to share vectors",
                visible(embedder.name),
            )
        keys = [text_key(text) for text in texts]
        vectors = yield Call(self._cache.find, (space, keys))
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in vectors}
        if METRICS in sys.modules:
            instrument("leafspan.embed.texts")(len(missing), {"leafspan.cached": False})
            instrument("leafspan.embed.texts")(len(texts) - len(missing), {"leafspan.cached": True})
        if missing:
            made = yield from self._retrying.documents(list(missing.values()), identity.dimension)
            new = dict(zip(missing, made, strict=True))
            yield Call(self._cache.keep, (space, new), finish=True)
            vectors |= new
        return check_vectors([vectors[key] for key in keys], texts, name=embedder.name, dimension=identity.dimension)

    def queries(self, texts: Sequence[str]) -> Flow[Any]:
        identity = yield from self.confirm(record=False)
        with calling("the embedder", self.embedder.name, texts):
            vectors = yield self.embedder.embed_queries(texts)
        dimension = identity.dimension if identity else None
        return check_vectors(vectors, texts, name=self.embedder.name, dimension=dimension)

    def identity(self) -> Flow[EmbedderIdentity | None]:
        """Return the identity of the index's embedder, or None before its first document."""
        if self._identity is None and self._recorded is None:
            self._recorded = yield from self._read()
            if not self._is_given and self._recorded is not None:
                self._use(recorded_embedder(self._recorded))
        return self._identity or self._recorded

    def confirm(self, *, record: bool) -> Flow[EmbedderIdentity | None]:
        """Check that this embedder made the index, and return its identity. ``record`` stores the first one."""
        if self._identity is not None:
            return self._identity
        if not self._is_given:
            yield from self.identity()
        if record:
            probe = (yield from self._retrying.documents([PROBE]))[0]
        else:  # someone waits for an answer
            with calling("the embedder", self.embedder.name, PROBE):
                vectors = yield self.embedder.embed_documents([PROBE])
            probe = check_vectors(vectors, [PROBE], name=self.embedder.name)[0]
        identity = yield from self._read()
        if identity is None and record:
            identity = yield from self._write_first(EmbedderIdentity.of(self.embedder.name, probe))
        if identity is not None and not identity.is_same(probe):
            raise IndexMismatch(
                f"the index was made with the embedder {identity.name} ({identity.dimension} dimensions), it cannot go "
                f"on with {self.embedder.name} ({len(probe)} dimensions), whose vectors differ: open the index with "
                "embedder= (on the command line --embedder) the one it was made with, or re-embed it (reembed)"
            )
        self._identity = identity
        return identity


def _same(identity: EmbedderIdentity | None) -> Flow[Any]:
    yield from ()
    return identity


class RetryingEmbedder:
    """Embeds texts to be stored. If the embedder is not local, temporary failures are retried.

    A batch is tried four times: after about 1, 2 and 4 seconds, or as many as the service asks for, and two minutes
    in all at most. A batch that is refused as too large is halved, and so are later ones.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._most = sys.maxsize  # texts of the largest batch that may be accepted

    def documents(self, texts: Sequence[str], dimension: int | None = None) -> Flow[NDArray[np.float32]]:
        name = self._embedder.name
        with calling("the embedder", name, texts):
            if self._embedder.local:
                vectors = yield self._embedder.embed_documents(texts)
                return check_vectors(vectors, texts, name=name, dimension=dimension)
            before = self._most
            parts: list[NDArray[np.float32]] = []
            start = 0
            while start < len(texts):
                some = texts[start : start + self._most]
                try:
                    parts.append((yield from self._try(some, dimension)))
                except Exception as error:
                    if len(some) == 1 or not asks_for_less(error):
                        self._most = before
                        raise
                    self._most = len(some) // 2
                    continue
                start += len(some)
            return np.concatenate(parts)

    def _try(self, texts: Sequence[str], dimension: int | None) -> Flow[NDArray[np.float32]]:
        """Return the vectors after as many attempts as needed."""
        attempts, waited = 0, 0.0
        while True:
            try:
                vectors = yield self._embedder.embed_documents(texts)
                return check_vectors(vectors, texts, name=self._embedder.name, dimension=dimension)
            except Exception as error:
                attempts += 1
                seconds = max(2.0 ** (attempts - 1), retry_after(error)) * random.uniform(1.0, 1.25)
                is_last = attempts == _ATTEMPTS or waited + seconds > _MOST_SECONDS
                if is_last or not may_pass(error) or (len(texts) > 1 and asks_for_less(error)):
                    raise
            yield Call(time.sleep, (seconds,), native=asyncio.sleep)
            waited += seconds


def may_pass(error: BaseException) -> bool:
    """Whether the same call may succeed later: after a rate limit, a timeout, a lost connection or a server's error."""
    for each in _chain(error):
        if isinstance(each, LeafspanError) or getattr(each, "code", None) == "insufficient_quota":
            return False
        if (status := _status(each)) is not None:
            return status in _PASSING or status in _SERVER_ERRORS
        if isinstance(each, TimeoutError | ConnectionError):
            return True
        if any(_PASSING_NAMES.search(kind.__name__) for kind in type(each).__mro__):
            return True
    return False


def asks_for_less(error: BaseException) -> bool:
    """Whether a smaller batch may succeed: the service refused too many texts, or too many tokens in all."""
    for each in _chain(error):
        status = _status(each)
        if status == _PAYLOAD_TOO_LARGE:
            return True
        # A rate limit mentions a maximum, too.
        if (_TOO_LARGE if status == _TOO_MANY_REQUESTS else _TOO_MUCH).search(str(each)):
            return True
    return False


def retry_after(error: BaseException) -> float:
    """Return the seconds in the service's Retry-After header, or 0 without this header."""
    for each in _chain(error):
        response: Any = getattr(each, "response", each)
        items: Any = getattr(getattr(response, "headers", None), "items", dict)()
        value = next((value for name, value in items if str(name).lower() == "retry-after"), None)
        if value is not None:
            return max(0.0, _seconds(str(value)))
    return 0.0


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the error, and the errors that it was raised from: hosts wrap their clients' errors."""
    seen: list[BaseException] = []
    each: BaseException | None = error
    while each is not None and each not in seen:
        seen.append(each)
        yield each
        each = each.__cause__ or (None if each.__suppress_context__ else each.__context__)


def _status(error: BaseException) -> int | None:
    response: Any = getattr(error, "response", None)
    if isinstance(response, Mapping):  # of AWS
        values = [response.get("ResponseMetadata", {}).get("HTTPStatusCode")]
    else:
        values = [getattr(error, name, None) for name in _STATUS_NAMES] + [getattr(response, "status_code", None)]
    return next((int(value) for value in values if isinstance(value, int) and 400 <= value < 600), None)


def _seconds(value: str) -> float:
    """Return the seconds from now, given a number of seconds or a date."""
    try:
        return float(value)
    except ValueError:
        pass
    try:
        return (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds()
    except (TypeError, ValueError):
        return 0.0
