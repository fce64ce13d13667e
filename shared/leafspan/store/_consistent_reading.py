"""Reads again if a writer replaces a document while it is read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

from leafspan.engines import StaleRead
from leafspan.errors import ConcurrentUpdate, LeafspanError
from leafspan.flows import Call, Flow
from leafspan.store._damage import Met, MetDamage
from leafspan.store._reader import Reader
from leafspan.store._scope import Scope
from leafspan.store._store import Store

T = TypeVar("T")
_ATTEMPTS = 10
_PAUSE = 0.02  # seconds


def read_consistently(
    store: Store, read: Callable[[Reader], Flow[T]], scope: Scope | None = None, *, leave_out: bool = False
) -> Flow[T]:
    """Run ``read``, and run it again, up to ten times, whenever a document that it read was replaced in between.

    It also runs again whenever it meets a damaged document that must be left out.
    """
    met = Met()
    attempts, again = 0, False
    last: StaleRead | None = None
    while attempts < _ATTEMPTS:
        reader = yield from store.reader(met, scope=scope, again=again)
        try:
            return (yield from read(reader.leaving_out() if leave_out else reader))
        except StaleRead as error:
            # A damaged document raises MetDamage only once, so these repetitions end.
            attempts += not isinstance(error, MetDamage)
            again = True
            last = error.with_traceback(None)  # which would keep the reader alive
        finally:
            reader.leave()
        if isinstance(last, LeafspanError):  # the engine keeps failing until the writer has counted its change
            yield Call(time.sleep, (_PAUSE * attempts,), native=asyncio.sleep)
    raise ConcurrentUpdate(
        f"documents were replaced or deleted during each of {_ATTEMPTS} attempts to read them: try again when there are "
        "fewer writes; repair() says whether leaves are missing"
    ) from last
