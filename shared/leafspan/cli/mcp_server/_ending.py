"""The end of a serving process."""

from __future__ import annotations

import os
import sys
from typing import NoReturn


def end_process(code: int) -> NoReturn:
    """End the process at once. Abandoned calls stop, and an interrupted write is treated like a kill.

    A normal exit would close the engine while threads of such calls still use it, which crashes, and would wait for the
    thread that reads standard input, which cannot be woken up.
    """
    sys.stderr.flush()
    os._exit(code)
