from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kuzu
import pytest
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.graph_stores.kuzu import KuzuPropertyGraphStore

from leafspan import Index
from leafspan.sources import LightRAGThread
from tests.sources.graphs.scripted import filled_thread, maker, property_graph, small_index


@pytest.fixture(scope="session")
def sentences(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """A small index, to read from."""
    with small_index(tmp_path_factory.mktemp("sentences") / "kb") as index:
        yield index


@pytest.fixture(scope="session")
def light_rag(sentences: Index, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LightRAGThread]:
    """A LightRAG of the small index, in a thread of its own."""
    with filled_thread(maker(tmp_path_factory.mktemp("light_rag")), sentences) as thread:
        yield thread


def in_memory(_: Path) -> Any:
    return SimplePropertyGraphStore()


def in_kuzu(folder: Path) -> Any:
    # Its vector index would be downloaded.
    return KuzuPropertyGraphStore(kuzu.Database(str(folder / "kuzu")), use_vector_index=False)


STORES = {"in memory": in_memory, "Kuzu": in_kuzu}


@pytest.fixture(params=STORES)
def empty_store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """An empty property graph store."""
    return STORES[request.param](tmp_path)


@pytest.fixture(scope="session", params=STORES)
def filled(request: pytest.FixtureRequest, sentences: Index, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A PropertyGraphIndex of the small index, to read from."""
    return property_graph(sentences, STORES[request.param](tmp_path_factory.mktemp("graph")))
