"""The Python in README.md and in docs/ runs as tests: a page from top to bottom, in a folder of its own.

Nothing is in that folder but ``notes``, the folder of Markdown files with which README.md begins.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # read when a page imports Haystack


NOTES = Path(__file__).parent / "tests" / "docs" / "notes"


def enter_folder(namespace: dict[str, Any]) -> None:
    """Before a page: what it writes goes into a folder that nobody keeps."""
    leaving = namespace["_leaving"] = contextlib.ExitStack()
    leaving.callback(os.chdir, os.getcwd())
    os.chdir(leaving.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
    shutil.copytree(NOTES, "notes")


def leave_folder(namespace: dict[str, Any]) -> None:
    """After a page: its indexes are closed, and the folder goes."""
    for value in list(namespace.values()):
        if hasattr(value, "close") and type(value).__module__.startswith("leafspan"):
            value.close()
    namespace["_leaving"].close()


pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(), SkipParser()],
    patterns=["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/*.md", "docs/*/*.md"],
    setup=enter_folder,
    teardown=leave_folder,
).pytest()
