"""Configurations, questions and evaluations on the command line."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

import langchain_ext
import llamaindex_ext
from leafspan import Config, Index, InvalidArgument, Strategy
from leafspan.cli._query import STRATEGIES
from leafspan.config import kinds_below
from tests.cli.test_cli import fails, leafspan
from tests.cli.test_files_and_sync import typed

BEES = "Honey bees dance to tell the others where flowers are.\n\nThey make wax, with which they build combs in the dark.\n"
ROCKS = "Granite is a hard rock. It forms far below volcanoes when melted rock cools over a very long time.\n"


@pytest.fixture
def kb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("bees.md").write_text(BEES)
    Path("rocks.md").write_text(ROCKS)
    Path("kb.yaml").write_text("splitter: {leaf_words: 10}\nstrategy: bm25\nk: 1\n")
    assert leafspan("index", "bees.md", "rocks.md", "--config", "kb.yaml").exit_code == 0
    return tmp_path / "kb"


def test_a_configuration_says_how_an_index_is_made_and_asked(kb: Path):
    with Index.open(kb) as index:
        assert index.stats().leaves > 4
    found = json.loads(leafspan("query", "melted rock", "--config", "kb.yaml", "--json").stdout)
    assert [each["document_id"] for each in found] == ["rocks.md"]
    more = json.loads(leafspan("query", "melted rock", "--config", "kb.yaml", "-s", "vector", "-k", "3", "--json").stdout)
    assert len(more) == 3
    assert leafspan("sync", "bees.md", "--config", "kb.yaml").exit_code == 0


def test_what_is_typed_takes_the_place_of_the_configurations_lowest_score(kb: Path):
    Path("high.yaml").write_text("strategy: vector\nmin_score: 0.99\nk: 2\n")
    query = ("query", "melted rock", "--config", "high.yaml", "--json")
    assert json.loads(leafspan(*query).stdout) == []
    assert len(json.loads(leafspan(*query, "--min-score", "0").stdout)) == 2
    report = ("report", "melted rock", "--config", "high.yaml", "--json")
    assert json.loads(leafspan(*report).stdout)["passages"] == 0
    assert json.loads(leafspan(*report, "--min-score", "0").stdout)["passages"] == 2


def test_the_configuration_to_start_with_is_the_default_one(tmp_path: Path):
    printed = leafspan("config").stdout
    (tmp_path / "kb.yaml").write_text(printed)
    with Index.open(tmp_path / "plain") as plain:
        config = Config.load(tmp_path / "kb.yaml")
        assert config.strategy == plain.default_strategy
    with Index.open(tmp_path / "plain", config=config):
        pass  # or IndexMismatch
    assert leafspan("config", tmp_path / "kb.yaml", "--full").stdout == printed


def test_a_configuration_is_checked(tmp_path: Path):
    (tmp_path / "kb.yaml").write_text("k: 3\nstrategy: hybird\n")
    assert "line 2" in fails(leafspan("config", tmp_path / "kb.yaml"))
    (tmp_path / "kb.yaml").write_text("strategy: {type: hybrid, weights: [0.7, 0.3]}\nk: 3\n")
    assert leafspan("config", tmp_path / "kb.yaml").stdout == "strategy: hybrid\nk: 3\n"


def test_the_schema_is_json():
    assert json.loads(leafspan("config", "--schema").stdout) == Config.schema()
    assert "give either a file or --schema" in fails(leafspan("config", "--schema", "--full"))


def test_strategies_are_compared_on_questions(kb: Path):
    Path("questions.jsonl").write_text(
        '{"text": "What do bees build?", "answers": ["combs in the dark"]}\n'
        '{"text": "Where does granite form?", "answers": ["far below volcanoes"], "relevant": ["rocks.md"]}\n'
    )
    result = leafspan("eval", "questions.jsonl", "-s", "bm25", "-s", "vector", "--budget", "20", "-o", "all.json")
    assert result.exit_code == 0
    assert result.stdout.startswith("2 questions\n\n|        |   recall@20 |     nDCG@10 |")
    assert "recall@20: " in result.stdout
    assert "2 questions are too few to tell it from chance" in result.stdout
    assert set(json.loads(Path("all.json").read_text())["means"]) == {"bm25", "vector"}
    as_json = json.loads(leafspan("eval", "questions.jsonl", "--config", "kb.yaml", "--json").stdout)
    assert set(as_json["means"]) == {"kb"}
    assert leafspan("eval", "questions.jsonl", "-s", "bm25", "--plot", "recall.svg").exit_code == 0
    assert Path("recall.svg").read_text().startswith("<?xml")
    assert "a plot must be a file such as recall.svg" in fails(
        leafspan("eval", "questions.jsonl", "-s", "bm25", "--plot", "recall.xyz")
    )


def test_every_command_knows_the_same_strategies(kb: Path):
    def can_be_named_alone(name: str) -> bool:
        with suppress(InvalidArgument):
            # Classes of other tests, or of a user, have names as well, but the commands do not know them.
            return type(Strategy.from_config(name)).__module__.startswith("leafspan.")
        return False

    needs_a_private_view = {"pii-aware"}
    assert (
        set(STRATEGIES) - {"tree-traversal"}
        == set(filter(can_be_named_alone, kinds_below(Strategy))) - needs_a_private_view
    )
    for each in STRATEGIES.values():
        assert each.strategy == Strategy.from_config({"type": each.strategy.to_config()["type"], **each.options})
        assert hasattr(langchain_ext, each.retriever)
        assert hasattr(llamaindex_ext, each.retriever)
    Path("questions.jsonl").write_text('{"text": "What do bees build?", "answers": ["combs in the dark"]}\n')
    chosen = [option for name in STRATEGIES for option in ("-s", name)]
    found = json.loads(leafspan("eval", "questions.jsonl", *chosen, "--json", "--budget", "20").stdout)
    assert set(found["means"]) == set(STRATEGIES)
    errors = {
        fails(leafspan(*command, "-s", "ensemble"))
        for command in (
            ("query", "bees"),
            ("explain", "bees", "--document", "bees.md"),
            ("eval", "questions.jsonl"),
            ("tune",),
            ("report", "bees", "-o", "new.html"),
        )
    }
    assert len(errors) == 1
    assert "strategy must be one of 'vector'" in errors.pop()


def test_questions_may_stand_on_standard_input(kb: Path):
    line = '{"text": "What do bees build?", "answers": ["combs in the dark"]}\n'
    found = typed(line, "eval", "-", "-s", "bm25", "--json")
    assert list(json.loads(found.stdout)["questions"].values()) == ["What do bees build?"]
    assert "standard input, line 2: a question must be a JSON object" in fails(typed(line + "3\n", "eval", "-"))
    assert "there must be a question" in fails(typed("", "eval", "-"))
    assert "questions" in fails(typed(line, "tune", "-"))  # a single one is too few


def test_what_is_written_can_be_printed_as_json(kb: Path):
    made = leafspan("questions", "made.jsonl", "-n", "2", "--words", "3", "--json")
    assert json.loads(made.stdout) == {"output": "made.jsonl", "questions": 2}
    assert json.loads(leafspan("config", "kb.yaml", "--json").stdout) == Config.load("kb.yaml").to_dict()
    assert Config.of(json.loads(leafspan("config", "--json").stdout)) == Config.of(
        yaml.safe_load(leafspan("config").stdout)
    )


BEFORE_WORK = {
    ("eval", "questions.jsonl", "--plot", "recall.xyz"): "a plot must be a file such as recall.svg",
    ("eval", "questions.jsonl", "--plot", "nowhere/recall.svg"): "its folder does not exist; create it first",
    ("eval", "graded.jsonl", "--plot", "recall.svg"): "a plot needs questions with answers",
    ("eval", "questions.jsonl", "-o", "nowhere/all.json"): "cannot write to 'nowhere/all.json': its folder does not exist",
    ("eval", "questions.jsonl", "-o", "folder"): "cannot write to 'folder': it is a folder",
    ("report", "bees", "-o", "nowhere/report.html"): "cannot write to 'nowhere/report.html': its folder does not exist",
    (
        "tune",
        "questions.jsonl",
        "-o",
        "nowhere/tuned.yaml",
    ): "cannot write to 'nowhere/tuned.yaml': its folder does not exist",
    ("questions", "nowhere/made.jsonl"): "cannot write to 'nowhere/made.jsonl': its folder does not exist",
}


@pytest.mark.parametrize(("arguments", "message"), BEFORE_WORK.items())
def test_what_cannot_be_written_is_an_error_before_anything_is_asked(kb: Path, arguments, message, monkeypatch):
    Path("questions.jsonl").write_text('{"text": "What do bees build?", "answers": ["combs in the dark"]}\n')
    Path("graded.jsonl").write_text('{"text": "What do bees build?", "relevant": ["bees.md"]}\n')
    Path("folder").mkdir()
    monkeypatch.setattr("leafspan.index.Index.open", None)
    assert message in fails(leafspan(*arguments))


def test_a_plot_without_matplotlib_is_an_error_before_anything_is_asked(kb: Path, monkeypatch):
    Path("questions.jsonl").write_text('{"text": "What do bees build?", "answers": ["combs in the dark"]}\n')
    monkeypatch.delitem(sys.modules, "matplotlib.figure", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("leafspan.index.Index.open", None)
    assert fails(leafspan("eval", "questions.jsonl", "--plot", "recall.svg")) == (
        'a plot needs matplotlib: pip install ".[eval]" in the clone of leafspan'
    )


def test_questions_can_be_made(kb: Path):
    result = leafspan("questions", "made.jsonl", "-n", "2", "--words", "3")
    assert result.stdout.startswith("made.jsonl: 2 questions, such as: ")
    assert len(Path("made.jsonl").read_text().splitlines()) == 2
    assert leafspan("eval", "made.jsonl", "-s", "bm25").exit_code == 0


def test_a_configuration_is_evaluated_with_its_limits(kb: Path):
    Path("questions.jsonl").write_text('{"text": "What do bees build?", "answers": ["combs in the dark"]}\n')
    Path("sure.yaml").write_text("strategy: bm25\nmin_score: 1000\n")
    found = json.loads(leafspan("eval", "questions.jsonl", "-s", "bm25", "--config", "sure.yaml", "--json").stdout)
    assert {name: means["recall@150"] for name, means in found["means"].items()} == {"bm25": 1, "sure": 0}


def test_questions_that_are_in_the_index_themselves_are_noticed(kb: Path):
    Path("notes").mkdir()
    Path("notes/questions.jsonl").write_text('{"text": "What do bees build?", "answers": ["combs in the dark"]}\n')
    assert leafspan("eval", "notes/questions.jsonl", "-s", "bm25").stderr == ""
    assert leafspan("sync", "notes").exit_code == 0
    warning = leafspan("eval", "notes/questions.jsonl", "-s", "bm25").stderr
    assert warning.startswith("notes/questions.jsonl is in the index, so its questions find themselves: move it out")


def test_made_questions_can_be_printed(kb: Path):
    printed = leafspan("questions", "-", "-n", "2").stdout
    leafspan("questions", "made.jsonl", "-n", "2")
    assert printed == Path("made.jsonl").read_text()
    Path("one.jsonl").write_text(printed.splitlines()[0])
    assert json.loads(leafspan("eval", "one.jsonl", "-s", "bm25", "-o", "-").stdout)["means"]["bm25"]
    assert not Path("-").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("questions", "diary.md"),
        ("eval", "questions.jsonl", "-s", "bm25", "-o", "diary.md"),
        ("eval", "questions.jsonl", "-s", "bm25", "--plot", "diary.md"),
        ("report", "bees", "-o", "diary.md"),
    ],
)
def test_a_file_that_is_there_is_not_replaced_unless_it_is_meant(kb: Path, arguments):
    assert leafspan("questions", "questions.jsonl").exit_code == 0
    Path("diary.md").write_text("Dear diary")
    assert "choose another name, or replace the file with --force" in fails(leafspan(*arguments))
    assert Path("diary.md").read_text() == "Dear diary"
    if "--plot" not in arguments:
        assert leafspan(*arguments, "--force").exit_code == 0
        assert Path("diary.md").read_text() != "Dear diary"


def test_a_report_replaces_a_report_but_questions_may_have_been_edited(kb: Path):
    for question in ("bees", "rocks"):
        assert leafspan("report", question).exit_code == 0
    assert "<title>rocks</title>" in Path("report.html").read_text()
    assert leafspan("questions", "questions.jsonl").exit_code == 0
    assert "an output file must not exist yet, got 'questions.jsonl'" in fails(leafspan("questions", "questions.jsonl"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["eval", "none.jsonl"], "questions must be a file in UTF-8, got 'none.jsonl': no such file or directory"),
        (["eval", "wrong.jsonl"], "wrong.jsonl, line 1: an answer must"),
        (["eval", "unknown.jsonl"], "a relevant document must be in the index, got 'x.md'"),
        (["eval", "good.jsonl", "-s", "bm52"], "strategy must be one of 'vector', "),
        (
            ["eval", "good.jsonl", "--config", "kb.yaml", "--config", "other/kb.yaml"],
            "must have a name of its own, got 'kb'",
        ),
        (["eval", "good.jsonl", "--measure", "recall@7"], "--measure must be one of 'recall@150'"),
        (["eval", "good.jsonl", "-s", "bm25", "--measure", "recall@7"], "--measure must be one of 'recall@150'"),
        (["query", "bees", "--where", "F('a') >"], "where, given as a text, must be like"),
    ],
)
def test_what_is_wrong_is_an_error(kb: Path, arguments, message):
    Path("wrong.jsonl").write_text('{"text": "Who?", "answers": [5]}\n')
    Path("unknown.jsonl").write_text('{"text": "Who?", "relevant": ["x.md"]}\n')
    Path("good.jsonl").write_text('{"text": "Who dances?", "answers": ["bees dance"]}\n')
    Path("other").mkdir()
    Path("other/kb.yaml").write_text("k: 2\n")
    result = leafspan(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_filter_can_be_written_as_in_python(kb: Path):
    found = leafspan("query", "rock", "--where", "F('extension') == '.txt'", "--json")
    assert json.loads(found.stdout) == []
