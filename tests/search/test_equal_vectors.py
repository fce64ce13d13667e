"""A search by vectors finds every leaf that reaches the lowest score, also where very many vectors are equal."""

from __future__ import annotations

import chromadb
import numpy as np
import pytest
from chromadb.config import Settings

from leafspan import Cut, Document, Embedder, F, Index, Vector

SETTINGS = Settings(anonymized_telemetry=False)
OTHERS = 300
chance = np.random.default_rng(5)
VECTORS = {f"o{number}": chance.normal(size=6) for number in range(OTHERS)} | {"equal": chance.normal(size=6)}


def embed(texts):
    return np.array([VECTORS.get(text.split()[0], VECTORS["o0"]) for text in texts], dtype=np.float32)


EMBEDDER = Embedder("six", embed, embed, local=True)


def open_index(where, equal, tmp_path):
    place = {"path": tmp_path / "kb"} if where == "folder" else {"client": chromadb.EphemeralClient(SETTINGS)}
    splitter = lambda text: [Cut(place + 1) for place, character in enumerate(text) if character == "\n"]  # noqa: E731
    options = {"splitter": splitter, "embedder": EMBEDDER, "title_weight": 0.0, "embedding_cache": False}
    index = Index.open(**place, name=f"{tmp_path.name[-30:]}{equal}".strip("_"), **options)
    words = [*(["equal"] * equal), *(f"o{number}" for number in range(OTHERS))]
    order = np.random.default_rng(equal).permutation(len(words))
    for number, places in enumerate(np.array_split(order, 10)):
        text = "".join(f"{words[place]} {place}\n" for place in places)
        index.add(Document(f"d{number}", text, metadata={"part": number % 2}))
    return index


@pytest.mark.parametrize("where", ["folder", "client"])
@pytest.mark.parametrize("equal", [3, 40, 300, 1_500])
def test_all_that_reach_the_lowest_score_are_found(where, equal, tmp_path):
    with open_index(where, equal, tmp_path) as index:
        for options in (
            {"strategy": Vector(min_score=0.9999)},
            {"strategy": Vector(), "min_score": 0.9999},
            {"strategy": Vector(min_score=0.9999, summaries=True)},
            {"strategy": Vector(min_score=0.9999), "where": F("part") >= 0},
        ):
            found = index.retrieve("equal", **options)
            assert sum(passage.text.startswith("equal") for passage in found) == equal == len(found)
        half = index.retrieve("equal", Vector(min_score=0.9999), where=F("part") == 1)
        texts = [line for number in range(1, 10, 2) for line in index.get(f"d{number}").text.splitlines()]
        assert len(half) == sum(line.startswith("equal") for line in texts)
        every = index.retrieve("equal", Vector(min_score=-1.0))
        assert len(every) == equal + OTHERS


def test_ties_of_a_few_results_go_by_document_and_position(tmp_path):
    with open_index("client", 40, tmp_path) as index:
        found = index.retrieve("equal", Vector(), k=40)
        assert [passage.score for passage in found] == pytest.approx([1.0] * 40)
