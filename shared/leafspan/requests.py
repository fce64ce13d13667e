"""What a strategy may ask for; the engine's flows answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from leafspan.filters import Where
from leafspan.lexical import BM25Settings
from leafspan.values import Found, Hit, Query

if TYPE_CHECKING:
    from leafspan.strategies.strategy import Reach, Strategy

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Embed:
    """Embed these questions; the answer is a matrix, a row each."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """The ``count`` leaves nearest to each vector; the answer is a list of Found for each, best first."""

    vectors: Any
    count: int
    where: Where | None


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """Like Search, but the answer is a list of Hits, of which nothing else has been read.

    ``summaries``: look among the summaries of the trees instead.
    """

    vectors: Any
    count: int
    where: Where | None
    summaries: bool = False


@dataclass(frozen=True, slots=True)
class Match:
    """The ``count`` leaves that match the words of each question best; the answer is a Matched for each.

    ``settings``: None for those of the index. ``summaries``: look among the summaries of the trees instead.
    """

    texts: tuple[str, ...]
    count: int
    where: Where | None
    settings: BM25Settings | None = None
    engine: str = "postings"
    summaries: bool = False


@dataclass(frozen=True, slots=True)
class Matched:
    """Leaves with a word of the question, best first; ``ideal`` is the most that a leaf could score for it."""

    hits: list[Hit]
    ideal: float


@dataclass(frozen=True, slots=True)
class Browse:
    """``count`` leaves after the first ``offset``, in the order of documents and texts; the answer is a list of Hits."""

    offset: int
    count: int
    where: Where | None


@dataclass(frozen=True, slots=True)
class Load:
    """What is stored of these leaves and summaries; the answer maps each id to a Found of score 0 that has no trace yet.

    ``perhaps``: more leaves, of which those that are there are in the answer.
    """

    ids: tuple[str, ...]
    perhaps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Roots:
    """The highest summaries that can be seen, and the leaves of documents without a tree; the answer is a list of Root.

    ``layer``: those of this layer, and what is highest below it.
    """

    where: Where | None
    layer: int | None = None


class Root(NamedTuple):
    """The top of a tree, or of a part of it: a summary or leaf by its id, and its layer."""

    id: str
    layer: int


@dataclass(frozen=True, slots=True, eq=False)
class Compare:
    """How similar these leaves and summaries are to each vector; the answer is a matrix of cosines, a row a vector."""

    vectors: Any
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OutsideResult:
    """What a retriever of a host returned: a text, with an id and a score, where it has one."""

    id: str | None
    text: str
    score: float | None


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask a retriever of a host; the answer is a list of Found, one for each of its results, which must be leaves.

    Results that do not match ``where`` are left out; the retriever is not told of it.
    """

    name: str
    question: str
    ask: Callable[[str], Sequence[OutsideResult]]
    aask: Callable[[str], Awaitable[Sequence[OutsideResult]]]
    where: Where | None = None


@dataclass(frozen=True, slots=True)
class Generate:
    """Have a language model answer each prompt; the answer is a list of texts, or of the errors that came instead."""

    prompts: tuple[str, ...]
    generate: Callable[[str], str]
    agenerate: Callable[[str], Awaitable[str]] | None = None


@dataclass(frozen=True, slots=True)
class Leg:
    """A strategy that is run beside others; at most for ``timeout`` seconds."""

    strategy: Strategy
    queries: Sequence[Query]
    reach: Reach
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class Legs:
    """Run strategies together; the answer is, for each, its results for each query, or the error that ended it.

    One that is late has a TimeoutError, and goes on in its thread without anybody listening.
    """

    legs: tuple[Leg, ...]


LegResults = list[list[Found]] | Exception
Request = Embed | Search | Nearest | Match | Browse | Load | Roots | Compare | Ask | Generate | Legs
Asking = Generator[Request | tuple[Request, ...], Any, T]
"""A strategy at work: it yields requests, several at once where they are independent, and is sent the answers."""
