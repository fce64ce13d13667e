"""The notebooks run from top to bottom, offline, in an empty folder, and print their stored outputs.

``python -m tests.docs.run_notebooks`` stores their output again.
"""

import re
import sys
from pathlib import Path

import nbformat
import pytest

from tests.docs.run_notebooks import NOTEBOOKS, run

PATHS = sorted(NOTEBOOKS.glob("*.ipynb"))
MOST_BYTES = 320_000
# Ids of masked documents differ in each vault.
VERSION = re.compile(r"#[0-9a-f]{8}#")
NOT_READ = re.compile(r"<style>.*?</style>|<[^>]*>", re.DOTALL)


def said(notebook):
    """What one reads below each code cell: what was printed, tables, and the words in pictures, but not in plots."""
    return [cell_said(cell) for cell in notebook.cells if cell.cell_type == "code"]


def cell_said(cell):
    found = ["".join(output.text for output in cell.outputs if output.output_type == "stream")]
    for output in cell.outputs:
        for kind, data in sorted(output.get("data", {}).items()):
            if kind.startswith("text/"):
                found.append(VERSION.sub("#version#", NOT_READ.sub(" ", data) if kind == "text/html" else data))
    return [text for text in found if text]


def test_there_is_a_notebook_for_each_subject():
    assert [path.stem for path in PATHS] == [
        "agents",
        "bring_your_own",
        "langchain",
        "llamaindex",
        "sources",
        "strategies",
        "tree",
        "tune",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_says_what_is_stored_in_it(path, tmp_path):
    notebook = run(path, tmp_path)
    assert said(notebook) == said(nbformat.read(path, as_version=4))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_stored_notebook_has_outputs_and_pictures_and_nothing_of_the_machine_it_ran_on(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code")
    assert sum(map(bool, said(notebook))) >= 8
    text = path.read_text(encoding="utf-8")
    assert "ls-strip" in text
    for place in (sys.prefix, str(Path.home()) + "/", "/tmp/", "site-packages", "Traceback", "Warning"):
        assert place not in text
    assert path.stat().st_size < MOST_BYTES


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_notebook_begins_with_what_one_gets_and_how_to_install(path):
    first = nbformat.read(path, as_version=4).cells[0]
    assert first.cell_type == "markdown"
    assert first.source.startswith("# ")
    assert "    pip install " in first.source


@pytest.mark.slow
def test_a_key_in_the_environment_does_not_reach_a_notebook(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    source = 'import os\nprint([name for name in os.environ if name.endswith("_API_KEY")])'
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    nbformat.write(notebook, tmp_path / "keys.ipynb")
    assert said(run(tmp_path / "keys.ipynb", tmp_path)) == [["[]\n"]]
