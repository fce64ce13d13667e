"""Documents, embedder and language model for building trees with counts, and laws about trees."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import threading

import chromadb
import numpy as np
from chromadb.config import Settings

from leafspan import Document, Embedder, HierarchicalSplitter, Index
from leafspan.engines import Record
from leafspan.store._manifest import unpack_rows
from leafspan.trees import Abstractive
from tests.rows import collection as stored_collection

SPLITTER = HierarchicalSplitter(leaf_words=12, parent_words=(40,))
NAMES = itertools.count()


def embed(texts):
    """Eight counts of words by their hashes: texts with common words are alike."""
    rows = np.zeros((len(texts), 8), dtype=np.float32)
    for row, text in zip(rows, texts, strict=True):
        for word in text.lower().split():
            row[hashlib.sha256(word.encode()).digest()[0] % 8] += 1
    return rows


EMBEDDER = Embedder("eight", embed, embed, local=True)


@functools.cache
def memory():
    """The Chroma in memory of all these tests: making a client of it takes longer than making an index."""
    return chromadb.EphemeralClient(Settings(anonymized_telemetry=False))


def opened(name=None, client=None):
    client = client or memory()
    return Index.open(client=client, name=name or f"building-{next(NAMES)}", embedder=EMBEDDER, splitter=SPLITTER)


def document(name, count=20, metadata=None, **changed):
    """A document of ``count`` leaves, a sentence each; ``s3="..."`` replaces the fourth."""
    lines = [
        f"In {name} the sentence {n} tells of {['fire', 'tea', 'rain', 'salt'][n % 4]} and of {name}{n}."
        for n in range(count)
    ]
    for place, line in changed.items():
        lines[int(place[1:])] = line
    return Document(name, " ".join(lines), metadata=metadata or {})


class Asked:
    """A language model for lists of texts that counts, and fails for what has a rotten word in it."""

    def __init__(self, rotten=()):
        self.rotten = rotten
        self.calls = []
        self.mutex = threading.Lock()

    def __call__(self, texts):
        with self.mutex:
            self.calls.append(tuple(texts))
        if any(word in text for word in self.rotten for text in texts):
            raise ConnectionError("no route")
        # Words that are this cluster's alone, and all that are about a zebra.
        digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()
        words = dict.fromkeys(word for text in texts for word in text.split() if "zebra" in word)
        return " ".join(["About", digest[:6], digest[6:12], *words]) + "."

    def summarizer(self, **options):
        return Abstractive(**{"generate": self, "prompt": None, "name": "asked", "retries": 0, "concurrency": 1} | options)


def name_of(index):
    """What the names of its collections begin with."""
    return index._store.name


def records(index, collection="tree.leaves"):
    """What lies in a collection of Chroma: text, metadata and vector by id."""
    handle = stored_collection(index, f"{name_of(index)}.{collection}")
    answer = handle.get(include=["documents", "metadatas", "embeddings"])
    return {
        id_: (text, metadata, np.asarray(vector))
        for id_, text, metadata, vector in zip(
            *(answer[k] for k in ("ids", "documents", "metadatas", "embeddings")), strict=True
        )
    }


def same_records(one, other):
    assert {id_: each[:2] for id_, each in one.items()} == {id_: each[:2] for id_, each in other.items()}
    for id_, (_, _, vector) in one.items():
        np.testing.assert_allclose(vector, other[id_][2], atol=1e-5)


def trees(index):
    """The summaries by document, as (text, summary), without their ids."""
    return {
        info.id: [(each.text, each.summary.layer, each.summary.covers) for each in index.summaries(info.id)]
        for info in index.documents()
    }


def words_in_chroma(index, word):
    """The collections of the index in which a word stands, wherever in it."""
    found = []
    for collection in index.client.list_collections():
        if not collection.name.startswith(f"{name_of(index)}."):
            continue
        answer = index.client.get_collection(collection.name).get(include=["documents", "metadatas"])
        if word in json.dumps([answer["ids"], answer["documents"], answer["metadatas"]]):
            found.append(collection.name)
    return found


def check_laws(index):
    """What holds of every tree, and of the layers above; gives the number of roots."""
    leaves = {leaf.id: leaf for leaf in index.leaves()}
    summaries = {each.id: each for each in index.summaries()}
    layer = dict.fromkeys(leaves, 0) | {id_: each.summary.layer for id_, each in summaries.items()}
    covered = {id_: {id_} for id_ in leaves}
    for id_, each in sorted(summaries.items(), key=lambda item: layer[item[0]]):
        children = each.summary.children
        assert len(set(children)) == len(children) > 1
        # No cycles: a summary is above all that it was made of.
        assert layer[id_] == 1 + max(layer[child] for child in children)
        covered[id_] = set().union(*(covered[child] for child in children))
        runs = [
            f"{run.document_id}#{run.version}#{n}" for run in each.summary.covers for n in range(run.first, run.last + 1)
        ]
        assert len(runs) == len(set(runs))
        assert set(runs) == covered[id_]
        assert each.text.strip() or not any(leaves[leaf].text.strip() for leaf in covered[id_])
    parents = {child for each in summaries.values() for child in each.summary.children}
    roots = [id_ for id_ in layer if id_ not in parents]
    assert set().union(*(covered[root] for root in roots)) == set(leaves)
    return len(roots)


def fours(vectors, sizes, most):
    """Clusters of four neighbours, so that it can be counted what there is."""
    return [range(start, min(start + 4, len(sizes))) for start in range(0, len(sizes), 4)]


def building(index, asked, **options):
    """What was built, and how many calls that took."""
    before = len(asked.calls)
    built = index.build_tree(**{"summarizer": asked.summarizer(), "clusterer": fours} | options)
    assert built.asked == len(asked.calls) - before
    return built


def rows_of(index):
    """The rows of the trees, by stored ids."""
    stored = records(index, "tree.manifest")
    return unpack_rows(
        {id_: Record(id_, metadata=metadata) for id_, (_, metadata, _) in stored.items() if "row" in metadata}
    )
