"""A graph's results for a question, and the shapes in which the user gets them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from leafspan.checks import check_choice, shown
from leafspan.errors import InvalidArgument
from leafspan.strategies import HostResult
from leafspan.trace import Trace, TracedHit
from leafspan.values import LeafId, Passage

GraphKind = Literal["chunk", "entity", "relation"]
KINDS: tuple[str, ...] = get_args(GraphKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphResult:
    """A graph's results for a question, each kind best first.

    Attributes:
        chunks: Pieces of text. A chunk that was made from a leaf has the leaf's id.
        entities: Nodes of the graph.
        relations: Edges of the graph.
    """

    chunks: tuple[HostResult, ...] = ()
    entities: tuple[HostResult, ...] = ()
    relations: tuple[HostResult, ...] = ()

    def passages(self, kinds: Sequence[str]) -> list[HostResult]:
        """The results of these kinds in one list, best first. The order of ``kinds`` breaks ties, then the rank does.

        If a result has no score, its score is 1 / rank, with its rank within its kind.
        """
        found = {"chunk": self.chunks, "entity": self.entities, "relation": self.relations}
        scored = [
            replace(each, score=1 / rank if each.score is None else each.score)
            for kind in kinds
            for rank, each in enumerate(found[kind], start=1)
        ]
        return sorted(scored, key=lambda each: -(each.score or 0.0))

    def dictionary(self) -> dict[str, list[dict[str, Any]]]:
        """Plain dictionaries: ``nodes``, ``edges`` and ``chunks``."""
        return {
            "nodes": [dict(each.metadata) for each in self.entities],
            "edges": [dict(each.metadata) for each in self.relations],
            "chunks": [{"id": each.id, "text": each.text, **each.metadata} for each in self.chunks],
        }


def check_kinds(kinds: Any) -> tuple[str, ...]:
    """Return the kinds as a tuple.

    Raises:
        InvalidArgument: if ``kinds`` is not a list of kinds, is empty, or has a kind twice.
    """
    if isinstance(kinds, str) or not isinstance(kinds, Sequence) or not kinds:
        raise InvalidArgument(f"kinds must be a list of {', '.join(map(repr, KINDS))}, got {shown(kinds)}")
    for kind in kinds:
        check_choice("each of kinds", kind, KINDS)
    if len(set(kinds)) < len(kinds):
        raise InvalidArgument(f"kinds must have each kind once, got {shown(kinds)}")
    return tuple(kinds)


def as_passage(found: HostResult, source: str) -> Passage:
    """A result as a passage that does not belong to an index."""
    score = found.score or 0.0
    trace = Trace(hits=(TracedHit(0, score, source),), kind=found.kind)
    metadata = dict(found.metadata)
    return Passage(found.id or "", "", None, None, found.text, score, metadata, trace, kind=found.kind, hidden=found.hidden)


def leaf_or_none(id_: str) -> str | None:
    """The id, or None if it is not a leaf's id."""
    leaf = LeafId.of_result(id_)
    return None if leaf is None else str(leaf)


def plain(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata without missing values."""
    return {key: value for key, value in metadata.items() if value not in (None, "", [], ())}
