"""The values that all parts of the package share: documents, leaves, spans of leaves, and passages."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import repeat
from typing import NamedTuple

from leafspan.text import count_words, display, first_words
from leafspan.trace import Trace, TracedHit


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a text that is already split. Each piece begins where the previous one ends.

    Args:
        end: Position in the text of the character after the piece's last one.
        metadata: The piece's own values, in addition to its document's. Only results that are exactly this piece have
            them. Wider results and filters use the document's. Default: none.
    """

    end: int
    metadata: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Document:
    """A text with an id: what is added to an index, and what ``Index.get`` returns.

    Args:
        id: Id of the document, different for each document of an index.
        text: Its text.
        title: Its title, which is indexed with every leaf, but is not part of the text. Default: None.
        metadata: Values by key, each a str, int, float, bool, date, or a list of one of these types. You can filter by
            them, and every passage has a copy. Default: none.
        chunks: The pieces of a text that is already split. They become its leaves: see ``chunks_of``. Default: none,
            the index splits the text.
        outline: Its leaves and headings, from which notebooks draw it. ``Index.get`` sets it, ``==`` and ``add`` ignore
            it. Default: None.
        hidden: Metadata keys, its own and its chunks', that no language model may see, like LlamaIndex's
            ``excluded_llm_metadata_keys``. ``"title"`` hides the title. Agent tools leave them out, and LlamaIndex
            nodes hide them. Default: none.
    """

    id: str
    text: str
    title: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    chunks: tuple[Chunk, ...] = ()
    outline: Outline | None = field(default=None, repr=False, compare=False)
    hidden: tuple[str, ...] = ()

    def __repr__(self) -> str:
        title = "" if self.title is None else f", title={first_words(str(self.title))}"
        text = str(self.text)  # of a wrong type, too: an error must be able to show the document
        return f"Document({short_id(str(self.id))}{title}, {len(text):,} characters, {first_words(text)})"

    def _repr_html_(self) -> str | None:
        """Draw a picture for notebooks: the document's length, headings, leaves and text."""
        return display("Document", self)


class LeafId(NamedTuple):
    """The id of a leaf or of a summary. As text it is ``{document_id}#{version}#{ordinal}``.

    The ids of a leaf's neighbours follow from its own id, so that they can be fetched without a search.

    Attributes:
        document_id: Id of the document, which may contain ``#`` itself.
        version: 8 characters: hexadecimal digits of the hash of the document's content; for a summary ``t``, followed by 7
            digits of the hash of its tree.
        ordinal: Number of the leaf in its document, or of the summary in its tree, from 0.
    """

    document_id: str
    version: str
    ordinal: int

    def __str__(self) -> str:
        return f"{self.document_id}#{self.version}#{self.ordinal}"

    @classmethod
    def parse(cls, text: str) -> LeafId:
        """Read an id from its text.

        Raises:
            ValueError: if the text does not have three parts, or the last part is not a whole number.
        """
        document_id, version, ordinal = text.rsplit("#", 2)
        return cls(document_id, version, int(ordinal))

    @classmethod
    def of(cls, text: str) -> LeafId | None:
        """Read an id from its text. Return None if leafspan cannot have written the text."""
        run = run_of_id(text)
        return run[0] if run is not None and run[0].version and str(run[0]) == text else None

    @classmethod
    def of_result(cls, text: str | None) -> LeafId | None:
        """The leaf that has a result's id, also in the older form ``...#4-4``, or None if the result is not a leaf."""
        run = run_of_id(text)
        return run[0] if run is not None and run[0].ordinal == run[1] else None

    @property
    def is_summary(self) -> bool:
        """Whether this is the id of a summary."""
        return self.version.startswith(SUMMARY_VERSION)


_MOST_DIGITS = 9  # digits of a leaf's ordinal: no document has a thousand million leaves


def run_of_id(text: str | None) -> tuple[LeafId, int] | None:
    """The first leaf and the last ordinal of the passage with this id, or None if it is not a passage's id."""
    document_and_version, _, place = (text or "").rpartition("#")
    document_id, _, version = document_and_version.rpartition("#")
    first, dash, last = place.partition("-")
    if not document_id or not first.isdecimal() or (dash and not last.isdecimal()):
        return None
    if max(len(first), len(last)) > _MOST_DIGITS:
        return None
    return LeafId(document_id, version, int(first)), int(last if dash else first)


SUMMARY_VERSION = "t"
"""The first character of a tree's version. No document's version begins with it."""

OUTSIDE_VERSION = "outside"
"""The version of results from a source other than the index."""


def leaf_ids(document_id: str, version: str, ordinals: Iterable[int]) -> list[str]:
    """The ids of several leaves of one document, as texts."""
    prefix = f"{document_id}#{version}#"
    return [f"{prefix}{ordinal}" for ordinal in ordinals]


TABLE_DEPTH = 7
"""The depth of the section below a table's header."""


class Section(NamedTuple):
    """A heading, or the header of a table, with the leaves below it.

    Attributes:
        first: Ordinal of the first leaf below the heading.
        last: Ordinal of the last leaf (inclusive).
        depth: Depth of the heading, 1 to 6, or 7 for the header of a table.
        text: Text of the heading.
    """

    first: int
    last: int
    depth: int
    text: str


@dataclass(frozen=True, slots=True)
class Outline:
    """The shape of a document and the place of a piece in it, so that both can be drawn without reading the document.

    Attributes:
        leaves: Length of the document in leaves.
        characters: Its length in characters.
        sections: Its headings, each with the leaves below it.
        runs: The leaves of the piece, as (first, last) ordinals. A summary can have several runs.
        ends: For each leaf of the piece the number of characters of the piece's text up to the leaf's end. Empty for a
            summary.
        nodes: Nodes of the hierarchy above the piece, as (first, last) ordinals of their leaves, from its parent to the
            whole document. Empty if the piece is not a single leaf.
    """

    leaves: int
    characters: int
    sections: tuple[Section, ...]
    runs: tuple[tuple[int, int], ...]
    ends: tuple[int, ...] = ()
    nodes: tuple[tuple[int, int], ...] = ()

    def __repr__(self) -> str:
        return f"Outline({self.leaves} leaves, {len(self.sections)} headings, runs={self.runs[:3]!r})"


class Ancestor(NamedTuple):
    """A node above a leaf in the hierarchy.

    Attributes:
        first: Ordinal of its first leaf.
        last: Ordinal of its last leaf (inclusive).
        children: Number of nodes one level below it.
        start: Its first character in the document.
        end: The character after its last one.
        words: Its length in words.
    """

    first: int
    last: int
    children: int
    start: int
    end: int
    words: int


@dataclass(frozen=True, slots=True)
class Leaf:
    """The smallest piece of a document, without its text.

    Attributes:
        document_id: Id of the document.
        version: Version of the document.
        ordinal: Number of the leaf in the document, from 0.
        start: Its first character in the document.
        end: The character after its last one.
        words: Its length in words.
        ancestors: The nodes above it. The first is its parent, the last the whole document.
    """

    document_id: str
    version: str
    ordinal: int
    start: int
    end: int
    words: int
    ancestors: tuple[Ancestor, ...]

    @property
    def id(self) -> LeafId:
        """Its id."""
        return LeafId(self.document_id, self.version, self.ordinal)

    @property
    def span(self) -> Span:
        """The leaf as a span of one leaf."""
        return Span(self.document_id, self.version, self.ordinal, self.ordinal, (self.ordinal, self.start))


class Hit(NamedTuple):
    """A leaf or summary in the results of a search, before its text is loaded.

    Attributes:
        leaf: Its id.
        score: Its score. Higher is better.
    """

    leaf: LeafId
    score: float

    @property
    def id(self) -> LeafId:
        """The same as ``leaf``."""
        return self.leaf

    @property
    def order(self) -> tuple[float, str, int]:
        """The sorting key for lists of hits: score, then document, then position."""
        return (-self.score, self.leaf.document_id, self.leaf.ordinal)


def to_hits(leaves: Iterable[LeafId], scores: Iterable[float]) -> list[Hit]:
    """Make hits of leaves and scores."""
    # Twice as fast as Hit(leaf, score) for each; a search finds hundreds.
    return list(map(tuple.__new__, repeat(Hit), zip(leaves, scores, strict=True)))


@dataclass(frozen=True, slots=True)
class Span:
    """A run of consecutive leaves of one document.

    Attributes:
        document_id: Id of the document.
        version: Version of the document.
        first: Ordinal of the first leaf.
        last: Ordinal of the last leaf (inclusive).
        anchor: A leaf whose place in the text is known, as (ordinal, first character). Leaves partition the text, so
            that the places of all other leaves follow from their texts.
    """

    document_id: str
    version: str
    first: int
    last: int
    anchor: tuple[int, int]

    @property
    def id(self) -> str:
        """The id of a single leaf; for several leaves ``{document_id}#{version}#{first}-{last}``."""
        first = str(LeafId(self.document_id, self.version, self.first))
        return first if self.first == self.last else f"{first}-{self.last}"

    @property
    def size(self) -> int:
        """The number of leaves."""
        return self.last - self.first + 1

    @property
    def leaf_ids(self) -> list[LeafId]:
        """The ids of the leaves, in the order of the text."""
        return [LeafId(self.document_id, self.version, each) for each in range(self.first, self.last + 1)]


class Covered(NamedTuple):
    """A run of leaves that a summary covers.

    Attributes:
        document_id: Id of the document.
        version: Version of the document.
        first: Ordinal of the first leaf.
        last: Ordinal of the last leaf (inclusive).
        start: First character of the run in the document.
        end: The character after its last one.
    """

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
    def leaves(self) -> list[LeafId]:
        """The leaves, in the order of the text."""
        return [LeafId(self.document_id, self.version, each) for each in range(self.first, self.last + 1)]

    @property
    def leaf_ids(self) -> list[str]:
        """The ids of the leaves as texts, in the order of the text."""
        return leaf_ids(self.document_id, self.version, range(self.first, self.last + 1))


@dataclass(frozen=True, slots=True)
class Summary:
    """The place of a summary in its tree.

    Attributes:
        layer: Number of layers above the leaves, >= 1.
        children: Ids of the leaves and summaries that it was made from.
        covers: The leaves below it as runs that do not touch, by document and position.
    """

    layer: int
    children: tuple[str, ...]
    covers: tuple[Covered, ...]

    def __repr__(self) -> str:
        documents = len({run.document_id for run in self.covers})
        return f"Summary(layer={self.layer}, {len(self.children)} children, {self.size} leaves of {documents} documents)"

    @property
    def leaf_ids(self) -> list[str]:
        """The ids of all covered leaves, by document and position."""
        return [id_ for run in self.covers for id_ in run.leaf_ids]

    @property
    def size(self) -> int:
        """The number of covered leaves."""
        return sum(run.size for run in self.covers)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A strategy's result with a score, before its text is loaded.

    Attributes:
        span: Its leaves. For a summary, a span of one, with the summary's number in its tree.
        score: Its score. Higher is better.
        trace: How the result came about.
        metadata: Metadata of its document. Empty for a summary of several documents.
        words: Its length in words, or None if the length is not known before the text is loaded.
        leaf: The leaf, if the result is a single leaf, so that another strategy can merge or widen it. Otherwise None.
        summary: The summary, if the result is a summary. Otherwise None.
        outside: The passage, if it comes from a source other than the index. Only its score and trace are missing. Its
            span then has no leaves. Otherwise None.
    """

    span: Span
    score: float
    trace: Trace
    metadata: Mapping[str, object]
    words: int | None = None
    leaf: Leaf | None = None
    summary: Summary | None = None
    outside: Passage | None = None

    @property
    def id(self) -> LeafId:
        """The id of its first leaf. For a single leaf or a summary, its own id."""
        return LeafId(self.span.document_id, self.span.version, self.span.first)

    @property
    def document_id(self) -> str:
        """The id of its document. Empty for a summary of several documents, and for another source."""
        if self.summary is not None:
            documents = {run.document_id for run in self.summary.covers}
            return documents.pop() if len(documents) == 1 else ""
        return "" if self.outside is not None else self.span.document_id

    @property
    def order(self) -> tuple[float, str, int]:
        """The sorting key for lists of candidates: score, then document, then position."""
        return (-self.score, self.span.document_id, self.span.first)


def scored(candidate: Candidate, score: float, source: str, rank: int | None = None) -> Candidate:
    """Return a loaded leaf or summary with a search's score and a trace of the search.

    Args:
        candidate: The leaf or summary.
        score: The search's score.
        source: Name of the search, such as ``"vector"``.
        rank: Its rank in the search, from 1. Default: None, without a rank in the trace.
    """
    span, summary = candidate.span, candidate.summary
    trace = Trace(hits=(TracedHit(span.first, score, source, rank),), layer=summary.layer if summary else 0)
    # ``replace`` would take four times as long, and a search scores each of its hits.
    return Candidate(span, score, trace, candidate.metadata, candidate.words, candidate.leaf, summary, candidate.outside)


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document (``document.text[start:end] == text``), a summary, or a result of another source.

    Attributes:
        id: The id of a single leaf, or of a summary. For several leaves, ``{document_id}#{version}#{first}-{last}``, with
            the ordinals of the first and the last one. From another source, the id that it has there.
        document_id: Id of the document. "" for a summary of several documents, and from another source.
        start: Its first character in the document. For a summary, the first one that it covers. None for a summary of
            several documents, and from another source.
        end: The character after its last one, in the same way.
        text: Its text.
        score: Its score. A higher one is better. What it means depends on the strategy: see docs/scores.md.
        metadata: Metadata of the document. Empty for a summary of several documents.
        trace: How the passage was found. ``trace.explain()`` says it in sentences.
        summary: The place of a summary in its tree. None for a piece of a document.
        title: Title of the document. None without a title, and for a summary of several documents.
        headings: The headings above the whole passage, outermost first; the last one is the header of a table
            if the passage consists of rows below it. A passage over several sections has those that all of its sections
            have in common.
        lines: Its first and its last line in the document that are not blank, counted from 1. None for a summary, and
            for a document whose text was extracted from a file, such as PDF or HTML.
        place: Its place in a file whose text was extracted, such as ``"page 3"``, ``"cell 4"`` or ``"Sales, rows 5-20"``.
            The place of the leaf that matched best comes first: ``"slide 4 (slides 3-5)"``. None if ``lines`` has the
            place, or the place is unknown.
        kind: What it is: ``"text"`` for a piece of a document of the index, or ``"summary"``. From another source, such as
            ``"document"``, ``"row"``, ``"table"``, ``"chunk"``, ``"entity"`` or ``"relation"``.
        origin: The object that a host's retriever returned for it, or None.
        outline: The shape of its document, and the passage's leaves in it. None for a summary of several documents, and
            from another source. ``==`` ignores it.
        hidden: Metadata keys that no language model may see: see ``Document``.
    """

    id: str
    document_id: str
    start: int | None
    end: int | None
    text: str
    score: float
    metadata: Mapping[str, object]
    trace: Trace
    summary: Summary | None = None
    title: str | None = None
    headings: tuple[str, ...] = ()
    lines: tuple[int, int] | None = None
    place: str | None = None
    kind: str = "text"
    origin: object = field(default=None, repr=False, compare=False)
    outline: Outline | None = field(default=None, repr=False, compare=False)
    hidden: tuple[str, ...] = field(default=(), repr=False)

    def __repr__(self) -> str:
        kind = "" if self.kind == "text" else f", kind={self.kind!r}"
        score = f", score={self.score:.3f}" if self.is_scored else ""
        return f"Passage({short_id(self.id)}{score}{kind}, {first_words(self.text)})"

    def _repr_html_(self) -> str | None:
        """Draw a picture for notebooks: the passage's place in its document, its text with the found leaves, and why."""
        return display("Passage", self)

    @property
    def layer(self) -> int:
        """The layer of a summary, >= 1, or 0 for a piece of a document."""
        return self.summary.layer if self.summary else 0

    @property
    def is_scored(self) -> bool:
        """Whether the score has a meaning. Leaves and summaries that are only listed have the score 0."""
        return self.score != 0 or self.trace != Trace()

    @property
    def whole(self) -> bool:
        """Whether the passage is a whole document."""
        shape = self.outline
        return shape is not None and self.summary is None and shape.runs == ((0, shape.leaves - 1),)


_MOST_OF_ID = 80  # characters of an id in a ``repr``


def short_id(id_: str) -> str:
    """An id as a Python literal. A long id loses its middle, since paths and versions differ at the end."""
    half = (_MOST_OF_ID - 3) // 2
    return repr(id_ if len(id_) <= _MOST_OF_ID else f"{id_[:half]}...{id_[-half:]}")


def id_of_text(text: str) -> str:
    """Make an id for another source's passage without an id. The same text gets the same id."""
    return f"text-{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()[:16]}"


def outside_candidate(passage: Passage) -> Candidate:
    """Make a strategy's result of another source's passage, with its score and trace.

    Args:
        passage: The passage. Its ``kind`` says what it is. Passages with the same id are the same result.
    """
    span = Span(passage.id, OUTSIDE_VERSION, 0, 0, (0, 0))
    words = count_words(passage.text)
    return Candidate(span, passage.score, passage.trace, passage.metadata, words=words, outside=passage)


@dataclass(frozen=True, slots=True)
class Query:
    """A question as text, as vector, or as both.

    Args:
        text: The question, which is searched by words; also by its vector, unless one of the following is given.
            Default: None.
        vector: Vector to search with. Default: None.
        embedding_texts: Texts to embed instead of ``text``; the mean of their vectors is searched. For answers that a
            language model has imagined (HyDE), and the like. Default: none.
    """

    text: str | None = None
    vector: tuple[float, ...] | None = None
    embedding_texts: tuple[str, ...] = ()

    def __repr__(self) -> str:
        parts = [] if self.text is None else [first_words(self.text)]
        if self.vector is not None:
            parts.append(f"vector of {len(self.vector)} dimensions")
        if self.embedding_texts:
            parts.append(f"{len(self.embedding_texts)} embedding_texts")
        return f"Query({', '.join(parts)})"
