"""A retrieval's timeout: it ends in time during each kind of wait, holds no lock, and the next retrieval works."""

from __future__ import annotations

import asyncio
import gc
import logging
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leafspan
from leafspan import (
    BM25,
    Ensemble,
    F,
    HostRetriever,
    Hybrid,
    Index,
    InvalidArgument,
    MultiQuery,
    Passage,
    Rerank,
    RetrievalTimeout,
    RewriteQuery,
    Strategy,
    Vector,
)
from leafspan.engines.chroma._collection import Collection
from leafspan.private import Vault, private_view
from leafspan.strategies import CallFunction
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER
from tests.lateness import ends_within, longer_and_longer
from tests.private.views.people import KEY
from tests.profiles import paired, quick

QUESTION = QUESTIONS[0]
TIMEOUT = 0.3
SLACK = 1.0
PATIENCE = 60.0  # seconds, more than any timeout


class Gate:
    """Something that others can be made to wait at."""

    def __init__(self) -> None:
        self.closed = False
        self.opened = threading.Event()
        self.calls = 0

    def close(self) -> None:
        self.closed = True
        self.opened.clear()
        self.calls = 0

    def open(self) -> None:
        self.closed = False
        self.opened.set()

    def wait(self) -> None:
        self.calls += 1
        if self.closed:
            self.opened.wait(2 * PATIENCE)


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    yield made
    made.open()


@pytest.fixture
def chroma() -> Iterator[Gate]:
    """The gate of Chroma's calls."""
    made = Gate()
    yield made
    made.open()


@pytest.fixture
def index(tmp_path: Path, gate: Gate) -> Iterator[Index]:
    """The corpus, with an embedder that waits at the gate."""

    def embed(texts: list[str]) -> Any:
        gate.wait()
        return np.array([[1.0, len(text) % 7, text.count("e")] for text in texts], dtype=np.float32)

    with Index.open(tmp_path / "kb", embedder=embed, embedding_cache=False, splitter=SPLITTER) as opened:
        opened.add(DOCUMENTS)
        yield opened


@pytest.fixture
def reported(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """What threads, asyncio and the garbage collector report."""
    said: list[str] = []
    monkeypatch.setattr(threading, "excepthook", lambda arguments: said.append(str(arguments)))
    with caplog.at_level(logging.WARNING):
        yield said
        gc.collect()
        assert said + caplog.messages == []


class Asking(Strategy):
    """Asks a function, and then for more."""

    def __init__(self, function: Callable[[], None]) -> None:
        self.function = function

    def retrieve(self, queries, context):
        for _ in range(5):
            yield CallFunction(self.function, ())
        return (yield from Vector().retrieve(queries, context))


def asking_a_host(gate: Gate) -> HostRetriever:
    def ask(_question: str):
        gate.wait()
        return []

    async def aask(_question: str):
        gate.calls += 1
        while gate.closed:  # noqa: ASYNC110 (the gate is of threads)
            await asyncio.sleep(0.01)
        return []

    return HostRetriever("my retriever", ask, aask)


def answering(gate: Gate) -> Callable[..., str]:
    def generate(*_: object) -> str:
        gate.wait()
        return "bees"

    return generate


def reranking(gate: Gate) -> Callable[..., list[float]]:
    def rerank(query: str, texts: list[str]) -> list[float]:
        gate.wait()
        return [1.0] * len(texts)

    return rerank


# What may be waited for, each as a strategy and what the error says of it.
WAITS: dict[str, tuple[Callable[[Gate], Strategy], str]] = {
    "an embedder": (lambda gate: Vector(), "the embedder "),
    "a language model": (lambda gate: MultiQuery(generate=answering(gate)), "the language model"),
    "a transformer": (lambda gate: RewriteQuery(how=answering(gate)), "for "),
    "a host's retriever": (lambda gate: Ensemble(retrievers=[asking_a_host(gate), BM25()]), "my retriever"),
    "a failure that is left out": (
        lambda gate: Ensemble(retrievers=[asking_a_host(gate), BM25()], on_failure="skip"),
        "my retriever",
    ),
    "a part with more time": (lambda gate: Ensemble(retrievers=[asking_a_host(gate), BM25()], timeout=20), "my retriever"),
    "a reranker": (lambda gate: Rerank(rerank=reranking(gate), base=BM25()), "for a function that was given"),
    "a function": (lambda gate: Asking(gate.wait), "Gate.wait()"),
}


def readers_of(index: Index) -> int:
    """How many hold Chroma open."""
    return index._store._open_folder().opened(time.monotonic() + 20)._readers  # type: ignore[attr-defined]


def settled(index: Index) -> bool:
    """Whether nobody holds anything, after a moment."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if not readers_of(index) and not index._sources.indexes.words.mirror._mutex.locked():
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("wait", WAITS)
def test_a_retrieval_ends_in_time_and_holds_nothing(index: Index, gate: Gate, reported: list[str], wait: str):
    make, name = WAITS[wait]
    strategy = make(gate)
    whole = index.retrieve(QUESTION, strategy)
    gate.close()
    for timeout in longer_and_longer(TIMEOUT):
        with ends_within(timeout + SLACK), pytest.raises(RetrievalTimeout) as caught:
            index.retrieve(QUESTION, strategy, timeout=timeout)
        if gate.calls:  # it got to where it waits
            break
    assert isinstance(caught.value, TimeoutError)
    assert f"within its timeout of {timeout:g} seconds, and this one still waits for " in str(caught.value)
    assert name in str(caught.value)
    # Others go on meanwhile, and writers, too.
    assert index.retrieve(QUESTION, BM25(), timeout=20)
    calls = gate.calls
    gate.open()
    assert settled(index)
    assert gate.calls == calls  # it went no further
    assert index.retrieve(QUESTION, strategy, timeout=20) == whole
    index.delete([DOCUMENTS[0].id])
    assert settled(index)


@pytest.mark.parametrize(("wait", "cancelled"), paired(WAITS, [False, True]))
def test_an_asynchronous_retrieval_ends_in_time_and_holds_nothing(
    index: Index, gate: Gate, reported: list[str], wait: str, cancelled: bool
):
    strategy = WAITS[wait][0](gate)
    whole = index.retrieve(QUESTION, strategy)

    ticks = 0  # of the loop, while it waits at the gate

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += bool(gate.calls)

    async def ask(timeout: float) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(str(context)))
        ticking = asyncio.create_task(tick())
        with ends_within(timeout + SLACK):
            if cancelled:
                with pytest.raises(TimeoutError) as caught:
                    async with asyncio.timeout(timeout):
                        await index.aretrieve(QUESTION, strategy)
                assert not isinstance(caught.value, RetrievalTimeout)
            else:
                with pytest.raises(RetrievalTimeout):
                    await index.aretrieve(QUESTION, strategy, timeout=timeout)
        assert await index.aretrieve(QUESTION, BM25(), timeout=20)
        ticking.cancel()

    for timeout in longer_and_longer(TIMEOUT):
        gate.close()
        ticks = 0
        with ends_within(timeout + 2 * SLACK):  # no thread keeps the loop from ending
            asyncio.run(ask(timeout))
        if ticks >= TIMEOUT * 20:
            break
    assert ticks >= TIMEOUT * 20
    assert settled(index)  # though what is late still waits
    calls = gate.calls
    gate.open()
    time.sleep(0.05)
    assert gate.calls == calls
    assert asyncio.run(index.aretrieve(QUESTION, strategy, timeout=20)) == whole
    assert settled(index)


def waiting_at(gate: Gate, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """Chroma's own calls wait at the gate."""
    call = Collection._call

    def waiting(self: Collection, name: str, options: dict[str, Any], **how: Any) -> Any:
        made = call(self, name, options, **how)
        if name != method:
            return made

        def wait(*arguments: Any, **options: Any) -> Any:
            gate.wait()
            return made.function(*arguments, **options)  # type: ignore[misc]

        return type(made)(wait, made.arguments, made.options, None, made.finish, made.what)

    monkeypatch.setattr(Collection, "_call", waiting)


@pytest.mark.parametrize(("method", "strategy"), quick(2, [("get", Vector()), ("get", Hybrid()), ("get", BM25())]))
async def test_a_chroma_that_hangs_ends_in_time_also_while_the_copy_of_the_words_is_made(
    index: Index, chroma: Gate, reported: list[str], monkeypatch: pytest.MonkeyPatch, method: str, strategy: Strategy
):
    shutil.rmtree(index._store.cache_folder)  # so that words and vectors must be read of Chroma
    waiting_at(chroma, monkeypatch, method)
    chroma.close()

    async def ask_in_a_thread(timeout: float) -> None:
        await asyncio.to_thread(index.retrieve, QUESTION, strategy, timeout=timeout)

    async def ask(timeout: float) -> None:
        await index.aretrieve(QUESTION, strategy, timeout=timeout)

    # The second one waits for what the first one makes, or waits beside it.
    for asking in (ask_in_a_thread, ask) * 2:
        for timeout in longer_and_longer(TIMEOUT):
            with ends_within(timeout + SLACK), pytest.raises(RetrievalTimeout) as caught:
                await asking(timeout)
            if re.search(r"the folder|indexing words|copying vectors", str(caught.value)):  # it got to where it waits
                break
        assert re.search(r"still waits for .*(the folder|indexing words|copying vectors)", str(caught.value))
    assert chroma.calls
    chroma.open()
    assert await asyncio.to_thread(settled, index)
    assert index.retrieve(QUESTION, strategy, timeout=20)
    assert settled(index)


def test_one_that_waits_for_another_thread_s_copy_gets_an_error_after_a_minute_without_progress(
    index: Index, chroma: Gate, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("leafspan.segments._mirror._PATIENCE", TIMEOUT)
    shutil.rmtree(index._store.cache_folder)
    waiting_at(chroma, monkeypatch, "get")
    chroma.close()
    for timeout in longer_and_longer(TIMEOUT):
        with pytest.raises(RetrievalTimeout):
            index.retrieve(QUESTION, BM25(), timeout=timeout)
        if index._sources.indexes.words.mirror._mutex.locked():  # it got to where it makes the copy
            break
    busy = "another thread that is indexing words has made no progress for 0"
    with ends_within(TIMEOUT + SLACK), pytest.raises(leafspan.WriterBusy, match=busy):
        index.retrieve(QUESTION, BM25())
    chroma.open()
    assert settled(index)
    assert index.retrieve(QUESTION, BM25())


@pytest.mark.parametrize("wrong", [0, -1, "soon", True, float("nan"), float("inf")])
async def test_a_timeout_is_a_number_of_seconds_above_nothing(index: Index, wrong: Any):
    rule = "timeout must be a number of seconds > 0, got "
    strategy = Ensemble(retrievers=[asking_a_host(Gate()), BM25()])  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match=rule):
        index.retrieve(QUESTION, timeout=wrong)
    with pytest.raises(InvalidArgument, match=rule):
        await index.aretrieve(QUESTION, timeout=wrong)
    with pytest.raises(InvalidArgument, match=rule):
        leafspan.retrieve(QUESTION, strategy, timeout=wrong)


async def test_with_time_enough_the_result_is_the_same(index: Index):
    strategies = [None, Vector(), BM25(), Ensemble(retrievers=[Vector(), BM25()]), MultiQuery(phrasings=["bees", "tea"])]
    for strategy in strategies:
        plain = index.retrieve(QUESTION, strategy)
        assert index.retrieve(QUESTION, strategy, timeout=20) == plain
        assert await index.aretrieve(QUESTION, strategy, timeout=20) == plain
    with pytest.raises(InvalidArgument, match="blank"):
        index.retrieve(" ", timeout=20)


async def test_views_and_other_sources_have_it_too(index: Index, gate: Gate, tmp_path: Path):
    scoped = index.scoped(F("topic").exists())
    private = private_view(index, Vault.open(tmp_path / "vault.db", KEY), finder=(), known={"PERSON": ["Alice"]})
    other = index.as_strategy(Vector())
    gate.close()

    def outside(query: str, timeout: float) -> list[Passage]:
        return leafspan.retrieve(query, asking_a_host(gate), timeout=timeout)

    async def aoutside(query: str, timeout: float) -> list[Passage]:
        return await leafspan.aretrieve(query, asking_a_host(gate), timeout=timeout)

    for ask in (
        lambda: scoped.retrieve(QUESTION, timeout=TIMEOUT),
        lambda: private.retrieve(QUESTION, timeout=TIMEOUT),
        lambda: leafspan.retrieve(QUESTION, other, timeout=TIMEOUT),
        lambda: outside(QUESTION, TIMEOUT),
    ):
        with ends_within(TIMEOUT + SLACK), pytest.raises(RetrievalTimeout):
            await asyncio.to_thread(ask)
    for make in (
        lambda: scoped.aretrieve(QUESTION, timeout=TIMEOUT),
        lambda: private.aretrieve(QUESTION, timeout=TIMEOUT),
        lambda: leafspan.aretrieve(QUESTION, other, timeout=TIMEOUT),
        lambda: aoutside(QUESTION, TIMEOUT),
    ):
        with ends_within(TIMEOUT + SLACK), pytest.raises(RetrievalTimeout):
            await make()
    gate.open()
    assert await asyncio.to_thread(settled, index)


def test_a_retrieval_in_another_index_ends_with_the_one_that_asks(index: Index, gate: Gate):
    """Its search there goes no further, though it was asked without a timeout of its own."""
    steps = []

    class Steps(Strategy):
        def retrieve(self, queries, context):
            for step in range(3):
                steps.append(step)
                yield CallFunction(gate.wait, ())
            return [[] for _ in queries]

    gate.close()
    for timeout in longer_and_longer(TIMEOUT):
        steps.clear()
        with pytest.raises(RetrievalTimeout):
            leafspan.retrieve(QUESTION, index.as_strategy(Steps()), timeout=timeout)
        if gate.calls:  # it got to where it waits
            break
    gate.open()
    assert settled(index)
    assert steps == [0]
