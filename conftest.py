"""The Python in README.md and in docs/ runs as tests: a page from top to bottom, in an empty folder of its own."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

pytest_plugins = ["pytester", "tests.processor_time"]

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # read when a page imports Haystack

# Each worker of the tests keeps one processor busy, and threads of BLAS would only wait for each other, at full load.
# A small product of a matrix takes a hundredth of the processor time then. NumPy reads this when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Tests make thousands of indexes. Memory does not wait for a disk.
IN_MEMORY, MOST_BYTES = Path("/dev/shm"), 4 << 30
if "TMPDIR" not in os.environ and os.access(IN_MEMORY, os.W_OK) and shutil.disk_usage(IN_MEMORY).free > MOST_BYTES:
    os.environ["TMPDIR"] = tempfile.tempdir = str(IN_MEMORY)

# A shell starts what runs in the background with Ctrl-C ignored, and so would be all processes that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def enter_empty_folder(namespace: dict[str, Any]) -> None:
    """Before a page: what it writes goes into a folder that nobody keeps."""
    leaving = namespace["_leaving"] = contextlib.ExitStack()
    leaving.callback(os.chdir, os.getcwd())
    os.chdir(leaving.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))


def leave_folder(namespace: dict[str, Any]) -> None:
    """After a page: its indexes are closed, the folder goes, and so does a tracer provider, which a process sets once."""
    for value in list(namespace.values()):
        if hasattr(value, "close") and type(value).__module__.startswith("leafspan"):
            value.close()
    namespace["_leaving"].close()
    if (trace := sys.modules.get("opentelemetry.trace")) is not None:
        vars(trace).update(_TRACER_PROVIDER=None, _TRACER_PROVIDER_SET_ONCE=type(trace._TRACER_PROVIDER_SET_ONCE)())


pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(), SkipParser()],
    patterns=["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/*.md", "docs/*/*.md"],
    setup=enter_empty_folder,
    teardown=leave_folder,
).pytest()
