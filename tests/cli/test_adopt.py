"""``leafspan adopt`` as a user types it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from leafspan import Index
from tests.cli.test_cli import fails, leafspan
from tests.indexing.adopting.collections import chroma, langchain_store, plain_collection, text, vectors

TEXTS = {"tale.txt": text(30, seed=1), "song.txt": text(12, seed=2)}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    langchain_store({"client": chroma("chroma")}, TEXTS)
    return Path("chroma")


def test_a_collection_becomes_an_index_that_can_be_asked(folder: Path):
    result = leafspan("adopt", folder, "--collection", "langchain", "--kb", "kb")
    assert result.exit_code == 0, result.output
    assert "kb: 2 added, 0 replaced, 0 unchanged; " in result.stdout
    assert "records are leaves, 0 of them documents of their own" in result.stdout
    assert "note: the collection ranks by 'l2', an index by cosine, but all vectors have length 1" in result.stderr
    again = leafspan("adopt", folder, "--kb", "kb")  # it is the only collection there
    assert "kb: 0 added, 0 replaced, 2 unchanged; " in again.stdout
    rows = json.loads(leafspan("query", "Sentence 7 of text 1", "--kb", "kb", "--json").stdout)
    assert rows[0]["metadata"]["source"] == "tale.txt"


def test_a_dry_run_prints_the_same_and_writes_nothing(folder: Path):
    result = leafspan("adopt", folder, "--dry-run", "--json")
    assert result.exit_code == 0
    assert not Path("kb").exists()
    done = json.loads(leafspan("adopt", folder, "--json").stdout)
    assert json.loads(result.stdout) == {**done, "dry_run": True}
    assert "; nothing was written" in leafspan("adopt", folder, "--dry-run").stdout


@pytest.fixture
def odd(folder: Path) -> Any:
    collection = chroma(folder).create_collection("odd", embedding_function=None)
    texts = ["Tea is hot.", "Bees dance."]
    collection.add(ids=["tea", "bees"], documents=texts, embeddings=vectors(texts), metadatas=[{"start": 5}, {"end": 7}])
    collection.add(ids=[f"image {number}" for number in range(5)], embeddings=vectors(["an image"] * 5))
    return collection


def test_what_was_skipped_is_printed_by_reason_and_the_exit_code_is_1(folder: Path, odd: Any):
    result = leafspan("adopt", folder, "--collection", "odd", "--rename", "start=start_time")
    assert result.exit_code == 1
    assert "kb: 2 added" in result.stdout
    said = " ".join(result.stderr.split())
    assert "skipped image 0, image 1, image 2 and 2 more: it has no text" in said
    assert "note: the metadata key 'end' is reserved, and is 'adopted_end' in the index: rename it" in said
    with Index.open("kb", create=False) as index:
        assert index.get("tea").metadata == {"start_time": 5}


@pytest.mark.parametrize("command", [["adopt", "chroma", "--kb"], ["sync", "chroma", "--kb"], ["query", "tea", "--kb"]])
def test_every_command_finds_an_embedder_of_the_current_folder(
    folder: Path, command: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each])
    name = f"mine_{command[0]}"
    Path(f"{name}.py").write_text(
        "from tests.indexing.adopting.collections import vectors\ndef emb(texts): return vectors(texts)\n"
    )
    if command[0] == "query":
        assert leafspan("adopt", "chroma", "--kb", "kb").exit_code == 0
    result = leafspan(*command, "kb", "--embedder", f"{name}:emb")
    assert "No module named" not in result.output
    assert name in sys.modules


def test_no_hint_of_the_command_is_in_python(folder: Path, odd: Any):
    for options in (["--collection", "odd"], ["--collection", "langchain"], ["--collection", "odd", "--rename", "x=y"]):
        said = leafspan("adopt", folder, *options, "--kb", "kb").output
        assert not re.search(r"\b(rename|embedder|join)=", said)


def test_records_can_be_kept_apart(folder: Path):
    result = leafspan("adopt", folder, "--no-join", "--json")
    report = json.loads(result.stdout)
    assert report["alone"] == report["leaves"] == report["records"] == len(report["added"])


def test_errors_are_one_line(folder: Path):
    assert fails(leafspan("adopt", "nowhere")).startswith("there is no Chroma in '")
    plain_collection(chroma(folder), ["Tea."])
    assert fails(leafspan("adopt", folder)) == (
        "collection must say which Chroma collection in 'chroma' to adopt; there are 'langchain', 'plain'"
    )
    assert fails(leafspan("adopt", folder, "--collection", "plain", "--rename", "x")) == (
        "--rename must be KEY=NAME, got 'x'"
    )
    assert fails(leafspan("show", "--kb", folder)).startswith("there is no index 'kb' in 'chroma', but there are Chroma")
    Index.open("kb").close()
    assert fails(leafspan("adopt", "kb")) == (
        "collection must say which Chroma collection in 'kb' to adopt; there are no collections except an index's own: open "
        "the index itself, it needs no adopting"
    )
