"""What every part speaks: documents, leaves, runs of leaves, and the passages made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from leafspan.trace import Trace, TracedHit


@dataclass(frozen=True, slots=True)
class Document:
    """A text with an identity: what is added to an index, and what comes back from ``Index.get``.

    ``title`` is indexed with every leaf, but is no part of the text. ``metadata`` values are str, int, float, bool or a
    list of one of these; it is copied onto every passage.
    """

    id: str
    text: str
    title: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)


class LeafId(NamedTuple):
    """The id of a leaf, or of a summary: a leaf's is known without looking anything up, so neighbours need no search.

    As text it is ``{document_id}#{version}#{ordinal}``. ``version`` is 8 characters: hexadecimal digits of a document's
    content hash, or for a summary ``t`` and 7 digits of its tree's hash. A document's id may contain ``#`` itself.
    """

    document_id: str
    version: str
    ordinal: int

    def __str__(self) -> str:
        return f"{self.document_id}#{self.version}#{self.ordinal}"

    @classmethod
    def parse(cls, text: str) -> LeafId:
        """The id from its text.

        Raises:
            ValueError: if the text has not three parts, or the last is no number.
        """
        document_id, version, ordinal = text.rsplit("#", 2)
        return cls(document_id, version, int(ordinal))

    @property
    def is_summary(self) -> bool:
        """Whether it is the id of a summary, and not of a leaf."""
        return self.version.startswith(SUMMARY_VERSION)


SUMMARY_VERSION = "t"
"""The first character of a tree's version; those of documents are hexadecimal."""


def leaf_ids(document_id: str, version: str, ordinals: Iterable[int]) -> list[str]:
    """The texts of the ids of several leaves of one document."""
    prefix = f"{document_id}#{version}#"
    return [f"{prefix}{ordinal}" for ordinal in ordinals]


class Section(NamedTuple):
    """The leaves ``first`` to ``last`` (inclusive) stand below the heading ``text`` of this ``depth`` (1 to 6)."""

    first: int
    last: int
    depth: int
    text: str


class Ancestor(NamedTuple):
    """A node above a leaf: the leaves ``first`` to ``last`` (inclusive), characters ``start`` to ``end`` (exclusive).

    ``children`` is the number of nodes one level below it, ``words`` its length in words.
    """

    first: int
    last: int
    children: int
    start: int
    end: int
    words: int


@dataclass(frozen=True, slots=True)
class Leaf:
    """The smallest piece of a document: the leaf ``ordinal`` (from 0) of one version, ``text[start:end]`` of it.

    ``ancestors[0]`` is its parent, ``ancestors[-1]`` the whole document.
    """

    document_id: str
    version: str
    ordinal: int
    start: int
    end: int
    words: int
    ancestors: tuple[Ancestor, ...]

    @property
    def id(self) -> str:
        """The text of its id."""
        return str(LeafId(self.document_id, self.version, self.ordinal))


class Hit(NamedTuple):
    """A leaf as a search finds it, before anything of it is fetched; a higher ``score`` is better."""

    leaf: LeafId
    score: float

    @property
    def id(self) -> str:
        """The text of the leaf's id."""
        return str(self.leaf)

    @property
    def order(self) -> tuple[float, str, int]:
        """The sorting key of every list of hits: score, then document, then position."""
        return (-self.score, self.leaf.document_id, self.leaf.ordinal)


@dataclass(frozen=True, slots=True)
class Span:
    """A run of consecutive leaves of one document, ``first`` to ``last`` (both included).

    ``anchor`` is one leaf whose place in the text is known, as (ordinal, start character): since leaves partition the
    text, it fixes the characters of the whole run.
    """

    document_id: str
    version: str
    first: int
    last: int
    anchor: tuple[int, int]

    @property
    def id(self) -> str:
        """``{document_id}#{version}#{first}-{last}``."""
        return f"{self.document_id}#{self.version}#{self.first}-{self.last}"

    @property
    def size(self) -> int:
        """The number of leaves."""
        return self.last - self.first + 1

    @property
    def leaf_ids(self) -> list[str]:
        """The ids of its leaves, in the order of the text."""
        return leaf_ids(self.document_id, self.version, range(self.first, self.last + 1))


class Covered(NamedTuple):
    """The leaves ``first`` to ``last`` (inclusive) of a document, its characters ``start`` to ``end`` (exclusive)."""

    document_id: str
    version: str
    first: int
    last: int
    start: int
    end: int

    @property
    def size(self) -> int:
        """The number of leaves."""
        return self.last - self.first + 1

    @property
    def leaf_ids(self) -> list[str]:
        """The ids of the leaves, in the order of the text."""
        return leaf_ids(self.document_id, self.version, range(self.first, self.last + 1))


@dataclass(frozen=True, slots=True)
class Summary:
    """What a summary stands for: a node of a tree, ``layer`` layers above the leaves (1: it was made of leaves).

    ``children``: the ids of the leaves and summaries that it was made of. ``covers``: the leaves below it, in order, as
    runs of which no two touch.
    """

    layer: int
    children: tuple[str, ...]
    covers: tuple[Covered, ...]

    @property
    def leaf_ids(self) -> list[str]:
        """The ids of the leaves it covers, in order."""
        return [id_ for run in self.covers for id_ in run.leaf_ids]

    @property
    def size(self) -> int:
        """The number of leaves it covers."""
        return sum(run.size for run in self.covers)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One scored result of a strategy, before its text is fetched; a higher ``score`` is better.

    ``leaf`` is set where the result is a single leaf, so that a strategy above can merge or widen it. ``words`` is its
    length where that is known before fetching. ``summary`` is set where it is none of a document's text, but a summary:
    its span is then that of one node among those of its tree.
    """

    span: Span
    score: float
    trace: Trace
    metadata: Mapping[str, object]
    words: int | None = None
    leaf: Leaf | None = None
    summary: Summary | None = None

    @property
    def id(self) -> str:
        """The id of its first leaf, which for a single leaf or a summary is its own."""
        return str(LeafId(self.span.document_id, self.span.version, self.span.first))

    @property
    def order(self) -> tuple[float, str, int]:
        """The sorting key of every list of results: score, then document, then position."""
        return (-self.score, self.span.document_id, self.span.first)


def scored(found: Candidate, score: float, source: str, rank: int | None = None) -> Candidate:
    """The leaf as ``source`` found it."""
    hit = TracedHit(found.span.first, score, source, rank)
    return replace(found, score=score, trace=Trace(hits=(hit,), layer=found.summary.layer if found.summary else 0))


@dataclass(frozen=True, slots=True)
class Passage:
    """A retrieved piece of a document: ``document.text[start:end] == text``; or a summary, where ``summary`` is set.

    A summary's ``start`` and ``end`` are those of all that it covers; where that is in several documents, ``document_id``
    is empty, and both are 0. ``score``: higher is better, its meaning is the strategy's. ``metadata`` is the document's
    own. ``trace`` says how the passage came about; ``trace.explain()`` says it in words.
    """

    id: str
    document_id: str
    start: int
    end: int
    text: str
    score: float
    metadata: Mapping[str, object]
    trace: Trace
    summary: Summary | None = None

    @property
    def layer(self) -> int:
        """How many layers it is above the leaves: 0 for a piece of a document."""
        return self.summary.layer if self.summary else 0


@dataclass(frozen=True, slots=True)
class Query:
    """A question as ``text``, as ``vector``, or both: vectors are searched with ``vector``, where it is there.

    ``embedding_texts``: the mean of their vectors is searched in place of the text's, for answers imagined by a language
    model (HyDE) and the like.
    """

    text: str | None = None
    vector: tuple[float, ...] | None = None
    embedding_texts: tuple[str, ...] = ()
