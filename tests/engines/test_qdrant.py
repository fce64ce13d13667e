"""The engine over Qdrant, in this process and awaited, and over the server of ``LEAFSPAN_QDRANT_URL``."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from qdrant_client import AsyncQdrantClient, QdrantClient

from leafspan.testing import EngineLaws

SERVER = os.environ.get("LEAFSPAN_QDRANT_URL")


class TestQdrantInMemory(EngineLaws):
    @pytest.fixture
    def connect(self) -> Callable[[], Any]:
        client = QdrantClient(":memory:")
        return lambda: client


class TestQdrantInAFolder(EngineLaws):
    @pytest.fixture
    def connect(self, tmp_path: Path) -> Callable[[], Any]:
        self.other_process = (
            f"from qdrant_client import QdrantClient\nconnect = lambda: QdrantClient(path={str(tmp_path)!r})"
        )
        client: list[Any] = []  # one at a time may have the folder

        def connect() -> Any:
            if not client:
                client.append(QdrantClient(path=str(tmp_path)))
            return client[0]

        return connect


class TestQdrantAwaited(EngineLaws):
    @pytest.fixture
    def connect(self) -> Callable[[], Any]:
        client = AsyncQdrantClient(":memory:")
        return lambda: client


@pytest.mark.skipif(SERVER is None, reason="LEAFSPAN_QDRANT_URL names no server")
class TestQdrantServer(EngineLaws):
    @pytest.fixture
    def connect(self) -> Callable[[], Any]:
        client = QdrantClient(SERVER)
        for each in client.get_collections().collections:
            if each.name.startswith("leafspan_"):
                client.delete_collection(each.name)
        self.other_process = f"from qdrant_client import QdrantClient\nconnect = lambda: QdrantClient({SERVER!r})"
        return lambda: QdrantClient(SERVER)
