"""Over a server, a client that is killed while it writes destroys nothing, and the next ``add`` finishes its work."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.durability.children import ForkServer
from tests.durability.versions import ALL, broken, document, open_index, records, text_of

OLD = [("first", 1, 8), ("second", 1, 6)]
NEW = [("first", 2, 7), ("second", 2, 8), ("new", 1, 6)]


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServer]:
    opened = ForkServer()
    yield opened
    opened.close()


def place_of(server: tuple[str, int], name: str) -> dict[str, Any]:
    return {"host": server[0], "port": server[1], "name": name}


@pytest.mark.slow
def test_after_a_kill_of_a_client_before_any_call_old_texts_are_whole_and_the_next_add_finishes_it(
    chroma_server: tuple[str, int], fork_server: ForkServer, tmp_path: Path
) -> None:
    calm = open_index(place_of(chroma_server, f"{tmp_path.name}-calm"))
    calm.add([document(*each) for each in OLD])
    calm.add([document(*each) for each in NEW])
    undisturbed = records(calm, f"{tmp_path.name}-calm")
    named = set()
    for step in itertools.count():
        name = f"{tmp_path.name}-{step}"
        index = open_index(place_of(chroma_server, name))
        index.add([document(*each) for each in OLD])
        code = fork_server.write(place_of(chroma_server, name), add=NEW, batch=13, die=step)
        assert code in (0, -signal.SIGKILL)
        texts: dict[str, dict[int | None, str | None]] = {}
        for who, version, sentences in NEW:
            before = {v: document(n, v, s).text for n, v, s in OLD if n == who} or {None: None}
            texts[who] = {**before, version: document(who, version, sentences).text}
            assert text_of(index, who) in texts[who].values()
        assert broken(index.retrieve("anything", k=ALL, candidates=ALL), texts) == []
        if step % 2:
            named |= {finding.document_id for finding in index.repair()}
            assert index.repair() == []
        index.add([document(*each) for each in NEW])
        assert records(index, name) == undisturbed
        assert index.repair() == []
        if code == 0:
            break
    assert step > 10
    assert named == {"first", "second", "new"}
