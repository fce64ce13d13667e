"""Runs flows: algorithms written once, without I/O, with a blocking driver and an asyncio driver."""

from leafspan.flows._call import Call, Flow, asked_whether_awaited
from leafspan.flows._concurrent import run_concurrently, run_together
from leafspan.flows._flow import arun, awaiting, blocking, run
from leafspan.flows._progress import Progress
from leafspan.flows._threads import in_thread, on_other_core
from leafspan.flows._within import acall_within, arun_within, call_within, late, run_within

__all__ = [
    "Call",
    "Flow",
    "Progress",
    "acall_within",
    "arun",
    "arun_within",
    "asked_whether_awaited",
    "awaiting",
    "blocking",
    "call_within",
    "in_thread",
    "late",
    "on_other_core",
    "run",
    "run_concurrently",
    "run_together",
    "run_within",
]
