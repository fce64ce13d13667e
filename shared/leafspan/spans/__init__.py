"""Arithmetic on spans of leaves: merging, windows, growing, parents, relevant runs, uniting and keeping to a budget."""

from leafspan.spans._citation import SHOWN_TO_MODELS, citation, numbered_sources, shown_text
from leafspan.spans._merging import SCORES, auto_merge, has_more, parents_of
from leafspan.spans._packing import Budget, best_hit, joined, limit_per_document, longest_prefix, shortlist, within_budget
from leafspan.spans._windows import grown_within, neighbours_of, one_of, overlapping, unite, windows_around, without_repeats
from leafspan.spans._word_budget import runs_within_budget, short_gaps

__all__ = [
    "SCORES",
    "SHOWN_TO_MODELS",
    "Budget",
    "auto_merge",
    "best_hit",
    "citation",
    "grown_within",
    "has_more",
    "joined",
    "limit_per_document",
    "longest_prefix",
    "neighbours_of",
    "one_of",
    "overlapping",
    "parents_of",
    "runs_within_budget",
    "short_gaps",
    "shortlist",
    "numbered_sources",
    "shown_text",
    "unite",
    "windows_around",
    "within_budget",
    "without_repeats",
]
