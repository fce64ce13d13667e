"""``leafspan explain``, as a user types it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from leafspan import Document, Index
from tests.cli.test_cli import fails, leafspan
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explain") / "kb"
    with Index.open(folder, splitter=SPLITTER) as index:
        index.add([*DOCUMENTS, Document("sly\x1b[2J", "Bees sting.", metadata={"topic": "\x1b[2Jgone\n1. yes"})])
    return folder


def test_it_says_which_limit_keeps_the_words_out_and_with_that_changed_query_prints_them(kb: Path):
    words = "A keeper lived in\n the tower"
    options = ("--kb", kb, "-s", "hybrid", "--document", "harbour", "--text", words)
    result = leafspan("explain", QUESTIONS[1], *options, "-k", 2)
    assert result.exit_code == 0, result.output
    first, second, third, *_ = result.stdout.splitlines()
    assert re.fullmatch(r"characters \d+ to \d+ of document 'harbour' \(leaf \d+\) is not returned, for one reason:", first)
    found = re.fullmatch(r"1\. only the 2 best passages are returned, and it comes at place (\d+): k=\1 lets it in", second)
    assert found is not None
    assert third.startswith(f"Then it is in passage {found[1]}, 'harbour#")
    printed = leafspan("query", QUESTIONS[1], "--kb", kb, "-s", "hybrid", "-k", found[1], "--min-score", 0).stdout
    assert "A keeper lived in the tower" in " ".join(printed.split())
    assert "Where it stands, as deep as each search can look:" in result.stdout
    assert "- bm25: " in result.stdout


def test_json_has_the_same_as_values(kb: Path):
    options = ("--kb", kb, "-s", "bm25", "--document", "tea", "--where", '{"topic": "animals"}', "--json")
    plain = json.loads(leafspan("explain", "green tea", *options).stdout)
    assert (plain["document_id"], plain["returned"]) == ("tea", False)
    [obstacle] = plain["obstacles"]
    assert (obstacle["kind"], obstacle["option"], obstacle["needed"]) == ("filter", "where", None)
    assert obstacle["value"] == "F('topic') == 'animals'"
    assert plain["requests"][0]["name"] == "LexicalSearch"


def test_without_a_document_it_explains_what_is_returned(kb: Path):
    lines = leafspan("explain", QUESTIONS[0], "--kb", kb, "-k", 1).stdout.splitlines()
    assert lines[0].startswith("1 of ")
    assert lines[1].startswith("1. 'bees#")
    assert any(line.startswith("- VectorSearch (") for line in lines)


def test_what_is_returned_but_not_printed_says_so(kb: Path):
    result = leafspan("explain", "zebra crossing", "--kb", kb, "-s", "hybrid", "-k", 50, "--document", "tea")
    assert "document 'tea' is returned, in passage " in result.stdout
    assert "`query` does not print it, since its score rounds to 0.000: --min-score 0 does" in result.stdout
    printed = leafspan("explain", "zebra crossing", "--kb", kb, "-k", 50, "--document", "tea", "--min-score", 0)
    assert "does not print it" not in printed.stdout


def test_names_and_values_of_documents_do_nothing_to_the_terminal(kb: Path):
    result = leafspan("explain", "bees", "--kb", kb, "--document", "sly\x1b[2J", "--where", '{"topic": "animals"}')
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    assert "\n1. yes" not in result.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--document", "wasps"), "there is no document 'wasps' in the index"),
        (("--text", "bees"), "text needs a document, and neither start nor end beside it, got 'bees'"),
        (("--document", "bees", "--text", "bees", "--start", "1"), "text needs a document"),
        (("--document", "bees", "--text", "wasps sting"), "text must be words of document 'bees', got 'wasps sting'"),
        (("--document", "bees", "--text", " "), "text must be words of document 'bees', got ' '"),
        (("--document", "bees", "--start", "9", "--end", "3"), "end must be > start, got 9 and 3"),
        (("--document", "bees", "-s", "nothing"), "strategy must be one of"),
    ],
)
def test_what_it_cannot_explain_is_one_line(kb: Path, options: tuple[str, ...], message: str):
    assert fails(leafspan("explain", "dance", "--kb", kb, *options)).startswith(message)
