"""Answers questions: answers a strategy's requests from an index, and makes passages of its results."""

from leafspan.retrieval._answers import Answered, Answers
from leafspan.retrieval._index_answers import IndexAnswers
from leafspan.retrieval._limits import DEFAULT_K, CallOptions, Defaults, Limits, check_timeout, takes_call_options
from leafspan.retrieval._passages import (
    INDEX_IS_EMPTY,
    LEAST_PROBABILITY,
    NO_ANSWER,
    Passages,
    is_worth_showing,
    without_damaged,
)
from leafspan.retrieval._recording import Recording, recorded
from leafspan.retrieval._retrieve import Result, checked_queries, look_at, retrieve_from_index
from leafspan.retrieval._sources import Sources, import_numpy, warm
from leafspan.retrieval._without_index import aretrieve, aretrieve_many, retrieve, retrieve_many

__all__ = [
    "DEFAULT_K",
    "INDEX_IS_EMPTY",
    "LEAST_PROBABILITY",
    "NO_ANSWER",
    "Answered",
    "Answers",
    "CallOptions",
    "Defaults",
    "IndexAnswers",
    "Limits",
    "Passages",
    "Recording",
    "Result",
    "Sources",
    "aretrieve",
    "aretrieve_many",
    "check_timeout",
    "checked_queries",
    "import_numpy",
    "is_worth_showing",
    "look_at",
    "recorded",
    "retrieve",
    "retrieve_from_index",
    "retrieve_many",
    "takes_call_options",
    "warm",
    "without_damaged",
]
