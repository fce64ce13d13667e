"""Runs flows: algorithms written once, without I/O, with a blocking and an asyncio driver. Also imports numpy late."""

from leafspan.flows._concurrent import arun_within, run_concurrently, run_together, run_within
from leafspan.flows._flow import Call, Flow, arun, awaiting, blocking, driver_awaits, parameters_of, run
from leafspan.flows._metrics import METRICS, instrument
from leafspan.flows._numpy import NDArray, np
from leafspan.flows._progress import Progress
from leafspan.flows._threads import in_own_thread, in_thread, on_other_core

__all__ = [
    "METRICS",
    "Call",
    "Flow",
    "NDArray",
    "Progress",
    "arun",
    "arun_within",
    "driver_awaits",
    "awaiting",
    "blocking",
    "in_own_thread",
    "in_thread",
    "instrument",
    "np",
    "on_other_core",
    "parameters_of",
    "run",
    "run_concurrently",
    "run_together",
    "run_within",
]
