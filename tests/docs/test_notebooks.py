"""The notebooks run from top to bottom, offline, in an empty folder."""

import os
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def outputs(notebook):
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def said(notebook):
    """What each cell printed, and what it returned, without what libraries write to standard error in between."""
    found = []
    for cell in notebook.cells:
        own = [output for output in cell.get("outputs", []) if output.get("name") != "stderr"]
        found.append("".join(output.text for output in own if output.output_type == "stream"))
        found += [output.data["text/plain"] for output in own if output.output_type != "stream"]
    return [text for text in found if text]


def test_there_is_a_notebook_for_each_framework():
    assert [path.stem for path in NOTEBOOKS] == ["langchain", "llamaindex"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_says_what_is_stored_in_it(path, tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)
    stored = nbformat.read(path, as_version=4)
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=180, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert [output for output in outputs(notebook) if output.output_type == "error"] == []
    assert said(notebook) == said(stored)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_stored_notebook_has_outputs_and_nothing_of_the_machine_it_ran_on(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code")
    assert len(said(notebook)) >= 8
    text = path.read_text()
    for place in (sys.prefix, str(Path.home()) + os.sep, "site-packages", "Traceback", "Warning"):
        assert place not in text
