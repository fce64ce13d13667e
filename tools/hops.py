"""Counts the project's files and functions that one call enters, with a profiler hook.

``python tools/hops.py`` counts a warm ``RelevantSegmentsRetriever.invoke``, a warm ``index.retrieve`` and ``index.add``.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
FOLDERS = tuple(str(ROOT / name) for name in ("shared", "langchain_ext", "llamaindex_ext"))
MOST = {"invoke": (65, 330), "add": (55, 270)}
"""The largest numbers of files and functions that CONTRIBUTING.md allows."""


def entered(call: Callable[[], object]) -> tuple[int, int, int]:
    """The project's files and functions that a call enters, in any thread, and the deepest stack of them."""
    files: set[str] = set()
    functions: set[tuple[str, int]] = set()
    deepest = 0

    def note(frame: FrameType, event: str, _: Any) -> None:
        nonlocal deepest
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(FOLDERS):
            return
        files.add(code.co_filename)
        functions.add((code.co_filename, code.co_firstlineno))
        depth = 0
        caller: FrameType | None = frame
        while caller is not None:
            depth += caller.f_code.co_filename.startswith(FOLDERS)
            caller = caller.f_back
        deepest = max(deepest, depth)

    threading.setprofile_all_threads(note) if hasattr(threading, "setprofile_all_threads") else threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return len(files), len(functions), deepest


def main() -> None:
    """Print what each call enters."""
    from langchain_ext import RelevantSegmentsRetriever
    from leafspan import Document, Index
    from leafspan.examples import example_documents

    question = "How does a steam engine work?"
    with tempfile.TemporaryDirectory() as folder, Index.open(Path(folder) / "kb") as index:
        index.add(example_documents())
        retriever = RelevantSegmentsRetriever(index, budget=300)
        calls: dict[str, Callable[[], object]] = {
            "invoke": lambda: retriever.invoke(question),
            "retrieve": lambda: index.retrieve(question, "vector", k=5),
            "add": lambda: index.add([Document("new", "A short text. It has two sentences.")]),
        }
        for name, call in calls.items():
            if name != "add":
                call()
                call()
            files, functions, deepest = entered(call)
            most = "" if name not in MOST else "  at most {} and {}".format(*MOST[name])
            print(f"{name:<10}{files:>5} files{functions:>6} functions{deepest:>4} deep{most}")


if __name__ == "__main__":
    main()
