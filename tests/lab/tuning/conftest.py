"""An index in which words are better than vectors, so that a strategy with a large weight of vectors can be improved."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from leafspan import Analyzer, Document, HierarchicalSplitter, Hybrid, Index
from leafspan.lab import Question

CODES = [f"{first}{second}{number}" for number, first in enumerate("qxzvkw") for second in "jpmbgdtf"]
"""Forty-eight names without a meaning."""

COLOURS = ("red", "green", "blue")
PARTS = [
    Document(code, f"{code.capitalize()}, the {COLOURS[number % 3]} one: it lies on the top shelf.")
    for number, code in enumerate(CODES)
]
CHAPTERS = [
    Document(f"chapter {number}", f"Where a thing is kept, and for how long, is explained in chapter {number}.")
    for number in range(50)
]
QUESTIONS = [Question(f"Where is {code} kept?", [code]) for code in CODES]

OPTIONS = {"splitter": HierarchicalSplitter(leaf_words=15, parent_words=(30,)), "analyzer": Analyzer("german")}
"""Soft matches, which weights do not change, are of English words only."""

BUDGETS = (12, 36)
TOO_LITTLE_ON_WORDS = Hybrid(weights=(0.05, 0.95), references=0)


@pytest.fixture(scope="session")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """One leaf for each part, and one for each chapter, which is nearer to every question than the part."""
    folder = tmp_path_factory.mktemp("parts") / "kb"
    with Index.open(folder, **OPTIONS) as index:
        index.add([*PARTS, *CHAPTERS])
        yield index
