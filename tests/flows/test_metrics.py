"""Metrics of OpenTelemetry: questions, adds, embedded texts and waits, for an application that collects them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.metrics import _internal
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader

from leafspan import Document, Embedder, Hybrid, Index, InvalidArgument
from leafspan.embedding import EmbeddingCache
from leafspan.engines.local import wait_for_lock
from leafspan.errors import WriterBusy
from leafspan.flows import METRICS, _metrics, run

Read = Callable[[str], dict[tuple[tuple[str, Any], ...], int]]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Iterator[Read]:
    """Read a metric: for each set of attributes, the sum of a counter, or the number of a histogram's values."""
    reader = InMemoryMetricReader()
    monkeypatch.setattr(_internal, "_METER_PROVIDER", MeterProvider([reader]))
    _metrics.instrument.cache_clear()

    def read(name: str) -> dict[tuple[tuple[str, Any], ...], int]:
        data = reader.get_metrics_data()
        metrics = [m for of in data.resource_metrics for scope in of.scope_metrics for m in scope.metrics] if data else []
        return {key(p.attributes): value_of(p) for m in metrics if m.name == name for p in m.data.data_points}

    yield read
    _metrics.instrument.cache_clear()


def key(attributes: Mapping[str, Any] | None) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted((name.removeprefix("leafspan."), value) for name, value in (attributes or {}).items()))


def value_of(point: Any) -> int:
    return point.count if isinstance(point, HistogramDataPoint) else point.value


def test_questions_are_measured_by_strategy_and_error(shared_index: Index, read: Read):
    shared_index.retrieve("When did the pier burn down?", Hybrid(), k=2)
    shared_index.retrieve_many(["tea", "bees"], "bm25", k=1)
    with pytest.raises(InvalidArgument):
        shared_index.retrieve(" ", "bm25")
    strategy = "strategy"
    assert read("leafspan.retrieve.duration") == {
        ((strategy, "Hybrid"),): 1,
        ((strategy, "BM25"),): 1,
        (("error.type", "InvalidArgument"), (strategy, "BM25")): 1,
    }
    assert read("leafspan.retrieve.passages") == {(): 3}  # one for each question


async def test_adds_are_measured_by_outcome(tmp_path: Path, read: Read):
    with Index.open(tmp_path / "kb") as index:
        index.add([Document("a", "Tea."), Document("b", "Bees.")])
        await index.aadd([Document("a", "Coffee."), Document("b", "Bees.")])
        index.sync([Document("a", "Coffee.")], within="everything", dry_run=True)
    assert read("leafspan.add.duration") == {(): 2}
    outcomes = {"added": 2, "replaced": 1, "unchanged": 1}
    assert read("leafspan.add.documents") == {(("outcome", name),): count for name, count in outcomes.items()}


def embed(texts: list[str]) -> list[list[float]]:
    return [[1.0, float(len(text))] for text in texts]


def test_texts_are_counted_as_embedded_or_from_the_cache(tmp_path: Path, read: Read):
    embedder = Embedder("service", embed, embed, model="one")
    cache = EmbeddingCache(tmp_path / "cache")
    for name in ("first", "second"):
        with Index.open(tmp_path / name, embedder=embedder, embedding_cache=cache) as index:
            index.add([Document("a", "Tea is hot."), Document("b", "Bees dance.")])
    assert read("leafspan.embed.texts") == {(("cached", False),): 2, (("cached", True),): 2}
    with Index.open(tmp_path / "third", embedder=embedder, embedding_cache=False) as index:
        index.add(Document("a", "Tea is hot."))
    assert read("leafspan.embed.texts")[(("cached", False),)] == 3


def test_waits_for_another_writer_are_measured(read: Read):
    run(wait_for_lock(iter([False, False, True]).__next__, 30, "the index"))
    assert read("leafspan.lock.wait") == {(): 1}
    with pytest.raises(WriterBusy):
        run(wait_for_lock(lambda: False, 0.01, "the index"))
    assert read("leafspan.lock.wait") == {(): 2}


def test_an_application_without_metrics_imports_none(tmp_path: Path):
    script = f"""
import sys
from leafspan.retrieval._recording import recorded
with recorded("a strategy"):
    pass
assert "{METRICS}" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)
