"""A vector search finds every leaf with the lowest score, even if many vectors are equal."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace

import chromadb
import numpy as np
import pytest
from chromadb.config import Settings

from leafspan import Document, Embedder, F, Index, Vector
from leafspan.engines import StaleRead
from leafspan.flows import run
from leafspan.search import misses_some
from leafspan.splitting import Cut
from leafspan.store import Nearest
from leafspan.values import Hit, LeafId
from tests.profiles import quick

SETTINGS = Settings(anonymized_telemetry=False)
OTHERS = 1_500
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


@pytest.mark.parametrize(
    ("where", "equal"), quick(3, [*product(["folder", "client"], [40]), *product(["folder", "client"], [500, 3, 1_500])])
)
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
        assert len(index.retrieve("equal", Vector(min_score=-1.0))) == equal + OTHERS


class Reader:
    """A reader of an index with this number of leaves."""

    def __init__(self, leaves):
        self._leaves = leaves

    def everything(self):
        return SimpleNamespace(leaves=self._leaves, versions=lambda: [("a", "now", self._leaves)])
        yield


@pytest.mark.parametrize(
    ("scores", "returned", "count", "leaves", "complete", "misses"),
    [
        ([1.0] * 33 + [0.5] * 17, 50, 50, 1_000, True, True),  # more equal ones than a leaf has links
        ([1.0] * 33 + [0.5] * 17, 50, 50, 1_000, False, False),
        ([1.0] * 32 + [0.5] * 18, 50, 50, 1_000, True, False),
        ([0.9] * 10 + [0.5 + 1e-8 * place for place in range(40)][::-1], 50, 50, 1_000, True, True),  # rounded
        ([1.0 - place / 100 for place in range(50)], 50, 50, 1_000, True, False),
        ([1.0 - place / 100 for place in range(49)], 49, 50, 1_000, False, True),  # fewer than there are
        ([1.0 - place / 100 for place in range(49)], 49, 50, 49, False, False),
        ([1.0 - place / 100 for place in range(20)], 20, 50, 20, False, False),
        ([1.0 - place / 100 for place in range(20)], 33, 50, 40, False, True),  # others that it returned were replaced
        ([1.0 - place / 100 for place in range(20)], 33, 50, 20, False, False),
        ([], 0, 50, 0, True, False),
    ],
)
def test_what_looks_as_if_the_graph_had_missed_some(scores, returned, count, leaves, complete, misses):
    row = [Hit(LeafId("a", "now", place), score) for place, score in enumerate(scores)]
    assert run(misses_some(Reader(leaves), Nearest([row], [returned]), count, complete=complete)) is misses


def test_leaves_that_were_replaced_by_the_time_that_all_documents_are_known_are_looked_for_again():
    row = [Hit(LeafId("a", version, place), 1.0 - place / 100) for version in ("now", "before") for place in range(20)]
    for leaves in (20, 21):
        with pytest.raises(StaleRead):
            run(misses_some(Reader(leaves), Nearest([row], [40]), 50, complete=False))


def test_ties_of_a_few_results_go_by_document_and_position(tmp_path):
    with open_index("client", 40, tmp_path) as index:
        found = index.retrieve("equal", Vector(), k=40)
        assert [passage.score for passage in found] == pytest.approx([1.0] * 40)
