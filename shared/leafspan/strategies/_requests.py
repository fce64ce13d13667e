"""The context and the requests of a strategy, and the protocol that answers them.

A strategy's ``retrieve`` is a generator that does no I/O. The protocol between it and the retrieval that runs it:

1. The strategy yields a request of this module, or a tuple of requests that do not depend on each other.
2. The retrieval answers. It answers the requests of a tuple at the same time where that is faster.
3. The retrieval sends back the answer, or a list of answers in the order of the requests. The docstring of each request
   says what its answer is. An error of a request ends the retrieval; it is not thrown into the strategy.
4. The strategy returns its candidates. It runs another strategy by ``yield from base.retrieve(...)``.

So a strategy does not depend on the store or asyncio, and a test can answer its requests by hand. Flows of
``leafspan.flows`` work the same way one level below: the retrieval is a flow, and turns each request into calls.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Generator, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, TypeVar

from leafspan.checks import keep_whole
from leafspan.filters import Where
from leafspan.lexical import BM25Settings
from leafspan.strategies._matching_nodes import MatchingNodes
from leafspan.values import Candidate, Hit, LeafId, Query

T = TypeVar("T")

MOST_CANDIDATES = 10_000  # the most candidates that a call can ask for
LOWEST_SCORE = -sys.float_info.max  # a score lower than any result's


@dataclass(frozen=True, slots=True)
class RetrievalContext:
    """The context of one retrieval that a strategy gets.

    Attributes:
        candidates: Number of leaves to look at for each query, >= 1. A strategy that finds single leaves returns fewer only
            if the index has no more. If the results do not fill a budget, leafspan runs it again with more.
        where: Filter on the documents, None for all. Pass it on with every request.
        k: Number of results that the call will use: no more need to be loaded. None if all may be used; a strategy that
            builds on another one uses all of its results.
        words: Most words in all results together, None if the call has no budget. An estimate where the budget counts
            tokens. A longer result is useless unless it is a single leaf.
        embedder: Name of the embedder that the index was made with, None before its first document.
        exactly: Whether the call itself set the number of candidates, so that no strategy looks at more. Default: False.
        private: Whether a private view is searched, where pseudonyms replace the entities in queries and documents.
            Default: False.
    """

    candidates: int
    where: Where | None = None
    k: int | None = None
    words: int | None = None
    embedder: str | None = None
    exactly: bool = False
    private: bool = False

    def __post_init__(self) -> None:
        keep_whole(self, "candidates", 1)
        keep_whole(self, "k", 1, optional=True)

    @property
    def results(self) -> int:
        """The number of results worth loading."""
        return self.candidates if self.k is None else min(self.k, self.candidates)

    @property
    def for_base(self) -> RetrievalContext:
        """The context for the base of this strategy: the same without ``k``, since it needs all results of its base."""
        return replace(self, k=None)

    def at_least(self, candidates: int) -> RetrievalContext:
        """The same context with at least this many candidates, unless the call set the number."""
        return self if self.exactly else replace(self, candidates=max(self.candidates, candidates))

    def longest(self, max_words: int | None) -> int | None:
        """The most words that a result may have: ``max_words``, or ``words`` if that is less. None for no limit."""
        return min((limit for limit in (max_words, self.words) if limit is not None), default=None)


@dataclass(frozen=True, slots=True)
class Embed:
    """Embed questions. The answer is a matrix with a row for each text."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class VectorSearch:
    """Find the leaves nearest to vectors. The answer is a list of Hits for each vector, best first.

    Args:
        vectors: Matrix with a row for each query.
        count: Number of leaves for each query.
        where: Filter on the documents, None for all.
        summaries: Whether to search the summaries of the trees instead of the leaves.
        complete: Whether to find all leaves with equal vectors, even beyond ``count``. Default: False.
    """

    vectors: Any
    count: int
    where: Where | None
    summaries: bool = False
    complete: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class LoadedVectorSearch:
    """Find the leaves nearest to vectors and load them, in one round trip where that is possible.

    The answer is a list of Candidates for each vector, best first.

    Args:
        vectors: Matrix with a row for each query.
        count: Number of leaves to find for each query.
        where: Filter on the documents, None for all.
        most: Number of the best of them to load and return. Default: None, all.
        complete: Whether to find all leaves with equal vectors, even beyond ``count``. Default: False.
    """

    vectors: Any
    count: int
    where: Where | None
    most: int | None = None
    complete: bool = False


class ScaleWeights(NamedTuple):
    """The weights of the BM25 scores of a leaf, its parent, its section and its document."""

    leaf: float
    parent: float
    section: float
    document: float


@dataclass(frozen=True, slots=True)
class LexicalSearch:
    """Find the leaves that match the words of questions best. The answer is a ``LexicalMatches`` for each question.

    Args:
        texts: The questions.
        count: Number of leaves for each question.
        where: Filter on the documents, None for all.
        bm25: How to score. None uses the settings of the index.
        engine: ``"postings"`` or ``"rank-bm25"``.
        summaries: Whether to search the summaries of the trees instead of the leaves.
        scales: Whether to score larger nodes as well, and with which weights. Default: None, leaves alone.
        spelling: Whether to find only ``respelt`` for a question with words that are misspelt. Default: False.
    """

    texts: tuple[str, ...]
    count: int
    where: Where | None
    bm25: BM25Settings | None = None
    engine: str = "postings"
    summaries: bool = False
    scales: ScaleWeights | None = None
    spelling: bool = False


@dataclass(frozen=True, slots=True)
class LexicalMatches:
    """What matches the words of a question.

    Attributes:
        hits: Leaves with a word of the question, best first.
        ideal: The highest score that any leaf could have for it.
        nodes: The best nodes of each scale. None if ``scales`` is None.
        among: The hits, and the leaves with the highest sums of weighted shares at all scales, in no order; empty if
            ``scales`` is None.
        words: The words of the question for ``SoftMatches``, each with its idf; empty if ``scales`` is None, or the index
            does not analyse words as English.
        has_words: Whether the analyzer keeps any word of the question. It leaves out stop words.
        leaves: The number of searched leaves.
        words_found: Share of the question's words in the best parent, beyond the other parents' mean. 0 without ``scales``.
        respelt: Words of the question that no leaf has, each with the similar word of leaves that it should be read as.
            Nothing was searched if there are any. Empty unless ``spelling`` is set.
    """

    hits: list[Hit]
    ideal: float
    nodes: MatchingNodes | None = None
    among: Sequence[LeafId] = ()
    words: Mapping[str, float] = field(default_factory=dict)
    has_words: bool = True
    leaves: int = 1
    words_found: float = 0.0
    respelt: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class SoftMatches:
    """Compare words of leaves and questions by word vectors. The answer has, for each question, a score for each id.

    Args:
        words: For each question its words with their weights: see ``LexicalMatches``.
        ids: For each question the leaves to compare. If one was replaced since, the retrieval starts again.
    """

    words: Sequence[Mapping[str, float]]
    ids: Sequence[Sequence[LeafId]]


@dataclass(frozen=True, slots=True)
class ListLeaves:
    """List ``count`` leaves after the first ``offset``, by document id and position. The answer is a list of Hits."""

    offset: int
    count: int
    where: Where | None


@dataclass(frozen=True, slots=True)
class Load:
    """Load leaves and summaries. The answer maps each id to a Candidate with score 0 and an empty trace.

    Args:
        ids: Ids of leaves and summaries. If one was replaced since, the retrieval starts again.
    """

    ids: tuple[LeafId, ...]


@dataclass(frozen=True, slots=True)
class LoadTexts:
    """Load the texts of leaves and summaries. The answer maps each id to its text.

    The texts belong to the versions that this retrieval has seen. A text that is already loaded costs no time.
    """

    ids: tuple[LeafId, ...]


@dataclass(frozen=True, slots=True)
class FindMentions:
    """Find documents that leaves mention: by title, by an alias, by a link or by a path.

    The answer maps the id of each leaf that mentions any to a list of ``Mention``. The store keeps no mentions: leafspan
    searches the texts of these leaves.

    Args:
        ids: Ids of leaves that are loaded already.
        where: Filter on the documents that are mentioned, None for all.
        aliases: Metadata key of documents' aliases, None for no aliases.
    """

    ids: tuple[LeafId, ...]
    where: Where | None
    aliases: str | None = None


class Mention(NamedTuple):
    """A document that a leaf mentions.

    Attributes:
        document_id: Its id.
        version: Its current version.
        leaves: Number of its leaves, >= 1.
        written: The title, alias, link or path by which it is mentioned.
        strength: How much the mention says, in (0, 1]: 1 for a link or a path, or for a name the rarity of its words.
    """

    document_id: str
    version: str
    leaves: int
    written: str
    strength: float


@dataclass(frozen=True, slots=True)
class TreeRoots:
    """List the tops of the trees: the highest summaries, and the leaves of documents without a tree.

    The answer is a list of ``TreeRoot``. With ``layer``, it has that layer's summaries and the tops of lower trees.
    """

    where: Where | None
    layer: int | None = None


class TreeRoot(NamedTuple):
    """The top of a tree or of a part of it: the id of a summary or leaf, and its layer (0 for a leaf)."""

    id: LeafId
    layer: int


@dataclass(frozen=True, slots=True)
class HasTrees:
    """Ask whether any tree was ever built. The answer is True or False."""


@dataclass(frozen=True, slots=True)
class LoadVectors:
    """Load the vectors of leaves and summaries. The answer is a matrix with a row for each id."""

    ids: tuple[LeafId, ...]


@dataclass(frozen=True, slots=True, eq=False)
class LoadPassages:
    """Turn candidates into passages, as the call would return them. The answer is a list with a Passage for each."""

    candidates: Sequence[Candidate]


@dataclass(frozen=True, slots=True, eq=False)
class Similarities:
    """Compare leaves and summaries with vectors. The answer is a matrix of cosines: vectors as rows, ids as columns."""

    vectors: Any
    ids: tuple[LeafId, ...]


@dataclass(frozen=True, slots=True)
class HostResult:
    """A result of a host framework's or another source's retriever.

    Attributes:
        id: Its id there, None without one.
        text: Its text.
        score: Its score, None without one.
        metadata: Its metadata.
        kind: The result's kind, unless it is a leaf of the index: see ``Passage``.
        origin: The retriever's own object.
        hidden: Metadata keys that are hidden from models.
    """

    id: str | None
    text: str
    score: float | None
    metadata: Mapping[str, object] = field(default_factory=dict)
    kind: str = "document"
    origin: object = field(default=None, repr=False, compare=False)
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AskHost:
    """Ask a retriever of a host framework, or of another source. The answer is a list of Candidates, best first.

    A result with the id of a leaf of the index is that leaf. Any other result is a passage of its own kind, and is left out
    if its own metadata does not match the filter or the filter of the asking view.

    Args:
        name: Name of the retriever, for traces and errors.
        question: What to ask.
        ask: Function from the question to the results.
        aask: Its coroutine function.
        where: Filter on the documents. The retriever ignores it, so results that do not match are left out.
        elsewhere: Whether no result is a leaf of this index, even with a leaf's id, since it comes from another index.
    """

    name: str
    question: str
    ask: Callable[[str], Sequence[HostResult]]
    aask: Callable[[str], Awaitable[Sequence[HostResult]]]
    where: Where | None = None
    elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class Generate:
    """Ask a language model. The answer is a list with a text or an Exception for each prompt."""

    prompts: tuple[str, ...]
    generate: Callable[[str], str]
    agenerate: Callable[[str], Awaitable[str]] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class CallFunction:
    """Call a user's function off the event loop. The answer is what it returns; an error ends the retrieval.

    Args:
        function: The function.
        arguments: Its arguments.
        native: Its coroutine function, which is called instead in an event loop.
        key: What identifies the call. If a strategy is run again with more candidates, a call with the same key gets the
            answer of the first one. A key may contain the ``id`` of an object that the function refers to, which is kept
            as long as the answer. Default: None, leafspan always calls the function.
        what: Name of what the call waits for, for errors. Default: the name of the function.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    native: Callable[..., Awaitable[Any]] | None = None
    key: Hashable = None
    what: str | None = None


@dataclass(frozen=True, slots=True)
class NoteWhyEmpty:
    """Note why a query has no results. It becomes ``why_empty`` if the call returns no results. The answer is None.

    Args:
        query: The query.
        reason: The reason, as the end of a sentence. It quotes no text of a document or a question.
        nearest: Ids of the documents of the results that were left out, best first. Default: none.
    """

    query: Query
    reason: str
    nearest: tuple[str, ...] = ()


class Retrieves(Protocol):
    """Anything that retrieves: a strategy."""

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]: ...


@dataclass(frozen=True, slots=True)
class StrategyRun:
    """A strategy to run beside others, with the seconds it may take (None for no limit)."""

    strategy: Retrieves
    queries: Sequence[Query]
    context: RetrievalContext
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class RunStrategies:
    """Run strategies at the same time. The answer has each strategy's results for each query, or the error that ended it.

    A strategy that exceeds its time has a TimeoutError. Its thread goes on, and its results are dropped.
    """

    runs: tuple[StrategyRun, ...]


StrategyResults = list[list[Candidate]] | Exception
Request = (
    Embed
    | VectorSearch
    | LoadedVectorSearch
    | LexicalSearch
    | SoftMatches
    | ListLeaves
    | Load
    | LoadTexts
    | LoadVectors
    | LoadPassages
    | FindMentions
    | TreeRoots
    | HasTrees
    | Similarities
    | AskHost
    | Generate
    | CallFunction
    | RunStrategies
    | NoteWhyEmpty
)
StrategyFlow = Generator[Request | tuple[Request, ...], Any, T]
"""A running strategy: it yields requests (independent ones as a tuple), and receives their answers."""
