"""The examples of graphs run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "shows"),
    [
        ("light_rag.py", "Antoine Lavoisier (name): The name oxygen was coined in 1777 by Antoine Lavoisier"),
        ("property_graph.py", "Carl Wilhelm Scheele -> named with -> Joseph Priestley"),
    ],
)
def test_an_example_runs(name: str, shows: str, tmp_path: Path):
    command = [sys.executable, "-W", "error", str(EXAMPLES / name)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert shows in done.stdout
