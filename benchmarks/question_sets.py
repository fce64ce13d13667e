"""The question sets in the data folder: documents, and questions with their answers.

The folder holds a folder for each set, with ``corpus.jsonl`` and ``queries.jsonl``; ``build_data.py`` makes them from the
public releases, and describes the files.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

Documents = Sequence[Mapping[str, Any]]
Questions = Sequence[Mapping[str, Any]]
T = TypeVar("T")

ASKED = 400
"""Number of questions of a set that the benchmarks ask."""

UNANSWERABLE = "unanswerable.jsonl"
"""The file with a set's questions that no document answers."""


def add_data_option(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Add ``--data FOLDER``."""
    parser.add_argument(
        "--data", type=Path, metavar="FOLDER", required=required, help="folder of the question sets (see build_data.py)"
    )


def what_is_absent(folder: Path, names: Iterable[str]) -> str | None:
    """A message that names absent files and how to make them, or None if all sets exist."""
    wanted = [folder / name / file for name in names for file in ("corpus.jsonl", "queries.jsonl")]
    absent = [path for path in wanted if not path.is_file()]
    if not absent:
        return None
    sets = dict.fromkeys(path.parent.name for path in absent)
    return (
        f"--data must be a folder with the question sets, but these files are absent: {', '.join(map(str, absent))}\n"
        "Download the public releases that `python benchmarks/build_data.py --help` names, then make the sets:\n"
        + "\n".join(f"  python benchmarks/build_data.py {name} --data {folder} ...  (see {name} --help)" for name in sets)
    )


def load_documents(folder: Path, name: str) -> Documents:
    """The documents of a set: each has an ``id``, a ``title`` and a ``text``."""
    return _read(folder / name / "corpus.jsonl")


def load_questions(folder: Path, name: str) -> Questions:
    """All questions of a set: each has an ``id`` and a ``text``, and ``answers`` or ``relevant`` documents."""
    return _read(folder / name / "queries.jsonl")


def load_unanswerable(folder: Path, name: str) -> Questions:
    """The questions that no document of the set answers, each with an ``id`` and a ``text``; empty without the file."""
    file = folder / name / UNANSWERABLE
    return _read(file) if file.is_file() else []


def evenly_spaced(items: Sequence[T], count: int) -> Sequence[T]:
    """At most ``count`` items, evenly spaced, starting with the first one."""
    if len(items) <= count:
        return items
    return [items[number * len(items) // count] for number in range(count)]


def _read(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
