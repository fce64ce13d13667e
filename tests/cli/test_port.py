"""``leafspan port`` as a user types it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import langchain_leafspan
import pytest

from leafspan.cli._port import _REPLACEMENTS, _SEARCH_TYPES
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


@pytest.mark.parametrize(
    ("program", "uses"),
    [
        ("from langchain_community.retrievers import *\nBM25Retriever()\nOther()", [(2, "BM25Retriever")]),
        ("from langchain_classic.retrievers import *\nfrom langchain_leafspan import BM25Retriever\nBM25Retriever()", []),
        ("from os import *\nBM25Retriever()", []),
        ("store.as_retriever(search_type='mmr')", [(1, "as_retriever")]),
        ("store.as_retriever(search_kwargs={'k': 3})", [(1, "as_retriever")]),
        ("from langchain_openai import x\nstore.as_retriever()", [(2, "as_retriever")]),
        ("import llama_index.core\nindex.as_retriever(similarity_top_k=2)", []),
        ("import llama_index.core, langchain\nindex.as_retriever()", []),
        (
            "from langchain_core.vectorstores import VectorStoreRetriever as V\nV(vectorstore=v)",
            [(2, "VectorStoreRetriever")],
        ),
    ],
)
def test_each_way_of_using_a_retriever_is_known(folder: Path, program: str, uses: list[Any]):
    (folder / "chain.py").write_text(program)
    found = json.loads(leafspan("port", folder, "--json").stdout)
    assert [(each["line"], each["found"]) for each in found] == uses


def test_a_retriever_for_diversity_is_replaced_by_one(folder: Path):
    (folder / "chain.py").write_text("store.as_retriever(search_type='mmr')\nstore.as_retriever(search_type='similarity')")
    assert [each["write"] for each in json.loads(leafspan("port", folder, "--json").stdout)] == [
        "VectorRetriever(index=index, k=4, diversity=0.5)", "VectorRetriever(index=index, k=4)",
    ]  # fmt: skip


def test_notebooks_are_read_cell_by_cell(folder: Path):
    cells = [
        {"cell_type": "markdown", "source": "from langchain_community.retrievers import TFIDFRetriever"},
        {
            "cell_type": "code",
            "source": ["%pip install x\n", "from langchain_community.retrievers import BM25Retriever\n", "!ls"],
        },
        {"cell_type": "code", "source": "%%bash\nls BM25Retriever ("},
        {"cell_type": "code", "source": "if True:\n    !ls\nBM25Retriever?\nretriever = BM25Retriever.from_texts(texts)"},
    ]
    (folder / "chain.py").unlink()
    (folder / "note.ipynb").write_text(json.dumps({"cells": cells}))
    (folder / "bad.ipynb").write_text("[]")
    said = leafspan("port", folder)
    assert said.stdout.startswith("app/note.ipynb, cell 4, line 4: BM25Retriever -> langchain_leafspan.BM25Retriever(")
    assert "skipped: cannot read 'app/bad.ipynb' as a notebook: it has no list of cells" in " ".join(said.stderr.split())
    [use] = json.loads(leafspan("port", folder, "--json").stdout)
    assert (use["path"], use["cell"], use["line"]) == ("app/note.ipynb", 4, 4)


def test_a_file_that_is_no_python_is_skipped_in_a_folder_and_refused_alone(folder: Path):
    assert "got 'nowhere', which does not exist" in fails(leafspan("port", "nowhere"))
    (folder / "old.py").write_text("print 1")
    (folder / "deep.py").write_text("(" * 100_000)
    said = leafspan("port", folder)
    assert "3 uses of retrievers" in said.stdout
    assert "skipped: cannot read 'app/old.py' as Python" in " ".join(said.stderr.split())
    assert "skipped: cannot read 'app/deep.py' as Python" in " ".join(said.stderr.split())
    assert "cannot read 'app/old.py' as Python" in fails(leafspan("port", folder / "old.py"))


def test_the_page_names_the_same_replacements():
    page = Path(__file__, "../../../docs/coming-from.md").resolve().read_text()
    rows = [line.strip("|").split("|") for line in page.splitlines() if line.startswith("| `") and line.count("|") == 6]
    named = {(name, row[0].strip(" `")) for row in rows for name in re.findall(r"`(\w+)`", row[-1])}
    assert len(named) > 10
    for name, strategy in named:
        if name in _REPLACEMENTS:
            assert f"{strategy}Retriever(" in _REPLACEMENTS[name], name


def test_what_it_says_to_write_is_there():
    for write in [*_REPLACEMENTS.values(), *_SEARCH_TYPES.values()]:
        for name in (part.strip().partition("(")[0] for part in write.split(", or ")):
            assert hasattr(langchain_leafspan, name)
