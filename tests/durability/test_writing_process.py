"""Another process writes for this one: whichever of the two is killed, and when, nothing is lost, and nobody is overtaken."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leafspan import Index, LeafspanError, StorageFailed, Vector, WriterBusy
from leafspan.flows import Call, _head_start, run
from leafspan.indexing import _ingest
from leafspan.store import _folder_store, _writing_process
from leafspan.store._collection_elsewhere import CollectionElsewhere
from leafspan.store._writer import Writer
from leafspan.store._writing_messages import Ask
from leafspan.store._writing_process import SWITCH, WritingProcess
from tests.durability.children import ForkServer, child
from tests.durability.elsewhere import SECONDS, before_step, wait_until, writing_process
from tests.durability.test_kill import BATCH, NEW, OLD, check_whole, versions
from tests.durability.versions import ALL, document, open_index, records, text_of

_ROOT = Path(__file__).parents[2]
MANY = [(f"d{number}", 1, 300) for number in range(4)]


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as it was before the add that is to be killed."""
    place = tmp_path_factory.mktemp("before") / "kb"
    with open_index({"path": str(place)}) as index:
        index.add([document(*each) for each in OLD])
    return place


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, before: Path) -> dict[str, Any]:
    """The records after an add that nothing disturbed, written in this process."""
    place = shutil.copytree(before, tmp_path_factory.mktemp("undisturbed") / "kb")
    with open_index({"path": str(place)}) as index:
        index._store.batch = BATCH
        index.add([document(*each) for each in NEW])
        return records(index)


@pytest.fixture
def index(tmp_path: Path, before: Path) -> Iterator[Index]:
    with open_index({"path": str(shutil.copytree(before, tmp_path / "kb"))}) as opened:
        opened._store.batch = BATCH
        yield opened


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServer]:
    opened = ForkServer()
    yield opened
    opened.close()


def is_there(pid: int) -> bool:
    """Whether a process runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z" if os.path.isdir("/proc") else True


def pid_of(process: WritingProcess) -> int:
    assert process.pid is not None
    return process.pid


_DIED = re.compile(r"the process that writes '.*' for this one has ended before it was done( \(signal 9\))?: do it")


def failure_of(call: Callable[[], object]) -> str | None:
    """What StorageFailed says, None if nothing fails."""
    try:
        call()
    except StorageFailed as error:
        return str(error)
    return None


def test_what_another_process_writes_is_what_this_one_would(index: Index, undisturbed: dict[str, Any]) -> None:
    process = writing_process(index)
    assert index.add([document(*each) for each in NEW]).replaced == ("first", "second", "third")
    assert process.is_ready
    check_whole(index, versions(NEW))
    # This process has let go of Chroma, and sees what was written when it opens it again; so does the other one.
    assert index.delete(["newest"]) == ["newest"]
    assert index.add(document("newest", 1, 9)).added == ("newest",)
    assert process.is_ready
    assert records(index) == undisturbed
    assert index.repair() == []


async def test_an_aadd_of_many_leaves_is_written_by_another_process_and_small_writes_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_ingest, "_MUCH", 1_000)
    index = open_index({"path": str(tmp_path / "kb")})
    folder = index._store._folder
    await index.aadd(document("small", 1, 300))
    assert folder.process is None
    begun: list[WritingProcess] = []
    begin = WritingProcess.begin
    monkeypatch.setattr(WritingProcess, "begin", lambda self, message: (begun.append(self), begin(self, message))[1])
    await index.aadd([document(*each) for each in MANY])
    assert begun == [folder.process]
    assert text_of(index, "d3") == document(*MANY[3]).text
    index.close()


def written_at_once(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of documents that are written at once, in the order of writing."""
    numbers: list[int] = []
    replace = Writer.replace

    def noting(self: Writer, documents: Sequence[Any], *arguments: Any) -> Any:
        numbers.append(len(documents))
        return (yield from replace(self, documents, *arguments))

    monkeypatch.setattr(Writer, "replace", noting)
    return numbers


def test_the_first_group_is_a_small_one_where_another_process_can_begin_to_write_it(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_ingest, "_FIRST", 50)
    index._store.batch = ALL
    numbers = written_at_once(monkeypatch)
    many = [document(f"d{number}", 1, 20) for number in range(12)]
    with monkeypatch.context() as alone:
        alone.setenv(SWITCH, "0")
        index.add(many)
    writing_process(index)
    index.add([document(f"d{number}", 2, 20) for number in range(12)])
    assert numbers == [12, 3, 9]  # 20 leaves each
    assert [text_of(index, each.id) for each in many] == [document(each.id, 2, 20).text for each in many]


def test_an_add_of_many_leaves_waits_for_the_process_but_not_for_long(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_ingest, "_MUCH", 30)
    monkeypatch.setattr(_ingest, "_MUCH_BLOCKING", 30)
    monkeypatch.setattr(_folder_store, "_BLOCKING_SECONDS", SECONDS)  # on a busy machine it starts slowly
    begun = []
    begin = WritingProcess.begin
    monkeypatch.setattr(WritingProcess, "begin", lambda self, message: (begun.append(self), begin(self, message))[1])
    index.add(document("a", 1, 40))
    assert begun == [index._store._folder.process]
    index._store._folder.end_process()
    monkeypatch.setattr(_folder_store, "_BLOCKING_SECONDS", 0.0)
    index.add(document("b", 1, 40))
    assert len(begun) == 1
    process = index._store._folder.process  # it may go on starting, and write what comes next
    assert process.wait(SECONDS)
    index.add(document("c", 1, 40))
    assert begun[1:] == [process]
    assert index.repair() == []


def test_a_process_that_is_slow_to_start_is_waited_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(_writing_process, "_talk", lambda *_: None)  # so it never starts
    process = WritingProcess(tmp_path, "leaves")
    monkeypatch.setattr(process._line.started, "wait", waits.append)
    assert not process.wait(5.0, or_kill=False)
    process._began -= 4.0  # as if four seconds had gone by
    assert not process.wait(5.0, or_kill=False)
    process._began -= 4.0
    assert not process.wait(5.0, or_kill=False)
    first, second, third = waits
    assert 1.0 < first <= 5.0
    assert second <= 1.0
    assert third == 0.0


@pytest.mark.parametrize("is_awaited", [False, True], ids=["add", "aadd"])
async def test_the_next_documents_are_split_when_the_process_has_got_the_ones_before(
    index: Index, monkeypatch: pytest.MonkeyPatch, is_awaited: bool
) -> None:
    events: list[str] = []
    split_document, ask = _ingest.split_document, WritingProcess.ask

    def splitting(document: Any, *arguments: Any) -> Any:
        events.append("split")
        return split_document(document, *arguments)

    def asking(self: WritingProcess, message: Any, sent: Callable[[], None] = lambda: None) -> Any:
        def noted() -> None:
            events.append("sent")
            sent()

        return ask(self, message, noted if getattr(message, "method", "") == "add" else sent)

    writing_process(index)
    monkeypatch.setattr(_head_start, "_LONGEST_SECONDS", 30.0)
    monkeypatch.setattr(_ingest, "split_document", splitting)
    monkeypatch.setattr(WritingProcess, "ask", asking)
    new = [document(f"new-{number}", 1, BATCH) for number in range(3)]  # each fills a group
    await (index.aadd(new) if is_awaited else asyncio.to_thread(index.add, new))
    # The second one is split to find out that it does not fit into the first group; a group is sent, and then the next is made.
    assert events == ["split", "split", "sent", "split", "sent", "sent"]


def test_where_no_other_process_writes_the_next_documents_are_split_at_once(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    split_document, write_group = _ingest.split_document, _ingest.write_group
    left = ["first", "second, which does not fit in", "third"]
    all_split = threading.Event()
    waited: list[bool] = []

    def splitting(document: Any, *arguments: Any) -> Any:
        left.pop()
        if not left:
            all_split.set()
        return split_document(document, *arguments)

    def writing(*arguments: Any, **options: Any) -> Any:
        waited.append((yield Call(all_split.wait, (SECONDS,))))
        return (yield from write_group(*arguments, **options))

    monkeypatch.setattr(_head_start, "_LONGEST_SECONDS", 2 * SECONDS)
    monkeypatch.setattr(_ingest, "split_document", splitting)
    monkeypatch.setattr(_ingest, "write_group", writing)
    index.add([document(f"new-{number}", 1, BATCH) for number in range(3)])
    assert waited == [True] * 3


def test_a_text_in_metadata_is_written_by_another_process(tmp_path: Path) -> None:
    with Index.open(tmp_path / "kb", texts_in="metadata") as index:
        writing_process(index)
        index.add(document("a", 1))
        leaves = index.client.get_collection("kb.leaves").get()
        assert set(leaves["documents"]) == {None}
        assert index.get("a").text == document("a", 1).text


@pytest.mark.parametrize("step", [0, 2, pytest.param(None, marks=pytest.mark.slow)], ids=["begin", "leaves", "any step"])
def test_if_the_writing_process_is_killed_the_next_add_finishes_what_it_had_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: Path, undisturbed: dict[str, Any], step: int | None
) -> None:
    for number in itertools.count() if step is None else [step]:
        killed: list[int] = []

        def kill(process: WritingProcess, killed: list[int] = killed) -> None:
            killed.append(pid_of(process))
            os.kill(killed[0], signal.SIGKILL)

        with monkeypatch.context() as patch:
            for name in ("begin", "ask", "end"):  # put back after the block
                patch.setattr(WritingProcess, name, getattr(WritingProcess, name))
            before_step(number, kill)
            with open_index({"path": str(shutil.copytree(before, tmp_path / f"step-{number}"))}) as index:
                index._store.batch = BATCH
                writing_process(index)
                failure = failure_of(lambda index=index: index.add([document(*each) for each in NEW]))  # type: ignore[misc]
                check_whole(index, versions(OLD, NEW) if failure else versions(NEW))
                assert failure is None or _DIED.match(failure)
                assert (step is None) or (failure is None) == (step == 0)  # before the beginning, this process writes
                index.add([document(*each) for each in NEW])
                assert records(index) == undisturbed
                assert index.repair() == []
        if not killed:
            break
    assert step is not None or number > 20


@pytest.mark.parametrize("step", [2, pytest.param(None, marks=pytest.mark.slow)], ids=["leaves", "any step"])
def test_if_the_asking_process_is_killed_the_other_one_ends_and_the_next_add_finishes_its_work(
    tmp_path: Path, fork_server: ForkServer, before: Path, undisturbed: dict[str, Any], step: int | None
) -> None:
    for number in itertools.count() if step is None else [step]:
        place = {"path": str(shutil.copytree(before, tmp_path / f"step-{number}"))}
        code = fork_server.write(place, add=NEW, batch=BATCH, elsewhere=True, die_elsewhere=number)
        with open_index(place) as index:
            check_whole(index, versions(OLD, NEW) if code else versions(NEW))
            index._store.batch = BATCH
            index.add([document(*each) for each in NEW])
            assert records(index) == undisturbed
            assert index.repair() == []
        if code == 0:
            break
        assert code == -signal.SIGKILL
    assert step is not None or number > 20


def test_no_writer_begins_before_the_writing_process_of_a_killed_one_has_ended(tmp_path: Path, before: Path) -> None:
    place = {"path": str(shutil.copytree(before, tmp_path / "kb"))}
    with child("write_elsewhere", place, add=NEW) as writer, open_index(place, timeout=0.3) as index:
        other = int(writer.hear())
        os.kill(other, signal.SIGSTOP)  # while it holds its lock, and has been asked for more
        writer.say("go")
        writer.process.kill()
        writer.process.wait()
        try:
            with pytest.raises(WriterBusy):
                index.add(document("late", 1))
            assert text_of(index, "late") is None
        finally:
            os.kill(other, signal.SIGCONT)
        wait_until(lambda: not is_there(other))
        check_whole(index, versions(OLD))  # what it was asked for when nobody waited any more is not written
        assert index.add(document("late", 1)).added == ("late",)
        assert index.repair() == []


def test_ctrl_c_in_a_terminal_does_not_reach_the_writing_process(tmp_path: Path, before: Path) -> None:
    place = {"path": str(shutil.copytree(before, tmp_path / "kb"))}
    script = """
import os, signal, sys
from leafspan.store._writing_messages import Ask
from leafspan.store._writing_process import WritingProcess
from tests.durability.elsewhere import before_step, writing_process
from tests.durability.versions import document, open_index
index = open_index({"path": sys.argv[1]})
pid = writing_process(index).pid
before_step(2, lambda process: os.killpg(0, signal.SIGINT))
try:
    index.add([document("new", 1)])
except KeyboardInterrupt:
    os.kill(pid, 0)
    print(index.add([document("new", 1)]).added, index._store._folder.process.pid == pid, index.repair())
"""
    done = subprocess.run(
        [sys.executable, "-c", script, place["path"]],
        cwd=_ROOT, capture_output=True, text=True, timeout=90, check=False, start_new_session=True,
    )  # fmt: skip
    assert done.stdout == "('new',) True []\n", done.stderr[-2000:]


async def test_a_cancelled_aadd_holds_no_lock_when_it_has_ended(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    writing_process(index)
    adding, cancelled = threading.Event(), threading.Event()
    ask = WritingProcess.ask

    def late(self: WritingProcess, message: Any, *more: Any) -> Any:
        if isinstance(message, Ask):
            adding.set()
            cancelled.wait(30)
        return ask(self, message, *more)

    monkeypatch.setattr(WritingProcess, "ask", late)
    task = asyncio.create_task(index.aadd([document(*each) for each in NEW]))
    await asyncio.to_thread(adding.wait, 30)
    task.cancel()
    asyncio.get_running_loop().call_later(0.05, cancelled.set)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cancelled.is_set()
    await index.aadd([document(*each) for each in NEW])
    check_whole(index, versions(NEW))
    assert index.repair() == []


@pytest.mark.slow
async def test_a_task_cancelled_at_any_step_leaves_no_lock_and_whole_documents(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = writing_process(index)
    loop = asyncio.get_running_loop()
    index.add([document("first", 1), document("second", 1)])
    for step in itertools.count():
        version = step + 2
        new = [document("first", version), document("second", version)]
        with monkeypatch.context() as patch:
            for name in ("begin", "ask", "end"):  # put back after the block
                patch.setattr(WritingProcess, name, getattr(WritingProcess, name))
            task = asyncio.create_task(index.aadd(new))
            before_step(step, lambda _, task=task: loop.call_soon_threadsafe(task.cancel))
            (outcome,) = await asyncio.gather(task, return_exceptions=True)
        for name in ("first", "second"):
            assert text_of(index, name) in (document(name, version).text, document(name, version - 1).text)
        await index.aadd(new)
        assert text_of(index, "first") == document("first", version).text
        assert index.repair() == []
        if not isinstance(outcome, asyncio.CancelledError):
            break
    assert step > 5
    assert process.is_ready


def errors_of(index: Index, *, elsewhere: bool) -> list[tuple[type[BaseException], str]]:
    """What is raised where Chroma refuses to write, or cannot."""
    if elsewhere:
        writing_process(index)
    writer = run(index._store.start_writing(5.0, None, much=True))
    assert isinstance(writer._leaves, CollectionElsewhere) == elsewhere
    met = []
    path = index._store._folder.path
    with (path / "chroma.sqlite3").open("r+b") as file:
        for attempt in range(2):
            try:
                vectors = np.ones((1, 8 if attempt else 3), dtype=np.float32)
                run(
                    writer._leaves.add(["x#00000000#0"], embeddings=vectors, documents=["x"], metadatas=[{"leafspan": "1"}])
                )
            except LeafspanError as error:
                met.append((type(error), str(error).replace(str(path.parent), "")))
            file.seek(4096)
            file.write(os.urandom(20 * 4096))
    writer.stop()
    return met


def test_errors_of_chroma_are_the_same_as_in_this_process(tmp_path: Path, before: Path) -> None:
    met = []
    for elsewhere in (False, True):
        place = tmp_path / str(elsewhere) / "kb"
        with open_index({"path": str(shutil.copytree(before, place))}) as index:
            met.append(errors_of(index, elsewhere=elsewhere))
    assert [kind.__name__ for kind, _ in met[0]][:1] == ["InvalidArgument"]
    assert len(met[0]) == 2
    assert met[0] == met[1]


def test_a_process_that_has_nothing_to_do_ends(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_writing_process, "_IDLE_SECONDS", 0.2)
    process = writing_process(index)
    index.add(document("a", 1))
    pid = pid_of(process)
    wait_until(lambda: process.is_gone)
    assert not is_there(pid)
    assert index.add(document("b", 1)).added == ("b",)
    assert index._store._folder.process is None


def test_a_process_ends_with_the_index_and_when_its_client_is_shown(tmp_path: Path, before: Path) -> None:
    for let_go in (lambda index: index.close(), lambda index: index.client):
        place = {"path": str(shutil.copytree(before, tmp_path / str(let_go.__code__.co_names)))}
        with open_index(place) as index:
            pid = pid_of(writing_process(index))
            let_go(index)
            wait_until(lambda pid=pid: not is_there(pid))  # type: ignore[misc]
            if index._store._folder is not None:
                # Whoever has the client would not see what another process writes.
                client = index.client
                run(index._store.expect_much())
                assert index._store._folder.process is None
                index.add(document("a", 1))
                assert len(client.get_collection("kb.leaves").get(where={"version": 1})["ids"]) == 8 + 22


def test_a_writing_process_leaves_when_its_process_ends_though_a_fork_of_that_lives(tmp_path: Path, before: Path) -> None:
    place = {"path": str(shutil.copytree(before, tmp_path / "kb"))}
    script = """
import os, sys, time
from tests.durability.elsewhere import writing_process
from tests.durability.versions import document, open_index
index = open_index({"path": sys.argv[1]})
pid = writing_process(index).pid
forked = os.fork()
if not forked:
    assert index.count() == 4
    assert index._store._folder.process is None
    os.close(1)
    time.sleep(60)
    os._exit(0)
assert index.add(document("new", 1)).added == ("new",)
print(pid, forked, flush=True)
os._exit(0)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, place["path"]], cwd=_ROOT, stdout=subprocess.PIPE, text=True, timeout=90, check=True
    )
    pid, forked = map(int, done.stdout.split())
    try:
        wait_until(lambda: not is_there(pid))
        assert is_there(forked)
    finally:
        os.kill(forked, signal.SIGKILL)


def broken_python(folder: Path) -> str:
    path = folder / "python-that-ends"
    path.write_text("#!/bin/sh\nexit 3\n")
    path.chmod(0o700)
    return str(path)


def test_an_interruption_while_the_process_is_asked_to_begin_leaves_no_lock(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = writing_process(index)
    begin = WritingProcess.begin

    def interrupted(self: WritingProcess, message: Any) -> bool:
        monkeypatch.setattr(WritingProcess, "begin", begin)
        begin(self, message)
        raise KeyboardInterrupt

    monkeypatch.setattr(WritingProcess, "begin", interrupted)
    with pytest.raises(KeyboardInterrupt):
        index.add(document("a", 1))
    assert index.delete(["first"]) == ["first"]  # written by this process
    assert index.add(document("a", 1)).added == ("a",)
    assert process.is_ready


@pytest.mark.parametrize("why", ["switched off", "no python", "frozen", "not there", "ends at once"])
def test_where_no_process_can_be_started_this_one_writes(
    tmp_path: Path, index: Index, monkeypatch: pytest.MonkeyPatch, undisturbed: dict[str, Any], why: str
) -> None:
    monkeypatch.setattr(_ingest, "_MUCH", 1)
    monkeypatch.setattr(_writing_process, "_could_not_start", [])
    if why == "switched off":
        monkeypatch.setenv(_writing_process.SWITCH, "0")
    elif why == "frozen":
        monkeypatch.setattr(sys, "frozen", True, raising=False)
    else:
        programs = {"no python": "/usr/sbin/a-server", "not there": str(tmp_path / "python")}
        monkeypatch.setattr(sys, "executable", programs.get(why) or broken_python(tmp_path))
    asyncio.run(index.aadd([document(*each) for each in NEW]))
    assert index._store._folder.process is None
    tried = why in ("not there", "ends at once")
    assert len(_writing_process._could_not_start) == tried
    assert records(index) == undisturbed


def test_a_process_that_does_not_answer_is_ended(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    process = writing_process(index)
    monkeypatch.setattr(_writing_process, "_LONGEST_SECONDS", 0.5)
    os.kill(pid_of(process), signal.SIGSTOP)
    with pytest.raises(StorageFailed, match=r"has not answered for 0\.5 seconds, and was ended: do it again"):
        index.add(document("a", 1))
    wait_until(lambda: process.is_gone)
    assert index.add(document("a", 1)).added == ("a",)


def test_a_search_in_chroma_finds_what_another_process_wrote(index: Index, leaves_from_chroma: None) -> None:
    writing_process(index)
    index.add([document(*each) for each in NEW])
    check_whole(index, versions(NEW))
    assert index.retrieve("anything", Vector(), k=3)
