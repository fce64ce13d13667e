"""A closed index has no open files, even without garbage collection, and does not disturb other readers."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from leafspan import BM25, Document, F, Hybrid, Index, SentenceWindow, Tree, Vector
from tests.durability.waiting import wait_until

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the system does not say which files are open")

DOCUMENTS = [Document(f"d{number}", f"Bees make honey.\n\nThis is hive {number}.") for number in range(3)]


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[Path]:
    """The folder of an index with trees. No garbage is collected while the test runs."""
    with Index.open(tmp_path / "kb") as index:
        index.add(DOCUMENTS)
        index.build_tree()
        index.warm()
    del index
    gc.collect()
    gc.disable()
    try:
        yield tmp_path / "kb"
    finally:
        gc.enable()


def open_files(folder: Path) -> list[str]:
    """The files of a folder that this process has open."""
    paths = []
    for name in os.listdir("/proc/self/fd"):
        try:
            paths.append(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:
            continue  # the reference of the list itself
    return [path for path in paths if path.startswith(str(folder))]


@pytest.mark.parametrize("strategy", [Vector(), BM25(), Hybrid(), SentenceWindow(), Tree()])
def test_an_index_that_was_searched_is_closed_at_once(kb: Path, strategy):
    index = Index.open(kb)
    view = index.scoped(F("source") != "elsewhere")
    passages = [*index.retrieve("Who makes honey?", strategy), *view.retrieve("Who makes honey?", strategy)]
    assert open_files(kb)
    index.close()  # index, view and passages are still there
    assert open_files(kb) == []
    assert passages[0].text


def write(kb: Path) -> None:
    with Index.open(kb) as index:
        index.add(Document("new", "A new one."))
        index.delete(["new"])


def ask_asynchronously(kb: Path) -> None:
    async def ask() -> None:
        with Index.open(kb) as index:
            await index.aretrieve("Who makes honey?")

    asyncio.run(ask())


def fail(kb: Path) -> None:
    with Index.open(kb) as index, pytest.raises(KeyError):
        index.get("nothing")


def fail_asynchronously(kb: Path) -> None:
    async def ask() -> None:
        with Index.open(kb) as index, pytest.raises(KeyError):
            await index.aget("nothing")

    asyncio.run(ask())


@pytest.mark.parametrize("use", [write, ask_asynchronously, fail, fail_asynchronously])
def test_an_index_is_closed_at_once_however_it_was_used(kb: Path, use: Callable[[Path], None]):
    use(kb)
    wait_until(lambda: not open_files(kb))  # threads that have just answered let go of what they had


def test_what_one_index_has_closed_another_one_of_the_same_folder_still_reads(kb: Path):
    one, other = Index.open(kb), Index.open(kb)
    assert one.retrieve("Who makes honey?") == other.retrieve("Who makes honey?")
    one.close()
    assert len(other.retrieve("Who makes honey?", k=3)) == len(DOCUMENTS)
    other.close()
    assert open_files(kb) == []
