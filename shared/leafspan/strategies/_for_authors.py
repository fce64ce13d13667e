"""Names from other rooms that an author of strategies needs; ``leafspan.strategies`` exports them."""

from leafspan.checks import check_choice, check_flag, check_number, check_text, check_whole
from leafspan.spans import unite
from leafspan.trace import Contribution, Fused, Trace, TracedHit
from leafspan.values import Ancestor, Candidate, Hit, Leaf, LeafId, Passage, Query, Span, outside_candidate, scored

__all__ = [
    "Ancestor",
    "Candidate",
    "Contribution",
    "Fused",
    "Hit",
    "Leaf",
    "LeafId",
    "Passage",
    "Query",
    "Span",
    "Trace",
    "TracedHit",
    "check_choice",
    "check_flag",
    "check_number",
    "check_text",
    "check_whole",
    "outside_candidate",
    "scored",
    "unite",
]
