"""One client of an embedded Chroma sees another client's writes in the simulated Chroma as in the real one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chromadb.errors import InternalError

from leafspan.store._folder import fresh_client
from tests.simulation.choices import Choices
from tests.simulation.embedded import IDS, VECTORS, Disk, EmbeddedClient
from tests.simulation.world import World

CONFIGURATION = {"hnsw": {"space": "cosine", "sync_threshold": 6}}
AXES = {"x": [1.0, 0.0, 0.0], "y": [0.0, 1.0, 0.0], "z": [0.0, 0.0, 1.0], "v": [1.0, 0.9, 0.0], "w": [1.0, 0.0, 0.8]}

Open = Callable[[], Any]


@pytest.fixture(params=["real", "simulated"])
def open_client(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    """Opens another client of one folder, as another process would."""
    if request.param == "real":
        return lambda: fresh_client(tmp_path)
    disk = Disk(World(Choices(0, 0.0, {}), ("switch",)), tmp_path, 100, lambda *_: None)
    return lambda: EmbeddedClient(disk)


def collection(client: Any) -> Any:
    handle = client.get_or_create_collection("leaves", embedding_function=None, configuration=CONFIGURATION)
    handle.get(limit=1, include=[])  # loads the vectors
    return handle


def add(handle: Any, *ids: str) -> None:
    handle.add(ids=list(ids), embeddings=[AXES[id_[0]] for id_ in ids], documents=[id_.upper() for id_ in ids])


def found(handle: Any) -> dict[str, str | None]:
    answer = handle.query(query_embeddings=[[1.0, 0.1, 0.01]], n_results=10, include=["documents"])
    return dict(zip(answer["ids"][0], answer["documents"][0], strict=True))


def test_a_client_does_not_find_what_another_one_adds_but_reads_its_text(open_client: Open) -> None:
    writer, reader = collection(open_client()), None
    add(writer, "x", "y")
    reader = collection(open_client())
    add(writer, "z")
    assert found(reader) == {"x": "X", "y": "Y"}
    assert reader.get(ids=["z"], include=["documents"])["documents"] == ["Z"]
    with pytest.raises(InternalError, match="Error finding id"):
        reader.get(ids=["z"], include=["embeddings"])
    assert found(collection(open_client())) == {"x": "X", "y": "Y", "z": "Z"}


def test_a_client_finds_what_another_one_has_deleted_without_its_text(open_client: Open) -> None:
    writer = collection(open_client())
    add(writer, "x", "y")
    reader = collection(open_client())
    writer.delete(ids=["x"])
    assert found(reader) == {"x": None, "y": "Y"}
    assert list(reader.get(ids=["x"], include=["embeddings"])["embeddings"]) == []
    assert found(collection(open_client())) == {"y": "Y"}


def test_a_client_has_the_old_vector_of_what_another_one_has_overwritten(open_client: Open) -> None:
    writer = collection(open_client())
    add(writer, "x")
    reader = collection(open_client())
    writer.upsert(ids=["x"], embeddings=[AXES["y"]], documents=["new"])
    record = reader.get(ids=["x"], include=["documents", "embeddings"])
    assert (record["documents"], record["embeddings"][0].tolist()) == (["new"], AXES["x"])


def test_files_are_written_after_so_many_records_and_loaded_with_the_log(open_client: Open, tmp_path: Path) -> None:
    writer = collection(open_client())
    add(writer, "x", "y", "z")
    assert list(tmp_path.glob(f"*/{IDS}")) == []
    add(writer, "v", "w", "x2", "y2")  # the seventh
    (ids,) = tmp_path.glob(f"*/{IDS}")
    assert sorted(path.name for path in ids.parent.iterdir()) == sorted([*VECTORS, IDS])
    add(writer, "z2")
    writer.delete(ids=["x"])
    assert found(collection(open_client())).keys() == {"y", "z", "v", "w", "x2", "y2", "z2"}


def test_without_the_file_of_the_ids_nothing_but_the_log_is_loaded(open_client: Open, tmp_path: Path) -> None:
    writer = collection(open_client())
    add(writer, "x", "y", "z")
    add(writer, "v", "w", "x2", "y2")
    add(writer, "z2")
    (ids,) = tmp_path.glob(f"*/{IDS}")
    ids.unlink()
    assert "x" not in found(collection(open_client()))
    assert "z2" in found(collection(open_client()))
