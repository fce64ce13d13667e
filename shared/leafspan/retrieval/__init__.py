"""Answering questions: a strategy's requests answered from an index, and its results made into passages."""

from leafspan.retrieval._limits import Limits
from leafspan.retrieval._retrieve import retrieve
from leafspan.retrieval._retrieve_outside import retrieve_outside
from leafspan.retrieval._sources import Sources
from leafspan.retrieval._warm import warm

__all__ = ["Limits", "Sources", "retrieve", "retrieve_outside", "warm"]
