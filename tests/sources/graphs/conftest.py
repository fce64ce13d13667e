from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from llama_index.core.graph_stores import SimplePropertyGraphStore

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


@pytest.fixture
def empty_store() -> Any:
    """An empty property graph store."""
    return SimplePropertyGraphStore()


@pytest.fixture(scope="session")
def filled(sentences: Index) -> Any:
    """A PropertyGraphIndex of the small index, to read from."""
    return property_graph(sentences, SimplePropertyGraphStore())
