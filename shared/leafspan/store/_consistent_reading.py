"""Reading that starts again if a writer replaces what it reads."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

from leafspan.engine import Call, Flow
from leafspan.errors import ConcurrentUpdate
from leafspan.store._failures import LeafGone
from leafspan.store._reader import Reader
from leafspan.store._scope import Scope
from leafspan.store._stale_read import StaleRead
from leafspan.store._store import Store

T = TypeVar("T")
_ATTEMPTS = 10
_PAUSE = 0.02  # seconds


def read_consistently(store: Store, read: Callable[[Reader], Flow[T]], scope: Scope | None = None) -> Flow[T]:
    """The result of ``read``, which starts again whenever a document that it saw was replaced meanwhile.

    Args:
        store: Store to read from.
        read: Flow from a reader to the result.
        scope: What is visible to the reader. Default: the whole index.

    Raises:
        ConcurrentUpdate: if documents were replaced during every one of ten attempts.
    """
    stale: set[tuple[str, str]] = set()
    last: StaleRead | None = None
    for attempt in range(_ATTEMPTS):
        reader = yield from store.reader(stale, scope=scope, again=attempt > 0)
        try:
            return (yield from read(reader))
        except StaleRead as error:
            last = error.with_traceback(None)  # which would keep the reader alive
        finally:
            reader.leave()
        if isinstance(last, LeafGone):  # until the writer counts its change, Chroma would only fail again
            yield Call(time.sleep, (_PAUSE * (attempt + 1),), native=asyncio.sleep)
    raise ConcurrentUpdate(
        f"documents were replaced or deleted during each of {_ATTEMPTS} attempts to read them: try again when there are "
        "fewer writes; if there are none, leaves are missing, and doctor() says of which document"
    ) from last
