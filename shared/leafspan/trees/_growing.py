"""Grows trees: clusters similar nodes, summarises each cluster, and goes on with the summaries."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

from leafspan.checks import calling, name_of, unusable
from leafspan.embedding import Embed, blend, embed_in_batches, normalize
from leafspan.errors import InvalidArgument, UnusableResult
from leafspan.flows import Call, Flow, Progress
from leafspan.text import count_words
from leafspan.trees._clusters import Clusterer, check_clusters
from leafspan.trees._giving_up import NotAsked, Patience
from leafspan.trees._summarizer import Summarizer
from leafspan.trees._summary_cache import SummaryCache
from leafspan.trees._summary_record import SummaryRecord, united
from leafspan.values import Covered

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A leaf or a summary from which a summary can be made. All ids are stored ids.

    Attributes:
        id: Id of the leaf or summary.
        text: Its text.
        words: Length of the text in words.
        vector: Its vector.
        layer: Number of layers above the leaves, 0 for a leaf.
        covers: The leaves below it, as in a ``SummaryRecord``.
        record: The record of a summary, None for a leaf.
    """

    id: str
    text: str
    words: int
    vector: Any
    layer: int
    covers: tuple[Covered | str, ...]
    record: SummaryRecord | None = None


@dataclass(slots=True)
class TreeDraft:
    """A tree that is being built.

    Attributes:
        name: Name of the tree in reports.
        owner: Owner of the cached texts of its summaries: the stored id of the document, or ``UPPER_LAYERS``.
        nodes: The given nodes, followed by the summaries.
        node_id: Function from the number of a summary, the ids of its children and its cache key to the id of the summary.
        title: Title of the document, which is mixed into the vectors of summaries and leaves.
        given: Number of the given nodes.
        top: Places in ``nodes`` of the nodes that the next layer is made from.
        failures: Layer and error of each summary that failed.
    """

    name: str
    owner: str
    nodes: list[TreeNode]
    node_id: Callable[[int, Sequence[str], str], str]
    title: str | None = None
    given: int = field(init=False)
    top: list[int] = field(init=False)
    failures: list[tuple[int, Exception]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.given = len(self.nodes)
        self.top = list(range(self.given))

    @property
    def summaries(self) -> list[TreeNode]:
        """The summaries made so far."""
        return self.nodes[self.given :]

    @property
    def roots(self) -> list[int]:
        """The places in ``nodes`` of the nodes that no summary was made from."""
        children = {child for node in self.summaries if node.record for child in node.record.children}
        return [place for place, node in enumerate(self.nodes) if node.id not in children]


@dataclass(slots=True)
class Tally:
    """Counts of the distinct summaries that a build needed.

    Attributes:
        asked: Number of summaries that the summarizer was asked for.
        reused: Number of summaries from the cache.
        patience: Decides whether leafspan still asks the summarizer.
    """

    asked: int = 0
    reused: int = 0
    patience: Patience = field(default_factory=Patience)


@dataclass(frozen=True, slots=True)
class _Cluster:
    """Nodes of a tree that get one summary.

    Attributes:
        draft: The tree.
        members: Places of the nodes in ``draft.nodes``.
        key: Cache key of the summary's text.
    """

    draft: TreeDraft
    members: list[int]
    key: str

    @property
    def nodes(self) -> list[TreeNode]:
        return [self.draft.nodes[place] for place in self.members]

    @property
    def layer(self) -> int:
        """The layer of the summary."""
        return 1 + max(node.layer for node in self.nodes)

    @property
    def leaves(self) -> int:
        """The number of leaves among the nodes."""
        return sum(node.layer == 0 for node in self.nodes)


@dataclass(frozen=True, slots=True)
class TreeGrower:
    """Grows several trees together, layer by layer.

    Attributes:
        clusterer: The clusterer, which groups nodes.
        summarizer: The summarizer of each group.
        max_layers: Most layers to add, >= 1.
        embed: The embedder of summaries. None in a dry run, which uses the mean of the children's vectors instead.
        title_weight: Weight of the title in the vector of a summary, >= 0, beside 1 for its text.
        cache: Summaries of earlier builds.
        key_prefix: First part of the cache keys.
    """

    clusterer: Clusterer
    summarizer: Summarizer
    max_layers: int
    embed: Embed | None
    title_weight: float
    cache: SummaryCache
    key_prefix: str

    def grow(self, drafts: Sequence[TreeDraft], tally: Tally, bar: Progress) -> Flow[None]:
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
            texts = yield from self._summaries(clusters, tally, bar)
            summarised = [cluster for cluster in clusters if cluster.key in texts]
            vectors = yield from self._vectors(summarised, texts)
            new_nodes: dict[int, list[TreeNode]] = {}
            for cluster, vector in zip(summarised, vectors, strict=True):
                layer = new_nodes.setdefault(id(cluster.draft), [])
                layer.append(_summary_node(cluster, texts[cluster.key], vector, len(layer)))
            for draft, groups in shrinking:
                _add_layer(draft, groups, new_nodes.get(id(draft), []))
            active = [draft for draft, _ in shrinking if len(draft.top) > 1 and not draft.failures]

    def _clusters(self, draft: TreeDraft, groups: Iterable[Sequence[int]]) -> list[_Cluster]:
        """The groups of more than one node, as clusters."""
        members = [[draft.top[place] for place in group] for group in groups if len(group) > 1]
        return [_Cluster(draft, each, self._key([draft.nodes[place].text for place in each])) for each in members]

    def _key(self, texts: Sequence[str]) -> str:
        """The cache key of a summary: a digest of everything that the summary depends on."""
        content = json.dumps([self.summarizer.identity, list(texts)], ensure_ascii=True)
        return self.key_prefix + hashlib.sha256(content.encode()).hexdigest()[:32]

    def _summaries(self, clusters: Sequence[_Cluster], tally: Tally, bar: Progress) -> Flow[dict[str, str]]:
        """Cached and new summaries by key. A new summary is cached as soon as it is finished."""
        distinct: dict[str, _Cluster] = {}
        for cluster in clusters:
            distinct.setdefault(cluster.key, cluster)
        summaries = yield from self.cache.get(list(distinct))
        tally.reused += len(summaries)
        bar.advance(sum(cluster.leaves for cluster in clusters if cluster.key in summaries))
        missing = [cluster for key, cluster in distinct.items() if key not in summaries]

        def keep(place: int, text: str) -> Flow[None]:
            cluster = missing[place]
            yield from self.cache.put(cluster.key, text, cluster.draft.owner)
            summaries[cluster.key] = text
            bar.advance(cluster.leaves)

        groups = [[node.text for node in cluster.nodes] for cluster in missing]
        errors: dict[int, Exception] = {}
        if refusal := tally.patience.refusal:
            errors = dict.fromkeys(range(len(groups)), refusal)
        elif groups:
            errors = yield from self.summarizer.summarizing(groups, self.embed or _embed_nothing, keep)
            if len(errors) < len(groups):
                tally.patience.succeeded()
            for error in errors.values():
                tally.patience.failed(error)
        tally.asked += len(missing) - sum(isinstance(error, NotAsked) for error in errors.values())
        failed = {missing[place].key: error for place, error in errors.items()}
        for cluster in clusters:
            if cluster.key in failed:
                cluster.draft.failures.append((cluster.layer, failed[cluster.key]))
        return summaries

    def _vectors(self, clusters: Sequence[_Cluster], texts: Mapping[str, str]) -> Flow[Any]:
        """A vector for the summary of each cluster, mixed with the title's vector as for leaves."""
        if not clusters:
            return []
        if self.embed is None:
            return (yield Call(_means, (clusters,)))
        summaries = list(dict.fromkeys(texts[cluster.key] for cluster in clusters))
        titles = dict.fromkeys(cluster.draft.title for cluster in clusters if cluster.draft.title)
        heads = {title: row for row, title in enumerate(titles)} if self.title_weight else {}
        vectors = yield from embed_in_batches(self.embed, [*summaries, *heads])
        place = {text: row for row, text in enumerate(summaries)}
        rows = [vectors[place[texts[cluster.key]]] for cluster in clusters]
        head_of = [heads.get(cluster.draft.title or "") for cluster in clusters]
        return (yield Call(blend, (rows, vectors[len(summaries) :], head_of, self.title_weight)))


def _embed_nothing(texts: Sequence[str]) -> Flow[Any]:
    raise AssertionError("a dry run must not embed")
    yield from ()


def _cluster_all(clusterer: Clusterer, drafts: Sequence[TreeDraft], max_cluster_words: int) -> list[list[list[int]]]:
    """For each tree the clusters of its top nodes, as lists of places in ``draft.top``."""
    import numpy as np

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


def _means(clusters: Sequence[_Cluster]) -> NDArray[np.float32]:
    """For each cluster the mean of its nodes' vectors."""
    import numpy as np

    means = [np.mean([node.vector for node in cluster.nodes], axis=0) for cluster in clusters]
    return normalize(np.asarray(means, dtype=np.float32))


def _summary_node(cluster: _Cluster, text: str, vector: Any, number: int) -> TreeNode:
    """The summary of a cluster as a node; ``number`` counts the new summaries of its tree from 0."""
    nodes, draft = cluster.nodes, cluster.draft
    children = tuple(node.id for node in nodes)
    covers = _united(chain.from_iterable(node.covers for node in nodes))
    words = count_words(text)
    record = SummaryRecord(cluster.layer, words, children, covers, cluster.key)
    id_ = draft.node_id(len(draft.nodes) - draft.given + number, children, cluster.key)
    return TreeNode(id_, text, words, vector, record.layer, covers, record)


def _add_layer(draft: TreeDraft, groups: Iterable[Sequence[int]], summaries: Sequence[TreeNode]) -> None:
    """Add a layer to a tree. The next layer is made from its summaries and the nodes that were alone in their clusters.

    Both come in the order of the text.
    """
    alone = [draft.top[group[0]] for group in groups if len(group) == 1]
    added = range(len(draft.nodes), len(draft.nodes) + len(summaries))
    draft.nodes.extend(summaries)
    draft.top = sorted([*alone, *added], key=lambda place: (_first(draft.nodes[place]), place))


def _united(covers: Iterable[Covered | str]) -> tuple[Covered | str, ...]:
    """The ids of whole documents, then runs of other documents' leaves; runs that touch are joined."""
    parts = list(covers)
    whole = dict.fromkeys(each for each in parts if isinstance(each, str))
    return (*sorted(whole), *united(each for each in parts if not isinstance(each, str) and each.document_id not in whole))


def _first(node: TreeNode) -> tuple[str, int]:
    """The document and the ordinal of the first leaf that a node covers."""
    cover = node.covers[0]
    return (cover, 0) if isinstance(cover, str) else (cover.document_id, cover.first)
