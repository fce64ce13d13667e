"""The values that make up an explanation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from leafspan.checks import shown
from leafspan.text import display, first_words
from leafspan.values import Passage, short_id

_MOST_OF_SENTENCE = 120  # characters of a sentence in a ``repr``


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What kept a piece of a document out of the results.

    Attributes:
        kind: ``"damage"``, ``"empty"`` (a document without a text), ``"filter"``, ``"candidates"``, ``"min_score"``,
            ``"per_document"``, ``"k"`` or ``"budget"``; ``"strategy"`` if no option of the call lets the piece in.
        option: Name of the option of ``retrieve``, such as ``"k"``. Empty if no option keeps it out.
        value: The option's value. None if it was not given.
        needed: The nearest value that lets the piece in. None means no limit.
        sentence: The obstacle in a sentence.
    """

    kind: str
    option: str
    value: object
    needed: object
    sentence: str

    def __repr__(self) -> str:
        return f"Obstacle({self.option or self.kind!r}, {first_words(self.sentence, _MOST_OF_SENTENCE)})"


@dataclass(frozen=True, slots=True)
class Standing:
    """The rank of a piece of a document in the results of one search, or of an inner strategy, such as the base.

    Attributes:
        source: ``"vector"``, ``"bm25"``, ``"listing"``, ``"comparison"`` (of certain leaves with the query), the name of a
            host retriever, or an inner strategy with its place, such as ``"base: Hybrid"``.
        rank: Its rank there, from 1. None if it is not there.
        score: Its score there. None if it is not there.
        results: How many results there are.
        query: If there were several queries, the phrasing of the question or the number of the vector. Otherwise None.
    """

    source: str
    rank: int | None
    score: float | None
    results: int
    query: str | None = None


@dataclass(frozen=True, slots=True)
class TimedRequest:
    """A request of the strategy, with the time until its answer.

    Attributes:
        name: What was asked for, such as ``"VectorSearch"``.
        results: How many results it had. None if they cannot be counted.
        seconds: How long it took. Requests that are answered at the same time may each have the time of all.
    """

    name: str
    results: int | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a retrieval returned what it did, and why it did not return a certain piece of a document.

    ``print`` shows it as sentences, a notebook as a picture, and ``to_dict`` gives plain values.

    Attributes:
        question: What was asked.
        strategy: The strategy, as text.
        passages: What is returned, each with its trace.
        found: How many results the strategy found. ``passages`` has only the first ones.
        requests: What the strategy asked for, with the time that each answer took.
        seconds: How long the retrieval took.
        document_id: Id of the document that has the piece. None if the call did not name a document.
        start: First character of the leaves of the piece.
        end: The character after the last character of these leaves.
        elsewhere: Other places where the document has the same text, as (start, end), in order.
        holding: The passages that hold all or some of the piece. Empty if it is not returned.
        obstacles: What kept the piece out, in the order of the steps of a retrieval. To get the piece, remove all of them.
            If the last one has the kind ``"strategy"``, no option of the call lets the piece in.
        standings: The piece's rank in each search, and in each inner strategy, such as the base.
        passage: The passage that contains the piece if all obstacles are removed. None if the piece is returned already, or
            cannot be returned.
        retrievals: How many retrievals the explanation took.
        piece_lines: The explanation of the piece, in sentences.
        notes: How misspelt words of the question were read.
    """

    question: str | None
    strategy: str
    passages: tuple[Passage, ...]
    found: int
    requests: tuple[TimedRequest, ...]
    seconds: float
    document_id: str | None = None
    start: int | None = None
    end: int | None = None
    elsewhere: tuple[tuple[int, int], ...] = ()
    holding: tuple[Passage, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()
    standings: tuple[Standing, ...] = ()
    passage: Passage | None = None
    retrievals: int = 1
    piece_lines: tuple[str, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """The explanation in sentences: about the piece if there is one, otherwise about all returned passages."""
        lines = self.piece_lines if self.document_id is not None else tuple(_of_all(self))
        return (*(note for note in self.notes if not any(note in line for line in lines)), *lines)

    @property
    def returned(self) -> bool:
        """Whether the piece, or a part of it, is returned."""
        return bool(self.holding)

    @property
    def changes(self) -> Mapping[str, object]:
        """The options of ``retrieve`` that let the piece in, with their values. A budget is given as its number."""
        return {each.option: each.needed for each in self.obstacles if each.option}

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain values for JSON: filters and other objects as text."""
        return {
            "question": self.question,
            "strategy": self.strategy,
            "document_id": self.document_id,
            "start": self.start,
            "end": self.end,
            "elsewhere": _plain(self.elsewhere),
            "returned": self.returned,
            "sentences": list(self.lines),
            "obstacles": [
                {
                    "kind": each.kind,
                    "option": each.option,
                    "value": _plain(each.value),
                    "needed": _plain(each.needed),
                    "sentence": each.sentence,
                }
                for each in self.obstacles
            ],
            "standings": [_plain(each) for each in self.standings],
            "passage": None if self.passage is None else _plain_passage(self.passage),
            "holding": [_plain_passage(each) for each in self.holding],
            "passages": [_plain_passage(each) for each in self.passages],
            "found": self.found,
            "requests": [_plain(each) for each in self.requests],
            "seconds": self.seconds,
            "retrievals": self.retrievals,
        }

    def __repr__(self) -> str:
        parts = [f"{len(self.passages)} passages"]
        if self.question is not None:
            parts.insert(0, first_words(self.question))
        if self.document_id is not None:
            kept_out = ", ".join(each.option or each.kind for each in self.obstacles)
            parts += [short_id(self.document_id), "returned" if self.returned else f"kept out by {kept_out}"]
        return f"Explanation({', '.join(parts)})"

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def _repr_html_(self) -> str | None:
        """Draw a picture for notebooks: the obstacles and the passage that they keep out, or the returned passages."""
        return display("Explanation", self)


def _of_all(explanation: Explanation) -> list[str]:
    """The returned passages, in sentences."""
    lines = [f"{_returned(len(explanation.passages), explanation.found)}, in {_time(explanation.seconds)}"]
    for place, each in enumerate(explanation.passages, start=1):
        lines.append(f"{place}. {shown(each.id)} (score {each.score:.3f})")
        lines += [f"   - {line}" for line in each.trace.explain()]
    lines.append("What the strategy asked for:")
    for request in explanation.requests:
        results = "" if request.results is None else f", {request.results} results"
        lines.append(f"- {request.name} ({_time(request.seconds)}{results})")
    return lines


def _returned(returned: int, total: int) -> str:
    """How many passages are returned, and how many the strategy found."""
    passages = "1 passage is" if returned == 1 else f"{returned} passages are"
    if returned == total:
        return (
            f"{passages} returned, all that the strategy found" if total else "nothing is returned, and nothing was found"
        )
    return f"{passages} returned, the first of {total} that the strategy found"


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def _plain(value: object) -> Any:
    """A value as numbers, texts, lists and dictionaries. Other values become text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    module = type(value).__module__
    if is_dataclass(value) and (module == "leafspan.trace" or module.startswith("leafspan.lab.explaining")):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    return shown(value)


def _plain_passage(passage: Passage) -> dict[str, Any]:
    """A passage as plain values, with its trace in sentences and step by step."""
    names = (
        "id",
        "document_id",
        "start",
        "end",
        "text",
        "score",
        "title",
        "headings",
        "lines",
        "kind",
        "metadata",
        "layer",
    )
    plain: dict[str, Any] = {name: _plain(getattr(passage, name)) for name in names}
    plain["trace"] = passage.trace.explain()
    plain["steps"] = _plain(passage.trace)
    return plain
