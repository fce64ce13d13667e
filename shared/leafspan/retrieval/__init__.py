"""Answers questions: answers a strategy's requests from an index, and makes passages of its results."""

from leafspan.retrieval._answers import Answered, Answers
from leafspan.retrieval._index_answers import IndexAnswers
from leafspan.retrieval._limits import (
    DEFAULT_K,
    CallOptions,
    Defaults,
    Limits,
    Sources,
    check_timeout,
    import_numpy,
    takes_call_options,
    warm,
)
from leafspan.retrieval._passages import (
    INDEX_IS_EMPTY,
    LEAST_PROBABILITY,
    NO_ANSWER,
    Passages,
    is_worth_showing,
    without_damaged,
)
from leafspan.retrieval._recording import Recording, recorded
from leafspan.retrieval._retrieve import Result, retrieve_from_index, run_strategy
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
    "import_numpy",
    "is_worth_showing",
    "recorded",
    "retrieve",
    "retrieve_from_index",
    "retrieve_many",
    "run_strategy",
    "takes_call_options",
    "warm",
    "without_damaged",
]
