"""Growing trees: what is alike is clustered, each cluster summarised, and the same again with the summaries."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

from leafspan.blending import blend
from leafspan.embedding import embedding
from leafspan.engine import Call, Flow
from leafspan.errors import InvalidArgument
from leafspan.progress import Progress
from leafspan.tree.clusters import Clusterer, check_clusters
from leafspan.tree.node import Node, united
from leafspan.tree.summarizing import Embed, Summarizer
from leafspan.unit import unit
from leafspan.values import Covered
from leafspan.words import count_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Twig:
    """Something a summary can be made of: a leaf, or a summary. All ids are those stored."""

    id: str
    text: str
    words: int
    vector: Any
    layer: int
    covers: tuple[Covered | str, ...]
    node: Node | None = None


@dataclass(slots=True)
class Sapling:
    """A tree that grows: its twigs, the given ones first; where the next layer is made from; and what went wrong.

    ``name`` is for reports, ``owner`` is whom its summaries are kept for. ``node_id`` gives the id of a summary by its
    place among them, its children's ids and its key. ``title`` draws the summaries' vectors towards itself, as it does with
    leaves.
    """

    name: str
    owner: str
    twigs: list[Twig]
    node_id: Callable[[int, Sequence[str], str], str]
    title: str | None = None
    given: int = field(init=False)
    top: list[int] = field(init=False)
    failures: list[tuple[int, Exception]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.given = len(self.twigs)
        self.top = list(range(self.given))

    @property
    def nodes(self) -> list[Twig]:
        """The summaries made so far."""
        return self.twigs[self.given :]

    @property
    def roots(self) -> list[int]:
        """The places of the twigs that no summary was made of."""
        ids = {child for twig in self.nodes if twig.node for child in twig.node.children}
        return [place for place, twig in enumerate(self.twigs) if twig.id not in ids]


class Kept(Protocol):
    """Summaries that were made before, by key."""

    def get(self, keys: Sequence[str]) -> Flow[dict[str, str]]:
        """Those that are there."""
        ...

    def put(self, key: str, text: str, owner: str) -> Flow[None]:
        """Keep this one, as long as its owner is there."""
        ...


@dataclass(slots=True)
class Tally:
    """How many different summaries were ``asked`` for, and how many were ``reused`` from those made before."""

    asked: int = 0
    reused: int = 0


@dataclass(frozen=True, slots=True)
class _Job:
    sapling: Sapling
    members: list[int]
    key: str


def growing(
    saplings: Sequence[Sapling],
    *,
    clusterer: Clusterer,
    summarizer: Summarizer,
    max_layers: int,
    embed: Embed | None,
    title_weight: float,
    kept: Kept,
    prefix: str,
    tally: Tally,
    progress: Progress,
) -> Flow[None]:
    """Grow the trees, all of them layer by layer, until each has one root or ``max_layers``, or does not shrink further.

    A cluster of one is not summarised, but waits for the next layer. Where a summary fails, that tree grows no further; its
    other summaries of the layer are kept. Without ``embed`` a summary's vector is the mean of its children's. ``prefix``:
    how the keys begin under which summaries are ``kept``.
    """
    active = [sapling for sapling in saplings if len(sapling.top) > 1]
    for _ in range(max_layers):
        if not active:
            return
        found = yield Call(_cluster_all, (clusterer, active, summarizer.max_input_words))
        clustered = [
            (sapling, clusters) for sapling, clusters in zip(active, found, strict=True) if len(clusters) < len(sapling.top)
        ]
        jobs = [
            _Job(sapling, members, prefix + _key(summarizer, [sapling.twigs[place].text for place in members]))
            for sapling, clusters in clustered
            for cluster in clusters
            if len(members := [sapling.top[place] for place in cluster]) > 1
        ]
        texts = yield from _summaries(jobs, summarizer, embed or _nothing, kept, tally, progress)
        done = [job for job in jobs if job.key in texts]
        vectors = yield from _vectors(done, texts, embed, title_weight)
        _add(clustered, dict(zip(map(id, done), vectors, strict=True)), jobs, texts)
        active = [sapling for sapling, _ in clustered if len(sapling.top) > 1 and not sapling.failures]


def _nothing(texts: Sequence[str]) -> Flow[Any]:
    raise AssertionError("what is only counted is not embedded")
    yield from ()


def _key(summarizer: Summarizer, texts: Sequence[str]) -> str:
    """What a summary is kept under: all that it depends on."""
    content = json.dumps([summarizer.identity, list(texts)], ensure_ascii=True)
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def _cluster_all(clusterer: Clusterer, saplings: Sequence[Sapling], max_words: int) -> list[list[list[int]]]:
    import numpy as np

    found = []
    for sapling in saplings:
        twigs = [sapling.twigs[place] for place in sapling.top]
        vectors = unit(np.asarray([twig.vector for twig in twigs], dtype=np.float32))
        sizes = [twig.words for twig in twigs]
        clusters = clusterer(vectors, list(sizes), max_words)
        try:
            found.append(check_clusters(clusters, sizes, max_words))
        except TypeError:
            raise InvalidArgument(f"a clusterer must give clusters as lists of places, got {clusters!r}") from None
    return found


def _summaries(
    jobs: Sequence[_Job], summarizer: Summarizer, embed: Embed, kept: Kept, tally: Tally, progress: Progress
) -> Flow[dict[str, str]]:
    """The summaries by key: those made before, and new ones, each of which is kept as soon as it is there."""
    first: dict[str, _Job] = {}  # of equal ones
    for job in jobs:
        first.setdefault(job.key, job)
    done = yield from kept.get(list(first))
    tally.reused += len(done)
    progress.advance(sum(_leaves(job) for job in jobs if job.key in done))
    missing = [job for key, job in first.items() if key not in done]
    tally.asked += len(missing)

    def keep(place: int, text: str) -> Flow[None]:
        job = missing[place]
        yield from kept.put(job.key, text, job.sapling.owner)
        done[job.key] = text
        progress.advance(_leaves(job))

    groups = [[job.sapling.twigs[place].text for place in job.members] for job in missing]
    errors = yield from summarizer.summarizing(groups, embed, keep)
    failed = {missing[place].key: error for place, error in errors.items()}
    for job in jobs:
        if job.key in failed:
            layer = 1 + max(job.sapling.twigs[place].layer for place in job.members)
            job.sapling.failures.append((layer, failed[job.key]))
    return done


def _leaves(job: _Job) -> int:
    """How many leaves are directly below."""
    return sum(job.sapling.twigs[place].layer == 0 for place in job.members)


def _vectors(jobs: Sequence[_Job], texts: Mapping[str, str], embed: Embed | None, title_weight: float) -> Flow[Any]:
    """A vector for each job: of its summary, drawn towards that of its title as those of leaves are."""
    if not jobs:
        return []
    if embed is None:
        return (yield Call(_means, (jobs,)))
    summaries = list(dict.fromkeys(texts[job.key] for job in jobs))
    titles = list(dict.fromkeys(job.sapling.title for job in jobs if job.sapling.title)) if title_weight else []
    vectors = yield from embedding(embed, [*summaries, *titles])
    place = {text: row for row, text in enumerate(summaries)}
    heads = {title: row for row, title in enumerate(titles)}
    rows = [vectors[place[texts[job.key]]] for job in jobs]
    head_of = [heads.get(job.sapling.title or "") for job in jobs]
    return (yield Call(blend, (rows, vectors[len(summaries) :], head_of, title_weight)))


def _means(jobs: Sequence[_Job]) -> NDArray[np.float32]:
    import numpy as np

    means = [np.mean([job.sapling.twigs[place].vector for place in job.members], axis=0) for job in jobs]
    return unit(np.asarray(means, dtype=np.float32))


def _add(
    clustered: Sequence[tuple[Sapling, list[list[int]]]],
    vectors: Mapping[int, Any],
    jobs: Sequence[_Job],
    texts: Mapping[str, str],
) -> None:
    """Add the new layer to each tree, in the order of what it covers."""
    of: dict[int, list[_Job]] = {}
    for job in jobs:
        of.setdefault(id(job.sapling), []).append(job)
    for sapling, clusters in clustered:
        alone = [sapling.top[cluster[0]] for cluster in clusters if len(cluster) == 1]
        added = []
        for job in of.get(id(sapling), []):
            if job.key in texts:
                added.append(len(sapling.twigs))
                sapling.twigs.append(_twig(job, texts[job.key], vectors[id(job)]))
        sapling.top = sorted([*alone, *added], key=lambda place: (_first(sapling.twigs[place]), place))


def _twig(job: _Job, text: str, vector: Any) -> Twig:
    sapling = job.sapling
    members = [sapling.twigs[place] for place in job.members]
    children = tuple(twig.id for twig in members)
    covers = _united(chain.from_iterable(twig.covers for twig in members))
    words = count_words(text)
    node = Node(1 + max(twig.layer for twig in members), words, children, covers, job.key)
    id_ = sapling.node_id(len(sapling.twigs) - sapling.given, children, job.key)
    return Twig(id_, text, words, vector, node.layer, covers, node)


def _united(covers: Any) -> tuple[Covered | str, ...]:
    """Runs of leaves made one where they touch, and whole documents."""
    every = list(covers)
    whole = dict.fromkeys(each for each in every if isinstance(each, str))
    return (*sorted(whole), *united(each for each in every if not isinstance(each, str) and each.document_id not in whole))


def _first(twig: Twig) -> tuple[str, int]:
    cover = twig.covers[0]
    return (cover, 0) if isinstance(cover, str) else (cover.document_id, cover.first)
