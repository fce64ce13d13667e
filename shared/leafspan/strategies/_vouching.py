"""Evidence that flows along mentions: a good leaf vouches for the documents that its text mentions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from leafspan.strategies._requests import Mention
from leafspan.trace import Reference
from leafspan.values import LeafId

LOOKED_THROUGH = 6
"""The number of best leaves whose texts are looked through for mentions."""

_TO_THE_BEST = 0.5  # of what a document is given: the rest goes to all its leaves, by their own scores


class _Given(NamedTuple):
    """What a document is given: the most of what each mention gives."""

    share: float
    by: LeafId
    mention: Mention


def vouched_for(
    sums: Mapping[LeafId, float], best: Sequence[LeafId], mentions: Mapping[str, Sequence[Mention]], references: float
) -> dict[LeafId, Reference]:
    """What leaves get, since others mention their documents.

    A leaf gives each document that it mentions ``references`` times its own score times the strength of the mention. If
    several give to a document, the most counts. Half of it goes to the leaf of the document that has the best score, and
    the other half to each of its leaves by their share of that score: so the best one gets all. If none of its leaves has
    a score, the first one gets all. There is one step only: what a leaf gets, it does not pass on.

    Args:
        sums: The score of each leaf.
        best: The leaves that were looked through, best first.
        mentions: What they mention, by the ids of leaves. A document does not mention itself.
        references: Share of a leaf's score to pass on.
    """
    given: dict[str, _Given] = {}
    for leaf in best:
        for mention in mentions.get(str(leaf), ()):
            share = references * sums[leaf] * mention.strength
            if share > 0 and (mention.document_id not in given or given[mention.document_id].share < share):
                given[mention.document_id] = _Given(share, leaf, mention)
    scores: dict[str, dict[LeafId, float]] = {document_id: {} for document_id in given}
    for leaf, score in sums.items() if given else ():
        to = given.get(leaf.document_id)
        # A leaf behind the last one is a neighbour that was only guessed to be there.
        if to is not None and score > 0 and leaf.version == to.mention.version and leaf.ordinal < to.mention.leaves:
            scores[leaf.document_id][leaf] = score
    vouched = {}
    for document_id, (share, by, mention) in given.items():
        of_document = scores[document_id] or {LeafId(document_id, mention.version, 0): 1.0}
        top = max(of_document.values())
        for leaf, score in of_document.items():
            part = 1.0 if score == top else (1 - _TO_THE_BEST) * score / top
            vouched[leaf] = Reference(str(by), mention.written, share * part)
    return vouched
