"""What can be drawn, as protocols: this room is below the values, so that these can draw themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from leafspan.trace import Trace

Places = Callable[[str], Sequence[tuple[int, int]]]
"""A function from a text to the places in it that are marked, as (start, end), in order and apart from each other."""


class ShownSection(Protocol):
    """A heading."""

    @property
    def first(self) -> int:
        """Ordinal of the first leaf below it."""

    @property
    def last(self) -> int:
        """Ordinal of the last leaf below it."""

    @property
    def depth(self) -> int:
        """Its depth, >= 1."""

    @property
    def text(self) -> str:
        """Its text."""


class ShownOutline(Protocol):
    """The shape of a document, and where a piece of it stands."""

    @property
    def leaves(self) -> int:
        """Length of the document in leaves."""

    @property
    def characters(self) -> int:
        """Its length in characters."""

    @property
    def sections(self) -> Sequence[ShownSection]:
        """Its headings."""

    @property
    def runs(self) -> Sequence[tuple[int, int]]:
        """The leaves of the piece, as (first, last) ordinals."""

    @property
    def ends(self) -> Sequence[int]:
        """The ends of the leaves in the text of the piece."""

    @property
    def nodes(self) -> Sequence[tuple[int, int]]:
        """The nodes above the piece, as (first, last) ordinals."""


class ShownRun(Protocol):
    """A run of leaves that a summary covers."""

    @property
    def document_id(self) -> str:
        """Id of the document."""

    @property
    def first(self) -> int:
        """Ordinal of the first leaf."""

    @property
    def last(self) -> int:
        """Ordinal of the last leaf."""


class ShownSummary(Protocol):
    """The place of a summary in its tree."""

    @property
    def layer(self) -> int:
        """Number of layers above the leaves."""

    @property
    def children(self) -> Sequence[str]:
        """Ids of what it was made from."""

    @property
    def covers(self) -> Sequence[ShownRun]:
        """The leaves below it."""

    @property
    def size(self) -> int:
        """Their number."""


class ShownPassage(Protocol):
    """A passage."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def document_id(self) -> str:
        """Id of its document, "" if it is of none or of several."""

    @property
    def start(self) -> int | None:
        """Its first character in the document."""

    @property
    def end(self) -> int | None:
        """The character after its last one."""

    @property
    def text(self) -> str:
        """Its text."""

    @property
    def score(self) -> float:
        """Its score."""

    @property
    def is_scored(self) -> bool:
        """Whether the score means something."""

    @property
    def metadata(self) -> Mapping[str, object]:
        """Metadata of its document."""

    @property
    def trace(self) -> Trace:
        """How it came about."""

    @property
    def summary(self) -> ShownSummary | None:
        """The place of a summary in its tree."""

    @property
    def title(self) -> str | None:
        """Title of its document."""

    @property
    def headings(self) -> Sequence[str]:
        """The headings that it stands under."""

    @property
    def lines(self) -> tuple[int, int] | None:
        """Its first and last line."""

    @property
    def kind(self) -> str:
        """What it is."""

    @property
    def outline(self) -> ShownOutline | None:
        """The shape of its document."""


class ShownChunk(Protocol):
    """A piece that a text was split into before."""

    @property
    def end(self) -> int:
        """The character after its last one."""


class ShownDocument(Protocol):
    """A document with its text."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def text(self) -> str:
        """Its text."""

    @property
    def title(self) -> str | None:
        """Its title."""

    @property
    def metadata(self) -> Mapping[str, object]:
        """Its metadata."""

    @property
    def chunks(self) -> Sequence[ShownChunk]:
        """Its pieces."""

    @property
    def outline(self) -> ShownOutline | None:
        """Its leaves and headings."""


class ListedDocument(Protocol):
    """A document in a list, without its text."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def title(self) -> str | None:
        """Its title."""

    @property
    def leaves(self) -> int:
        """Length in leaves."""

    @property
    def words(self) -> int:
        """Length in words."""

    @property
    def characters(self) -> int:
        """Length in characters."""


class ShownObstacle(Protocol):
    """What keeps a piece of a document out of the results."""

    @property
    def sentence(self) -> str:
        """The obstacle in a sentence."""


class ShownStanding(Protocol):
    """Where a piece of a document stands in a search."""

    @property
    def source(self) -> str:
        """What searched."""

    @property
    def rank(self) -> int | None:
        """Its rank there."""

    @property
    def score(self) -> float | None:
        """Its score there."""

    @property
    def results(self) -> int:
        """How many results there are."""

    @property
    def query(self) -> str | None:
        """Which one of several queries."""


class ShownRequest(Protocol):
    """A request of a strategy."""

    @property
    def name(self) -> str:
        """What was asked for."""

    @property
    def results(self) -> int | None:
        """How many results it had."""

    @property
    def seconds(self) -> float:
        """How long it took."""


class ShownExplanation(Protocol):
    """Why a retrieval returns what it does, and why not a piece of a document."""

    @property
    def question(self) -> str | None:
        """What was asked."""

    @property
    def strategy(self) -> str:
        """The strategy."""

    @property
    def passages(self) -> Sequence[ShownPassage]:
        """What is returned."""

    @property
    def requests(self) -> Sequence[ShownRequest]:
        """What the strategy asked for."""

    @property
    def document_id(self) -> str | None:
        """Id of the document of the piece."""

    @property
    def start(self) -> int | None:
        """First character of the piece."""

    @property
    def end(self) -> int | None:
        """The character after its last one."""

    @property
    def elsewhere(self) -> Sequence[tuple[int, int]]:
        """Where else its text is."""

    @property
    def holding(self) -> Sequence[ShownPassage]:
        """The passages that hold it."""

    @property
    def obstacles(self) -> Sequence[ShownObstacle]:
        """What keeps it out."""

    @property
    def standings(self) -> Sequence[ShownStanding]:
        """Where it stands in each search."""

    @property
    def passage(self) -> ShownPassage | None:
        """The passage that holds it without the obstacles."""
