"""After a fork, the child of a process with an embedded Chroma can read, and gets an error at once if it writes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from leafspan import Document, Index
from tests import warm
from tests.profiles import quick

if not hasattr(sys.modules["os"], "fork"):
    pytest.skip("this system has no fork", allow_module_level=True)

_ROOT = Path(__file__).parents[2]

_SCRIPT = """
import asyncio, json, os, sys, time
import chromadb
import leafspan
from chromadb.config import Settings
from leafspan import Document, Index, LeafspanError, Vector

what, folder = sys.argv[1:]
documents = [Document("a", "Some text. And more.")]
index = None
if what in ("open", "closed"):
    index = Index.open(folder)
    index.add(documents)
if what == "closed":
    index.close()
if what == "memory":
    index = Index.open(client=chromadb.EphemeralClient())
    index.add(documents)
if what == "chroma alone":
    client = chromadb.PersistentClient(folder, settings=Settings(anonymized_telemetry=False))
    client.list_collections()
child = os.fork()
if not child:
    calls = {
        "open": lambda: Index.open(folder),
        "open another": lambda: Index.open(folder + "-another"),
        "aopen": lambda: asyncio.run(Index.aopen(folder)),
    }
    if what != "memory":
        calls["adopt"] = lambda: leafspan.adopt(folder, folder + "-adopted")
    if what in ("open", "memory"):
        calls |= {
            "count": lambda: index.count(),
            "retrieve": lambda: index.retrieve("text", Vector()),
            "add": lambda: index.add([Document("a", "Another text.")]),
            "delete": lambda: index.delete(["a"]),
            "doctor": lambda: index.repair(),
            "open again": lambda: Index.open(folder),  # what was refused has left no mark by which reading is in doubt
            "retrieve again": lambda: index.retrieve("text", Vector()),
        }
    for name, call in calls.items():
        started = time.monotonic()
        try:
            call()
            said = "nothing"
        except LeafspanError as error:
            said = f"{type(error).__name__}: {error}"
        print(json.dumps([name, said, time.monotonic() - started]), flush=True)
    if index is not None:
        index.close()
    sys.exit(7)  # an ordinary end, at which Python deletes what the parent had made
deadline = time.monotonic() + 30
while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
    if time.monotonic() > deadline:
        os.kill(child, 9)
        sys.exit("the forked process hangs")
    time.sleep(0.05)
if what in ("open", "memory"):
    assert index.count() == 1
    assert index.add(Document("b", "Another.")).added == ("b",)
print(json.dumps(["ended", os.waitstatus_to_exitcode(ended[1]), 0]))
"""


@pytest.mark.parametrize("what", quick(1, ["open", "closed", "memory", "chroma alone"]))
def test_a_forked_process_is_refused_at_once_what_needs_chroma_and_ends_and_its_parent_goes_on(
    tmp_path: Path, what: str
) -> None:
    command = [sys.executable, "-W", "ignore", "-c", _SCRIPT, what, str(tmp_path / "kb")]
    done = warm.run(command, check=False, cwd=_ROOT, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr[-2000:]
    met = [json.loads(line) for line in done.stdout.splitlines()]
    assert met.pop() == ["ended", 7, 0]
    assert len(met) == {"open": 11, "memory": 10}.get(what, 4)
    # What leafspan keeps beside Chroma is not Chroma's, so what was written can be read.
    readable = {"open", "aopen", "count", "retrieve", "open again", "retrieve again"}
    can = {"open": readable, "closed": {"open", "aopen"}}.get(what, set())
    assert {name for name, said, _ in met if said == "nothing"} == can
    for name, said, seconds in met:
        if name in can:
            continue
        assert said.startswith("ForkedProcess: "), (name, said)
        assert "open indexes after the fork only" in said
        assert seconds < 5, name
    assert not (tmp_path / "kb-another").exists()


_BESIDE_A_WRITER = """
import os, sys
from pathlib import Path
from leafspan import Document, Index
from leafspan.engines.local._change_file import ChangeFile

folder = sys.argv[1]
index = Index.open(folder)
index.add(Document("a", "Some text. And more."))
changes = ChangeFile(Path(folder) / "leafspan.changes")
changes.writing = changes.touching = True  # as a writer of another process does that is at work, and a killed one leaves it
child = os.fork()
if not child:
    for each in (index, Index.open(folder)):
        print(each.retrieve("text", k=1)[0].text)
    sys.exit()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_process_reads_also_while_a_writer_is_at_work(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", _BESIDE_A_WRITER, str(tmp_path / "kb")]
    done = warm.run(command, check=False, cwd=_ROOT, capture_output=True, text=True, timeout=90)
    assert (done.stdout, done.returncode) == ("Some text. And more.\n" * 2, 0), done.stderr[-2000:]


@pytest.mark.slow
def test_a_process_forked_before_anything_was_opened_can_open_an_index(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-c",
        _SCRIPT.replace("sys.exit(7)", "os._exit(7)"),
        "nothing",
        str(tmp_path / "kb"),
    ]
    done = warm.run(command, check=False, cwd=_ROOT, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr[-2000:]
    met = [json.loads(line) for line in done.stdout.splitlines()]
    assert [said for name, said, _ in met if "open" in name] == ["nothing"] * 3


_BUSY = """
import os, sys, threading
from leafspan import Hybrid, Index
from leafspan.segments import Mirror
from leafspan.store import _folder

index = Index.open(sys.argv[1])
expected = index.retrieve("text", Hybrid())
folder, indexes = index._store._folder, index._sources.indexes
locks = [*_folder._mutexes.values(), folder._mutex]
locks += [each._mutex for each in (indexes.words.mirror, indexes.vectors, indexes.records)]
for lock in locks:  # as held by threads that open, read and follow at the moment of the fork
    assert lock.acquire(blocking=False)
child = os.fork()
if not child:
    os._exit(0 if index.count() == 1 and Index.open(sys.argv[1]).retrieve("text", Hybrid()) == expected else 3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
os._exit(0)
"""


def test_a_forked_process_waits_for_no_thread_of_its_parent(tmp_path: Path) -> None:
    with Index.open(tmp_path / "kb") as index:
        index.add(Document("a", "Some text. And more."))
    command = [sys.executable, "-W", "ignore", "-c", _BUSY, str(tmp_path / "kb")]
    done = warm.run(command, check=True, cwd=_ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout == "0\n"
