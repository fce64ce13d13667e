"""Answering questions: a strategy's requests answered from an index, and its results made into passages."""

from leafspan.retrieval._defaults import Defaults
from leafspan.retrieval._limits import Limits, check_timeout
from leafspan.retrieval._retrieve import retrieve
from leafspan.retrieval._sources import Sources
from leafspan.retrieval._warm import warm
from leafspan.retrieval._without_index import aretrieve as aretrieve_outside
from leafspan.retrieval._without_index import retrieve as retrieve_outside

__all__ = ["Defaults", "Limits", "Sources", "aretrieve_outside", "check_timeout", "retrieve", "retrieve_outside", "warm"]
