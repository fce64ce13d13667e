"""Runs flows: algorithms written once, without I/O, that a blocking driver and one for asyncio carry out."""

from leafspan.engine._concurrent import run_concurrently, run_together
from leafspan.engine._flow import Call, Flow, arun, run
from leafspan.engine._progress import Progress
from leafspan.engine._within import acall_within, call_within, late

__all__ = [
    "Call",
    "Flow",
    "Progress",
    "acall_within",
    "arun",
    "call_within",
    "late",
    "run",
    "run_concurrently",
    "run_together",
]
