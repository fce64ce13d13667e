"""Damaged settings, or a damaged record of the embedder, give an error that says what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leafspan import DamagedIndex, Document, Index
from tests.durability.versions import EMBEDDER
from tests.rows import collection


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Index.open(tmp_path / "kb", embedder=EMBEDDER) as index:
        index.add(Document("tea", "Green tea is heated soon after picking."))
    return tmp_path / "kb"


def alter(folder: Path, key: str, value: Any) -> None:
    with Index.open(folder, embedder=EMBEDDER) as index:
        manifest = collection(index, "kb.manifest")
        manifest.modify(metadata={**manifest.metadata, key: value})


def stored(folder: Path, key: str) -> dict[str, Any]:
    with Index.open(folder, embedder=EMBEDDER) as index:
        return dict(json.loads(collection(index, "kb.manifest").metadata[key]))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"x"', "{}", "[" * 5000])
def test_settings_that_are_none_are_an_error_at_opening(folder: Path, text: str) -> None:
    alter(folder, "leafspan", text)
    with pytest.raises(
        DamagedIndex, match=r"^the settings of the index are damaged, got .*restore the index from a backup"
    ):
        Index.open(folder, embedder=EMBEDDER)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("splitter", None),
        ("splitter_options", {"leaf_words": -1}),
        ("splitter_options", {"leaves": 1}),
        ("context_sentences", "1"),
        ("title_weight", []),
        ("analyzer_options", 3),
        ("bm25", {"k": 1}),
    ],
)
def test_a_setting_that_cannot_be_is_an_error_at_opening(folder: Path, name: str, value: Any) -> None:
    alter(folder, "leafspan", json.dumps({**stored(folder, "leafspan"), name: value}))
    with pytest.raises(DamagedIndex, match=r"^the settings of the index are damaged \("):
        Index.open(folder, embedder=EMBEDDER)


@pytest.mark.parametrize(
    "values", [None, [], {"name": 1}, {"dimension": 9}, {"dimension": "8"}, {"probe": "?"}, {"probe": [0.5]}, {"more": 1}]
)
def test_a_record_of_the_embedder_that_is_none_is_an_error_where_it_is_needed(folder: Path, values: Any) -> None:
    record = {**stored(folder, "embedder"), **values} if isinstance(values, dict) else values
    alter(folder, "embedder", json.dumps(record))
    with Index.open(folder, embedder=EMBEDDER) as index:
        assert index.get("tea").text == "Green tea is heated soon after picking."
        with pytest.raises(DamagedIndex, match=r"^the record of the index's embedder is damaged, got "):
            index.retrieve("tea")
