"""Embedders for worker processes, in a module that imports little: each process of a test imports it."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np


class Ends:
    """An embedder of a module, so that other processes can have it. Of a certain text, its process ends, but not for ever."""

    def __init__(self, mark: Path, times: int) -> None:
        self._mark, self._times = mark, times

    def __call__(self, texts: list[str]) -> Any:
        if any("deadly" in text for text in texts) and len(list(self._mark.iterdir())) < self._times:
            (self._mark / str(time.time_ns())).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return embed(texts)


def embed(texts: list[str]) -> Any:
    """Vectors that depend on the text."""
    return np.array([[len(text), text.count("e") + 1, text.count("a"), 1.0] for text in texts], np.float32)


def fail(texts: list[str]) -> Any:
    """It embeds nothing of a certain text."""
    if any("unlucky" in text for text in texts):
        raise ValueError("no luck")
    return embed(texts)


def slowly(texts: list[str]) -> Any:
    """Like ``embed``, as slow as a service."""
    time.sleep(0.1)
    return embed(texts)


def leave(texts: list[str]) -> Any:
    """It ends its program for a certain text, as a script does that lacks something."""
    if any("farewell" in text for text in texts):
        sys.exit(0)
    return embed(texts)
