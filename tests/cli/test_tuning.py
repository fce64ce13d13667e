"""Tuning on the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from leafspan import BM25, Config, Hybrid, Index
from leafspan.lab import save_questions
from tests.cli.test_cli import fails, leafspan
from tests.lab.tuning.conftest import CHAPTERS, OPTIONS, PARTS, QUESTIONS, TOO_LITTLE_ON_WORDS

TUNE = ("tune", "questions.jsonl", "--budget", "12", "--budget", "36")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parts") / "kb"
    with Index.open(folder, **OPTIONS) as index:
        index.add([*PARTS, *CHAPTERS])
    return folder


@pytest.fixture(autouse=True)
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(made, "kb")
    save_questions("questions.jsonl", QUESTIONS)
    Config(strategy=TOO_LITTLE_ON_WORDS).save("base.yaml")
    return tmp_path


def test_a_better_configuration_is_printed_and_written():
    result = leafspan(*TUNE, "--config", "base.yaml", "-o", "tuned.yaml")
    assert result.exit_code == 0
    assert result.stdout.startswith("24 questions to choose by (")
    assert "The tuned strategy takes the place of the base: weights (0.05, 0.95) -> (0." in result.stdout
    assert result.stdout.endswith("tuned.yaml: the tuned configuration\n")

    strategy = Config.load("tuned.yaml").strategy
    assert isinstance(strategy, Hybrid)
    assert strategy.weights[0] > 0.1
    found = leafspan("query", QUESTIONS[7].text, "--config", "tuned.yaml", "--json", "-k", "1")
    assert json.loads(found.stdout)[0]["document_id"] == PARTS[7].id


@pytest.mark.slow
def test_json_and_standard_output_have_the_configuration_that_a_file_gets():
    again = ("--config", "base.yaml")
    leafspan(*TUNE, *again, "-o", "tuned.yaml")
    strategy = Config.load("tuned.yaml").strategy
    as_json = json.loads(leafspan(*TUNE, *again, "--json").stdout)
    assert as_json["is_better"]
    assert Config.from_dict(as_json["config"]).strategy == strategy
    assert leafspan(*TUNE, *again, "-o", "-").stdout == Path("tuned.yaml").read_text()


def test_where_nothing_is_better_the_configuration_stays_as_it_was():
    result = leafspan(*TUNE, "-s", "bm25", "-s", "vector", "-o", "same.yaml")
    assert "The base stays: " in result.stdout
    assert result.stdout.endswith("same.yaml: the configuration as it was\n")
    assert Config.load("same.yaml").strategy == BM25()


def test_questions_are_made_where_none_are_given():
    result = leafspan("tune", "-s", "hybrid", "--budget", "12")
    assert result.exit_code == 0
    assert "The questions were made from the documents." in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-s", "bm25", "--config", "base.yaml"), "give either --strategy or --config"),
        (("-s", "bm25"), "a strategy to tune must have the weights of two searches, got BM25"),
        (("--held-out", "2"), "held_out must be"),
        (("-o", "questions.jsonl"), "an output file must not exist yet, got 'questions.jsonl'"),
        (("--kb", "nowhere"), "nowhere"),
    ],
)
def test_what_is_wrong_is_an_error(arguments, message):
    assert message in fails(leafspan(*TUNE, *arguments))


def test_too_few_questions_are_an_error():
    save_questions("few.jsonl", QUESTIONS[:20])
    assert "got 10 and 10: give 40 or more" in fails(leafspan("tune", "few.jsonl"))
