"""A LightRAG belongs to one event loop, and can be asked from all others."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from leafspan import Ensemble, Index, InvalidArgument, LeafspanError, Vector
from leafspan.errors import SourceTimeout
from leafspan.sources import LightRAG, LightRAGThread
from tests.lateness import ends_within, longer_and_longer
from tests.sources.graphs.scripted import QUESTION, language_model, maker

PATIENCE = 60.0  # seconds, more than any timeout


class Stuck:
    """What a graph server that never answers looks like."""

    def __init__(self, *, blocking: bool = False) -> None:
        self._storages_status = None
        self._owning_loop: asyncio.AbstractEventLoop | None = None
        self._blocking = blocking
        self.released = threading.Event()

    async def aquery_data(self, question: str, param: Any) -> Any:
        if self._blocking:
            self.released.wait(PATIENCE)
        await asyncio.sleep(3600)

    aquery_llm = aquery_data

    async def initialize_storages(self) -> None:
        self._owning_loop = asyncio.get_running_loop()


async def stuck(**options: Any) -> Stuck:
    made = Stuck(**options)
    await made.initialize_storages()
    return made


# From everywhere


def test_a_thread_is_asked_without_a_loop_and_in_several_loops(sentences: Index, light_rag: LightRAGThread):
    strategy = LightRAG(light_rag)
    found = sentences.retrieve(QUESTION, strategy)

    async def ask() -> Any:
        return await sentences.aretrieve(QUESTION, strategy)

    assert len(found) > 3
    assert asyncio.run(ask()) == found
    assert asyncio.run(ask()) == found


async def test_a_thread_is_asked_by_blocking_calls_in_a_running_loop_as_in_a_notebook(
    sentences: Index, light_rag: LightRAGThread
):
    strategy = LightRAG(light_rag)
    found = sentences.retrieve(QUESTION, strategy)
    assert await sentences.aretrieve(QUESTION, strategy) == found
    assert [each.id for each in strategy.retrieve_data(QUESTION)] == [each.id for each in found]


def test_a_thread_is_asked_by_many_threads_at_once(sentences: Index, light_rag: LightRAGThread):
    strategy = LightRAG(light_rag)
    expected = sentences.retrieve(QUESTION, strategy)
    with ThreadPoolExecutor(8) as pool:
        assert all(found == expected for found in pool.map(lambda _: sentences.retrieve(QUESTION, strategy), range(16)))


async def test_an_instance_of_this_loop_is_awaited_in_it(sentences: Index, tmp_path: Path):
    rag = maker(tmp_path)()
    await rag.initialize_storages()
    try:
        await rag.ainsert(["Karl von Frisch was born in Vienna."], ids=["x"])
        strategy = LightRAG(rag)
        found = await sentences.aretrieve(QUESTION, strategy)
        assert "entity:Vienna" in {each.id for each in found}
        # A blocking call in another thread reaches this loop.
        assert await asyncio.to_thread(sentences.retrieve, QUESTION, strategy) == found
        # So does another loop.
        assert await asyncio.to_thread(lambda: asyncio.run(sentences.aretrieve(QUESTION, strategy))) == found
        # In this thread, it would wait for itself.
        with pytest.raises(InvalidArgument, match="must not live in the event loop that waits for this call"):
            sentences.retrieve(QUESTION, strategy)
    finally:
        await rag.finalize_storages()


def test_an_instance_of_a_loop_that_is_not_running_is_asked_in_it(sentences: Index, tmp_path: Path):
    with asyncio.Runner() as runner:
        rag = maker(tmp_path)()
        runner.run(rag.initialize_storages())
        runner.run(rag.ainsert(["Karl von Frisch was born in Vienna."], ids=["x"]))
        strategy = LightRAG(rag)
        found = sentences.retrieve(QUESTION, strategy)
        assert "entity:Vienna" in {each.id for each in found}
        assert asyncio.run(sentences.aretrieve(QUESTION, strategy)) == found
        runner.run(rag.finalize_storages())


def test_an_instance_of_a_closed_loop_is_refused_with_the_remedy(sentences: Index, tmp_path: Path):
    async def opened() -> Any:
        rag = maker(tmp_path)()
        await rag.initialize_storages()
        return rag

    strategy = LightRAG(asyncio.run(opened()))
    with pytest.raises(InvalidArgument, match="make the LightRAG in a LightRAGThread"):
        sentences.retrieve(QUESTION, strategy)
    with pytest.raises(InvalidArgument, match="make the LightRAG in a LightRAGThread"):
        asyncio.run(strategy.aretrieve_data(QUESTION))


async def test_an_instance_that_was_closed_since_is_refused(tmp_path: Path):
    rag = maker(tmp_path)()
    await rag.initialize_storages()
    strategy = LightRAG(rag)
    await rag.finalize_storages()
    with pytest.raises(InvalidArgument, match="must be initialised, got a LightRAG that is FINALIZED"):
        await strategy.aretrieve_data(QUESTION)


def test_a_retrieval_asks_once_however_often_it_looks(sentences: Index, tmp_path: Path):
    asked: list[str] = []

    def generate(prompt: str) -> str:
        asked.append(prompt)
        return language_model(prompt)

    with LightRAGThread(maker(tmp_path, generate, enable_llm_cache=False)) as thread:
        thread.run(lambda rag: rag.ainsert(["Karl von Frisch was born in Vienna."], ids=["x"]))
        asked.clear()
        sentences.retrieve(QUESTION, LightRAG(thread), budget=1000)
    assert len(asked) == 1


# Time


def test_blocking_calls_end_with_their_timeout(sentences: Index):
    with LightRAGThread(Stuck) as thread:
        strategy = LightRAG(thread, timeout=0.2)
        with pytest.raises(SourceTimeout, match=r"LightRAG must answer within 0\.2 seconds"):
            sentences.retrieve(QUESTION, strategy)
        with pytest.raises(TimeoutError):
            strategy.retrieve_data(QUESTION, "answer")


async def test_asynchronous_calls_end_with_their_timeout_and_block_nothing(sentences: Index):
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.create_task(tick())
    for timeout in longer_and_longer(0.3):
        ticks = 0
        with LightRAGThread(Stuck) as thread, pytest.raises(SourceTimeout):
            await sentences.aretrieve(QUESTION, LightRAG(thread, timeout=timeout))
        with pytest.raises(SourceTimeout):
            await LightRAG(await stuck(), timeout=timeout).aretrieve_data(QUESTION)
        if ticks > 10:
            break
    ticking.cancel()
    assert ticks > 10


def test_work_that_blocks_the_loop_is_waited_for_no_longer(sentences: Index):
    of_a_thread = Stuck(blocking=True)
    with ends_within(0.9):
        thread = LightRAGThread(lambda: of_a_thread)
        with pytest.raises(SourceTimeout):
            sentences.retrieve(QUESTION, LightRAG(thread, timeout=0.2))
        thread.close(timeout=0.1)
    of_a_thread.released.set()
    with asyncio.Runner() as runner:
        of_a_loop_at_rest = runner.run(stuck(blocking=True))
        with ends_within(0.9), pytest.raises(SourceTimeout):
            sentences.retrieve(QUESTION, LightRAG(of_a_loop_at_rest, timeout=0.2))
        of_a_loop_at_rest.released.set()
        while runner.get_loop().is_running():  # it cannot be closed before
            time.sleep(0.05)


def test_an_ensemble_goes_on_without_a_graph_that_is_late(sentences: Index):
    with LightRAGThread(Stuck) as thread:
        both = Ensemble(retrievers=[Vector(), LightRAG(thread, timeout=0.2)], on_failure="skip")
        found = sentences.retrieve(QUESTION, both, k=2)
    assert len(found) == 2
    assert any("SourceTimeout" in line for line in found[0].trace.explain())


async def test_a_cancelled_question_is_cancelled_in_the_thread(light_rag: LightRAGThread):
    begun, ended = threading.Event(), threading.Event()

    class Slow(Stuck):
        async def aquery_data(self, question: str, param: Any) -> Any:
            begun.set()
            try:
                await asyncio.sleep(3600)
            finally:
                ended.set()

    with LightRAGThread(Slow) as thread:
        asking = asyncio.create_task(LightRAG(thread).aretrieve_data(QUESTION))
        assert await asyncio.to_thread(begun.wait, PATIENCE)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert await asyncio.to_thread(ended.wait, PATIENCE)


# The thread


def test_a_thread_runs_any_work(light_rag: LightRAGThread):
    assert light_rag.run(lambda rag: rag.get_graph_labels()) != []
    assert asyncio.run(light_rag.arun(lambda rag: rag.get_graph_labels())) == light_rag.run(
        lambda rag: rag.get_graph_labels()
    )


def test_a_thread_takes_a_coroutine_function_that_opens_and_fills(tmp_path: Path):
    async def make() -> Any:
        rag = maker(tmp_path)()
        await rag.initialize_storages()
        await rag.ainsert(["Karl von Frisch was born in Vienna."], ids=["x"])
        return rag

    with LightRAGThread(make) as thread:
        assert "Vienna" in LightRAG(thread).retrieve_data(QUESTION, "context")


def test_what_making_raises_is_raised():
    def make() -> Any:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        LightRAGThread(make)


def test_making_must_make_a_lightrag_in_time(tmp_path: Path):
    for wrong in (None, maker(tmp_path)()):
        with pytest.raises(InvalidArgument, match=r"make must be a function that makes a lightrag\.LightRAG"):
            LightRAGThread(wrong)
    with pytest.raises(InvalidArgument, match=r"instance must be a lightrag\.LightRAG"):
        LightRAGThread(lambda: "graph")

    begun, ended = threading.Event(), threading.Event()

    async def never() -> Any:
        begun.set()
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    for timeout in longer_and_longer(0.1):
        with pytest.raises(SourceTimeout, match=f"make must answer within {timeout:g} seconds"):
            LightRAGThread(never, timeout=timeout)
        if begun.is_set():
            break
    assert ended.wait(PATIENCE)
    with LightRAGThread(maker(tmp_path)) as thread, pytest.raises(InvalidArgument, match="timeout must be a number"):
        thread.run(lambda rag: rag.get_graph_labels(), timeout=0)


def test_a_closed_thread_is_refused(tmp_path: Path):
    thread = LightRAGThread(maker(tmp_path))
    strategy = LightRAG(thread)
    thread.close()
    thread.close()
    assert repr(thread) == "<LightRAGThread, closed>"
    assert thread.instance._storages_status.name == "FINALIZED"
    with pytest.raises(LeafspanError, match="must be open, but it is closed"):
        strategy.retrieve_data(QUESTION)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_gets_an_error_that_it_has_no_thread(light_rag: LightRAGThread):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            LightRAG(light_rag).retrieve_data(QUESTION)
        except LeafspanError as error:
            os.write(writer, str(error).encode())
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    assert b"must be made in the process that uses it" in os.read(reader, 1000)
    os.close(reader)


def test_lightrag_is_not_imported_with_leafspan():
    import subprocess
    import sys

    program = "import sys\nfrom leafspan import *\nsys.exit('lightrag' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
