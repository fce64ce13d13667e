"""Counts the project's files, functions and calls behind one question and one ``add``, with a profiler hook.

    python tools/hops.py

A question is asked of six short articles in a folder, and a warm retriever answers it. ``add`` adds five short documents to
them. Each call is repeated, and the smallest figures count, because segments are merged now and then. The check of the
folder, which runs ten times a second, is left out, so that the speed of the machine does not count. Comprehensions,
lambdas and generator expressions are not counted, since Python 3.12 runs most of them without a call. A generator is
counted once, however often it is resumed. The limits are for Python 3.11.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from inspect import CO_GENERATOR
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
FOLDERS = tuple(str(ROOT / name) for name in ("shared", "langchain_ext", "llamaindex_ext"))
QUESTION = "How does a steam engine work?"
TEXTS = [f"{word} is a short text. It has two sentences." for word in ("Tea", "Bread", "Honey", "Salt", "Glass")]
REPEATS = 10


class Walk(NamedTuple):
    """How many of the project's files and functions a call enters, and how many calls of these functions it makes."""

    files: int
    functions: int
    calls: int


def walk_of(call: Callable[[], object]) -> Walk:
    """What a call enters, in any thread."""
    files: set[str] = set()
    functions: set[tuple[str, str]] = set()
    calls = 0

    def note(frame: FrameType, event: str, _: Any) -> None:
        nonlocal calls
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(FOLDERS) or code.co_name.startswith("<"):
            return
        files.add(code.co_filename)
        functions.add((code.co_filename, code.co_qualname))
        calls += not (code.co_flags & CO_GENERATOR and frame.f_lasti > 0)  # a generator is resumed

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return Walk(len(files), len(functions), calls)


def walks() -> Iterator[tuple[str, Walk]]:
    """The name of each call, and the smallest figures of its repeats."""
    from langchain_ext import RelevantSegmentsRetriever, VectorRetriever
    from leafspan import Document, Index
    from leafspan.examples import example_documents
    from leafspan.store import _folder

    _folder._CHECK_SECONDS = float("inf")
    with tempfile.TemporaryDirectory() as folder, Index.open(Path(folder) / "kb") as index:
        index.add(example_documents())
        segments, vector = RelevantSegmentsRetriever(index, budget=300), VectorRetriever(index, k=5)
        number = count()

        def add() -> None:
            index.add([Document(f"new-{next(number)}", text) for text in TEXTS])

        calls: dict[str, Callable[[], object]] = {
            "RelevantSegmentsRetriever.invoke": lambda: segments.invoke(QUESTION),
            "VectorRetriever.invoke": lambda: vector.invoke(QUESTION),
            "add": add,
        }
        for name, call in calls.items():
            call()
            repeats = [walk_of(call) for _ in range(REPEATS)]
            yield name, Walk(*map(min, zip(*repeats, strict=True)))


if __name__ == "__main__":
    for name, walk in walks():
        print(f"{name:<34}{walk.files:>5} files{walk.functions:>6} functions{walk.calls:>7,} calls")
