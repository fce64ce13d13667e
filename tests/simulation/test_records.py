"""The Chroma in memory behaves like the real one."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import chromadb
import numpy as np
import pytest
from chromadb.config import Settings
from chromadb.errors import NotFoundError
from hypothesis import given
from hypothesis import strategies as st

from tests.profiles import examples
from tests.simulation.choices import Choices
from tests.simulation.server import Client, Server
from tests.simulation.world import World

NAMES = itertools.count()
IDS = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=4, unique=True)
INCLUDE = st.lists(st.sampled_from(["documents", "metadatas", "embeddings"]), unique=True)
METADATA = st.dictionaries(st.sampled_from("kl"), st.integers(0, 2), min_size=1)
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["add", "upsert"]), IDS, st.integers(0, 9), METADATA),
        st.tuples(st.just("upsert rows"), IDS, st.integers(0, 9), METADATA),
        st.tuples(st.just("delete"), IDS),
        st.tuples(st.just("get"), st.none() | IDS, st.none() | st.integers(1, 4), INCLUDE),
        st.tuples(st.just("find"), st.lists(st.integers(0, 2), min_size=1, max_size=2, unique=True)),
        st.tuples(st.just("query"), st.integers(0, 9), st.integers(1, 10)),
    ),
    max_size=20,
)


@functools.cache
def real_client() -> Any:
    return chromadb.EphemeralClient(Settings(anonymized_telemetry=False))


def simulated_client() -> Client:
    return Client(Server(World(Choices(0, 0.0, {}), ("switch",)), 100, lambda *_: None))


def vector(id_: str, number: int) -> list[float]:
    """A vector of its own for each id and number, so that no two distances are the same."""
    angle = (ord(id_) - 96) * 10.37 + number * 101.113
    return [float(np.cos(angle)), float(np.sin(angle)), 0.1 * (ord(id_) - 96)]


def columns(ids: list[str], number: int, metadata: dict[str, int]) -> dict[str, Any]:
    vectors = [vector(id_, number) for id_ in ids]
    return {
        "ids": ids,
        "embeddings": vectors,
        "documents": [f"{id_}{number}" for id_ in ids],
        "metadatas": [dict(metadata)] * len(ids),
    }


def answer_of(handle: Any, operation: tuple[Any, ...]) -> Any:
    """What Chroma answers, so that two answers can be compared."""
    match operation:
        case "add" | "upsert" as method, ids, number, metadata:
            return getattr(handle, method)(**columns(ids, number, metadata))
        case "upsert rows", ids, number, metadata:  # as a manifest's: without documents
            given = columns(ids, number, metadata)
            del given["documents"]
            return handle.upsert(**given)
        case "delete", ids:
            return handle.delete(ids=ids) and None
        case "get", ids, limit, include:
            return normal(handle.get(ids=ids, limit=limit, include=include))
        case "find", values:
            return normal(handle.get(where={"k": {"$in": values}}, include=[]))
        case "query", number, count:
            found = handle.query(
                query_embeddings=[vector("z", number)], n_results=count, include=["documents", "distances"]
            )
            return found["ids"], found["documents"], [[round(each, 5) for each in row] for row in found["distances"]]
    raise AssertionError(operation)


def normal(answer: Any) -> Any:
    """An answer to a get. The order of ids is that in which they were added, in both."""
    vectors = answer["embeddings"]
    rows = None if vectors is None else [[round(float(each), 5) for each in row] for row in vectors]
    return answer["ids"], answer["documents"], answer["metadatas"], rows


@examples(200)
@given(OPERATIONS)
def test_any_operations_give_the_same_answers(operations: list[tuple[Any, ...]]) -> None:
    configuration = {"hnsw": {"space": "cosine", "ef_search": 200}}
    name = f"records-{next(NAMES)}"
    real = real_client().create_collection(name, embedding_function=None, configuration=configuration)
    simulated = simulated_client().get_or_create_collection(name)
    try:
        for operation in operations:
            expected = answer_of(real, operation)
            found = answer_of(simulated, operation)
            if operation[0] == "get" and operation[3] and "embeddings" in operation[3]:
                # Chroma keeps vectors at length 1 where it compares angles.
                assert (found[:3], len(found[3])) == (expected[:3], len(expected[3]))
            else:
                assert found == expected, operation
        real.modify(metadata={"a": "b"})
        simulated.modify(metadata={"a": "b"})
        assert real_client().get_collection(name, embedding_function=None).metadata == {"a": "b"}
    finally:
        real_client().delete_collection(name)


@pytest.mark.parametrize("client", [real_client, simulated_client], ids=["real", "simulated"])
def test_an_empty_list_of_ids_is_an_error(client: Any) -> None:
    handle = client().get_or_create_collection("empty-list", embedding_function=None)
    for call in (lambda: handle.get(ids=[], include=[]), lambda: handle.delete(ids=[])):
        with pytest.raises(ValueError, match="non-empty"):
            call()


@pytest.mark.parametrize("client", [real_client, simulated_client], ids=["real", "simulated"])
def test_a_collection_that_is_not_there_is_an_error(client: Any) -> None:
    with pytest.raises(NotFoundError, match="does not exist"):
        client().get_collection("nowhere", embedding_function=None)


@pytest.mark.parametrize("client", [real_client, simulated_client], ids=["real", "simulated"])
def test_making_a_collection_twice_keeps_the_first(client: Any) -> None:
    client = client()
    client.get_or_create_collection("twice", embedding_function=None, metadata={"a": "1"})
    client.get_or_create_collection("twice", embedding_function=None, metadata={"a": "2"})
    assert client.get_collection("twice", embedding_function=None).metadata == {"a": "1"}
