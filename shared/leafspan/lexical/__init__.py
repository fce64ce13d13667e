"""BM25 with exact scores at any time: texts become terms, terms become postings, and postings give scores."""

from leafspan.lexical._analysis import (
    Analysis,
    Analyzer,
    describe_analyzer,
    matching_words,
    probe_terms,
    read_as,
    reading_number,
    terms_of_chunks,
    terms_of_question,
    to_terms,
)
from leafspan.lexical._languages import code_of, find_language, known_code
from leafspan.lexical._leaf_words import (
    LeafWords,
    build_leaf_words,
    compared_text,
    keeps_leaf_words,
    leaf_digests,
    merge_leaf_words,
    plain_words_of,
    terms_digest,
)
from leafspan.lexical._postings import AnotherTerm, build_postings, encode, length_of, merge_postings
from leafspan.lexical._rank_bm25_engine import RankBM25
from leafspan.lexical._ranking import Corpus, Scores, best, score_reached_by
from leafspan.lexical._spelling import in_other_words, respelt
from leafspan.lexical._terms import BM25Settings, NodeScores, starts_of
from leafspan.lexical._tokens import find_plain_words, other_numbers, other_writings

__all__ = [
    "Analysis",
    "Analyzer",
    "AnotherTerm",
    "BM25Settings",
    "Corpus",
    "LeafWords",
    "NodeScores",
    "RankBM25",
    "Scores",
    "best",
    "build_leaf_words",
    "build_postings",
    "code_of",
    "compared_text",
    "describe_analyzer",
    "encode",
    "find_language",
    "find_plain_words",
    "in_other_words",
    "keeps_leaf_words",
    "known_code",
    "leaf_digests",
    "length_of",
    "matching_words",
    "merge_leaf_words",
    "merge_postings",
    "other_numbers",
    "other_writings",
    "plain_words_of",
    "probe_terms",
    "read_as",
    "reading_number",
    "respelt",
    "score_reached_by",
    "starts_of",
    "terms_digest",
    "terms_of_chunks",
    "terms_of_question",
    "to_terms",
]
