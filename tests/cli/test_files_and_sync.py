"""``index``, ``sync`` and ``delete``: files that are read, deleted files, and unreadable files."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from leafspan import Files, Index
from leafspan.cli import app
from leafspan.files import _text
from tests import warm
from tests.cli.test_cli import PLAIN, fails, leafspan
from tests.profiles import quick


def typed(text: str | bytes, *arguments: object) -> Result:
    """A command with this on standard input."""
    return CliRunner(env=PLAIN).invoke(app, [str(argument) for argument in arguments], input=text)


def read_json(*arguments: object) -> dict:
    result = leafspan(*arguments, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


@pytest.fixture
def docs(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = Path("docs")
    folder.mkdir()
    (folder / "bees.md").write_text("# Bees\n\nBees make honey in a hive.\n")
    (folder / "rocks.txt").write_text("Granite is hard.\n")
    return folder


@pytest.fixture
def kb(docs) -> Path:
    assert leafspan("sync", docs).exit_code == 0
    return Path("kb")


def test_a_dry_run_of_the_first_sync_leaves_no_index_behind(docs):
    planned = read_json("sync", docs, "--dry-run")
    assert not Path("kb").exists()
    assert {**planned, "dry_run": False} == {**read_json("sync", docs), "documents": 0, "leaves": 0, "words": 0}


@pytest.mark.parametrize(
    "arguments", [("sync", ""), ("sync", "docs", "--kb", ""), ("index", ""), ("query", "x", "--kb", "")]
)
def test_an_empty_path_is_not_the_current_folder(docs, arguments):
    result = leafspan(*arguments)
    assert result.exit_code == 2
    assert "must not be empty" in result.stderr
    assert sorted(path.name for path in Path().iterdir()) == ["docs"]


def test_json_stays_json_for_names_that_are_no_characters(docs):
    (docs / "bad\udcff.md").write_text("Text.")
    result = leafspan("sync", docs, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout_bytes)["skipped"][0]["path"] == "docs/bad\udcff.md"


@pytest.mark.slow
def test_a_process_without_standard_output_is_no_error(kb):
    command = f"{sys.executable} -m leafspan query honey --kb {kb} >&-"
    assert subprocess.run(["sh", "-c", command], check=False, capture_output=True, timeout=120).returncode == 0


# index


def test_one_bad_file_is_named_and_skipped(docs):
    (docs / "bad.md").write_bytes(b"\xff")
    for name in ("x.txt", "y.txt", "u.txt", "v.txt"):
        (docs / name).write_bytes(b"\0")
    result = leafspan("index", docs)
    assert result.exit_code == 0
    assert result.stdout.startswith("kb: 2 added, 0 replaced, 0 unchanged, 5 skipped; now 2 documents, ")
    assert [line.partition(": ")[0] for line in result.stderr.splitlines()] == [
        "skipped docs/bad.md",
        "skipped docs/u.txt, docs/v.txt, docs/x.txt and 1 more",
    ]
    assert fails(leafspan("index", docs, "--strict")).startswith("file 'docs/bad.md' cannot be read: it is not UTF-8: ")


def test_the_paths_are_looked_at_before_an_index_is_made_and_the_files_are_read_after_that(docs, monkeypatch):
    read = []
    read_bytes, open_index = _text.read_bytes, Index.open
    monkeypatch.setattr(_text, "read_bytes", lambda path: read.append(path.name) or read_bytes(path))

    def opened(*arguments, **options):
        assert read == []
        return open_index(*arguments, **options)

    monkeypatch.setattr(Index, "open", opened)
    assert leafspan("index", docs).exit_code == 0
    assert {*read} == {"bees.md", "rocks.txt"}


@pytest.mark.parametrize("command", ["index", "sync"])
def test_options_say_which_files_are_read_and_how(docs, command):
    (docs / "latin.txt").write_bytes(b"caf\xe9")
    (docs / "drafts").mkdir()
    (docs / "drafts" / "later.txt").write_text("Later.")
    (docs / "d.jsonl").write_text('{"body": "One.", "key": "k", "name": "N"}')
    fields = ("--text-field", "body", "--id-field", "key", "--title-field", "name")
    patterns = ("--glob", "*.txt", "--glob", "*.jsonl", "--exclude", "drafts", "--encoding", "latin-1", "--root", docs)
    assert read_json(command, docs, *fields, *patterns)["added"] == ["k", "latin.txt", "rocks.txt"]
    with Index.open("kb", create=False) as index:
        assert (index.get("latin.txt").text, index.get("k").title) == ("café", "N")


def test_only_a_sync_deletes_what_is_gone(docs, kb):
    (docs / "bees.md").unlink()
    assert "0 added, 0 replaced, 1 unchanged; now 2" in leafspan("index", docs).stdout
    assert "0 added, 0 replaced, 1 deleted, 1 unchanged; now 1" in leafspan("sync", docs).stdout


def test_standard_input_is_a_text_with_an_id(docs):
    assert "1 added" in typed("\ufeffFrom a pipe: süß.".encode(), "index", "-", "--id", "pipe").stdout
    with Index.open("kb", create=False) as index:
        assert index.get("pipe").text == "From a pipe: süß."
    assert "standard input must be text in UTF-8: it is not UTF-8" in fails(typed(b"\xff", "index", "-", "--id", "pipe"))
    assert "1 replaced" in typed("75 °C".encode(), "index", "-", "--id", "pipe", "--encoding", "latin-1").stdout
    with Index.open("kb") as index:
        assert index.get("pipe").text == "75 °C"


@pytest.mark.parametrize("arguments", [["-"], ["docs", "--id", "x"]])
def test_an_id_is_for_standard_input_only(docs, arguments):
    assert "a text on standard input needs an id, and nothing else does" in fails(leafspan("index", *arguments))
    assert not Path("kb").exists()


# sync


def test_a_sync_adds_replaces_and_deletes(docs, kb):
    (docs / "new.txt").write_text("New.")
    (docs / "rocks.txt").write_text("Basalt is hard, too.")
    (docs / "bees.md").unlink()
    dry = leafspan("sync", docs, "--dry-run")
    assert dry.stdout.splitlines()[:-1] == ["+ docs/new.txt", "~ docs/rocks.txt", "- docs/bees.md"]
    assert "kb: would be 1 added, 1 replaced, 1 deleted, 0 unchanged; now 2 documents, " in dry.stdout
    done = leafspan("sync", docs)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("kb: 1 added, 1 replaced, 1 deleted, 0 unchanged; now 2 documents, ")
    assert "0 added, 0 replaced, 0 deleted, 2 unchanged" in leafspan("sync", docs.absolute()).stdout


def test_an_empty_or_missing_folder_deletes_nothing_unless_it_is_allowed(docs, kb):
    docs.rename("elsewhere")
    assert fails(leafspan("sync", docs)) == (
        "there is no file or folder 'docs'; to delete the documents that were read there, pass allow_empty=True "
        "(--allow-empty)"
    )
    docs.mkdir()
    assert "there are no documents in 'docs', so 2 would be deleted" in fails(leafspan("sync", docs))
    assert "2 deleted" in leafspan("sync", docs, "--allow-empty").stdout


def test_a_missing_path_of_which_nothing_was_read_is_no_reason_to_delete(docs, kb):
    assert fails(leafspan("sync", "nope")) == "there is no file or folder 'nope'"


@pytest.mark.parametrize("command", [("sync",), ("sync", "--dry-run"), ("index",)], ids=" ".join)
def test_a_pattern_that_matches_no_file_says_so(docs, command):
    reason = r"no file of a known kind \(.*\.md.*\) in 'docs' matches glob=\('\*\.rst', 'x/\*'\)"
    patterns = ("--glob", "*.rst", "--glob", "x/*")
    assert re.fullmatch(reason, fails(leafspan(*command, docs, *patterns)))
    assert not Path("kb").exists()
    assert leafspan("index", docs).exit_code == 0
    if command[0] == "sync":
        done = leafspan(*command, docs, *patterns)
        assert done.exit_code == 0
        assert re.fullmatch(reason, done.stderr.replace("\n", " ").strip())
        with_excluded = leafspan(*command, docs, "--glob", "*.md", "--exclude", "bees*").stderr
        assert "matches glob=('*.md',), without exclude=('bees*',)" in with_excluded


@pytest.mark.parametrize("command", ["sync", "index"])
def test_files_that_are_not_read_are_counted_by_their_kind(docs, command):
    for name in (".hidden", "a.doc", "b.DOC", "c.gif", "drafts.zip", "LICENCE"):
        (docs / name).touch()
    counted = {".doc": 2, ".gif": 1, "hidden": 1, "without a suffix": 1}
    line = "left out, since they are not read: 2 .doc, 1 .gif, 1 hidden, 1 without a suffix\n"
    assert leafspan(command, docs, "--exclude", "drafts.*").stderr == line
    assert read_json(command, docs, "--exclude", "drafts.*")["left_out"] == counted
    assert leafspan(command, docs, "--glob", "*.md").stderr == ""


def test_a_renamed_folder_is_reported(docs, kb):
    docs.rename("notes")
    done = leafspan("sync", "notes")
    assert "2 added, 0 replaced, 0 deleted" in done.stdout
    assert done.stderr.replace("\n", " ").strip() == (
        "2 new documents have the same texts as documents whose files are no longer there, such as 'notes/bees.md' and "
        "'docs/bees.md'; if a folder was renamed or moved, delete the old ones: sync the old path with allow_empty=True "
        "(--allow-empty), or delete them by their ids"
    )
    assert "2 deleted" in leafspan("sync", docs, "--allow-empty").stdout


@pytest.mark.parametrize("options", [(), ("--dry-run",)])
def test_a_sync_of_nothing_leaves_no_index_behind(docs, options):
    Path("empty").mkdir()
    fails(leafspan("sync", "empty", *options))
    assert not Path("kb").exists()


# delete


def test_documents_are_deleted_by_their_ids_or_by_a_filter(docs, kb):
    assert leafspan("delete", "docs/bees.md", "nobody", "--dry-run").stdout == "- docs/bees.md\nkb: would be 1 deleted\n"
    result = leafspan("delete", "docs/bees.md", "nobody")
    assert (result.exit_code, result.stdout) == (2, "- docs/bees.md\nkb: 1 deleted\n")
    assert result.stderr == "error: there is no document 'nobody' in the index\n"
    assert leafspan("delete", "--where", '{"source": "docs/rocks.txt"}').stdout == "- docs/rocks.txt\nkb: 1 deleted\n"
    for options in ((), ("--dry-run",), ("--json",)):
        assert fails(leafspan("delete", "nope", *options)) == "there is no document 'nope' in the index"
    several = "there is no document 'nope' in the index, and none of 2 more of these ids"
    assert fails(leafspan("delete", "nope", "neither", "nor")) == several
    assert "give either ids or where" in fails(leafspan("delete"))
    assert "must have a condition" in fails(leafspan("delete", "--where", "{}"))


# JSON


def test_ids_and_the_question_to_explain_may_stand_on_standard_input(docs, kb):
    assert "2 documents" not in typed("", "delete", "-").stdout
    with Index.open(kb, create=False) as index:
        assert index.count() == 2
    result = typed("docs/rocks.txt\n\ndocs/none.md\n", "delete", "-", "--json")
    assert json.loads(result.stdout)["deleted"] == ["docs/rocks.txt"]
    explained = typed("What makes honey?\n", "explain", "-", "--json")
    assert "What makes honey?" in explained.stdout


@pytest.mark.slow
def test_what_is_said_of_a_broken_file_stands_beside_its_name_and_nowhere_else(docs):
    (docs / "broken.pdf").write_bytes(b"%PDF broken")
    environment = {**os.environ, "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, "-m", "leafspan", "index", "docs"], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stderr.splitlines() == [
        "skipped docs/broken.pdf: it is no PDF that pypdf can read: Stream has ended unexpectedly"
    ]


def test_each_command_prints_json_with_the_same_keys_each_time(docs):
    (docs / "bad.md").write_bytes(b"\xff")
    skipped = [
        {"path": "docs/bad.md", "reason": json.loads(leafspan("index", docs, "--json").stdout)["skipped"][0]["reason"]}
    ]
    numbers = {"documents": 2, "leaves": 2, "words": 11}
    ids = ["docs/bees.md", "docs/rocks.txt"]
    assert read_json("index", docs) == {
        "added": [],
        "replaced": [],
        "unchanged": 2,
        "skipped": skipped,
        "left_out": {},
        **numbers,
    }
    synced = {
        "added": [],
        "replaced": [],
        "deleted": [],
        "unchanged": ids,
        "skipped": skipped,
        "moved": [],
        "left_out": {},
        **numbers,
    }
    assert read_json("sync", docs) == {"dry_run": False, **synced}
    assert read_json("sync", docs, "--dry-run") == {"dry_run": True, **synced}
    shown = read_json("show")
    assert [document["id"] for document in shown["documents"]] == ids
    assert {key: shown["stats"][key] for key in numbers} == numbers
    assert read_json("check") == read_json("repair") == {"findings": []}
    built = read_json("tree", "build")
    assert (built["built"], built["failed"]) == (ids, [])
    nodes = json.loads(leafspan("tree", "show", "--leaves", "--json").stdout)
    assert all(node.keys() == {"id", "depth", "place", "text"} for node in nodes)
    assert read_json("delete", ids[0]) == {"dry_run": False, "deleted": ids[:1]}


# query


def test_what_nothing_answers_is_said(kb):
    for question in ("xyzzy", "weather in Paris tomorrow"):
        result = leafspan("query", question)
        said, _, nearest = result.stderr.partition("; nearest: ")
        assert (result.exit_code, said) == (0, "nothing in the index answers this: all probabilities are nearly 0")
        assert sorted(nearest.strip().split(" and ")) == ["'docs/bees.md'", "'docs/rocks.txt'"]
        with Index.open("kb", create=False) as index:  # the library gives the same passages
            ids = [passage.id for passage in index.retrieve(question)]
        assert [each["id"] for each in json.loads(leafspan("query", question, "--json").stdout)] == ids
        assert result.stdout.count("score 0.000") == 2


def test_an_empty_index_says_so_and_how_to_fill_it(tmp_path):
    with Index.open(tmp_path / "empty"):
        pass
    result = leafspan("query", "honey", "--kb", tmp_path / "empty")
    line = f"the index is empty: `leafspan sync FOLDER --kb {tmp_path / 'empty'}` adds the files of a folder\n"
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", line)


def test_a_score_of_the_configuration_that_leaves_nothing_is_named(kb, tmp_path):
    config = tmp_path / "strict.yaml"
    config.write_text("strategy: vector\nmin_score: 0.99\n")
    told = leafspan("query", "hard honey", "--config", config).stderr
    best = json.loads(leafspan("query", "hard honey", "-s", "vector", "--json").stdout)[0]["score"]
    said, _, nearest = told.partition("; nearest: ")
    assert said == f"nothing in the index answers this: all 2 results are below min_score=0.99, the best has {best:.3g}"
    assert nearest == "'docs/bees.md' and 'docs/rocks.txt'\n"
    assert leafspan("query", "honey", "--where", 'F("year") > 1').stderr == (
        "nothing in the index answers this: no document matches the filter\n"
    )


def test_passages_below_a_score_are_left_out(kb):
    everything = json.loads(leafspan("query", "hard honey", "-s", "vector", "--json").stdout)
    best, other = (row["score"] for row in everything)
    assert best > other
    kept = json.loads(leafspan("query", "hard honey", "-s", "vector", "--min-score", (best + other) / 2, "--json").stdout)
    assert kept == everything[:1]
    assert "min_score must be a number, got nan" in fails(leafspan("query", "honey", "--min-score", "nan"))


def test_the_least_probability_of_an_answer_reaches_hybrid(kb):
    for strategy in ("hybrid", "relevant-segments", "auto-merging"):
        query = ("query", "Who makes honey in a hive?", "-s", strategy, "--json", "--min-answer-probability")
        assert json.loads(leafspan(*query, 0.1).stdout)
        assert json.loads(leafspan(*query, 1).stdout) == []
    told = leafspan("query", "honey", "--min-answer-probability", 1).stderr
    assert told.startswith("nothing in the index answers this: the probability that the index holds an answer is ")
    assert told.endswith(", below min_answer_probability=1; nearest: 'docs/bees.md' and 'docs/rocks.txt'\n")
    error = fails(leafspan("query", "honey", "-s", "vector", "--min-answer-probability", 0.5))
    assert error == "min_answer_probability needs a strategy over hybrid, got 'vector'"
    assert "min_answer_probability must be a number in [0, 1], got 2" in fails(
        leafspan("query", "honey", "--min-answer-probability", 2)
    )


def test_each_line_of_standard_input_is_a_question(kb):
    questions = "Who makes honey?\n\n  What is granite?\n"
    lines = [json.loads(line) for line in typed(questions, "query", "-", "-k", 1, "--json").stdout.splitlines()]
    assert [line["question"] for line in lines] == ["Who makes honey?", "What is granite?"]
    alone = [json.loads(leafspan("query", line["question"], "-k", 1, "--json").stdout) for line in lines]
    assert [line["passages"] for line in lines] == alone
    heads = [line for line in typed(questions, "query", "-", "-k", 1).stdout.splitlines() if line.startswith((">", "1."))]
    assert [head.split("  ")[0] for head in heads] == [
        "> Who makes honey?",
        "1. docs/bees.md:1-3",
        "> What is granite?",
        "1. docs/rocks.txt:1",
    ]


def test_a_question_on_standard_input_is_answered_before_the_next_one_comes(kb):
    with warm.Popen(
        [sys.executable, "-m", "leafspan", "query", "-", "-k", "1", "--json"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as asked:
        assert asked.stdin is not None
        assert asked.stdout is not None
        end = threading.Timer(60, asked.kill)  # where the command waits for the end of its input
        end.start()
        for question in ("Who makes honey?", "What is granite?"):
            asked.stdin.write(f"{question}\n")
            asked.stdin.flush()
            assert json.loads(asked.stdout.readline())["question"] == question
        asked.stdin.close()
        assert asked.wait() == 0
        end.cancel()


def test_a_byte_order_mark_on_standard_input_is_no_part_of_its_first_line(kb):
    found = typed(b"\xef\xbb\xbfWho makes honey?\r\n", "query", "-", "-k", 1, "--json")
    assert json.loads(found.stdout)["question"] == "Who makes honey?"
    deleted = typed(b"\xef\xbb\xbfdocs/rocks.txt\r\n", "delete", "-", "--json")
    assert json.loads(deleted.stdout)["deleted"] == ["docs/rocks.txt"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", quick(1, ["query -", "explain -", "delete -", "eval -", "report - -o report.html", "index - --id a"])
)
def test_standard_input_that_is_closed_is_an_error(kb, command):
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -m leafspan {command} <&-', sys.executable], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: - reads standard input, which must be open, and is closed\n"


# Errors


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            ("query", "x", "--where", 'F("a") == b'),
            "a filter's values must be written out, such as 'draft', 2020 or True, got b in 'F(\"a\") == b'",
        ),
        (("query", "x", "--where", 'F("a") == F("b")'), "a filter's values must be written out"),
        (("query", "x", "--where", "F("), "got 'F(': '(' was never closed"),
        (("query", "x", "--where", "{"), "got '{': expecting property name enclosed in double quotes at character 2"),
        (("query", "x", "--config", "nothing.yaml"), "got 'nothing.yaml': no such file or directory"),
        (("query", "x", "--config", "docs"), "a configuration must be a file in UTF-8, got 'docs': it is a folder"),
        (("eval", "broken.jsonl"), 'such as {"text": ..., "answers": [...]}, expecting value at character 10'),
        (("eval", "nothing.jsonl"), "questions must be a file in UTF-8, got 'nothing.jsonl': no such file or directory"),
        (("eval", "latin.jsonl"), "got 'latin.jsonl': the byte at place 0 is no UTF-8"),
        (("report", "--questions", "nothing.txt"), "cannot use 'nothing.txt': no such file or directory"),
        (
            ("report", "x", "-o", "nowhere/x.html"),
            "cannot write to 'nowhere/x.html': its folder does not exist; create it first",
        ),
    ],
)
def test_an_error_needs_no_knowledge_of_python(kb, command, message):
    Path("broken.jsonl").write_text('{"text": }')
    Path("latin.jsonl").write_bytes(b"\xe4")
    told = fails(leafspan(*command))
    assert message in told
    assert not re.search(r"Errno|ast\.|<unknown>|[A-Z]\w+Error|Path\(|object at", told)


def test_a_line_that_is_no_json_is_skipped_with_its_place(kb):
    Path("docs/list.jsonl").write_text('{"text": "Bees."}\n{"text": }\n')
    assert "line 2: expecting value at character 10" in leafspan("index", "docs/list.jsonl").stderr


# Chroma's errors, and completion


def test_what_chroma_cannot_read_is_one_line(kb):
    import sqlite3

    with sqlite3.connect(kb / "chroma.sqlite3") as database:
        database.execute("DROP TABLE embeddings")
    database.close()
    told = fails(leafspan("check"))
    assert told.startswith("could not open 'kb.leaves' in ")
    assert "no such table: embeddings; " in told


@pytest.mark.parametrize(
    "error",
    [
        type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})("index\nout of bounds"),
        type("InternalError", (Exception,), {"__module__": "chromadb.errors"})("index\nout of bounds"),
    ],
)
def test_a_panic_of_chromas_is_one_line(kb, monkeypatch, error):
    def failing(*arguments, **options):
        raise error

    monkeypatch.setattr(Index, "retrieve", failing)
    assert fails(leafspan("query", "honey")).startswith("Chroma failed: index out of bounds; if it fails again, ")


def test_an_error_of_ones_own_code_keeps_its_traceback(kb, monkeypatch):
    def failing(*arguments, **options):
        raise ZeroDivisionError

    monkeypatch.setattr(Index, "retrieve", failing)
    assert isinstance(leafspan("query", "honey").exception, ZeroDivisionError)


def test_the_names_of_strategies_are_completed():
    env = {"_LEAFSPAN_COMPLETE": "complete_bash", "COMP_WORDS": "leafspan query -s auto", "COMP_CWORD": "3"}
    completed = CliRunner(env=env).invoke(app, [], prog_name="leafspan")
    assert completed.stdout.split() == ["auto-merging"]


def test_files_in_python_match_the_command_line(docs, kb):
    with Index.open(kb, create=False) as index:
        assert index.sync(Files("docs")).unchanged == ("docs/bees.md", "docs/rocks.txt")
        assert index.add(docs.absolute()).unchanged == 2


@pytest.mark.parametrize("command", ["query", "explain"])
def test_a_question_without_quotes_is_an_error_that_says_so(command):
    result = leafspan(command, "How", "hot", "is", "tea?")
    assert result.exit_code == 2
    assert "put a question of several words in quotes" in " ".join(re.findall(r"[\w?()]+", result.stderr))


def test_the_index_in_a_folder_of_documents_is_not_read_but_named(docs, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(docs)
    for number in range(8):  # more kinds than are named
        for name in range(2):
            Path(f"{name}.{number}").touch()
    for line in ("kb: 2 added, 0 replaced, 0 deleted, 0 unchanged; ", "kb: 0 added, 0 replaced, 0 deleted, 2 unchanged; "):
        result = leafspan("sync", ".")
        assert result.stdout.startswith(line)
        assert "left out, since they are not read: 1 index kb, 2 .0, " in result.stderr


def test_a_watch_prints_a_line_for_each_sync(docs, monkeypatch):
    syncs = Index.watch

    def twice(index, files, **options):
        watch = syncs(index, files, **options)
        yield next(watch)
        (docs / "bees.md").unlink()
        yield next(watch)
        raise KeyboardInterrupt

    monkeypatch.setattr(Index, "watch", twice)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    result = leafspan("sync", docs, "--watch", "--json")
    assert (result.exit_code, result.stderr) == (130, "interrupted\n")
    first, second = map(json.loads, result.stdout.splitlines())
    assert (first["added"], second["deleted"]) == (["docs/bees.md", "docs/rocks.txt"], ["docs/bees.md"])
    result = leafspan("sync", docs, "--watch", "--allow-empty", "--glob", "*.md")
    assert [line.partition(";")[0] for line in result.stdout.splitlines()] == [
        "kb: 0 added, 0 replaced, 0 deleted, 0 unchanged"
    ]


def test_a_watch_may_begin_with_an_empty_folder_but_not_with_a_missing_one(docs, monkeypatch):
    Path("empty").mkdir()
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr(Index, "watch", lambda *_, **__: iter(()))
    assert leafspan("sync", "empty", "--watch").exit_code == 0
    assert "there is no file or folder 'missing'" in fails(leafspan("sync", "missing", "--watch", "--kb", "new"))
    assert "give one of them" in fails(leafspan("sync", "empty", "--watch", "--dry-run"))
    assert not Path("new").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_watch_ends_with_a_signal(docs, number, code):
    command = [sys.executable, "-m", "leafspan", "sync", "docs", "--watch"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline().startswith("kb: 2 added, 0 replaced, 0 deleted, 0 unchanged;")
        (docs / "tea.md").write_text("# Tea\n\nTea is steamed.\n")
        assert process.stdout.readline().startswith("kb: 1 added, 0 replaced, 0 deleted, 2 unchanged;")
        process.send_signal(number)
        assert process.wait(30) == code
        assert (process.stdout.read(), process.stderr.read()) == ("", "interrupted\n" if code else "")
    with Index.open("kb") as index:
        assert (index.count(), index.repair()) == (3, [])
