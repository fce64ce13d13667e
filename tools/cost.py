"""Measures the processor time of ``add`` and of five strategies beside plain Chroma's.

    python tools/cost.py

Both sides store the same leaves with the same ready-made vectors, and take turns in one process. A figure is the least
processor time of leafspan in several rounds over the least of plain Chroma: the least, because other work on the machine
only adds time. ``add`` is compared with ``collection.add``. A strategy is compared with ``collection.query``, which only
compares vectors, so a strategy that also ranks by words takes longer.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

QUESTIONS = (
    "How does a steam engine work?",
    "Why do bees dance?",
    "What makes bread rise?",
    "Who built the first lighthouse?",
    "How do vaccines protect people?",
    "When was the telescope invented?",
)
PARTS = 40  # of the examples, which become documents of about 50 leaves each
ROUNDS = 25


def documents() -> list[tuple[str, str]]:
    """About 40 documents with the sentences of the example articles, in other orders."""
    from leafspan.examples import example_documents

    sentences = [part for document in example_documents() for part in document.text.split(". ")]
    step = len(sentences) // PARTS
    turned = [sentences[number * step :] + sentences[: number * step] for number in range(PARTS)]
    return [(f"text-{number}", ". ".join(each[number % 7 :: 7])) for number, each in enumerate(turned)]


def least(*calls: Callable[[], object]) -> list[float]:
    """The least processor time of each call, in seconds. The calls take turns."""
    seconds = [float("inf")] * len(calls)
    for _ in range(ROUNDS):
        for number, call in enumerate(calls):
            begin = time.process_time()
            call()
            seconds[number] = min(seconds[number], time.process_time() - begin)
    return seconds


def costs() -> Iterator[tuple[str, float]]:
    """The name of each call, and leafspan's processor time over plain Chroma's."""
    import chromadb
    import numpy as np

    from leafspan import BM25, AutoMerging, Document, Hybrid, Index, RelevantSegments, Vector
    from leafspan.embedding import default_embedder

    with tempfile.TemporaryDirectory() as folder:
        settings = chromadb.Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(str(Path(folder) / "plain"), settings=settings)
        plain = client.create_collection("plain", embedding_function=None, configuration={"hnsw": {"space": "cosine"}})
        with Index.open(Path(folder) / "kb", embedding_cache=False) as index:
            index.add([Document(id_, text) for id_, text in documents()], progress=False)
            stored = {id_: [leaf.text for leaf in index.leaves(id_)] for id_, _ in documents()}
            model = default_embedder()

            def add_plain(id_: str, texts: list[str]) -> None:
                vectors = np.asarray(model.documents(texts), dtype=np.float32)
                ids = [f"{id_}#{number}" for number in range(len(texts))]
                metadatas: list[Any] = [{"document": id_} for _ in texts]
                plain.add(ids=ids, documents=texts, embeddings=vectors, metadatas=metadatas)

            for id_, texts in stored.items():
                add_plain(id_, texts)
            numbers = count()
            id_, text = documents()[0]

            def add() -> None:
                index.add(Document(f"new-{next(numbers)}", text), progress=False)

            def add_to_plain() -> None:
                add_plain(f"new-{next(numbers)}", stored[id_])

            own, others = least(add, add_to_plain)
            yield "add", own / others

            def ask(strategy: Any) -> Callable[[], object]:
                return lambda: [index.retrieve(question, strategy, k=8) for question in QUESTIONS]

            def ask_plain() -> None:
                for question in QUESTIONS:
                    vector = np.asarray(model.queries([question]), dtype=np.float32)
                    plain.query(query_embeddings=vector, n_results=8)

            strategies = [Vector(), BM25(), Hybrid(), AutoMerging(), RelevantSegments()]
            seconds = least(*map(ask, strategies), ask_plain)
            for strategy, own in zip(strategies, seconds, strict=False):
                yield type(strategy).__name__, own / seconds[-1]


if __name__ == "__main__":
    for name, ratio in costs():
        print(f"{name:<20}{ratio:>8.2f} times as long as plain Chroma")
