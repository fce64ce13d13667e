"""Threads that stay, since starting one takes half as long as a search."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache

_MOST = 16  # more threads do not make searches faster


@cache
def shared_threads() -> ThreadPoolExecutor:
    """The threads of this process, started when they are first needed. A forked process starts its own."""
    return ThreadPoolExecutor(_MOST, thread_name_prefix="leafspan")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=shared_threads.cache_clear)
