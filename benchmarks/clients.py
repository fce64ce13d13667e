"""What a client reads from an index behind a server: for its first answers, and after another client has written.

    python benchmarks/clients.py [--leaves 100000] [--rounds 3] [--json FILE]

The benchmark makes an index behind a real Chroma server on this machine. Clients with an empty cache folder each open it
and ask one question, and all bytes over the wire are counted. In turns, the clients find stored segments, or find no
segments and read all leaves. Then another client adds one document, and the first client asks again.

Ends with 1 if a bound is missed.
"""

from __future__ import annotations

import argparse
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import chromadb
from corpus import Corpus, questions
from results import Figure, add_json_option, all_passed, print_figures, write_results

from leafspan import BM25, F, Hybrid, Index, RelevantSegments, Vector
from tests.server import running_server

MOST_OF_ALL = 0.1  # share of the bytes of a client that reads everything
MOST_OF_SEGMENT = 2.0  # bytes that a client reads after a change, over the new segment's size
SEGMENTS = "kb.segments"
ASKED: dict[str, Callable[[Index, str], Any]] = {
    "BM25": lambda index, question: index.retrieve(question, BM25()),
    "Hybrid": lambda index, question: index.retrieve(question, Hybrid()),
    "RelevantSegments": lambda index, question: index.retrieve(question, RelevantSegments()),
    "filtered": lambda index, question: index.retrieve(question, Vector(), where=F("book") < 500),
}


class Wire:
    """A proxy in front of a server, which counts the bytes that the server sends."""

    def __init__(self, port: int) -> None:
        self._server_port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.received = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            server = socket.create_connection(("127.0.0.1", self._server_port))
            for source, target, counts in ((client, server, False), (server, client, True)):
                threading.Thread(target=self._pass_on, args=(source, target, counts), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, counts: bool) -> None:
        with suppress(OSError):
            while content := source.recv(1 << 16):
                self.received += len(content) if counts else 0
                target.sendall(content)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


def client(port: int) -> Any:
    """A Chroma client."""
    return chromadb.HttpClient("127.0.0.1", port, settings=chromadb.Settings(anonymized_telemetry=False))


def measure(folder: Path, leaves: int, rounds: int) -> list[Figure]:
    """Make an index, and ask it."""
    corpus = Corpus.made(leaves, {"kind": "book"})
    own = questions(rounds + 4)
    (folder / "server").mkdir()
    with running_server(folder / "server") as (_, port):
        wire = Wire(port)

        def opened(cache: str, at: int = wire.port) -> Index:
            return Index.open(client=client(at), cache_dir=folder / cache, embedder=corpus.embedder())

        with opened("writer", port) as writer:
            for documents, rows in corpus.groups():
                writer.add(documents, progress=False)
                print(f"    {rows.stop:,} of {len(corpus.ids):,} leaves are stored", flush=True)
        received, seconds = first_answers(opened, wire, client(port), own, rounds)
        figures = print_figures(first_figures(received, seconds))
        return figures + print_figures(figures_after_a_change(opened, wire, folder, port, corpus, own[-3:]))


def first_answers(
    opened: Callable[[str], Index], wire: Wire, chroma: Any, own: list[str], rounds: int
) -> tuple[dict[tuple[str, bool], list[int]], dict[tuple[str, bool], list[float]]]:
    """Bytes and seconds of new clients' first answers, by question and by whether segments are stored."""
    received, seconds = defaultdict(list), defaultdict(list)
    for number in range(rounds):
        for stored in (True, False):
            if not stored:
                chroma.get_collection(SEGMENTS, embedding_function=None).modify(name=f"{SEGMENTS}.away")
            for name, ask in ASKED.items():
                wire.received = 0
                started = time.perf_counter()
                with opened(f"{name} {number} {stored}") as index:
                    ask(index, own[number])
                seconds[name, stored].append(time.perf_counter() - started)
                received[name, stored].append(wire.received)
            if not stored:
                chroma.get_collection(f"{SEGMENTS}.away", embedding_function=None).modify(name=SEGMENTS)
    return received, seconds


def first_figures(
    received: dict[tuple[str, bool], list[int]], seconds: dict[tuple[str, bool], list[float]]
) -> Iterator[Figure]:
    """The figures of first answers."""
    everything = statistics.median(received["BM25", False])
    print(f"  {everything / 1e6:.1f} MB are read by a client that finds no segments, for its first answer with BM25")
    for name in ASKED:
        share = statistics.median(received[name, True]) / everything
        yield Figure(f"{name}: bytes of a fresh client, beside all", share, "<=", MOST_OF_ALL, "first answers")
    for name in ("BM25", "Hybrid", "RelevantSegments"):
        pairs = zip(seconds[name, True], seconds[name, False], strict=True)
        time_ratio = statistics.median(own / other for own, other in pairs)
        print(f"  {time_ratio:.2f}  {name}: time of a fresh client, beside one that reads everything")
        yield Figure(f"{name}: time of a fresh client, beside one that reads everything", time_ratio, part="first answers")


def figures_after_a_change(
    opened: Callable[..., Index], wire: Wire, folder: Path, port: int, corpus: Corpus, own: list[str]
) -> Iterator[Figure]:
    """The figures of an answer after another client has added a document."""
    with opened("reader") as reader, opened("other", port) as other:
        reader.retrieve(own[1], BM25())
        wire.received = 0
        reader.retrieve(own[1], BM25())
        usual = wire.received
        other.add([replace(corpus.documents[0], id="new")], progress=False)
        new = max((path.stat() for path in (folder / "other").rglob("*.segment")), key=lambda each: each.st_mtime)
        wire.received = 0
        reader.retrieve(own[1], BM25())
        share = (wire.received - usual) / new.st_size
    yield Figure("bytes after another client's add, beside the new segment", share, "<=", MOST_OF_SEGMENT, "after a change")


def main() -> None:
    """Measure, print and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--leaves", type=int, default=100_000, help="leaves of the index (default: 100000)")
    parser.add_argument("--rounds", type=int, default=3, help="fresh clients of each kind (default: 3)")
    add_json_option(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder), options.leaves, options.rounds)
    write_results("clients", options, figures)
    sys.exit(0 if all_passed(figures) else 1)


if __name__ == "__main__":
    main()
