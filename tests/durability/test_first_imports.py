"""Questions of several threads while another thread imports a package that they could see half-imported."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from leafspan import Index
from tests.durability.versions import document
from tests.profiles import quick

_ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "slowly", "open_in_threads"),
    quick(1, [("opentelemetry.trace", 0.001, False), ("chromadb", 0, False), ("chromadb", 0, True)]),
)
def test_questions_do_not_fail_while_another_thread_imports(
    tmp_path: Path, package: str, slowly: float, open_in_threads: bool
):
    with Index.open(tmp_path / "kb") as index:
        index.add([document(name, 1) for name in ("apple", "pear", "plum")])
    how = {
        "path": str(tmp_path / "kb"),
        "package": package,
        "delay": 0.0,
        "slowly": slowly,
        "open_in_threads": open_in_threads,
    }
    command = [sys.executable, "-m", "tests.simulation.first_import", json.dumps(how)]
    done = subprocess.run(command, check=False, cwd=_ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["errors"] == []
    assert told["asked"] > 0
