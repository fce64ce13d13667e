"""Without the extra ``lab``, values have no picture, and functions that need one name the extra."""

from __future__ import annotations

import subprocess
import sys

_SCRIPT = """
import sys
sys.modules["htpy"] = None
from leafspan import Document
from leafspan.errors import MissingExtra
assert Document("bees", "They dance.")._repr_html_() is None
try:
    from leafspan.lab import report
except MissingExtra as error:
    print(error)
"""


def test_a_notebook_shows_the_repr_and_a_report_names_the_extra():
    done = subprocess.run([sys.executable, "-c", _SCRIPT], check=True, capture_output=True, text=True, timeout=60)
    assert 'pip install ".[lab]"' in done.stdout
