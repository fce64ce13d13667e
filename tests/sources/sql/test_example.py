from __future__ import annotations

import runpy
from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "examples" / "sql.py"


def test_the_example_runs_offline(capsys):
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["name: Ada, spent: 25", "name: Grace, spent: 12"]
    assert lines[-1].startswith("refused: a query may only read the columns")
