"""The look-up of known vulnerabilities: a finding fails, and an unreachable service is reported."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def audit() -> ModuleType:
    spec = importlib.util.spec_from_file_location("audit", ROOT / "tools" / "audit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def command(tmp_path: Path, report: object, stderr: str = "", code: int = 0) -> tuple[str, ...]:
    """Something that stands for pip-audit."""
    script = tmp_path / "pip_audit.py"
    script.write_text(
        "import sys\n"
        "output = next(each.removeprefix('--output=') for each in sys.argv if each.startswith('--output='))\n"
        f"report = {json.dumps(report)!r}\n"
        "if report != 'null': open(output, 'w').write(report)\n"
        f"print({stderr!r}, file=sys.stderr)\n"
        f"sys.exit({code})\n"
    )
    return sys.executable, str(script)


def package(name: str, *vulnerabilities: dict[str, object]) -> dict[str, object]:
    return {"name": name, "version": "1.0", "vulns": list(vulnerabilities)}


def test_nothing_known_passes(audit, tmp_path: Path, capsys):
    assert audit.main(command(tmp_path, {"dependencies": [package("a"), package("b")]})) == 0
    assert capsys.readouterr().out == "audit: 2 packages, 0 known vulnerabilities\n"


def test_a_known_vulnerability_fails(audit, tmp_path: Path, capsys):
    known = {"id": "PYSEC-1", "fix_versions": ["1.1"], "aliases": [], "description": ""}
    assert audit.main(command(tmp_path, {"dependencies": [package("a", known)]}, code=1)) == 1
    assert "audit: a 1.0 has PYSEC-1, repaired in 1.1\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("report", "stderr"),
    [
        (None, "requests.exceptions.ConnectionError: Failed to resolve 'index.example'"),
        ({"dependencies": [{"name": "a", "skip_reason": "not found"}]}, ""),
    ],
)
def test_a_service_that_cannot_be_reached_is_said_and_the_work_goes_on(audit, tmp_path: Path, capsys, report, stderr):
    assert audit.main(command(tmp_path, report, stderr, code=1)) == 0
    out = capsys.readouterr().out
    assert "NOTHING WAS AUDITED" in out
    assert stderr in out


def test_what_hangs_is_not_waited_for(audit, tmp_path: Path, capsys, monkeypatch):
    monkeypatch.setattr(audit, "_MOST_SECONDS", 0.5)
    script = tmp_path / "hangs.py"
    script.write_text("import time\ntime.sleep(60)\n")
    assert audit.main((sys.executable, str(script))) == 0
    assert "it took longer than 0.5 seconds" in capsys.readouterr().out


def test_without_pip_audit_it_says_what_to_type(audit, capsys):
    assert audit.main((sys.executable, "-m", "no_such_module_at_all")) == 2
    assert 'pip install ".[dev]"' in capsys.readouterr().out
