"""Runs notebooks and stores their outputs in them: ``python -m tests.docs.run_notebooks [NAME ...]``, by default all."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from unittest.mock import patch

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


def run(path: Path, folder: Path) -> NotebookNode:
    """A notebook with the outputs of a run in a folder: offline, without keys, and with the commands of this Python.

    What libraries write to standard error, such as progress bars, is left out, and so is what varies from run to run.
    """
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=180,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        coalesce_streams=True,
    )
    with patch.dict(os.environ, _environment(os.environ), clear=True):
        client.execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def _environment(given: Mapping[str, str]) -> dict[str, str]:
    """Environment variables of a shell in which the virtual environment of this Python is active."""
    plain = {name: value for name, value in given.items() if not name.endswith("_API_KEY")}
    commands = Path(sys.executable).parent
    return plain | {"PATH": f"{commands}{os.pathsep}{given.get('PATH', '')}", "NO_COLOR": "1", "COLUMNS": "110"}


def main(names: list[str]) -> None:
    """Run the notebooks of these names, or all of them."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        if names and path.stem not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            notebook = run(path, Path(folder))
        nbformat.write(notebook, path)
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
