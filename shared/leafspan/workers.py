"""Threads that stay: to begin one takes as long as half a search."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache

_MOST = 16  # more do not search faster together


@cache
def workers() -> ThreadPoolExecutor:
    """The threads of this process, made when they are first wanted; a forked process makes its own."""
    return ThreadPoolExecutor(_MOST, thread_name_prefix="leafspan")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=workers.cache_clear)
