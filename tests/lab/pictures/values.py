"""Values with given texts, for pictures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from leafspan import Document, Passage
from leafspan.lab import Explanation, Obstacle, Standing, TimedRequest
from leafspan.trace import Contribution, Fused, Merge, Reference, Trace, TracedHit
from leafspan.values import Covered, Outline, Section, Summary


def outline(leaves: int = 10, **options: Any) -> Outline:
    """A document of this many leaves of five characters each; the piece is the leaves 2 to 4."""
    given = {"sections": (), "runs": ((2, 4),), "ends": (5, 10, 15), **options}
    return Outline(leaves, 5 * leaves, **given)


def passage(text: str = "one, two, three", **options: Any) -> Passage:
    """A passage of three leaves; the middle one was found."""
    trace = Trace(hits=(TracedHit(3, 0.75, "vector", 1),))
    given = {"score": 0.5, "metadata": {}, "trace": trace, "title": "A title", "outline": outline(), **options}
    return Passage(given.pop("id", "doc#00000000#2-4"), "doc", 10, 25, text, **given)


def fused(ordinal: int, *parts: tuple[str, int, float, float]) -> Fused:
    """A leaf that was found in several lists, each given as name, rank, score and share."""
    contributions = tuple(Contribution(*part) for part in parts)
    return Fused(ordinal, ordinal, "relative_score", contributions, sum(part.share for part in contributions))


def explanations_saying(text: str) -> list[Explanation]:
    """An explanation of what is returned, and of what is not, with this text wherever there is one."""
    found, *_ = everything_saying(text)
    whole = Explanation(text, text, (found,), 3, (TimedRequest(text, None, 0.1),), 0.2)
    obstacle = Obstacle("k", text, text, text, text)
    standings = (Standing(text, None, None, 3, text), Standing(text, 1, 0.5, 3))
    piece = replace(whole, document_id=text, start=1, end=4, elsewhere=((7, 9),), obstacles=(obstacle,))
    return [whole, replace(piece, standings=standings, passage=found), replace(piece, obstacles=(), holding=(found,))]


def everything_saying(text: str) -> list[Any]:
    """A value of each kind that can be drawn, with this text wherever there is one."""
    mentioned = replace(fused(3, (text, 1, 0.5, 0.25), ("other", 2, 0.5, 0.25)), reference=Reference(text, text, 0.125))
    trace = Trace(
        hits=(TracedHit(3, 0.75, text, 1, query=text),),
        fused=(mentioned,),
        merges=(Merge(1, 2, 4, 2, 3, 0.5),),
        notes=(text,),
        left_out=(text,),
    )
    sections = (Section(0, 4, 1, text), Section(2, 4, 2, text))
    drawn = outline(sections=sections, ends=(1, 2, len(text)) if len(text) > 2 else ())
    found = passage(
        text, id=text, trace=trace, title=text, headings=(text, text), metadata={text: text}, outline=drawn, kind="text"
    )
    covers = (Covered(text, "00000000", 0, 1, 0, 10), Covered("other", "00000000", 0, 1, 0, 10))
    leaf = passage(text, id=f"{text}#00000000#0")
    summary = passage(
        text, id=f"{text}#t0000000#0", summary=Summary(1, (leaf.id, text), covers), kind="summary", headings=(text,)
    )
    document = Document(text, text, text, {text: text, "list": [text]}, outline=outline(sections=sections))
    outside = Passage(text, "", None, None, text, 1.0, {text: text}, trace, kind=text)
    return [found, summary, leaf, document, outside]
