"""Retrieval from trees against the algorithm of the RAPTOR repository, on the same trees and vectors.

That package is in no registry, and its retriever needs two services to be imported. So its steps are written again here, from
a description of what it does: nodes by cosine distance, the first ``top_k``, up to the first over the budget of tokens; or
layer by layer the ``top_k`` among the children of those chosen before. Its threshold keeps what is *least* similar, since it
compares distances as if they were similarities; here it is put right.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count

import chromadb
import numpy as np
import pytest
from chromadb.config import Settings
from hypothesis import given
from hypothesis import strategies as st

from leafspan import Budget, Document, Index, Passage, Tree, Vector
from leafspan.splitting import Cut
from tests.profiles import examples

DIMENSION = 8
seeds = st.integers(0, 2**32 - 1)
few_examples = examples(15, fast=6)
_names = count()


@dataclass(frozen=True)
class Node:
    """A node as the peer has it: its text, its place among all, its children's places, and its vector."""

    text: str
    children: tuple[int, ...]
    vector: np.ndarray


@dataclass(frozen=True)
class Peer:
    """Leaves first, then the summaries, layer by layer."""

    nodes: Sequence[Node]
    layers: Sequence[Sequence[int]]

    def distances(self, query: np.ndarray, places: Sequence[int]) -> list[float]:
        vectors = [self.nodes[place].vector for place in places]
        return [1 - float(v @ query / np.linalg.norm(v) / np.linalg.norm(query)) for v in vectors]

    def nearest(self, query: np.ndarray, places: Sequence[int], top_k: int | None, threshold: float | None) -> list[int]:
        distances = self.distances(query, places)
        order = [int(n) for n in np.argsort(distances)]
        if threshold is not None:
            order = [n for n in order if 1 - distances[n] > threshold]
        return [places[n] for n in order[:top_k]]

    def collapsed(self, query: np.ndarray, top_k: int, max_tokens: int, tokens: Callable[[str], int]) -> list[int]:
        chosen: list[int] = []
        total = 0
        for place in self.nearest(query, range(len(self.nodes)), top_k, None):
            total += tokens(self.nodes[place].text)
            if total > max_tokens:
                break
            chosen.append(place)
        return chosen

    def traversal(
        self, query: np.ndarray, start: int, layers: int, *, top_k: int | None = None, threshold: float | None = None
    ) -> list[int]:
        chosen: list[int] = []
        pool = list(self.layers[start])
        for _ in range(layers):
            best = self.nearest(query, pool, top_k, threshold)
            chosen += best
            pool = list(dict.fromkeys(child for place in best for child in self.nodes[place].children))
        return chosen


def embed(texts: list[str]) -> list[np.ndarray]:
    """A random direction for each text."""
    return [np.random.default_rng(zlib.crc32(text.strip().encode())).normal(size=DIMENSION) for text in texts]


def by_lines(text: str) -> list[Cut]:
    return [Cut(place + 1) for place, character in enumerate(text) if character == "\n"]


def tokens(text: str) -> int:
    return len(text.split())


@pytest.fixture(scope="module")
def client():
    return chromadb.EphemeralClient(Settings(anonymized_telemetry=False))


def make(client, seed: int) -> tuple[Index, Peer, list[Passage], np.ndarray, random.Random]:
    """A random tree whose layers are full, in which a node may have two parents; as ours, and as the peer's."""
    chance = random.Random(seed)

    def cluster(vectors, sizes, max_words) -> list[list[int]]:
        """Runs of two to four; some share a place with the next one."""
        clusters, first = [], 0
        while first < len(sizes):
            last = min(first + chance.randint(2, 4), len(sizes))
            last = len(sizes) if len(sizes) - last == 1 else last
            clusters.append(list(range(max(0, first - chance.randint(0, 1)), last)))
            first = last
        return clusters

    def summarize(texts: list[str]) -> str:
        content = zlib.crc32("".join(texts).encode())
        return f"summary {'word ' * (content % 6)}{seed} {content}"

    text = "".join(f"leaf {'word ' * chance.randint(0, 5)}{seed} {n}\n" for n in range(chance.randint(2, 14)))
    index = Index.open(client=client, name=f"raptor{next(_names)}", embedder=embed, splitter=by_lines)
    index.add(Document("d", text), progress=False)
    index.build_tree(summarizer=summarize, clusterer=cluster, max_layers=chance.randint(1, 4), progress=False)
    passages = [*index.leaves(), *sorted(index.summaries(), key=lambda each: (each.layer, int(each.id.rsplit("#")[-1])))]
    place = {each.id: n for n, each in enumerate(passages)}
    nodes = [
        Node(each.text, tuple(place[child] for child in each.summary.children) if each.summary else (), *embed([each.text]))
        for each in passages
    ]
    layers = [[n for n, each in enumerate(passages) if each.layer == layer] for layer in range(passages[-1].layer + 1)]
    query = np.random.default_rng(seed).normal(size=DIMENSION)
    return index, Peer(nodes, layers), passages, query, chance


def same(found: Sequence[Passage], expected: Sequence[int], peer: Peer, query: np.ndarray) -> None:
    assert [each.text for each in found] == [peer.nodes[place].text for place in expected]
    distances = peer.distances(query, expected)
    assert [each.score for each in found] == pytest.approx([1 - distance for distance in distances], abs=1e-5)


@few_examples
@given(seed=seeds)
def test_collapsed_gives_what_the_peer_gives(client, seed):
    index, peer, passages, query, chance = make(client, seed)
    for _ in range(5):
        top_k, budget = chance.randint(1, len(passages)), chance.randint(1, 60)
        found = index.retrieve(
            query, Tree(base=Vector(), top_k=top_k, keep_covered_summaries=True), budget=Budget(budget, count=tokens)
        )
        same(found, within(budget, peer.collapsed(query, top_k, 10**9, tokens), peer), peer, query)


def within(budget: int, ranking: Sequence[int], peer: Peer) -> list[int]:
    """The nodes of the peer's ranking that leafspan returns within a budget.

    The peer ends at the first node that does not fit, which may be the first of all. Here summaries that do not fit are
    passed over, the first leaf that does not ends the list, and one leaf is returned even if it is over the budget.
    """
    kept: list[int] = []
    left = budget
    for place in ranking:
        size = tokens(peer.nodes[place].text)
        if size > left and place not in peer.layers[0]:
            continue
        if size > left and kept:
            break
        kept.append(place)
        left -= size
        if left < 0:
            break
    return kept


@few_examples
@given(seed=seeds)
def test_traversal_gives_what_the_peer_gives(client, seed):
    index, peer, _, query, chance = make(client, seed)
    top = len(peer.layers) - 1
    for _ in range(5):
        start = chance.randint(0, top)
        end = chance.randint(0, start)
        top_k, threshold = chance.randint(1, 5), chance.uniform(-0.5, 0.5)
        strategy = Tree(mode="traversal", start_layer=start, end_layer=end, top_k=top_k, keep_covered_summaries=True)
        same(index.retrieve(query, strategy), peer.traversal(query, start, start - end + 1, top_k=top_k), peer, query)
        strategy = Tree(
            mode="traversal", start_layer=start, end_layer=end, min_score=threshold, keep_covered_summaries=True
        )
        expected = peer.traversal(query, start, start - end + 1, threshold=threshold)
        same(index.retrieve(query, strategy), expected, peer, query)


@few_examples
@given(seed=seeds)
def test_by_default_traversal_is_the_peer_s_from_the_top_to_the_leaves_with_five_of_each_layer(client, seed):
    index, peer, _, query, _ = make(client, seed)
    expected = peer.traversal(query, len(peer.layers) - 1, len(peer.layers), top_k=5)
    same(index.retrieve(query, Tree(mode="traversal", keep_covered_summaries=True)), expected, peer, query)
