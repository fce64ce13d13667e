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
    result = leafspan("explain", QUESTIONS[1], *options, "-k", 2, "--min-score", 0)
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
    assert re.match(r"1 passage is returned, the first of \d+ that the strategy found, in ", lines[0])
    assert lines[1].startswith("1. 'bees#")
    assert any(line.startswith("- VectorSearch (") for line in lines)


ASKED_IN_VAIN = ("zebra crossing", "-s", "hybrid")


# One leaf about the dance is sure to answer it, so that others have a probability of nearly 0.
BESIDE_OTHERS = (QUESTIONS[0], "-s", "hybrid")


def test_the_lowest_probability_that_query_prints_is_what_keeps_a_piece_out(kb: Path):
    piece = ("--document", "tea", "--text", "Green tea")
    assert "Green tea" not in leafspan("query", *BESIDE_OTHERS, "--kb", kb, "-k", 50).stdout
    result = leafspan("explain", *BESIDE_OTHERS, "--kb", kb, "-k", 50, *piece)
    first, second, *_ = result.stdout.splitlines()
    assert first.endswith("is not returned, for one reason:")
    found = re.fullmatch(r"1\. its score of \S+ is below min_score=0\.0005: min_score=(\S+) lets it in", second)
    assert found is not None
    says = "`query` prints no probability below 0.0005 beside higher ones unless --min-score says so\n"
    assert result.stdout.endswith(says)
    printed = leafspan("query", *BESIDE_OTHERS, "--kb", kb, "-k", 50, "--min-score", found[1]).stdout
    assert "Green tea" in printed


def test_what_is_enough_for_query_is_enough_together_with_k(kb: Path):
    last = json.loads(leafspan("query", *BESIDE_OTHERS, "--kb", kb, "-k", 50, "--min-score", 0, "--json").stdout)[-1]
    place = ("--document", last["document_id"], "--start", last["start"], "--end", last["end"])
    explained = json.loads(leafspan("explain", *BESIDE_OTHERS, "--kb", kb, *place, "--json").stdout)
    changes = {each["option"]: each["needed"] for each in explained["obstacles"]}
    options = ("-k", changes["k"], "--min-score", changes.get("min_score", 0))
    printed = json.loads(leafspan("query", *BESIDE_OTHERS, "--kb", kb, *options, "--json").stdout)
    assert last["id"] in [each["id"] for each in printed]


def test_a_lowest_score_leaves_the_other_limits_of_query_as_they_are(kb: Path):
    printed = json.loads(leafspan("query", *ASKED_IN_VAIN, "--kb", kb, "--min-score", 0, "--json").stdout)
    explained = json.loads(leafspan("explain", *ASKED_IN_VAIN, "--kb", kb, "--min-score", 0, "--json").stdout)
    assert len(printed) == 5
    assert [each["id"] for each in explained["passages"]] == [each["id"] for each in printed]


def test_a_lowest_score_of_the_command_comes_before_the_one_of_the_configuration(kb: Path, tmp_path: Path):
    config = tmp_path / "sure.yaml"
    config.write_text("min_score: 0.99\nk: 2\n")
    query = ("query", *ASKED_IN_VAIN, "--kb", kb, "--config", config, "--json")
    assert json.loads(leafspan(*query).stdout) == []
    assert len(json.loads(leafspan(*query, "--min-score", 0).stdout)) == 2


def test_without_a_document_it_says_what_query_does_not_print(kb: Path):
    explained = ("explain", *BESIDE_OTHERS, "--kb", kb, "-k", 50)
    printed = leafspan("query", *BESIDE_OTHERS, "--kb", kb, "-k", 50, "--json").stdout
    every = leafspan("query", *BESIDE_OTHERS, "--kb", kb, "-k", 50, "--min-score", 0, "--json").stdout
    left_out = len(json.loads(every)) - len(json.loads(printed))
    assert left_out > 0
    says = f"`query` does not print {left_out} of them, whose scores round to 0.000: --min-score 0 does"
    assert leafspan(*explained).stdout.splitlines()[-1] == says
    assert "does not print" not in leafspan(*explained, "--min-score", 0).stdout
    assert "does not print" not in leafspan("explain", *ASKED_IN_VAIN, "--kb", kb, "-k", 2).stdout


def test_a_text_that_is_there_several_times_says_so(kb: Path):
    [document] = [each for each in DOCUMENTS if each.id == "bees"]
    first, second, *_ = [found.start() for found in re.finditer("the", document.text)]
    said, *_ = leafspan("explain", "dance", "--kb", kb, "--document", "bees", "--text", "the").stdout.splitlines()
    assert said == (
        f"The text is {document.text.count('the')} times in document 'bees', and this is about the first one: "
        f"for the next one, give start={second} and end={second + 3}"
    )
    assert first < second


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
