"""Explains why a passage was returned: the hits in it, and what each step did with them.

Every step has a ``query``: the phrasing of the question that it belongs to, or None if there was only one phrasing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

T = TypeVar("T")

_SHOWN = 200  # longest filter in a sentence, in characters
_OF_LARGER_NODES = "bm25 of the "  # the beginning of a source's name; parent, section or document follows
_SOFT = "soft matches"


@dataclass(frozen=True, slots=True)
class TracedHit:
    """A step: a search found a leaf.

    Attributes:
        ordinal: Ordinal of the leaf.
        score: Its score.
        source: The search: ``"vector"``, ``"bm25"``, ``"tree"``, ``"filter"``, or the name of a host retriever.
        rank: Its rank in the search, from 1, or None if the trace does not show it.
        query: Phrasing of the question, or None if there was only one.
    """

    ordinal: int
    score: float
    source: str = "vector"
    rank: int | None = None
    query: str | None = None


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one list, or one part of ``Hybrid``, contributes to a fused score.

    Attributes:
        source: Name of the list or part.
        rank: Rank of the result in the list, from 1.
        score: Score of the result in the list, even if the method of fusion uses only ranks.
        share: Its part of the fused score.
        weight: Weight of the list; all weights add up to 1, unless fusion takes the best score of any list. For ``Hybrid``,
            the most evidence that the part gives to a leaf.
    """

    source: str
    rank: int
    score: float
    share: float
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Reference:
    """The bonus of a leaf whose document another leaf mentions.

    Attributes:
        leaf: Id of the leaf that mentions the document.
        written: The title, alias, link or path in that leaf.
        bonus: What it adds to the score.
    """

    leaf: str
    written: str
    bonus: float


@dataclass(frozen=True, slots=True)
class Fused:
    """A step: one or more lists, or parts of ``Hybrid``, gave one score to a result.

    Attributes:
        first: Ordinal of its first leaf.
        last: Ordinal of its last leaf (inclusive).
        method: Method of fusion, or ``"evidence"`` for ``Hybrid``.
        contributions: What each list or part contributes.
        score: The sum of all contributions and bonuses. For ``Hybrid``, the logarithm of the leaf's weight: see
            docs/scores.md.
        neighbour_bonus: What the better neighbour adds.
        query: Phrasing of the question, or None if there was only one.
        reference: What a leaf that mentions this document adds, or None.
    """

    first: int
    last: int
    method: str
    contributions: tuple[Contribution, ...]
    score: float
    neighbour_bonus: float = 0.0
    query: str | None = None
    reference: Reference | None = None

    def __repr__(self) -> str:
        leaves = f"{self.first}" if self.first == self.last else f"{self.first} to {self.last}"
        sources = ", ".join(repr(each.source) for each in self.contributions)
        return f"Fused({leaves}, {self.method!r}, score={self.score:.3f}, {sources})"

    @property
    def has_parts_beside_lists(self) -> bool:
        """Whether the score has more parts than the lists that found the result, such as larger nodes or neighbours."""
        has_lists = any(each.source.startswith(_OF_LARGER_NODES) or each.source == _SOFT for each in self.contributions)
        return has_lists or self.neighbour_bonus > 0 or self.reference is not None

    @property
    def reference_bonus(self) -> float:
        """What a leaf of another document that mentions this one adds."""
        return 0.0 if self.reference is None else self.reference.bonus


@dataclass(frozen=True, slots=True)
class Calibrated:
    """A step: a leaf's score became the probability that the leaf holds the answer.

    Attributes:
        ordinal: Ordinal of the leaf.
        probability: The probability, in [0, 1].
        answer_probability: The probability that any leaf holds the answer, in [0, 1]. It belongs to the phrasing.
        query: Phrasing of the question, or None if there was only one.
    """

    ordinal: int
    probability: float
    answer_probability: float
    query: str | None = None


@dataclass(frozen=True, slots=True)
class Filled:
    """A step: leaves between two found leaves were added.

    Attributes:
        first: Ordinal of the first added leaf.
        last: Ordinal of the last added leaf (inclusive).
        score: The mean of the two found leaves' scores, or 0 in a relevant segment.
        query: Phrasing of the question, or None if there was only one.
    """

    first: int
    last: int
    score: float
    query: str | None = None


@dataclass(frozen=True, slots=True)
class Merge:
    """A step: a node of the hierarchy replaced its children.

    Attributes:
        level: Level of the node, >= 1 (the parents of leaves).
        first: Ordinal of its first leaf.
        last: Ordinal of its last leaf (inclusive).
        present: Number of its children among the results.
        children: Number of all its children.
        score: Score of the node.
        query: Phrasing of the question, or None if there was only one.
    """

    level: int
    first: int
    last: int
    present: int
    children: int
    score: float
    query: str | None = None

    @property
    def ratio(self) -> float:
        """The share of its children among the results, in (0, 1]."""
        return self.present / self.children


@dataclass(frozen=True, slots=True)
class KeptApart:
    """A step: a node of the hierarchy did not replace its children.

    Attributes:
        level: Level of the node, >= 1 (the parents of leaves).
        first: Ordinal of its first leaf.
        last: Ordinal of its last leaf (inclusive).
        present: Number of its children among the results.
        children: Number of all its children.
        words: Its length in words.
        option: The option that prevented the merge: ``"threshold"``, ``"max_words"`` or ``"max_level"``.
        limit: The value of that option. The call's budget appears as ``max_words``.
        query: Phrasing of the question, or None if there was only one.
    """

    level: int
    first: int
    last: int
    present: int
    children: int
    words: int
    option: str
    limit: float
    query: str | None = None

    @property
    def ratio(self) -> float:
        """The share of its children among the results, in (0, 1]."""
        return self.present / self.children


@dataclass(frozen=True, slots=True)
class United:
    """A step: results that overlap or touch became one result.

    Attributes:
        first: Ordinal of its first leaf.
        last: Ordinal of its last leaf (inclusive).
        pieces: Number of hits, windows or runs in it, >= 2.
        query: Phrasing of the question, or None if there was only one.
    """

    first: int
    last: int
    pieces: int
    query: str | None = None


@dataclass(frozen=True, slots=True)
class CutToBudget:
    """A step: a passage was cut, since the budget had no room for the whole passage.

    Attributes:
        first: Ordinal of the first kept leaf.
        last: Ordinal of the last kept leaf (inclusive).
        whole_first: Ordinal of the first leaf of the whole passage.
        whole_last: Ordinal of its last leaf (inclusive).
        length: Length of the kept part, in the budget's unit, such as words or tokens.
        whole_length: Length of the whole passage, in the same unit.
    """

    first: int
    last: int
    whole_first: int
    whole_last: int
    length: int
    whole_length: int


Step = TypeVar("Step", TracedHit, Fused, Calibrated, Filled, Merge, KeptApart, United)
_STEPS = ("hits", "fused", "calibrated", "filled", "merges", "kept_apart", "united")  # attributes with phrasings


class _MadeLater:
    """A trace whose steps may be made when the first of them is read: a search finds many results, and returns few."""

    __slots__ = ("_make",)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            if name not in Trace.__slots__:
                return object.__getattribute__(self, name)  # raises the usual error
            made = self._make()  # two threads may both do this
            for each in Trace.__slots__:
                object.__setattr__(self, each, getattr(made, each))
            object.__setattr__(self, "_make", lambda: made)  # which keeps nothing of the search alive
            return getattr(made, name)


@dataclass(frozen=True, slots=True)
class Trace(_MadeLater):
    """How a passage came about.

    Attributes:
        hits: Its leaves that a search found.
        fused: Its results that several lists found.
        calibrated: Its leaves whose scores became probabilities.
        filled: Leaves that were added between hits.
        merges: Nodes that replaced their children.
        kept_apart: Nodes above it that did not replace their children, and why.
        united: Its results that became one.
        cut: How it was cut to the budget, or None.
        filters: The filters that its document matched, as ``Where``s.
        window: Number of neighbours that were added before and after, or None.
        parent_level: Level of the parent that it was widened to, >= 1, or None.
        notes: Remarks, for example from your own strategy, or on problems.
        layer: Layer of a summary, >= 1; the ordinals in the steps are then numbers of summaries. 0 for a piece of a
            document.
        kind: Kind of a passage of another source, such as ``"row"``. "" for a piece of a document and for a summary.
        left_out: Ids of damaged documents that the retrieval skipped (``on_damage="skip"``).
    """

    hits: tuple[TracedHit, ...] = ()
    fused: tuple[Fused, ...] = ()
    calibrated: tuple[Calibrated, ...] = ()
    filled: tuple[Filled, ...] = ()
    merges: tuple[Merge, ...] = ()
    window: tuple[int, int] | None = None
    parent_level: int | None = None
    notes: tuple[str, ...] = ()
    layer: int = 0
    kind: str = ""
    left_out: tuple[str, ...] = ()
    kept_apart: tuple[KeptApart, ...] = ()
    united: tuple[United, ...] = ()
    cut: CutToBudget | None = None
    filters: tuple[object, ...] = ()

    def __repr__(self) -> str:
        names = ("hits", "fused", "calibrated", "filled", "merges", "notes", "left_out")
        steps = [f"{len(getattr(self, name))} {name}" for name in names if getattr(self, name)]
        if self.parent_level is not None:
            steps.append(f"parent_level={self.parent_level}")
        if self.window is not None:
            steps.append(f"window={self.window}")
        return f"Trace({', '.join(steps)})"

    def __add__(self, other: Trace) -> Trace:
        """The trace of a passage that two results make up. A step that both traces have appears once."""
        if self is EMPTY_TRACE:
            return other
        return Trace(
            _both(self.hits, other.hits),
            _both(self.fused, other.fused),
            _both(self.calibrated, other.calibrated),
            _both(self.filled, other.filled),
            _both(self.merges, other.merges),
            self.window or other.window,
            self.parent_level or other.parent_level,
            _both(self.notes, other.notes),
            self.layer or other.layer,
            self.kind or other.kind,
            _both(self.left_out, other.left_out),
            _both(self.kept_apart, other.kept_apart),
            _both(self.united, other.united),
            self.cut or other.cut,
            _each_once(self.filters, other.filters),
        )

    def not_merged(self, node: KeptApart) -> Trace:
        """The same trace with a node that did not replace its children."""
        return self._with(self.parent_level, (*self.kept_apart, node))

    def at_parent(self, level: int) -> Trace:
        """The trace of a passage that was widened to its parent at this level."""
        return self._with(level, self.kept_apart)

    def _with(self, parent_level: int | None, kept_apart: tuple[KeptApart, ...]) -> Trace:
        # ``replace`` would take three times as long, which is as long as reading a leaf, and each hit needs this.
        return Trace(
            self.hits,
            self.fused,
            self.calibrated,
            self.filled,
            self.merges,
            self.window,
            parent_level,
            self.notes,
            self.layer,
            self.kind,
            self.left_out,
            kept_apart,
            self.united,
            self.cut,
            self.filters,
        )

    def done_for(self, query: str) -> Trace:
        """The same trace with this phrasing in all steps that have no phrasing yet.

        Args:
            query: Phrasing of the question.
        """
        steps: dict[str, Any] = {name: _done_for(query, getattr(self, name)) for name in _STEPS}
        return replace(self, **steps)

    def with_texts(self, change: Callable[[str], str]) -> Trace:
        """The same trace with changed phrasings, source names and notes, and without filters, which contain texts too.

        Args:
            change: Function that returns the new text for a text.
        """

        def changed(steps: tuple[Step, ...]) -> tuple[Step, ...]:
            return tuple(replace(each, query=None if each.query is None else change(each.query)) for each in steps)

        def contributed(fused: Fused) -> Fused:
            parts = tuple(replace(part, source=change(part.source)) for part in fused.contributions)
            of = fused.reference
            reference = None if of is None else replace(of, leaf=change(of.leaf), written=change(of.written))
            return replace(fused, contributions=parts, reference=reference)

        steps: dict[str, Any] = {name: changed(getattr(self, name)) for name in _STEPS}
        steps["hits"] = tuple(replace(hit, source=change(hit.source)) for hit in steps["hits"])
        steps["fused"] = tuple(map(contributed, steps["fused"]))
        notes, left_out = tuple(map(change, self.notes)), tuple(map(change, self.left_out))
        return replace(self, **steps, filters=(), notes=notes, left_out=left_out)

    def explain(self) -> list[str]:
        """Explain each step in a sentence, in the order of the steps, followed by the notes.

        If ``Hybrid`` added many parts, the first sentence is a short summary in plain words, about the most important leaf.
        """
        kind = f"layer {self.layer}, summary" if self.layer else "leaf"

        def leaves(first: int, last: int) -> str:
            return f"the {self.kind}" if self.kind else _leaves(first, last, kind)

        of_parts = [each for each in self.fused if each.has_parts_beside_lists]
        best = max(of_parts, key=lambda each: each.score, default=None)
        lines = [] if best is None else [_in_short(best, leaves(best.first, best.last))]
        lines += [
            f"{hit.source} found {leaves(hit.ordinal, hit.ordinal)}{_query(hit)} "
            f"({'' if hit.rank is None else f'rank {hit.rank}, '}score {hit.score:.3f})"
            for hit in self.hits
        ]
        lines += [_fusion(fused, leaves(fused.first, fused.last)) for fused in self.fused]
        lines += [
            f"the score of {leaves(each.ordinal, each.ordinal)}{_query(each)} stands for a probability of "
            f"{each.probability:.2f}"
            for each in self.calibrated
        ]
        lines += [
            f"{_leaves(gap.first, gap.last)} filled the gap between two hits{_query(gap)} (score {gap.score:.3f})"
            for gap in self.filled
        ]
        lines += [
            f"{merge.present} of {merge.children} children ({merge.ratio:.0%}) merged into their parent at level "
            f"{merge.level}{_query(merge)}: {_leaves(merge.first, merge.last)} (score {merge.score:.3f})"
            for merge in self.merges
        ]
        lines += map(_apart, self.kept_apart)
        if self.parent_level is not None:
            lines.append(f"widened to the parent at level {self.parent_level}")
        if self.window is not None:
            lines.append(f"widened to the neighbours: {self.window[0]} before and {self.window[1]} after")
        lines += [
            f"{each.pieces} results that overlap or touch became one{_query(each)}: {_leaves(each.first, each.last)}"
            for each in self.united
        ]
        if self.cut is not None:
            kept, whole = _leaves(self.cut.first, self.cut.last), _leaves(self.cut.whole_first, self.cut.whole_last)
            lines.append(f"cut to the budget: {kept} of {whole}, a length of {self.cut.length} of {self.cut.whole_length}")
        lines += [f"its document matches the filter {_shortened(repr(where))}" for where in self.filters]
        if self.left_out:
            lines.append(f"left out, since what is stored of them is damaged: {', '.join(map(repr, self.left_out))}")
        return [*lines, *self.notes]


def made_later(make: Callable[[], Trace], calibrated: tuple[Calibrated, ...]) -> Trace:
    """A trace with these probabilities; ``make`` makes all steps when another one is first read."""
    trace = object.__new__(Trace)
    object.__setattr__(trace, "_make", make)
    object.__setattr__(trace, "calibrated", calibrated)
    return trace


EMPTY_TRACE = Trace()
"""The trace of a new result, without steps."""


def _both(steps: tuple[T, ...], others: tuple[T, ...]) -> tuple[T, ...]:
    """The steps of both traces, each once."""
    if not others:
        return steps
    return tuple(dict.fromkeys(steps + others)) if steps else others


def _done_for(query: str, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    return tuple(replace(step, query=query) if step.query is None else step for step in steps)


def _each_once(filters: tuple[object, ...], others: tuple[object, ...]) -> tuple[object, ...]:
    """The filters of both traces, each once. Comparing large filters takes long, so that only the same object is equal."""
    return tuple({id(each): each for each in filters + others}.values()) if filters and others else filters or others


def _shortened(text: str) -> str:
    """A text, with its middle cut out if it is long."""
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN // 2]}...{text[-_SHOWN // 2 :]}"


def _apart(node: KeptApart) -> str:
    """Why a node did not replace its children."""
    present = f"{node.present} of {node.children} children ({node.ratio:.0%})"
    if node.option == "threshold":
        why = f"{present} were found, not more than the threshold of {node.limit:.0%}"
    elif node.option == "max_words":
        why = f"its {node.words} words are more than {node.limit}"
    else:
        why = f"max_level is {node.limit}"
    return f"not merged into the parent at level {node.level}{_query(node)}, {_leaves(node.first, node.last)}: {why}"


def _leaves(first: int, last: int, kind: str = "leaf") -> str:
    return f"{kind} {first}" if first == last else f"leaves {first} to {last}"


def _query(step: TracedHit | Fused | Calibrated | Filled | Merge | KeptApart | United) -> str:
    return "" if step.query is None else f" for {step.query}"


def _in_short(fused: Fused, leaves: str) -> str:
    """The parts of a score in plain words, without numbers except ranks."""
    shares = {part.source: part for part in fused.contributions if part.share > 0}
    reasons = []
    if "bm25" in shares:
        reasons.append(f"has words of the question (rank {shares['bm25'].rank})")
    if "vector" in shares:
        reasons.append(f"is near to the question in meaning (rank {shares['vector'].rank})")
    if _SOFT in shares:
        reasons.append("has words that mean about the same")
    if any(source.startswith(_OF_LARGER_NODES) for source in shares):
        reasons.append("stands in a larger piece with words of the question")
    if fused.neighbour_bonus:
        reasons.append("stands beside a leaf that matches")
    if fused.reference is not None:
        reasons.append(f"is mentioned, as {_shortened(repr(fused.reference.written))}, by a leaf that matches")
    first = ", ".join(reasons[:-1])
    return f"in short, {leaves} {f'{first}, and ' if first else ''}{reasons[-1] if reasons else 'hardly matches'}"


def _fusion(fused: Fused, leaves: str) -> str:
    shares = [
        f"{part.share:.3f} from {part.source} (rank {part.rank}, weight {part.weight:.2f})" for part in fused.contributions
    ]
    if fused.neighbour_bonus:
        shares.append(f"{fused.neighbour_bonus:.3f} from a neighbour")
    if fused.reference is not None:
        by = fused.reference
        shares.append(f"{by.bonus:.3f} from {_shortened(repr(by.leaf))}, which mentions {_shortened(repr(by.written))}")
    return f"{leaves}{_query(fused)}: {fused.method} gave {fused.score:.3f} = {' + '.join(shares)}"
