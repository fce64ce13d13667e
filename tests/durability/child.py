"""Another process: ``python -m tests.durability.child`` with a job as JSON. It communicates by lines."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from leafspan import BM25, AutoMerging, F, Vector
from leafspan.engines.chroma._collection import Collection
from leafspan.engines.local._change_file import ChangeFile
from leafspan.flows import run
from leafspan.segments import _mirror, _segment
from leafspan.store import _rows_file
from leafspan.store._rows_file import RowsFile
from tests.durability.versions import ALL, adopt_collection, broken, document, open_index, text_of

_SHOWN = 5
_PIECES = (0, 3)  # before which a process that writes a segment is killed: at its beginning, and in its middle


def say(word: str) -> None:
    print(word, flush=True)


def hear() -> str:
    return sys.stdin.readline().strip()


def die_before_step(number: int) -> None:
    """Kill this process before the step of that number: a writing call to Chroma, rows, or a count of the changes."""
    steps = iter(range(number))

    def step() -> None:
        if next(steps, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)

    call, advance, write = Collection._call, ChangeFile.advance, RowsFile.write

    def counted_call(self: Collection, method: str, options: dict[str, Any], **how: Any) -> Any:
        made = call(self, method, options, **how)
        if not how.get("finish"):
            return made
        # In a folder the call goes through the turn at its files: die when it is this one's turn.
        function = made.arguments[0] if made.arguments else made.function
        assert function is not None

        def counted(*arguments: Any, **named: Any) -> Any:
            step()
            return function(*arguments, **named)

        if made.arguments:
            return replace(made, arguments=(counted,))
        return replace(made, function=counted)

    def counted_advance(self: ChangeFile) -> int:
        step()
        return advance(self)

    def counted_write(self: RowsFile, name: str, rows: Any) -> None:
        step()
        write(self, name, rows)

    RowsFile.write = counted_write  # type: ignore[method-assign]
    Collection._call = counted_call  # type: ignore[method-assign]
    ChangeFile.advance = counted_advance  # type: ignore[method-assign]


def die_before_file_step(number: int) -> None:
    """Kill this process before that step of writing segments: begin a file, go on, rename it, or remove one."""
    steps = iter(range(number))

    def step() -> None:
        if next(steps, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)

    parts, replace_file, unlink = _segment._parts, os.replace, Path.unlink

    def counted_parts(*written: Any) -> Any:
        for place, part in enumerate(parts(*written)):
            if place in _PIECES:
                step()
            yield part

    def counted_replace(source: Any, target: Any) -> None:
        step()
        replace_file(source, target)

    def counted_unlink(self: Path, missing_ok: bool = False) -> None:
        if self.suffix == ".segment":
            step()
        unlink(self, missing_ok)

    _segment._parts = counted_parts
    os.replace = counted_replace  # type: ignore[assignment]
    Path.unlink = counted_unlink  # type: ignore[method-assign]


_WRITING = os.O_WRONLY | os.O_RDWR
_LOCKS = ("leafspan.lock", "leafspan.files")


def die_before_write(folder: Path, number: int) -> None:
    """Kill this process before that step of what it writes itself below a folder, all of it but Chroma's own files.

    Steps are to open a file for writing, to rename or remove one, to make or remove a folder; the beginning and the middle of a
    segment; and of what is written at the end of a catalogue the beginning, the middle and the end.
    """
    steps = iter(range(number))
    inside = str(folder) + os.sep

    def step() -> None:
        if next(steps, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)

    def heard(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and not (isinstance(arguments[2], int) and arguments[2] & _WRITING):
            return
        if event in ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir"):
            path = os.fsdecode(arguments[0]) if isinstance(arguments[0], str | bytes | os.PathLike) else ""
            # rmtree names what it removes by the folder that it is in.
            removed = event in ("os.remove", "os.rmdir") and os.sep not in path
            if (path.startswith(inside) or removed) and not path.endswith(_LOCKS):
                step()

    parts, write_some = _segment._parts, os.write

    def counted_parts(*written: Any) -> Any:
        for place, part in enumerate(parts(*written)):
            if place in _PIECES:
                step()
            yield part

    def counted_write(descriptor: int, content: bytes) -> int:
        if not os.path.realpath(f"/proc/self/fd/{descriptor}").startswith(inside):
            return write_some(descriptor, content)
        step()
        half = len(content) // 2
        if next(steps, None) is None:
            write_some(descriptor, content[:half])
            os.kill(os.getpid(), signal.SIGKILL)
        written = write_some(descriptor, content)
        step()
        return written

    _segment._parts = counted_parts
    os.write = counted_write
    sys.addaudithook(heard)


def write(job: dict[str, Any]) -> None:
    """Add, sync and delete documents, and bring the segments up to date (``mirror``); or ``adopt`` a collection of the folder.

    With ``repair``, repair it. With ``often``, merge segments and rewrite the catalogue at every occasion. With
    ``handshake``, say when ready and wait for an answer; with ``die``, ``die_at_file`` or ``die_at_write``, which has a folder
    and a number, be killed.
    """
    if "die_at_write" in job:
        die_before_write(Path(job["die_at_write"][0]), job["die_at_write"][1])
    if "adopt" in job:
        if "die" in job:
            die_before_step(job["die"])
        adopt_collection(job["place"], job["adopt"], group=job["batch"])
        say("done")
        return
    index = open_index(job["place"])
    if job.get("often"):
        _mirror._MOST_APPENDED, _mirror.MOST_SEGMENTS, _rows_file._FEW = 0, 1, 0
    if "batch" in job:
        index._store.batch = job["batch"]
    if job.get("handshake"):
        say("ready")
        hear()
    if "die" in job:
        die_before_step(job["die"])
    if "add" in job:
        index.add([document(*each) for each in job["add"]])
    if "sync" in job:
        index.sync(Path(job["sync"]))
    if "delete" in job:
        index.delete(job["delete"])
    if job.get("doctor"):
        index.repair(verify=True)
    if job.get("mirror"):
        _mirror.MOST_SEGMENTS = 3
        if "die_at_file" in job:
            die_before_file_step(job["die_at_file"])
        index.retrieve("anything", BM25())
        index.retrieve("anything", Vector(), where=F("version") < 2)
    say("done")


def fork(_: dict[str, Any]) -> None:
    """Do each job that comes as a line in a fork, and say its process id, then its return code.

    Nothing but imports happens before, so a fork is as good as a new process, and a second faster.
    """
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            try:
                with Path(os.devnull).open("w") as sys.stdout:
                    write(json.loads(line))
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        say(str(pid))
        say(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))


def create(job: dict[str, Any]) -> None:
    """Like ``write``, but with the handshake before the index is opened."""
    say("ready")
    hear()
    write(job)


def hold(job: dict[str, Any]) -> None:
    """Be the writer until told to go."""
    index = open_index(job["place"])
    writer = run(index._store.start_writing(60.0, []))
    say("held")
    hear()
    writer.stop()
    say("done")


def hold_files(job: dict[str, Any]) -> None:
    """Use Chroma's files until told to stop."""
    index = open_index(job["place"])
    with index._store._folder.files.locked(time.monotonic() + 60.0):
        say("held")
        hear()
    say("done")


def read(job: dict[str, Any]) -> None:
    """Read all the time, and check what is seen against the states that a writer says it starts and has completed."""
    index = open_index(job["place"])
    states = job["states"]
    told = {"started": 0, "completed": 0}
    waiting: list[Callable[[], None]] = []
    mutex = threading.Lock()
    stop = threading.Event()

    def listen() -> None:
        while (line := hear()) not in ("", "stop"):
            word, number = line.split()
            with mutex:
                told[word] = int(number)
                # Of what is completed, a whole look at the index that begins from now on must know.
                waiting.append(lambda: say("looked")) if word == "completed" else say("ready")
        stop.set()

    threading.Thread(target=listen, daemon=True).start()
    say("open")
    failures: list[str] = []
    looks = 0
    while not stop.is_set():
        with mutex:
            answers, waiting[:] = list(waiting), []
        failures += look(index, states, told)
        looks += 1
        for answer in answers:
            answer()
    say(json.dumps({"looks": looks, "failures": failures[:_SHOWN]}))


def ask(job: dict[str, Any]) -> None:
    """Ask by words all the time, until told to stop; say what was wrong, and what is found at last."""
    _mirror.MOST_SEGMENTS = 2
    index = open_index(job["place"])
    versions = range(1, job["versions"] + 1)
    texts = {name: {None: None} | {version: document(name, version).text for version in versions} for name in job["names"]}
    stop = threading.Event()

    def listen() -> None:
        hear()
        stop.set()

    threading.Thread(target=listen, daemon=True).start()
    say("open")
    failures: list[str] = []
    looks = 0
    last = False
    while not last:
        last = stop.is_set()
        passages = index.retrieve("which sentence number", BM25(), k=ALL, candidates=ALL)
        failures += broken(passages, texts)
        near = index.retrieve("anything", Vector(), k=ALL, candidates=ALL, where=F("version") != 0)
        failures += broken(near, texts)
        looks += 1
    found = [(passage.document_id, passage.start, passage.text) for passage in passages]
    last_texts = [(name, text) for name, _, text in sorted(found)]
    say(json.dumps({"looks": looks, "failures": failures[:_SHOWN], "last": last_texts}))


def look(index: Any, states: list[dict[str, Any]], told: dict[str, int]) -> list[str]:
    """One look at the index in every way; what was wrong with it."""
    failures = []
    for strategy in (Vector(), AutoMerging(max_words=None)):
        since = told["completed"]
        passages = index.retrieve("anything", strategy, k=ALL, candidates=ALL)
        failures += broken(passages, allowed(states, since, told["started"]), strategy)
    for name in states[0]:
        since = told["completed"]
        text = text_of(index, name)
        if text not in allowed(states, since, told["started"])[name].values():
            failures.append(f"get({name!r}) is {text!r}")
    return failures


def allowed(states: list[dict[str, Any]], since: int, until: int) -> dict[str, dict[int | None, str | None]]:
    """For each document the versions that it has in one of these states, with their texts; None: it is not there."""
    return {
        name: {
            state[name]: None if state[name] is None else document(name, state[name]).text
            for state in states[since : until + 1]
        }
        for name in states[0]
    }


if __name__ == "__main__":
    told = json.loads(sys.argv[1])
    {
        "write": write,
        "fork": fork,
        "create": create,
        "hold": hold,
        "hold_files": hold_files,
        "read": read,
        "ask": ask,
    }[told["job"]](told)
