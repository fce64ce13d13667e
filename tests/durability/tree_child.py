"""Another process that builds trees: ``python -m tests.durability.tree_child`` reads a job a line, and forks for each.

Each answer of the language model is one line of a log, written before it is given; so it is known who was asked for what.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import chromadb
from chromadb.config import Settings

from leafspan import Index
from leafspan.trees import Abstractive
from tests.durability.child import die_before_step, say
from tests.trees.building import EMBEDDER, SPLITTER, Asked, fours

DIED = 9  # the return code of a process whose language model has killed it


class Logged:
    """A language model that writes down what it answers, and kills its process when it is asked for the n-th time."""

    def __init__(self, log: str, *, die_at: int | None = None, seconds: float = 0.0) -> None:
        self.log = log
        self.die_at = die_at
        self.seconds = seconds
        self.asked = Asked()
        self.mutex = threading.Lock()

    def __call__(self, texts: Sequence[str]) -> str:
        with self.mutex:
            answer = self.asked(texts)
            with Path(self.log).open("a") as log:
                log.write(f"{answer}\n")
            if len(self.asked.calls) - 1 == self.die_at:
                os._exit(DIED)
        time.sleep(self.seconds)
        return answer

    async def awaited(self, texts: Sequence[str]) -> str:
        await asyncio.sleep(self.seconds)
        return self(texts)


def open_index(place: Mapping[str, Any], *, timeout: float = 60.0) -> Index:
    """The index in a folder (``path``), or behind a server (``host``, ``port`` and ``name``)."""
    if "path" in place:
        return Index.open(place["path"], embedder=EMBEDDER, splitter=SPLITTER, timeout=timeout)
    client = chromadb.HttpClient(place["host"], place["port"], settings=Settings(anonymized_telemetry=False))
    return Index.open(client=client, name=place["name"], embedder=EMBEDDER, splitter=SPLITTER, timeout=timeout)


def build(index: Index, job: Mapping[str, Any]) -> Any:
    """Build its trees as the job says."""
    model = Logged(job["log"], die_at=job.get("die_at"), seconds=job.get("seconds", 0.0))
    options: dict[str, Any] = {"prompt": None, "name": "logged", "concurrency": job.get("concurrency", 1)}
    if job.get("asynchronous"):
        summarizer = Abstractive(agenerate=model.awaited, **options)
        return asyncio.run(index.abuild_tree(summarizer=summarizer, clusterer=fours, across_documents=True))
    return index.build_tree(summarizer=Abstractive(generate=model, **options), clusterer=fours, across_documents=True)


def work(job: Mapping[str, Any]) -> None:
    """Open the index, build, and die before a step of writing where the job says so."""
    index = open_index(job["place"])
    if "die" in job:
        die_before_step(job["die"])
    build(index, job)


def fork() -> None:
    """Do each job in a fork, and say its process id, then its return code."""
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            try:
                with Path(os.devnull).open("w") as sys.stdout:
                    work(json.loads(line))
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        say(str(pid))
        say(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))


if __name__ == "__main__":
    fork()
