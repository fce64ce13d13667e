"""The code that docs/write-an-engine.md defines."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

PAGE = (Path(__file__).parents[2] / "docs" / "write-an-engine.md").read_text()


@cache
def page() -> dict[str, Any]:
    """What the page has defined when all of it has run."""
    names: dict[str, Any] = {"__name__": "write_an_engine"}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(block, "write-an-engine.md", "exec"), names)
    return names
