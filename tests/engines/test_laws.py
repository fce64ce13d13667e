"""The laws of engines, over Chroma in memory, in a folder and behind a server, and over the engine of the page."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import chromadb
import pytest
from chromadb.config import Settings

from leafspan.engines import to_engine
from leafspan.testing import EngineLaws
from tests.engines.page import PAGE, page

TestEngineOfThePage = page()["TestMemoryEngine"]


class TestAsynchronousEngine(EngineLaws):
    """The engine of the page, with coroutine functions."""

    @pytest.fixture
    def connect(self) -> Callable[[], Any]:
        engine = Asynchronous(page()["MemoryEngine"]())
        return lambda: engine


class TestChromaInMemory(EngineLaws):
    @pytest.fixture
    def connect(self) -> Callable[[], Any]:
        settings = Settings(anonymized_telemetry=False)
        database = uuid4().hex
        chromadb.EphemeralClient(settings)
        chromadb.AdminClient(settings).create_database(database)
        return lambda: chromadb.EphemeralClient(settings, database=database)

    @pytest.mark.slow
    def test_any_number_of_records_goes_in_and_out(self, connect: Callable[[], Any]) -> None:
        super().test_any_number_of_records_goes_in_and_out(connect)


class TestChromaInAFolder(EngineLaws):
    @pytest.fixture
    def connect(self, tmp_path: Path) -> Callable[[], Any]:
        self.other_process = (
            "import chromadb\n"
            f"connect = lambda: chromadb.PersistentClient({str(tmp_path / 'db')!r}, "
            "settings=chromadb.Settings(anonymized_telemetry=False))"
        )
        client: list[Any] = []  # one in a process: others do not see what it adds to the vectors

        def connect() -> Any:
            if not client:
                settings = Settings(anonymized_telemetry=False)
                client.append(chromadb.PersistentClient(str(tmp_path / "db"), settings=settings))
            return client[0]

        return connect

    @pytest.mark.slow
    def test_any_number_of_records_goes_in_and_out(self, connect: Callable[[], Any]) -> None:
        super().test_any_number_of_records_goes_in_and_out(connect)


def new_database(server: tuple[str, int]) -> dict[str, Any]:
    """Where a client finds an empty database of a server."""
    host, port = server
    settings = Settings(
        chroma_api_impl="chromadb.api.fastapi.FastAPI",
        chroma_server_host=host,
        chroma_server_http_port=port,
        anonymized_telemetry=False,
    )
    database = uuid4().hex
    chromadb.AdminClient(settings).create_database(database)
    return {"host": host, "port": port, "database": database}


class TestChromaServer(EngineLaws):
    @pytest.fixture
    def connect(self, chroma_server: tuple[str, int]) -> Callable[[], Any]:
        where = new_database(chroma_server)
        self.other_process = (
            f"import chromadb\nconnect = lambda: chromadb.HttpClient(**{where!r}, "
            "settings=chromadb.Settings(anonymized_telemetry=False))"
        )
        return lambda: chromadb.HttpClient(**where, settings=Settings(anonymized_telemetry=False))


class TestChromaServerAsynchronously(EngineLaws):
    @pytest.fixture
    def connect(self, chroma_server: tuple[str, int]) -> Callable[[], Any]:
        where = new_database(chroma_server)
        opened = self.runner.run(chromadb.AsyncHttpClient(**where, settings=Settings(anonymized_telemetry=False)))
        return lambda: opened


class Asynchronous:
    """An engine or a table whose methods are coroutine functions."""

    def __init__(self, thing: Any) -> None:
        self._thing = thing
        for name in ("tables", "table", "create", "get", "scan", "find", "put", "delete", "nearest", "annotate"):
            if hasattr(thing, name):
                setattr(self, name, self._awaited(getattr(thing, name)))

    @staticmethod
    def _awaited(method: Callable[..., Any]) -> Callable[..., Any]:
        async def awaited(*given: Any, **options: Any) -> Any:
            found = method(*given, **options)
            return Asynchronous(found) if hasattr(found, "annotate") else found

        return awaited

    def __getattr__(self, name: str) -> Any:
        return getattr(self._thing, name)


def test_the_engine_of_the_page_has_at_most_120_lines():
    engine = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]
    assert len(engine.splitlines()) <= 120


def test_what_is_no_engine_is_taken_for_a_client_of_chroma():
    assert to_engine(page()["MemoryEngine"](), 1.0).kind == "table"
    assert to_engine(chromadb.EphemeralClient(Settings(anonymized_telemetry=False)), 1.0).kind == "Chroma collection"
