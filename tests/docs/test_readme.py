"""The README's Python runs as it stands, top to bottom."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_readmes_python_runs_and_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(blocks) == 5
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    names["index"].close()
    printed = capsys.readouterr().out
    assert "Karl von Frisch decoded the dance." in printed
    assert "vector found leaf" in printed
    assert "'doc_id': 'tea'" in printed
    assert printed.rstrip().endswith("tea {'tenant': 'acme'}")


def test_what_the_readme_links_to_is_there():
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert link.startswith("https://") or (page.parent / link).exists(), f"{page.name}: {link}"
