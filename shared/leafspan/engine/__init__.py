"""Runs flows: algorithms written once, without I/O, that a blocking driver and one for asyncio carry out."""

from leafspan.engine._concurrent import run_concurrently, run_together
from leafspan.engine._flow import Call, Flow, arun, run
from leafspan.engine._progress import Progress

__all__ = ["Call", "Flow", "Progress", "arun", "run", "run_concurrently", "run_together"]
