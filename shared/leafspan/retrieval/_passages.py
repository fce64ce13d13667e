"""Makes passages of candidates, and results of passages."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, SupportsIndex, overload

from leafspan.checks import shown
from leafspan.engines import StaleRead
from leafspan.flows import METRICS, instrument
from leafspan.lexical import Analysis, Analyzer, matching_words
from leafspan.spans import citation, numbered_sources, shown_text
from leafspan.store import Row, leaf_passage
from leafspan.text import display
from leafspan.trees import summary_passage
from leafspan.values import Candidate, LeafId, Passage, Query

LEAST_PROBABILITY = 0.0005  # the lowest probability worth showing: a lower one would be shown as 0.000
_MOST_NEAREST = 3  # documents that a sentence names
INDEX_IS_EMPTY = "the index is empty"  # the reason for an empty result from an index without documents


NO_ANSWER = "nothing in the index answers this"  # the beginning of the sentence that ends with Passages.why_no_answer


class WhyEmpty(NamedTuple):
    """Why a result is empty, as the end of a sentence, and the ids of the nearest documents, best first."""

    why_empty: str
    nearest: Sequence[str] = ()


def to_passage(candidate: Candidate, texts: Mapping[LeafId, str], rows: Mapping[str, Row]) -> Passage:
    """Make a passage of a candidate with its text and data from its document's row."""
    _ = candidate.trace.hits  # makes the steps, since the function that makes them keeps the index's files open
    if candidate.outside is not None:
        return replace(candidate.outside, score=candidate.score, trace=candidate.trace)
    row = rows.get(candidate.document_id)
    if candidate.summary is not None:
        return summary_passage(candidate, texts[candidate.id], row)
    if row is None or row.version != candidate.span.version:
        raise StaleRead
    # Metadata of a single chunk, such as its page, is not valid for a wider passage.
    metadata = candidate.metadata if candidate.span.size == 1 else row.metadata
    ancestors = candidate.leaf.ancestors if candidate.leaf is not None else ()
    return leaf_passage(
        candidate.span, texts, row, metadata, score=candidate.score, trace=candidate.trace, ancestors=ancestors
    )


def without_damaged(rows: list[list[Passage]], documents: Collection[str], trees: Collection[str]) -> list[list[Passage]]:
    """Add to the passages' traces what was left out."""
    if not documents and not trees:
        return rows
    notes = tuple(f"the tree of {id_!r} was left out, since what is stored of it is damaged" for id_ in trees)
    return [[_noted(passage, tuple(documents), notes) for passage in row] for row in rows]


def _noted(passage: Passage, documents: tuple[str, ...], notes: tuple[str, ...]) -> Passage:
    trace = passage.trace
    return replace(passage, trace=replace(trace, left_out=(*trace.left_out, *documents), notes=(*trace.notes, *notes)))


def is_worth_showing(passage: Passage) -> bool:
    """Whether a passage's score is not a probability of nearly 0."""
    return passage.score >= LEAST_PROBABILITY or not passage.trace.calibrated


class Passages(list[Passage]):
    """The passages of a result, best first: a list like any other, which notebooks show as a picture.

    Args:
        passages: The passages.
        question: The question that they answer. Default: None, for no question or a vector.
        analyzer: What finds the question's words in texts. Default: None, no words are marked.
        why_empty: Why there are no passages, as the end of a sentence. Default: None, there are passages, or the reason
            is unknown.
        nearest: Ids of the documents nearest to the question, best first, if there are no passages. Default: none.
    """

    def __init__(
        self,
        passages: Iterable[Passage] = (),
        *,
        question: str | None = None,
        analyzer: Analyzer | None = None,
        why_empty: str | None = None,
        nearest: Sequence[str] = (),
    ) -> None:
        super().__init__(passages)
        self.question = question
        self.analyzer = analyzer
        self.why_empty = why_empty
        self._nearest = nearest

    @property
    def why_no_answer(self) -> str | None:
        """Why nothing in the index answers the question, with the nearest documents, as the end of a sentence, or None.

        Nothing answers it if there are no passages, or if the scores of all are probabilities below 0.0005. The command
        line, agents' tools and the pages of ``serve`` say so, and show the passages.
        """
        nearest, why = self._nearest, self.why_empty
        if self:
            if any(map(is_worth_showing, self)):
                return None
            nearest, why = [each.document_id for each in self if each.document_id], "all probabilities are nearly 0"
        documents = " and ".join(map(shown, [*dict.fromkeys(nearest)][:_MOST_NEAREST]))
        return f"{why}; nearest: {documents}" if why and documents else why

    def worth_showing(self) -> Passages:
        """The passages without those with a probability of nearly 0, unless all have one."""
        return self.of(filter(is_worth_showing, self)) if any(map(is_worth_showing, self)) else self

    @overload
    def __getitem__(self, place: SupportsIndex, /) -> Passage: ...

    @overload
    def __getitem__(self, place: slice, /) -> Passages: ...

    def __getitem__(self, place: SupportsIndex | slice, /) -> Passage | Passages:
        if isinstance(place, slice):
            return self.of(super().__getitem__(place))
        return super().__getitem__(place)

    def __repr__(self) -> str:
        return "[" + ",\n ".join(map(repr, self)) + "]" + (f"  # {self.why_no_answer}" if self.why_no_answer else "")

    def _repr_html_(self) -> str | None:
        """A picture for notebooks: the documents as strips with the passages on them, then the passages."""
        return display("Passages", self)

    def of(self, passages: Iterable[Passage]) -> Passages:
        """Other passages for the same question.

        Args:
            passages: The passages.
        """
        context: Any = {"question": self.question, "analyzer": self.analyzer}
        return Passages(passages, **context, why_empty=self.why_empty, nearest=self._nearest)

    def prompt_sources(self) -> str:
        """The passages as numbered sources of a prompt, so that a model can cite them as [1].

        Each is a line of JSON with its number, place, title, headings and text, with a table's header above its rows. No
        text can end its line or its value.
        """
        return numbered_sources((shown_text(each), {**each.metadata, **citation(each)}, each.hidden) for each in self)

    def words(self, text: str) -> list[tuple[int, int]]:
        """The places of the question's words in a text, as (start, end), in order.

        Args:
            text: The text.
        """
        return [] if self.question is None or self.analyzer is None else matching_words(self.analyzer, self.question)(text)


def to_results(
    queries: Sequence[Query],
    rows: Iterable[Iterable[Passage]],
    analyzer: Analysis | None,
    reasons: Iterable[WhyEmpty | None],
) -> list[Passages]:
    finder = analyzer if isinstance(analyzer, Analyzer) else None
    results = [
        Passages(passages, question=query.text or None, analyzer=finder, **({} if why is None else why._asdict()))
        for query, passages, why in zip(queries, rows, reasons, strict=True)
    ]
    if METRICS in sys.modules:
        for each in results:
            instrument("leafspan.retrieve.passages")(len(each))
    return results
