"""README.md, word for word: it prints passages, reasons, an answer and a comparison."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def run(capsys: pytest.CaptureFixture) -> list[str]:
    """What each block prints, if they run as one program."""
    names: dict[str, object] = {}
    printed = []
    for block in BLOCKS:
        exec(compile(block, "README.md", "exec"), names)
        printed.append(capsys.readouterr().out)
    names["index"].close()
    return printed


def test_the_readmes_python_runs_and_prints_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    monkeypatch.chdir(tmp_path)
    synced, asked, why, langchain, llamaindex, compared = run(capsys)
    assert synced == "Synced(2 added, 0 replaced, 0 deleted, 0 unchanged)\n"
    assert "Water for green tea should be below eighty degrees" in asked
    assert not re.search(r"^0\.0 ", asked, re.MULTILINE)  # a guess is no answer
    assert "vector found leaf" in why
    assert "document 'notes/bees.md' is not returned, for one reason:" in why
    assert langchain.startswith("Below eighty degrees [1].\n[1] notes/tea.md, lines ")
    assert llamaindex.startswith("notes/tea.md ")
    assert "recall@150" in compared
    assert "relevant-segments" in compared
    nothing_new, *same, _ = run(capsys)
    assert nothing_new == "Synced(0 added, 0 replaced, 0 deleted, 2 unchanged)\n"
    assert same == [asked, why, langchain, llamaindex]


MOST_BYTES = {"README.md": 12_000, "ARCHITECTURE.md": 16_000, "CONTRIBUTING.md": 12_000, "CHANGELOG.md": 8_000}


def test_the_pages_together_stay_short():
    assert sum(page.stat().st_size for page in (ROOT / "docs").rglob("*.md")) <= 260_000


@pytest.mark.parametrize("page", MOST_BYTES)
def test_pages_at_the_root_stay_short(page: str):
    assert (ROOT / page).stat().st_size <= MOST_BYTES[page]


def test_every_command_of_make_is_there():
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    named = re.findall(r"`make ([a-z-]+)", README + (ROOT / "CONTRIBUTING.md").read_text())
    assert len(named) >= 15
    assert set(named) <= set(targets)


def test_pages_give_the_same_figures_for_the_same_measurement():
    measured = (ROOT / "docs/measurements.md").read_text()
    rows = dict(re.findall(r"^\| (?:leafspan )?`?(\w+)`?,? ?.*?\| (0\.\d\d \| 0\.\d\d) \|$", measured, re.MULTILINE))
    ours, theirs = (rows[name].split(" | ") for name in ("RelevantSegments", "LangChain"))
    sentence = re.search(
        r"to (\d+) of 100 questions on squad and to (\d+) on covidqa;.*?to (\d+) and (\d+)\.", README, re.DOTALL
    )
    assert sentence is not None
    assert [f"0.{share}" for share in sentence.groups()] == [*ours, *theirs]
    # Of the table above it, the second figure of a set is for 300 words.
    sets = re.search(r"^\| RelevantSegments \| \S+ / (\S+) / .*? \| \S+ / (\S+) / ", measured, re.MULTILINE)
    assert sets is not None
    assert [f"{float(share):.2f}" for share in sets.groups()] == ours


def test_the_throughput_of_adding_is_what_is_measured():
    measured, beside = ((ROOT / f"docs/{page}.md").read_text() for page in ("measurements", "benchmarks"))
    found = [
        *re.findall(r"^\| throughput of `add`, as a share of plain Chroma's \| (\S+) \|$", measured, re.MULTILINE),
        *re.findall(r"^\| \*\*leafspan\*\* \| (\S+) \(", beside, re.MULTILINE),
    ]
    range_ = re.search(r"`add` has (\S+) to (\S+) times the throughput", (ROOT / "docs/scaling.md").read_text())
    assert range_ is not None
    low, high = map(float, range_.groups())
    assert found == ["0.80", "0.76"]
    assert all(low <= float(share) <= high for share in found)


def test_the_readme_names_the_address_to_clone_from():
    repository = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Repository"]
    assert f"git clone {repository}" in README
