"""Runs flows: algorithms written once, without I/O, with a blocking and an asyncio driver. Also imports numpy late."""

from leafspan.flows._concurrent import (
    acall_within,
    arun_within,
    call_within,
    late,
    run_concurrently,
    run_together,
    run_within,
)
from leafspan.flows._flow import Call, Flow, arun, awaiting, blocking, driver_awaits, parameters_of, run
from leafspan.flows._metrics import METRICS, instrument
from leafspan.flows._numpy import np
from leafspan.flows._progress import Progress
from leafspan.flows._threads import in_thread, on_other_core

__all__ = [
    "METRICS",
    "Call",
    "Flow",
    "Progress",
    "acall_within",
    "arun",
    "arun_within",
    "driver_awaits",
    "awaiting",
    "blocking",
    "call_within",
    "in_thread",
    "instrument",
    "late",
    "np",
    "on_other_core",
    "parameters_of",
    "run",
    "run_concurrently",
    "run_together",
    "run_within",
]
