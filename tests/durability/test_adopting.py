"""An adoption that is killed leaves complete documents and an unchanged collection, and continues when run again."""

from __future__ import annotations

import itertools
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chromadb
import pytest

from leafspan import Index
from tests.durability.children import ForkServer
from tests.durability.versions import EMBEDDER, adopt_collection, embed, open_index, records
from tests.profiles import quick

GROUP = 7  # records that are written at once, so that there are several groups
NAME = "chunks"


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServer]:
    opened = ForkServer()
    yield opened
    opened.close()


def make_collection(folder: Path, documents: int, chunks: int) -> Path:
    """A folder of Chroma with a collection of chunks that say their places, and of one that does not for each document."""
    client = chromadb.PersistentClient(str(folder), settings=chromadb.Settings(anonymized_telemetry=False))
    collection = client.create_collection(NAME, embedding_function=None)
    texts, metadatas = [], []
    for document in range(documents):
        start = 0
        for chunk in range(chunks):
            texts.append(f"This is chunk {chunk} of document {document}, which is a short one. ")
            metadatas.append({"source": f"{document}.txt", "start_index": start})
            start += len(texts[-1])
        texts.append(f"This is record {document}, which is alone.")
        metadatas.append({"alone": True})
    for first in range(0, len(texts), 5_000):
        some = slice(first, first + 5_000)
        ids = [f"record {first + number}" for number in range(len(texts[some]))]
        collection.add(ids=ids, documents=texts[some], metadatas=metadatas[some], embeddings=embed(texts[some]))
    return folder


def read_collection(folder: str) -> dict[str, Any]:
    """The records of the collection."""
    with Index.open(folder, embedder=EMBEDDER) as index:
        answer = index.client.get_collection(NAME, embedding_function=None).get(
            include=["documents", "metadatas", "embeddings"]
        )
    columns = zip(answer["ids"], answer["documents"], answer["metadatas"], answer["embeddings"].tolist(), strict=True)
    return {id_: (text, metadata, vector) for id_, text, metadata, vector in columns}


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_collection(tmp_path_factory.mktemp("before") / "kb", documents=5, chunks=4)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, before: Path) -> dict[str, Any]:
    """The records after an adoption that nothing disturbed."""
    place = {"path": str(shutil.copytree(before, tmp_path_factory.mktemp("undisturbed") / "kb"))}
    report = adopt_collection(place, NAME, group=GROUP)
    assert (len(report.added), report.leaves, report.skipped) == (10, 25, ())
    with open_index(place) as index:
        return {"kb": records(index), "texts": texts_of(index), NAME: read_collection(place["path"])}


def texts_of(index: Index) -> dict[str, str]:
    return {info.id: index.get(info.id).text for info in index.documents()}


def kill_and_run_again(place: dict[str, Any], step: int, fork_server: ForkServer, undisturbed: dict[str, Any]) -> int:
    """The return code of the adoption that was killed before the step, or was done before."""
    code = fork_server.write(place, adopt=NAME, batch=GROUP, die=step)
    with open_index(place) as index:
        left = texts_of(index)
        assert left.items() <= undisturbed["texts"].items()  # each document whole, or not there
    report = adopt_collection(place, NAME, group=GROUP)
    # A group that was written to its end, but not counted before the kill, is seen by writers only.
    assert len(report.added) + report.unchanged == 10
    assert len(left) <= report.unchanged <= len(left) + GROUP
    with open_index(place) as index:
        assert records(index) == undisturbed["kb"]
        assert index.repair() == []
    assert read_collection(place["path"]) == undisturbed[NAME]
    return code


@pytest.mark.parametrize("step", quick(1, [9, 0, 17]))
def test_an_adoption_that_was_killed_goes_on_when_it_is_run_again(
    tmp_path: Path, fork_server: ForkServer, before: Path, undisturbed: dict[str, Any], step: int
) -> None:
    place = {"path": str(shutil.copytree(before, tmp_path / "kb"))}
    assert kill_and_run_again(place, step, fork_server, undisturbed) == -signal.SIGKILL


@pytest.mark.slow
def test_after_a_kill_before_any_step_of_an_adoption_the_next_one_finishes_it(
    tmp_path: Path, fork_server: ForkServer, before: Path, undisturbed: dict[str, Any]
) -> None:
    for step in itertools.count():
        place = {"path": str(shutil.copytree(before, tmp_path / f"step-{step}"))}
        if (code := kill_and_run_again(place, step, fork_server, undisturbed)) == 0:
            break
        assert code == -signal.SIGKILL
    assert step > 20, "the adoption has fewer steps than were to be tried"


@pytest.mark.slow
def test_an_adoption_of_ten_thousand_chunks_that_was_killed_half_way_goes_on(
    tmp_path: Path, fork_server: ForkServer
) -> None:
    folder = make_collection(tmp_path / "kb", documents=1_000, chunks=9)
    place = {"path": str(folder)}
    assert fork_server.write(place, adopt=NAME, batch=2_000, die=15) == -signal.SIGKILL
    with open_index(place) as index:
        left = texts_of(index)
        assert 0 < len(left) < 2_000
    report = adopt_collection(place, NAME, group=2_000)
    assert (report.records, report.leaves, report.skipped) == (10_000, 10_000, ())
    assert (len(report.added), report.unchanged) == (2_000 - len(left), len(left))
    adopted = shutil.copytree(make_collection(tmp_path / "other", documents=1_000, chunks=9), tmp_path / "undisturbed")
    adopt_collection({"path": str(adopted)}, NAME, group=2_000)
    with open_index(place) as index, open_index({"path": str(adopted)}) as expected:
        assert of_any_collection(records(index)) == of_any_collection(records(expected))
        assert index.repair() == []


def of_any_collection(found: dict[str, Any]) -> dict[str, Any]:
    """The records without the id of the collection that they were adopted from, and without the checksum over that."""
    rows = {id_: re.sub(r'"(adopted|crc)":"[^"]+"', "", repr(row)) for id_, row in found["manifest"].items()}
    return {**found, "manifest": rows}
