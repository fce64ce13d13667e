"""Servers that are slow, broken or gone: every request ends in time, with an error that says what to do."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext

import chromadb
import pytest
from chromadb.config import Settings

import leafspan
from leafspan import BM25, Document, F, Hybrid, Index, RetrievalTimeout, StorageFailed, Vector, WriterBusy
from leafspan.errors import ServerTimeout
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER
from tests.hostile_proxy import HostileProxy, proxy_before
from tests.lateness import ends_within, longer_and_longer

TIMEOUT = 1.0
PATIENCE = 60.0  # seconds
QUESTION = QUESTIONS[0]
SLOW = ("stall", "drip")
BROKEN = ("cut", "lose", "garbage", "broken", "other", "html", "failure")


@pytest.fixture
def proxy(chroma_server: tuple[str, int]) -> Iterator[HostileProxy]:
    with proxy_before(chroma_server) as made:
        yield made


@pytest.fixture
def name() -> str:
    return f"kb-{uuid.uuid4().hex}"


def client_of(proxy: HostileProxy):
    return chromadb.HttpClient("127.0.0.1", proxy.port, settings=Settings(anonymized_telemetry=False))


@pytest.fixture
def index(proxy: HostileProxy, name: str) -> Index:
    """The corpus behind the proxy. Nothing of it was asked for yet."""
    Index.open(client=client_of(proxy), name=name, splitter=SPLITTER).add(DOCUMENTS)
    return Index.open(client=client_of(proxy), name=name, timeout=TIMEOUT)


def is_write(method: str, path: str) -> bool:
    return path.rpartition("/")[2].partition("?")[0] in ("add", "upsert", "delete")


CALLS = {
    "vectors": lambda index: index.retrieve(QUESTION, Vector()),
    "words": lambda index: index.retrieve(QUESTION, BM25()),
    "both": lambda index: index.retrieve(QUESTION, Hybrid()),
    "a scope": lambda index: index.scoped(F("topic") == "food").retrieve(QUESTION),
    "count": lambda index: index.count(),
    "get": lambda index: index.get("tea"),
    "leaves": lambda index: index.leaves(),
    "stats": lambda index: index.stats(),
    "doctor": lambda index: index.repair(),
    "add": lambda index: index.add(Document("new", "A new text.")),
    "delete": lambda index: index.delete(["tea"]),
    "a tree": lambda index: index.build_tree(progress=False),
}


QUICK = {("stall", "vectors"), ("stall", "add"), ("cut", "both"), ("html", "get"), ("other", "count")}


@pytest.mark.parametrize(
    ("mode", "call"),
    [
        pytest.param(mode, call, marks=() if (mode, call) in QUICK else pytest.mark.slow)
        for mode, call in itertools.product((*SLOW, *BROKEN), CALLS)
    ],
)
def test_with_any_fault_of_a_server_a_call_ends_in_time_with_an_error_of_ours_and_the_next_one_works(
    index: Index, proxy: HostileProxy, mode: str, call: str
) -> None:
    proxy.do(mode)
    with ends_within(TIMEOUT + 1), pytest.raises(StorageFailed) as caught:
        CALLS[call](index)
    assert isinstance(caught.value, ServerTimeout) == (mode in SLOW)
    assert f"the Chroma server at http://127.0.0.1:{proxy.port}" in str(caught.value)
    assert "check that the server runs" in str(caught.value)
    assert "\n" not in str(caught.value)
    if mode not in SLOW:
        assert caught.value.__cause__ is not None
    proxy.do("pass")
    CALLS[call](index)
    index.add(Document("after", "It works again."))
    assert "after" in {each.id for each in index.documents()}


@pytest.mark.slow
@pytest.mark.parametrize("mode", [*SLOW, *BROKEN])
async def test_an_asynchronous_client_ends_in_time_too_and_does_not_block_the_loop(
    index: Index, proxy: HostileProxy, name: str, mode: str
) -> None:
    client = await chromadb.AsyncHttpClient("127.0.0.1", proxy.port, settings=Settings(anonymized_telemetry=False))
    opened = await Index.aopen(client=client, name=name, timeout=TIMEOUT)
    await opened.aretrieve(QUESTION, k=1)
    proxy.do(mode)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.create_task(tick())
    start = time.monotonic()
    with ends_within(3 * (TIMEOUT + 1)):
        for work in (opened.aretrieve(QUESTION, Vector()), opened.acount(), opened.aadd(Document("new", "A new text."))):
            with pytest.raises(StorageFailed) as caught:
                await work
            assert isinstance(caught.value, ServerTimeout) == (mode in SLOW)
    took = time.monotonic() - start
    ticking.cancel()
    assert ticks >= int(took * 20)
    proxy.do("pass")
    await opened.aadd(Document("after", "It works again."))
    assert "after" in {each.id for each in await opened.adocuments()}


@pytest.mark.slow
@pytest.mark.parametrize("mode", [*SLOW, *BROKEN])
def test_opening_ends_in_time(index: Index, proxy: HostileProxy, name: str, mode: str) -> None:
    client = client_of(proxy)
    proxy.do(mode)
    for create in (True, False):
        with ends_within(TIMEOUT + 1), pytest.raises(StorageFailed):
            Index.open(client=client, name=name, timeout=TIMEOUT, create=create)
    with pytest.raises(StorageFailed):
        leafspan.adopt(client, client=client, name="adopted", collection="nothing", timeout=TIMEOUT)


def test_a_server_that_is_gone_is_said_to_be(index: Index, proxy: HostileProxy) -> None:
    proxy.close()
    index_error = "could not .* in the Chroma server at http://127.0.0.1:.*check that the server runs"
    with pytest.raises(StorageFailed, match=index_error):
        index.count()


def test_a_timeout_of_nothing_leaves_a_server_a_second(proxy: HostileProxy, name: str) -> None:
    index = Index.open(client=client_of(proxy), name=name, timeout=0)
    index.add(Document("one", "A text."))
    assert index.count() == 1
    proxy.do("stall")
    with pytest.raises(ServerTimeout, match="within the timeout of 1 seconds"):
        index.count()


def test_the_users_own_client_keeps_waiting_as_he_has_set_it(proxy: HostileProxy, name: str) -> None:
    client = client_of(proxy)
    Index.open(client=client, name=name, timeout=TIMEOUT)
    assert set(client._server._session.timeout.as_dict().values()) == {None}


def test_an_address_is_shown_without_a_password(chroma_server: tuple[str, int], proxy: HostileProxy, name: str) -> None:
    client = chromadb.HttpClient(
        f"http://user:secret@127.0.0.1:{proxy.port}", settings=Settings(anonymized_telemetry=False)
    )
    proxy.do("cut")
    with pytest.raises(StorageFailed) as caught:
        Index.open(client=client, name=name, timeout=TIMEOUT)
    assert "secret" not in str(caught.value)


@pytest.mark.slow
def test_late_requests_leave_no_thread_behind_for_long(index: Index, proxy: HostileProxy) -> None:
    proxy.do("stall")
    before = threading.active_count()
    for _ in range(3):
        with pytest.raises(ServerTimeout):
            index.count()
    deadline = time.monotonic() + PATIENCE
    # The proxy's threads wait on; ours are idle, or have ended.
    while any(_is_in_a_request(each) for each in _stacks()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_is_in_a_request(each) for each in _stacks())
    assert threading.active_count() <= before + 10


def _stacks():
    import sys
    import traceback

    return ["".join(traceback.format_stack(frame)) for frame in sys._current_frames().values()]


def _is_in_a_request(stack: str) -> bool:
    return "httpx" in stack


# A write whose answer is lost or late: whether it was done is not known.


def whole(index: Index, texts: dict[str, set[str]]) -> None:
    """Every document is there, and has one of these texts."""
    for id_, possible in texts.items():
        assert index.get(id_).text in possible
        assert "".join(leaf.text for leaf in index.leaves(id_)) in possible


WRITES = 12  # of an add that replaces documents: see the life of an add in ARCHITECTURE.md
OF_SEGMENTS = (3, 4, 5)  # of these, those without which the add goes on: other clients then make the segment themselves
OLD, NEW = "The old text of it. " * 30, "The new text is another one. " * 30


def what_happens(step: int, error: type[StorageFailed], said: str) -> AbstractContextManager[object]:
    """A context of an add that loses the write of this number."""
    if step in OF_SEGMENTS:
        return pytest.warns(RuntimeWarning, match=rf"a segment cannot be stored with the index.*{said}")
    return pytest.raises(error, match=said) if step < WRITES else nullcontext()


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["stall", "lose", "cut"])
@pytest.mark.parametrize("step", range(WRITES + 1))
def test_after_a_write_that_was_lost_at_any_step_texts_are_whole_and_the_next_add_finishes_it(
    proxy: HostileProxy, name: str, mode: str, step: int
) -> None:
    index = Index.open(client=client_of(proxy), name=name, splitter=SPLITTER, timeout=TIMEOUT)
    index.add([Document("a", OLD), Document("b", OLD)])
    writes = 0

    def is_step(method: str, path: str) -> bool:
        nonlocal writes
        if not is_write(method, path):
            return False
        writes += 1
        return writes == step + 1

    proxy.do(mode, is_step)
    changed = [Document("a", NEW), Document("b", OLD + "."), Document("c", NEW)]
    said = "whether it was written is not known: add it again" if mode == "stall" else "could not"
    with what_happens(step, StorageFailed, said):
        index.add(changed)
    proxy.do("pass")
    for reader in (index, Index.open(client=client_of(proxy), name=name)):
        whole(reader, {"a": {OLD, NEW}, "b": {OLD, OLD + "."}})
    index.add([Document("a", NEW), Document("b", OLD), Document("c", NEW)])
    whole(index, {"a": {NEW}, "b": {OLD}, "c": {NEW}})
    assert index.repair() == []


@pytest.mark.slow
@pytest.mark.parametrize("arrives", ["before the next writer", "after it"])
@pytest.mark.parametrize("step", range(WRITES))
def test_a_write_that_arrives_late_at_worst_makes_the_doctor_ask_for_the_document(
    proxy: HostileProxy, name: str, step: int, arrives: str
) -> None:
    index = Index.open(client=client_of(proxy), name=name, splitter=SPLITTER, timeout=TIMEOUT)
    index.add(Document("a", OLD))
    writes = 0

    def is_step(method: str, path: str) -> bool:
        nonlocal writes
        writes += is_write(method, path)
        return is_write(method, path) and writes == step + 1

    proxy.do("hold", is_step)
    with what_happens(step, ServerTimeout, "whether it was written is not known"):
        index.add(Document("a", NEW))
    proxy.do("pass")
    if arrives == "before the next writer":
        proxy.release()
        whole(index, {"a": {OLD, NEW}})
        index.add(Document("a", NEW))
        assert index.repair() == []
    else:
        index.add(Document("a", NEW))
        proxy.release()
        # A document that is not whole is found by the doctor, and is whole when it is added again.
        if "a" in {finding.document_id for finding in index.repair()}:
            index.add(Document("a", NEW))
    whole(index, {"a": {NEW}})
    whole(Index.open(client=client_of(proxy), name=name), {"a": {NEW}})
    assert index.repair() == []


@pytest.mark.slow
def test_the_next_writer_waits_for_a_late_request_that_has_not_ended(proxy: HostileProxy, name: str) -> None:
    index = Index.open(client=client_of(proxy), name=name, splitter=SPLITTER, timeout=TIMEOUT)
    index.add(Document("a", OLD))
    late = index._store._engine.caller.late_writes
    proxy.do("drip", is_write)
    with pytest.raises(ServerTimeout):
        index.add(Document("a", NEW))
    assert len(late) == 1
    proxy.do("pass")
    with pytest.raises(WriterBusy, match=r"a request to write .*, which was late, for more than the timeout of 1 seconds"):
        index.add(Document("a", NEW))
    proxy.close()
    deadline = time.monotonic() + PATIENCE
    while late and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not late


def test_a_retrieval_has_its_own_deadline_before_the_servers(index: Index, proxy: HostileProxy) -> None:
    patient = Index.open(client=client_of(proxy), name=index._store.name, timeout=60)
    proxy.do("stall")
    asked = len(proxy.requests)
    for timeout in longer_and_longer(0.3):
        with ends_within(timeout + 1), pytest.raises(RetrievalTimeout) as caught:
            patient.retrieve(QUESTION, Vector(), timeout=timeout)
        if len(proxy.requests) > asked:
            break
    assert f"{timeout:g} seconds, and this one still waits for the Chroma server at http" in str(caught.value)
