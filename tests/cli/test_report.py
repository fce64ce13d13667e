"""``leafspan report`` writes one HTML file with the results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from leafspan import Index
from leafspan.cli import app

QUESTION = "Who decoded the dance of the bees?"


@pytest.fixture
def kb(index: Index) -> str:
    folder = index._store.home / "kb"
    index.build_tree()
    index.close()
    return str(folder)


def run(*options: str, given: str | None = None):
    return CliRunner().invoke(app, ["report", *options], input=given)


def test_a_question_becomes_a_page(kb: str, tmp_path: Path):
    page = tmp_path / "report.html"
    done = run(QUESTION, "--kb", kb, "-o", str(page))
    assert done.exit_code == 0, done.output
    assert "1 question, passages: " in done.output
    html = page.read_text()
    assert f"<title>{QUESTION}</title>" in html
    assert "<strong" in html
    assert "Honey bees" in html
    assert "3 documents" in html


def test_where_an_answer_is_not_probable_nothing_is_shown(kb: str, tmp_path: Path):
    options = ["--kb", kb, "-o", str(tmp_path / "report.html"), "--json", "-s", "hybrid", "--min-answer-probability"]
    done = [json.loads(run(QUESTION, *options, least).output)["passages"] for least in ("0", "1")]
    assert done[0] > 0 == done[1]
    refused = run(QUESTION, "-s", "bm25", *options, "0.5")
    assert "min_answer_probability needs a strategy over hybrid, got 'bm25'" in refused.output


def test_strategies_stand_side_by_side_and_questions_below_each_other(kb: str, tmp_path: Path):
    page = tmp_path / "report.html"
    options = ["-s", "hybrid", "-s", "bm25", "--kb", kb, "-o", str(page), "--json", "-k", "2"]
    done = run(QUESTION, "When did the pier burn down?", *options)
    said = json.loads(done.output)
    assert said == {"output": str(page), "questions": 2, "strategies": ["hybrid", "bm25"], "passages": said["passages"]}
    html = page.read_text()
    assert html.count('class="ls-columns"') == 2
    assert html.count('class="ls-card"') == said["passages"] > 4
    assert 'href="#question-2"' in html


def test_questions_come_from_standard_input_and_from_a_file_each_once(kb: str, tmp_path: Path):
    file = tmp_path / "questions.txt"
    file.write_text(f"{QUESTION}\n\n  the pier  \n", encoding="utf-8-sig")
    done = run("-", "--questions", str(file), "--kb", kb, "-o", "-", given="the pier\nbees\n")
    assert done.exit_code == 0
    assert "<title>3 questions</title>" in done.stdout


def test_trees_are_shown_if_asked_for(kb: str):
    without = run(QUESTION, "--kb", kb, "-o", "-").stdout
    with_trees = run(QUESTION, "--kb", kb, "-o", "-", "--trees").stdout
    assert '<section class="ls-tree">' not in without
    assert '<section class="ls-tree">' in with_trees


def test_a_limit_on_scores_leaves_nothing(kb: str):
    assert "nothing was found" in run(QUESTION, "--kb", kb, "-o", "-", "--min-score", "100").stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "there must be at least one question"),
        (["a", "-s", "hybird"], "hybrid"),
        (["a", "--questions", "nowhere.txt"], "no such file"),
        (["a", "-o", "nowhere/report.html"], "its folder does not exist; create it first"),
        (["a", "-k", "0"], "k must be"),
    ],
)
def test_errors_are_one_line(kb: str, options: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    done = run(*options, "--kb", kb)
    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "report.html").exists()


def test_a_file_that_is_no_text_is_an_error(kb: str, tmp_path: Path):
    (tmp_path / "questions.bin").write_bytes(b"\xff\xfe\x00\xd8")
    done = run("--questions", str(tmp_path / "questions.bin"), "--kb", kb)
    assert done.exit_code == 2
    assert "must be text in UTF-8" in done.stderr
