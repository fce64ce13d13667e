"""BM25, exact at any time: from texts to terms, from terms to postings, from postings to scores."""

from leafspan.lexical.analysis import Analysis, Analyzer, describe_analyzer, to_terms
from leafspan.lexical.merging import merge_postings
from leafspan.lexical.postings import build_postings
from leafspan.lexical.rank_bm25_engine import RankBM25
from leafspan.lexical.ranking import Corpus, Scores, best
from leafspan.lexical.variants import BM25Settings

__all__ = [
    "Analysis",
    "Analyzer",
    "BM25Settings",
    "Corpus",
    "RankBM25",
    "Scores",
    "best",
    "build_postings",
    "describe_analyzer",
    "merge_postings",
    "to_terms",
]
