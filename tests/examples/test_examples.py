"""Each example runs alone, without network and keys, and prints its results."""

from __future__ import annotations

import gc
import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


def test_there_are_examples():
    assert EXAMPLES


@pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecationWarning")  # LlamaIndex looks at all attributes
@pytest.mark.filterwarnings("ignore:.*aiosqlite:ResourceWarning")  # LlamaIndex's memory never closes its database
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_it_runs_and_prints(
    example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(example)])
    runpy.run_path(str(example), run_name="__main__")
    gc.collect()  # so that the database is closed here, and not in a later test
    assert len(capfd.readouterr().out.splitlines()) > 3
    assert not list(tmp_path.iterdir())  # it leaves nothing behind
