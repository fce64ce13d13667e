"""Fixtures shared by all tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from leafspan import Index
from tests import profiles  # noqa: F401 (it chooses how many examples Hypothesis tries)
from tests.corpus import DOCUMENTS, SPLITTER
from tests.server import running_server


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is derived from indexes behind a client goes into a folder of the tests, not into the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    """The small corpus in a folder of its own."""
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as opened:
        opened.add(DOCUMENTS)
        yield opened


@pytest.fixture(scope="session")
def shared_index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """The small corpus in a folder, for tests that only read."""
    with Index.open(tmp_path_factory.mktemp("shared") / "kb", splitter=SPLITTER) as opened:
        opened.add(DOCUMENTS)
        yield opened


@pytest.fixture(scope="session")
def chroma_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """Host and port of a Chroma server on loopback."""
    with running_server(tmp_path_factory.mktemp("server")) as address:
        yield address
