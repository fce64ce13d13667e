"""Reports on standard error that a command waits for another writer."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from leafspan.cli._console import console, plain
from leafspan.engines.local import WAITS


class _OnStandardError(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        """Print it above the progress bar, if any."""
        from tqdm.std import tqdm

        with tqdm.external_write_mode(sys.stderr):
            console(stderr=True).print(plain(record.getMessage(), "yellow"))


@contextmanager
def telling_of_waits() -> Iterator[None]:
    """A context that prints a wait that takes longer than a moment."""
    logger, handler = logging.getLogger(WAITS), _OnStandardError()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
