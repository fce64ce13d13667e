"""``leafspan port`` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import langchain_leafspan
import pytest

from leafspan.cli._port import _REPLACEMENTS
from tests.cli.test_cli import fails, leafspan

PROGRAM = """\
from langchain_community.retrievers import BM25Retriever, WikipediaRetriever
from langchain_community.retrievers.tfidf import TFIDFRetriever as Words
from langchain.retrievers import EnsembleRetriever
from langchain_leafspan import ParentDocumentRetriever

first = BM25Retriever.from_documents(documents)
both = EnsembleRetriever(retrievers=[first, Words.from_texts(texts)])
other = ParentDocumentRetriever(index=index)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for place in ("app", "app/.venv", "app/env/site-packages"):
        Path(place).mkdir(parents=True)
        Path(place, "chain.py").write_text(PROGRAM)
    return Path("app")


def test_each_use_is_listed_with_what_replaces_it(folder: Path):
    said = leafspan("port", folder).stdout.splitlines()
    assert said[0] == "app/chain.py:6: BM25Retriever -> langchain_leafspan.BM25Retriever(index=index, k=4)"
    assert [line.partition(" -> ")[0] for line in said[1:3]] == [
        "app/chain.py:7: EnsembleRetriever", "app/chain.py:7: TFIDFRetriever",
    ]  # fmt: skip
    assert " ".join(said[3:]).startswith("3 uses of retrievers that leafspan replaces. docs/from-langchain-community.md")
    assert Path("app/chain.py").read_text() == PROGRAM


def test_as_json_and_for_a_file(folder: Path):
    found = json.loads(leafspan("port", folder / "chain.py", "--json").stdout)
    assert found[0] == {
        "path": "app/chain.py", "line": 6, "found": "BM25Retriever", "write": "BM25Retriever(index=index, k=4)",
    }  # fmt: skip
    assert len(found) == 3


def test_a_program_without_such_retrievers(folder: Path):
    (folder / "chain.py").write_text("print(1)")
    assert leafspan("port", folder).stdout == "0 uses of retrievers that leafspan replaces.\n"


def test_each_way_of_importing_is_known(folder: Path):
    (folder / "chain.py").write_text(
        "import langchain_community.retrievers\nimport langchain_community.retrievers as r\n"
        "from langchain_community import retrievers\nfrom langchain_chroma import Chroma\nfrom .langchain import TFIDFRetriever\n"
        "langchain_community.retrievers.BM25Retriever\nr.BM25Retriever\nretrievers.BM25Retriever\nChroma()\nTFIDFRetriever()\n"
        "other.BM25Retriever\n"
    )
    found = json.loads(leafspan("port", folder, "--json").stdout)
    assert [(each["line"], each["found"]) for each in found] == [
        (6, "BM25Retriever"), (7, "BM25Retriever"), (8, "BM25Retriever"), (9, "Chroma"),
    ]  # fmt: skip


def test_a_file_that_is_no_python_is_skipped_in_a_folder_and_refused_alone(folder: Path):
    assert "got 'nowhere', which does not exist" in fails(leafspan("port", "nowhere"))
    (folder / "old.py").write_text("print 1")
    (folder / "deep.py").write_text("(" * 100_000)
    said = leafspan("port", folder)
    assert "3 uses of retrievers" in said.stdout
    assert "skipped: cannot read 'app/old.py' as Python" in " ".join(said.stderr.split())
    assert "skipped: cannot read 'app/deep.py' as Python" in " ".join(said.stderr.split())
    assert "cannot read 'app/old.py' as Python" in fails(leafspan("port", folder / "old.py"))


def test_what_it_says_to_write_is_there():
    for write in _REPLACEMENTS.values():
        for name in (part.strip().partition("(")[0] for part in write.split(", or ")):
            assert hasattr(langchain_leafspan, name)
