"""Grows trees: clusters similar nodes, summarises each cluster, and goes on with the summaries."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from leafspan.checks import calling, name_of, unusable
from leafspan.embedding import Embed, blend, embed_in_batches, normalize
from leafspan.errors import InvalidArgument, UnusableResult
from leafspan.flows import Call, Flow, Progress, np
from leafspan.text import count_words
from leafspan.trees._clustering import Clusterer, check_clusters
from leafspan.trees._plan import NotAsked, Patience, Summarizer
from leafspan.trees._records import SummaryRecord, united
from leafspan.values import Covered


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A leaf or a summary from which a summary can be made. All ids are stored ids."""

    id: str
    text: str
    words: int
    vector: Any
    layer: int  # number of layers above the leaves, 0 for a leaf
    covers: tuple[Covered | str, ...]  # the leaves below it, as in a ``SummaryRecord``
    record: SummaryRecord | None = None  # of a summary

    @property
    def start(self) -> tuple[str, int]:
        """The document and the ordinal of the first leaf below it."""
        cover = self.covers[0]
        return (cover, 0) if isinstance(cover, str) else (cover.document_id, cover.first)


@dataclass(slots=True)
class TreeDraft:
    """A tree that is being built."""

    name: str  # in reports
    owner: str  # of the cached texts of its summaries: the stored id of the document, or ``UPPER_LAYERS``
    nodes: list[TreeNode]  # those that the tree is built over, followed by the summaries
    node_id: Callable[[int, Sequence[str], str], str]  # from a summary's number, the ids of its children and its key
    title: str | None = None  # of the document, mixed into the vectors of summaries and leaves
    base: int = field(init=False)  # number of nodes that the tree is built over
    top: list[int] = field(init=False)  # places in ``nodes`` that the next layer is made from
    failures: list[tuple[int, Exception]] = field(default_factory=list)  # layer and error of each failed summary

    def __post_init__(self) -> None:
        self.base = len(self.nodes)
        self.top = list(range(self.base))

    def sort_top(self) -> None:
        """Bring the nodes that the next layer is made from into the order of the text."""
        self.top.sort(key=lambda place: (self.nodes[place].start, place))

    @property
    def summaries(self) -> list[TreeNode]:
        return self.nodes[self.base :]

    @property
    def roots(self) -> list[int]:
        """The places in ``nodes`` of the nodes that no summary was made from."""
        children = {child for node in self.summaries if node.record for child in node.record.children}
        return [place for place, node in enumerate(self.nodes) if node.id not in children]


@dataclass(frozen=True, slots=True)
class _Cluster:
    """Nodes of a tree that get one summary."""

    draft: TreeDraft
    nodes: list[TreeNode]
    key: str  # cache key of the summary's text

    @property
    def layer(self) -> int:
        return 1 + max(node.layer for node in self.nodes)

    @property
    def leaves(self) -> int:
        return sum(node.layer == 0 for node in self.nodes)


class SummaryCache(Protocol):
    """Earlier summaries by key. A key identifies everything that a summary depends on."""

    def get(self, keys: Sequence[str]) -> Flow[dict[str, str]]:
        """The texts of the cached keys."""

    def put_all(self, texts: Mapping[str, tuple[str, str]]) -> Flow[None]:
        """Keep texts, each with its owner."""


@dataclass(slots=True)
class TreeGrower:
    """Grows several trees together, layer by layer, and counts the distinct summaries that they needed."""

    clusterer: Clusterer
    summarizer: Summarizer
    max_layers: int  # most layers to add, >= 1
    embed: Embed
    title_weight: float  # of the title in the vector of a summary, >= 0, beside 1 for its text
    cache: SummaryCache
    key_prefix: str  # of the cache keys
    requests: int = 0  # summaries that the summarizer was asked for
    reused: int = 0  # summaries from the cache
    patience: Patience = field(default_factory=Patience)

    def grow(self, drafts: Sequence[TreeDraft], bar: Progress) -> Flow[None]:
        """Grow each tree until it has one root or ``max_layers`` more layers, or until a layer would be no smaller.

        A node alone in its cluster stays for the next layer without a summary. If a summary fails, its tree stops growing;
        the other summaries of the layer are cached. If the first ten fail, leafspan stops asking the summarizer.
        """
        active = [draft for draft in drafts if len(draft.top) > 1]
        for _ in range(self.max_layers):
            if not active:
                return
            groupings = yield Call(_cluster_all, (self.clusterer, active, self.summarizer.max_input_words))
            shrinking = [
                (draft, groups) for draft, groups in zip(active, groupings, strict=True) if len(groups) < len(draft.top)
            ]
            clusters = [cluster for draft, groups in shrinking for cluster in self._clusters(draft, groups)]
            texts = yield from self._summaries(clusters, bar)
            summarised = [cluster for cluster in clusters if cluster.key in texts]
            vectors = yield from self._vectors(summarised, texts)
            for draft, groups in shrinking:
                draft.top = [draft.top[group[0]] for group in groups if len(group) == 1]
            for cluster, vector in zip(summarised, vectors, strict=True):
                _add_summary(cluster, texts[cluster.key], vector)
            for draft, _ in shrinking:
                draft.sort_top()
            active = [draft for draft, _ in shrinking if len(draft.top) > 1 and not draft.failures]

    def _clusters(self, draft: TreeDraft, groups: Iterable[Sequence[int]]) -> list[_Cluster]:
        """The groups of more than one node, as clusters."""
        members = [[draft.nodes[draft.top[place]] for place in group] for group in groups if len(group) > 1]
        return [_Cluster(draft, nodes, self._key([node.text for node in nodes])) for nodes in members]

    def _key(self, texts: Sequence[str]) -> str:
        """The cache key of a summary: a digest of everything that the summary depends on."""
        content = json.dumps([self.summarizer.identity, list(texts)], ensure_ascii=True)
        return self.key_prefix + hashlib.sha256(content.encode()).hexdigest()[:32]

    def _summaries(self, clusters: Sequence[_Cluster], bar: Progress) -> Flow[dict[str, str]]:
        """Cached and new summaries by key. A new summary is cached as soon as it is finished."""
        distinct: dict[str, _Cluster] = {}
        for cluster in clusters:
            distinct.setdefault(cluster.key, cluster)
        summaries = yield from self.cache.get(list(distinct))
        self.reused += len(summaries)
        bar.advance(sum(cluster.leaves for cluster in clusters if cluster.key in summaries))
        missing = [cluster for key, cluster in distinct.items() if key not in summaries]

        def keep(place: int, text: str) -> Flow[None]:
            cluster = missing[place]
            yield from self.cache.put_all({cluster.key: (text, cluster.draft.owner)})
            summaries[cluster.key] = text
            bar.advance(cluster.leaves)

        groups = [[node.text for node in cluster.nodes] for cluster in missing]
        errors: dict[int, Exception] = {}
        if refusal := self.patience.refusal:
            errors = dict.fromkeys(range(len(groups)), refusal)
        elif groups:
            errors = yield from self.summarizer.summarizing(groups, self.embed, keep)
            if len(errors) < len(groups):
                self.patience.note(None)
            for error in errors.values():
                self.patience.note(error)
        self.requests += len(missing) - sum(isinstance(error, NotAsked) for error in errors.values())
        failed = {missing[place].key: error for place, error in errors.items()}
        for cluster in clusters:
            if cluster.key in failed:
                cluster.draft.failures.append((cluster.layer, failed[cluster.key]))
        return summaries

    def _vectors(self, clusters: Sequence[_Cluster], texts: Mapping[str, str]) -> Flow[Any]:
        """A vector for the summary of each cluster, mixed with the title's vector as for leaves."""
        if not clusters:
            return []
        summaries = list(dict.fromkeys(texts[cluster.key] for cluster in clusters))
        titles = dict.fromkeys(cluster.draft.title for cluster in clusters if cluster.draft.title)
        heads = {title: row for row, title in enumerate(titles)} if self.title_weight else {}
        vectors = yield from embed_in_batches(self.embed, [*summaries, *heads])
        place = {text: row for row, text in enumerate(summaries)}
        rows = [vectors[place[texts[cluster.key]]] for cluster in clusters]
        head_of = [heads.get(cluster.draft.title or "") for cluster in clusters]
        return (yield Call(blend, (rows, vectors[len(summaries) :], head_of, self.title_weight)))


def _cluster_all(clusterer: Clusterer, drafts: Sequence[TreeDraft], max_cluster_words: int) -> list[list[list[int]]]:
    """For each tree the clusters of its top nodes, as lists of places in ``draft.top``."""
    groupings = []
    for draft in drafts:
        nodes = [draft.nodes[place] for place in draft.top]
        vectors = normalize(np.asarray([node.vector for node in nodes], dtype=np.float32))
        sizes = [node.words for node in nodes]
        texts = [node.text for node in nodes]
        with calling("the clusterer", clusterer, texts):
            clusters = clusterer(vectors, list(sizes), max_cluster_words)
        try:
            groupings.append(check_clusters(clusters, sizes, max_cluster_words))
        except TypeError:
            raise unusable("the clusterer", clusterer, "return clusters as lists of places", clusters, texts) from None
        except InvalidArgument as error:
            message = f"the clusterer {name_of(clusterer)} must return clusters of all texts: {error}"
            raise UnusableResult(message, message) from None
    return groupings


def _add_summary(cluster: _Cluster, text: str, vector: Any) -> None:
    """Add the summary of a cluster to its tree, and to the nodes that the next layer is made from.

    It covers the ids of whole documents, then runs of other documents' leaves; runs that touch are joined.
    """
    nodes, draft = cluster.nodes, cluster.draft
    children = tuple(node.id for node in nodes)
    parts = [cover for node in nodes for cover in node.covers]
    whole = sorted({part for part in parts if isinstance(part, str)})
    covers: tuple[Covered | str, ...] = (
        *whole,
        *united(part for part in parts if not isinstance(part, str) and part.document_id not in whole),
    )
    words = count_words(text)
    record = SummaryRecord(cluster.layer, words, children, covers, cluster.key)
    id_ = draft.node_id(len(draft.nodes) - draft.base, children, cluster.key)
    draft.top.append(len(draft.nodes))
    draft.nodes.append(TreeNode(id_, text, words, vector, record.layer, covers, record))
