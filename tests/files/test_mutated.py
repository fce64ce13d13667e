"""Damaged files of every kind: no exception but a skipped file, and nothing beyond the limits. `make soak` tries many more."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from leafspan import Index
from tests.files.mutated import mutated, real_files, wrong
from tests.profiles import THOROUGH

FILES = real_files()


@pytest.mark.parametrize("suffix", FILES)
def test_a_damaged_file_is_read_or_skipped_within_the_limits(tmp_path: Path, suffix: str):
    docs = tmp_path / "docs"
    docs.mkdir()
    chance = random.Random(suffix)
    batch = {f"{n}{suffix}": mutated(FILES[suffix][0], chance) for n in range(100 if THOROUGH else 3)}
    with Index.open(tmp_path / "kb") as index:
        assert wrong(index, docs, batch) == []
