"""Files are read in a process with limits: what passes them, or ends the process, is skipped, and the others are read."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from leafspan import Files, Index
from leafspan.documents import check_document
from leafspan.files import FileReading, _formats, _reader_process
from leafspan.files._reader_process import Limits
from leafspan.splitting import layout_of
from tests.files import hostile
from tests.files.test_kinds import read
from tests.office import docx, epub, odp, ods, odt, pptx, xlsx
from tests.pdf import pdf

# A process whose reader of CSV evaluates the file.
EVALUATES = """
import ctypes, os, signal, sys, time, zlib
sys.path[:] = sys.argv[1:]
from leafspan.files import _formats, _reader_process
from leafspan.files._record import Record
def evaluated(path, files):
    for each in eval(path.read_text()):
        yield Record(each, None, {}, part=str(len(each)))
_formats.READERS[".csv"] = evaluated
_reader_process.serve()
"""
BUSY = "[str(end) for end in [time.process_time() + .6] for _ in iter(lambda: time.process_time() < end, False)][-1:]"
SECOND = "more than 1 seconds of processor time"
BYTES = "536,870,912 bytes"
HOSTILE = {
    "sum(1 for _ in iter(int, 1))": f"reading it takes {SECOND}",
    "'x' * 100 in str(10 ** 10 ** 8)": f"reading it takes {SECOND}",  # without Python's own loop
    "[b'x' * 2**30]": f"reading it takes more memory than {BYTES}",
    "[bytearray(2**20) for _ in iter(int, 1)]": f"reading it takes more memory than {BYTES}",
    "['x' * 2**21]": "its documents are larger than 1,048,576 bytes",
    "('x' * 2**16 for _ in iter(int, 1))": "its documents are larger than 1,048,576 bytes",
    "zlib.decompress(b'x' * 9)": "it cannot be read: error: Error -3 while decompressing data: incorrect header check",
    "(lambda f: f(f))(lambda f: f(f))": "it is nested too deeply to be read",
    "sys.exit()": "it cannot be read: SystemExit",
    "ctypes.string_at(0)": f"its reader ended (signal 11): it may take {SECOND}, or more memory than {BYTES}",
    "os.abort()": f"its reader ended (signal 6): it may take {SECOND}, or more memory than {BYTES}",
    "os.kill(os.getpid(), 9)": f"its reader ended (signal 9): it may take {SECOND}, or more memory than {BYTES}",
    "os._exit(0)": f"its reader ended (exit code 0): it may take {SECOND}, or more memory than {BYTES}",
    "[print('tea'), os.write(1, b'tea')]": "it cannot be read: TypeError",
}

first, *others = HOSTILE  # the first is the second with Python's own loop


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No process is there yet, and none stays."""
    monkeypatch.setattr(_reader_process, "_idle", [])
    yield
    _reader_process._end_all()


def process() -> psutil.Process:
    """The idle process that reads files."""
    [idle] = _reader_process._idle
    return psutil.Process(idle._popen.pid)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("hostile", [pytest.param(first, marks=pytest.mark.slow), *others])
def test_what_passes_a_limit_or_ends_the_process_is_skipped_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hostile: str
):
    monkeypatch.setattr(_reader_process, "LIMITS", Limits(1, 2**29, 2**20))
    monkeypatch.setattr(_reader_process, "_CODE", EVALUATES)
    for name, text in {"a.csv": "['Tea.']", "m.csv": hostile, "n.html": "Tea.", "z.csv": "['Tea.', 'Milk.']"}.items():
        (tmp_path / name).write_text(text)
    documents, [skipped] = read(tmp_path)
    assert [each.id for each in documents if "m.csv" not in each.id] == ["a.csv#4", "n.html", "z.csv#4", "z.csv#5"]
    assert skipped.path == "m.csv"
    assert skipped.reason.startswith(HOSTILE[hostile])


@pytest.mark.usefixtures("alone")
def test_the_time_of_earlier_files_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_reader_process, "LIMITS", Limits(1, 2**31, 2**20))
    monkeypatch.setattr(_reader_process, "_CODE", EVALUATES)
    for number in range(2):  # together longer than the limit
        (tmp_path / f"{number}.csv").write_text(BUSY)
    documents, skipped = read(tmp_path)
    assert (len(documents), skipped) == (2, [])


class _Panic(BaseException):
    """As a library in Rust raises it."""


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("odd"), "it cannot be read: ValueError: odd"),
        (ValueError("x" * 10_000), f"it cannot be read: ValueError: {'x' * 169}"),
        (__import__("zlib").error("invalid block type"), "it cannot be read: error: invalid block type"),
        (__import__("lzma").LZMAError("Corrupt input data"), "it cannot be read: LZMAError: Corrupt input data"),
        (LookupError("unknown encoding: x"), "it cannot be read: LookupError: unknown encoding: x"),
        (AssertionError(), "it cannot be read: AssertionError"),
        (RecursionError(), "it is nested too deeply to be read"),
        (MemoryError(), "reading it takes more memory than there is"),
        (_Panic("index out of bounds"), "it cannot be read: _Panic: index out of bounds"),
        (SystemExit(3), "it cannot be read: SystemExit: 3"),
        (StopIteration(), "it cannot be read: RuntimeError: generator raised StopIteration"),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("suffix", [".md", ".docx", ".xyz"])
@pytest.mark.usefixtures("read_here")
def test_any_exception_of_a_reader_is_a_skipped_file_and_the_others_go_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, error: BaseException, reason: str
):
    def failing(path: Path, *_: Any) -> Iterator[Any]:
        raise error
        yield

    if suffix != ".xyz":
        monkeypatch.setitem(_formats.READERS, suffix, failing)
    readers = {".xyz": lambda path: list(failing(path))} if suffix == ".xyz" else {}
    for name in (f"b{suffix}", "a.txt", "c.txt"):
        (tmp_path / name).write_text("Tea.")
    documents, [skipped] = read(tmp_path, readers=readers)
    assert [each.id for each in documents] == ["a.txt", "c.txt"]
    assert skipped.path == f"b{suffix}"
    if suffix != ".xyz" or not isinstance(error, Exception):
        assert skipped.reason == reason


@pytest.mark.usefixtures("read_here")
@pytest.mark.parametrize("suffix", [".md", ".docx"])
def test_an_interruption_is_none_of_these(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str):
    def interrupted(*_: Any) -> Iterator[Any]:
        raise KeyboardInterrupt
        yield

    monkeypatch.setitem(_formats.READERS, suffix, interrupted)
    (tmp_path / f"a{suffix}").write_text("Tea.")
    with pytest.raises(KeyboardInterrupt):
        read(tmp_path)


@pytest.mark.usefixtures("alone")
def test_one_process_reads_many_files_and_texts_need_none(tmp_path: Path):
    for number in range(30):
        (tmp_path / f"{number}.md").write_text("Tea.")
    assert len(read(tmp_path)[0]) == 30
    assert _reader_process._idle == []
    for number in range(30):
        (tmp_path / f"{number}.html").write_text("Tea.")
    assert len(read(tmp_path)[0]) == 60
    first = process()
    assert len(read(tmp_path)[0]) == 60
    assert process() == first


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_a_process_that_is_killed_while_idle_is_replaced(tmp_path: Path, how: signal.Signals):
    (tmp_path / "a.html").write_text("Tea.")
    read(tmp_path)
    first = process()
    first.send_signal(how)
    first.wait()
    assert [each.id for each in read(tmp_path)[0]] == ["a.html"]
    assert process() != first


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_a_process_that_is_killed_at_work_costs_at_most_the_file_that_it_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: signal.Signals
):
    started = []
    start = _reader_process._new_process
    monkeypatch.setattr(_reader_process, "_new_process", lambda: started.append(start()) or started[-1])
    for number in range(40):
        (tmp_path / f"{number:02}.html").write_text(f"Tea {number}.")
    reading = FileReading(check_document, tmp_path)
    documents = reading.read(Files(tmp_path))
    found = [next(documents).id]
    child = psutil.Process(started[-1]._popen.pid)
    child.send_signal(how)
    child.wait()
    found += [each.id for each in documents]
    assert len(found) + len(reading.skipped) == 40
    assert len(reading.skipped) <= (how == signal.SIGSEGV)
    assert found == sorted(set(found))


@pytest.mark.usefixtures("alone")
def test_a_reading_that_is_given_up_ends_its_process(tmp_path: Path):
    for number in range(40):
        (tmp_path / f"{number:02}.html").write_text(f"Tea {number}.")
    documents = FileReading(check_document, tmp_path).read(Files(tmp_path))
    next(documents)
    documents.close()
    assert _reader_process._idle == []
    assert len(read(tmp_path)[0]) == 40


@pytest.mark.usefixtures("alone")
def test_threads_read_at_the_same_time(tmp_path: Path):
    for number in range(20):
        (tmp_path / f"{number:02}.html").write_text(f"Tea {number}.")
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(len(read(tmp_path)[0]))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [20] * 4
    assert len(_reader_process._idle) <= 2


@pytest.mark.usefixtures("alone")
def test_after_a_fork_each_process_has_a_reader_of_its_own(tmp_path: Path):
    (tmp_path / "a.html").write_text("Tea.")
    read(tmp_path)
    first = process()
    with warnings.catch_warnings(action="ignore"):  # Python warns of a fork beside threads
        child = os.fork()
    if not child:
        ok = [each.id for each in read(tmp_path)[0]] == ["a.html"] and process() != first
        _reader_process._end_all()
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert [each.id for each in read(tmp_path)[0]] == ["a.html"]
    assert process() == first


SCRIPT = """
import json, os, sys
from pathlib import Path
from leafspan.documents import check_document
from leafspan.files import FileReading, Files, _reader_process
reading = FileReading(check_document, Path(sys.argv[1]))
print(json.dumps([each.id for each in reading.read(Files(sys.argv[1]))]))
print([each._popen.pid for each in _reader_process._idle], flush=True)
{then}
"""


def run(folder: Path, then: str = "", *options: str, before: str = "") -> subprocess.Popen[str]:
    script = folder.parent / "script.py"
    script.write_text(before + SCRIPT.format(then=then))
    env = {**os.environ, "PYTHONPATH": str(Path(_reader_process.__file__).parents[2])}
    return subprocess.Popen(
        [sys.executable, *options, str(script), str(folder)],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.html").write_text("Tea.")
    (folder / "b.csv").write_text("Kind\nTea\n")
    (folder / "c.pdf").write_bytes(pdf(["Tea."]))
    return folder


NAMES = ["a.html", "b.csv", "c.pdf"]


@pytest.mark.parametrize("options", [(), ("-W", "error", "-X", "dev")])
def test_a_script_needs_no_guard_and_its_end_is_the_processs(docs: Path, options: tuple[str, ...]):
    with run(docs, "", *options) as child:
        out, errors = child.communicate()
    names, pids = map(json.loads, out.splitlines())
    assert (names, errors) == (NAMES, "")
    assert len(pids) == 1
    assert not psutil.pid_exists(pids[0])


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_the_process_ends_with_a_parent_that_is_killed(docs: Path, how: signal.Signals):
    with run(docs, "sys.stdin.read()") as child:
        assert child.stdout is not None
        assert json.loads(child.stdout.readline()) == NAMES
        [pid] = json.loads(child.stdout.readline())
        reader = psutil.Process(pid)
        child.send_signal(how)
        child.communicate()
        _, alive = psutil.wait_procs([reader], 60)
    assert [each for each in alive if each.status() != psutil.STATUS_ZOMBIE] == []


@pytest.mark.parametrize(
    "before",
    [
        "import sys; sys.executable = ''\n",
        "import sys; sys.executable = '/nowhere/python'\n",
        "import sys; sys.executable = '/bin/true'\n",
        "import sys; sys.executable = '/bin/echo'\n",
        "import sys; sys.frozen = True\n",
        "import sys; sys.modules['resource'] = None\n",
        "import subprocess\ndef refuse(*_, **__): raise PermissionError('no')\nsubprocess.Popen = refuse\n",
    ],
    ids=["no name", "no file", "ends", "another program", "frozen", "no limits", "refused"],
)
def test_where_no_process_can_be_started_files_are_read_here_and_that_is_said_once(docs: Path, before: str):
    twice = "print(len([*FileReading(check_document).read(Files(sys.argv[1]))]))"
    with run(docs, twice, before=before) as child:
        out, errors = child.communicate()
    assert child.returncode == 0, errors
    assert json.loads(out.splitlines()[0]) == NAMES
    assert out.splitlines()[1:] == ["[]", "3"]
    assert errors.count("files are read without limits of time and memory") == 1


def test_a_module_beside_the_working_folder_is_not_imported(docs: Path, monkeypatch: pytest.MonkeyPatch):
    """A folder of documents may hold modules of any name."""
    for name in ("resource", "mammoth", "markdownify", "bs4", "leafspan", "struct", "pickle"):
        (docs / f"{name}.py").write_text("raise SystemExit")
    monkeypatch.chdir(docs)
    with run(docs) as child:
        out, errors = child.communicate()
    assert set(NAMES) <= set(json.loads(out.splitlines()[0])), errors


@pytest.mark.usefixtures("alone")
async def test_asynchronous_calls_use_the_process(docs: Path, tmp_path: Path):
    with Index.open(tmp_path / "kb") as index:
        assert len((await index.a_sync(docs)).added) == 3
        assert (await index.aadd(docs)).unchanged == 3
    assert process().is_running()


def test_workers_read_within_limits(docs: Path, tmp_path: Path):
    (docs / "m.csv").write_bytes(b"a" + b"\0" * 10 + b"\n")
    with Index.open(tmp_path / "kb") as index:
        assert len(index.sync(docs, workers=1).added) >= 3


def test_reading_gives_the_same_in_the_process_and_here(docs: Path, monkeypatch: pytest.MonkeyPatch):
    there = list(FileReading(check_document, docs).read(Files(docs)))
    monkeypatch.setattr(_reader_process, "_is_refused", True)
    monkeypatch.setattr(_reader_process, "_idle", [])
    here = list(FileReading(check_document, docs).read(Files(docs)))
    assert [replace(each, layout=None) for each in there] == here
    assert [each.layout for each in there] == [layout_of(each.text, each.markup) for each in here]


@pytest.mark.parametrize("suffix", [".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp", ".epub"])
@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_an_archive_that_is_packed_in_an_unusual_way_is_refused_early(tmp_path: Path, suffix: str, method: int):
    with zipfile.ZipFile(tmp_path / f"a{suffix}", "w", method) as file:
        file.writestr("word/document.xml", bytes(2**20))
    _, [skipped] = read(tmp_path)
    assert skipped.reason == "it has files in it that are neither stored nor deflated"


def test_an_office_file_that_declares_a_document_type_is_refused_early(tmp_path: Path):
    declared = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "Tea">]><a>&b;</a>'
    (tmp_path / "a.docx").write_bytes(docx([("", "Tea.")], body=declared))
    (tmp_path / "b.epub").write_bytes(epub({"a.xhtml": "<p>Tea.</p>"}))
    documents, [skipped] = read(tmp_path)
    assert [each.id for each in documents] == ["b.epub"]
    assert skipped.reason == "its part 'word/document.xml' declares a document type, as no Office file does"


OFFICE = {
    ".docx": docx([("Heading1", "Tea"), ("", "Leaves. " * 500)], title="Tea"),
    ".xlsx": xlsx({"S": [["Kind"], *[[f"Tea {n}"] for n in range(300)]]}),
    ".pptx": pptx([("Tea", "Leaves", "Notes")]),
    ".odt": odt([(1, "Tea"), (0, "Leaves. " * 500)]),
    ".ods": ods({"S": [["Kind"], *[[f"Tea {n}"] for n in range(300)]]}),
    ".odp": odp([("Tea", "Leaves")]),
    ".epub": epub({"a.xhtml": "<p>Leaves.</p>" * 300}),
}


@pytest.mark.parametrize("suffix", OFFICE)
def test_a_damaged_entry_of_an_archive_is_a_skipped_file_or_none_of_the_text(tmp_path: Path, suffix: str):
    """An entry is damaged, as by a broken disk or transfer: no exception ends the sync."""
    with zipfile.ZipFile(io.BytesIO(OFFICE[suffix])) as file:
        places = [entry.header_offset + 30 + len(entry.filename) + entry.compress_size // 2 for entry in file.infolist()]
    for number, place in enumerate(places):
        data = bytearray(OFFICE[suffix])
        data[place] ^= 0xFF
        (tmp_path / f"{number:02}{suffix}").write_bytes(data)
    (tmp_path / "z.html").write_text("Tea.")
    documents, skipped = read(tmp_path)
    assert documents[-1].id == "z.html"
    assert len(documents) - 1 + len(skipped) >= len(places)
    assert skipped != []


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("name", hostile.FILES)
def test_a_small_hostile_file_ends_within_the_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    """It may be read or not. The caller's process has little to do with it."""
    monkeypatch.setattr(_reader_process, "LIMITS", Limits(3, 2**31, 2**26))
    suffix, make = hostile.FILES[name]
    data = make()
    assert len(data) < 2_000_000
    (tmp_path / f"a{suffix}").write_bytes(data)
    (tmp_path / "z.html").write_text("Tea.")
    with Index.open(tmp_path / "kb") as index:
        before = time.process_time()
        synced = index.sync(tmp_path)
        assert time.process_time() - before < 20
    assert "z.html" in synced.added
    assert len(synced.added) + len(synced.skipped) >= 2
