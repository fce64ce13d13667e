"""Which records of a collection have lost their vectors, over a collection in memory."""

from __future__ import annotations

from leafspan.flows import run
from tests.store.memory import Records


class Lossy(Records):
    """It has lost vectors: like Chroma, it fails if one of them is asked for, and its search does not find these records."""

    def get(self, *, ids=None, limit=None, include=()):
        answer = super().get(ids=ids, limit=limit, include=include)
        if None in answer.get("embeddings", ()):
            raise RuntimeError("one of them has no vector")
        return answer


def test_of_records_without_vectors_few_others_are_suspected():
    records = Lossy("leaves")
    ids = [f"{number}" for number in range(25)]
    records.add(ids=ids, embeddings=[[float(number), 1.0] for number in range(25)])
    assert run(records.collection.without_vectors(ids)) == set()
    records.records["13"]["embeddings"] = None
    found = run(records.collection.without_vectors(ids))
    assert "13" in found
    assert len(found) <= 8


def test_of_records_with_equal_vectors_none_is_lost_and_one_that_is_not_found_is():
    records = Records("leaves")
    records.add(ids=["a", "b", "c"], embeddings=[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert run(records.collection.not_found(["a", "b", "c"])) == set()
    found = records.query(query_embeddings=[[1.0, 0.0]], n_results=1)
    records.query = lambda query_embeddings, **_: {
        "ids": found["ids"] * len(query_embeddings),
        "distances": [[1 - vector[0]] for vector in query_embeddings],
    }
    assert run(records.collection.not_found(["a", "b", "c"])) == {"c"}
