"""Embeds texts with a service that may fail temporarily: leafspan retries, and halves batches that are too large.

Errors are recognised by their attributes and messages: services' error classes differ, and need not be installed.
"""

from __future__ import annotations

import asyncio
import random
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from leafspan.checks import calling
from leafspan.embedding._embedder import Embedder
from leafspan.embedding._vectors import check_vectors
from leafspan.errors import LeafspanError
from leafspan.flows import Call, Flow

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
    """Return the error's HTTP status code."""
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
