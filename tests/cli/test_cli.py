"""The command line, each command as a user types it."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from leafspan import Chunk, Document, Index, Tree, WriterBusy
from leafspan.cli import app
from leafspan.cli._query import STRATEGIES
from leafspan.cli._tree import tree_lines
from leafspan.embedding import CheckedEmbedder
from leafspan.engines.chroma._collection import Collection
from leafspan.examples import EXAMPLE_QUESTIONS, example_documents
from leafspan.flows import Call
from leafspan.indexing import summaries_of
from leafspan.lab.commands._demo import COMPARED, FRAMEWORKS, THEME, THEME_DOCUMENT
from leafspan.segments._segment import Segment, read_segment, write_segment
from leafspan.trees import FailedSummary, TreesBuilt
from tests import warm
from tests.lateness import longer_and_longer
from tests.profiles import quick

BEES = "# Bees\n\nBees make honey in a hive. A bee dances to tell the others where the flowers are.\n"
ROCKS = "Granite is hard. Basalt comes from volcanoes. [red]Rust[/red] is [/not] markup.\n"


PLAIN = {"COLUMNS": "100", "FORCE_COLOR": None, "TTY_COMPATIBLE": None}


def leafspan(*arguments: object) -> Result:
    return CliRunner(env=PLAIN).invoke(app, [str(argument) for argument in arguments])


def fails(result: Result) -> str:
    """The one line of an expected error."""
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert line.startswith("error: ")
    return line.removeprefix("error: ")


def write_texts(folder):
    folder.mkdir()
    (folder / "bees.md").write_text(BEES)
    (folder / "rocks.txt").write_text(ROCKS)
    (folder / "photo.gif").write_bytes(b"\xff\xd8")


@pytest.fixture
def texts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_texts(tmp_path / "texts")
    return Path("texts")


@pytest.fixture(scope="module")
def indexed(tmp_path_factory):
    """The index of the texts, made once: copying it takes less time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("indexed"))
        write_texts(Path("texts"))
        assert leafspan("index", "texts", "--kb", "kb").exit_code == 0
        return Path("kb").absolute()


@pytest.fixture
def kb(texts, indexed):
    return Path(shutil.copytree(indexed, "kb"))


# index


def test_indexing_a_folder_takes_its_text_and_markdown_files(texts):
    result = leafspan("index", texts, "--kb", "kb")
    assert result.exit_code == 0
    assert "kb: 2 added, 0 replaced, 0 unchanged" in result.stdout
    with Index.open("kb", create=False) as index:
        assert [document.id for document in index.documents()] == ["texts/bees.md", "texts/rocks.txt"]
        assert index.get("texts/bees.md").text == BEES


def test_indexing_twice_leaves_the_unchanged_alone_and_replaces_the_changed(texts, kb):
    assert "0 added, 0 replaced, 2 unchanged" in leafspan("index", texts, "--kb", kb).stdout
    (texts / "rocks.txt").write_text("Slate splits.\n")
    assert "0 added, 1 replaced, 1 unchanged" in leafspan("index", texts, "--kb", kb).stdout


def test_a_file_named_twice_is_indexed_once(texts):
    assert "kb: 2 added" in leafspan("index", texts, texts / "bees.md", "--kb", "kb").stdout


def test_leaf_words_and_context_sentences_are_kept_in_the_index(texts):
    leafspan("index", texts, "--kb", "kb", "--leaf-words", 5, "--context-sentences", 1)
    with Index.open("kb", create=False) as index:
        assert "leaf_words=5," in index.stats().splitter
        assert index.stats().context_sentences == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "there is no file or folder 'nowhere'"),
        (["texts/photo.gif"], r"files must be of a known kind .*photo\.gif"),
        (["empty"], r"there are no files of a known kind \(.*\) in empty"),
        (["texts", "--leaf-words", "0"], "--leaf-words must be from 1 to 149, as parents have 150, got 0"),
        (["texts", "--leaf-words", "200"], "--leaf-words must be from 1 to 149, as parents have 150, got 200"),
        (["texts", "--context-sentences", "-1"], "context_sentences must be a whole number >= 0, got -1"),
    ],
)
def test_files_that_cannot_be_indexed_are_named_and_leave_no_index_behind(texts, arguments, message):
    Path("empty").mkdir()
    assert re.search(message, fails(leafspan("index", *arguments, "--kb", "kb")))
    assert not Path("kb").exists()


def test_another_leaf_size_than_the_indexs_is_refused(texts, kb):
    assert "was made with splitter=" in fails(leafspan("index", texts, "--kb", kb, "--leaf-words", 5))


def test_an_interruption_says_what_is_stored_and_ends_with_code_130(texts, monkeypatch):
    def interrupted(self, texts, *, view=""):
        raise KeyboardInterrupt

    monkeypatch.setattr(CheckedEmbedder, "documents", interrupted)
    result = leafspan("index", texts, "--kb", "kb")
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr == "interrupted: stored 0 of 2 documents; add the same again to go on\n"


def test_a_failure_says_what_is_stored(texts, kb, monkeypatch):
    def busy(self, texts, *, view=""):
        raise WriterBusy("another writer has held the folder")

    (texts / "new.txt").write_text("Something new.")
    monkeypatch.setattr(CheckedEmbedder, "documents", busy)
    line = fails(leafspan("index", texts, "--kb", kb))
    assert line == "another writer has held the folder; stored 2 of 3 documents; add the same again to go on"


def test_an_interruption_of_another_command_is_one_line(kb, monkeypatch):
    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(Index, "documents", interrupted)
    result = leafspan("show", "--kb", kb)
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "interrupted\n")


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_ctrl_c_ends_the_whole_program_with_one_line(tmp_path):
    # The embedder is interrupted by the signal that Ctrl-C sends, once it is at work.
    code = """
import os, signal, sys
from leafspan.embedding import _named
_named._word_llama_vectors.__code__ = (lambda texts: __import__("os").kill(__import__("os").getpid(), 2)).__code__
from leafspan.cli import app
app(sys.argv[1:])
"""
    (tmp_path / "a.txt").write_text("One.")
    command = [sys.executable, "-c", code, "index", "a.txt", "--kb", "kb"]
    plain = {name: value for name, value in (os.environ | PLAIN).items() if value is not None}
    done = warm.run(command, cwd=tmp_path, capture_output=True, text=True, env=plain, check=False)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "interrupted: stored 0 of 1 document; add the same again to go on\n"


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize("loading", quick(1, ["leafspan.cli", "leafspan", "leafspan.cli._mcp", "typer"]))
def test_ctrl_c_ends_the_program_without_a_word_while_it_is_being_loaded(loading):
    code = f"""
import os, sys

class Interrupting:
    def find_spec(self, name, *_):
        if name == {loading!r}:
            os.kill(os.getpid(), 2)

sys.meta_path.insert(0, Interrupting())
from leafspan_command import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.slow
def test_the_command_leaves_ctrl_c_as_it_was():
    code = """
import signal, sys
from leafspan_command import main
before = signal.signal(signal.SIGINT, getattr(signal, sys.argv.pop()))
given = signal.getsignal(signal.SIGINT)
try:
    main()
finally:
    print(signal.getsignal(signal.SIGINT) == given)
"""
    for handler in ("default_int_handler", "SIG_IGN"):
        command = [sys.executable, "-c", code, "--version", handler]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "True"


# tree


PLACES = ["Lake", "Fell", "River", "Moor", "Wood", "Bay", "Cove", "Hill"]
VALLEYS = " ".join(f"The {place.lower()} lies in valley {n} of the north." for n, place in enumerate(PLACES))


def write_valleys(texts):
    (texts / "rocks.txt").unlink()
    (texts / "valleys.txt").write_text(VALLEYS)


@pytest.fixture(scope="module")
def indexed_valleys(tmp_path_factory):
    """An index of a document of eight leaves, a sentence each, and of a shorter one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("valleys"))
        write_texts(Path("texts"))
        write_valleys(Path("texts"))
        assert leafspan("index", "texts", "--kb", "forest", "--leaf-words", 9).exit_code == 0
        return Path("forest").absolute()


@pytest.fixture
def forest(texts, indexed_valleys):
    write_valleys(texts)
    return Path(shutil.copytree(indexed_valleys, "forest"))


def built(*options):
    result = leafspan("tree", "build", "--kb", "forest", *options)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def test_building_says_what_was_built_and_leaves_alone_what_is_there(forest, texts):
    first = built()
    with Index.open(forest, create=False) as index:
        written = len(index.summaries())
    assert re.match(
        f"forest: trees: 2 built, 0 unchanged; summaries: {written} written, 100% newly made, 0 failed; now 2 trees", first
    )
    assert "trees: 0 built, 2 unchanged; summaries: 0 written, 0% newly made, 0 failed" in built()
    (texts / "bees.md").write_text(BEES + "Drones do not work.\n")
    leafspan("index", texts, "--kb", forest)
    assert "trees: 1 built, 1 unchanged" in built()


def test_summaries_are_as_long_as_is_asked_for(forest):
    built("--max-words", 9)
    with Index.open(forest, create=False) as index:
        assert max(len(passage.text.split()) for passage in index.summaries()) == 9
    assert "trees: 0 built, 2 unchanged" in built("--max-words", 9)
    assert "summarizer Extractive(1, max_words=9" in fails(leafspan("tree", "build", "--kb", forest))
    assert "trees: 2 built" in built("--max-words", 18)


def test_layers_above_the_documents_are_over_all_of_them(forest):
    built("--across-documents")
    with Index.open(forest, create=False) as index:
        top = next(passage for passage in index.summaries() if not passage.document_id)
        assert {run.document_id for run in top.summary.covers} == {"texts/bees.md", "texts/valleys.txt"}


@pytest.mark.parametrize(("options", "most"), [((), 5), (("--max-layers", 1), 1)])
def test_the_height_reaches_the_index(forest, monkeypatch, options, most):
    given = {}
    nothing = TreesBuilt((), 0, 0, 0, 0, ())
    monkeypatch.setattr(Index, "build_tree", lambda index, **options: given.update(options) or nothing)
    built(*options)
    assert given["max_layers"] == most


def test_failed_summaries_are_named_and_end_with_code_1(forest, monkeypatch):
    failed = FailedSummary("texts/bees.md", 2, ValueError("too [hot]"))
    monkeypatch.setattr(Index, "build_tree", lambda index, **options: TreesBuilt(("a",), 1, 3, 1, 3, (failed,)))
    result = leafspan("tree", "build", "--kb", forest)
    assert result.exit_code == 1
    assert "trees: 1 built, 1 unchanged; summaries: 3 written, 25% newly made, 1 failed" in result.stdout
    assert result.stderr == "failed: texts/bees.md, layer 2: too [hot]\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--max-layers", "0"], "max_layers must be a whole number >= 1, got 0"),
        (["--max-words", "0"], "max_words must be a whole number >= 1, got 0"),
    ],
)
def test_bad_options_of_a_build_are_named_in_one_line(forest, options, message):
    assert fails(leafspan("tree", "build", "--kb", forest, *options)) == message


def shown(*options):
    result = leafspan("tree", "show", "--kb", "forest", *options)
    assert result.exit_code == 0
    return result.stdout.splitlines(), result.stderr


def test_showing_indents_each_node_below_those_that_were_made_of_it(forest):
    built("--across-documents")
    with Index.open(forest, create=False) as index:
        (valleys,) = index.summaries("texts/valleys.txt")
        bees = len(index.leaves("texts/bees.md"))
    leaves = [f"    leaf {n}  {len(leaf)} characters" for n, leaf in enumerate(re.findall(r"The .*?\. ?", VALLEYS))]
    lines, error = shown("--leaves")
    assert error == ""
    everything = len(BEES) + len(VALLEYS)
    assert lines[0].startswith(f"layer 2  2 documents, {8 + bees} leaves, {everything} characters  ")
    head = f"  layer 1  texts/valleys.txt, 8 leaves, {len(VALLEYS)} characters  "
    place = next(n for n, line in enumerate(lines) if line.startswith(head))
    assert [line.partition("  The")[0] for line in lines[place + 1 : place + 9]] == leaves
    assert len(lines) == 1 + 1 + 8 + 1 + bees
    without, _ = shown()
    assert without == [line for line in lines if "leaf " not in line]
    alone, _ = shown("texts/valleys.txt")
    assert alone == [f"layer 1{head.removeprefix('  layer 1')}{valleys.text}"[:99] + "…"]


def test_every_line_fits_the_width_and_shows_what_a_text_begins_with(forest):
    built()
    lines, _ = shown("--leaves")
    assert max(map(len, lines)) == 100
    assert sum(line.endswith("…") for line in lines) == 2


def test_what_is_below_several_summaries_is_printed_below_each(forest):
    def clusters(vectors, sizes, max_words):
        return [[0, 1, 2, 3, 4], [4, 5, 6, 7]] if len(sizes) == 8 else [list(range(len(sizes)))]

    with Index.open(forest, create=False) as index:
        index.build_tree(clusterer=clusters)
        lines = [(line.depth, line.place.split("  ")[0]) for line in tree_lines(index, "texts/valleys.txt", leaves=True)]
    below = [[(2, f"leaf {n}") for n in part] for part in ((0, 1, 2, 3, 4), (4, 5, 6, 7))]
    assert lines == [(0, "layer 2"), (1, "layer 1"), *below[0], (1, "layer 1"), *below[1]]


def test_leaves_that_no_summary_was_made_of_stand_by_themselves(forest):
    with Index.open(forest, create=False) as index:
        index.build_tree(
            clusterer=lambda vectors, sizes, max_words: [list(range(len(sizes) - 1)), [len(sizes) - 1]], max_layers=1
        )
        lines = [(line.depth, line.place) for line in tree_lines(index, "texts/valleys.txt", leaves=True)]
    last = len("The hill lies in valley 7 of the north.")
    assert lines[-1] == (0, f"leaf 7  texts/valleys.txt, {last} characters")
    assert [depth for depth, _ in lines] == [0, *[1] * 7, 0]


def test_documents_without_a_tree_are_named(forest, texts):
    assert shown() == ([], "2 of 2 documents have no tree that is up to date: run `leafspan tree build`\n")
    assert shown("texts/valleys.txt") == ([], "there are no summaries\n")
    built()
    (texts / "valleys.txt").write_text(VALLEYS + " And so on.")
    leafspan("index", texts, "--kb", forest)
    lines, error = shown()
    assert "1 of 2 documents have no tree" in error
    assert not [line for line in lines if "valleys" in line]


def test_the_tree_of_an_unknown_document_is_an_error(forest):
    assert fails(leafspan("tree", "show", "nobody", "--kb", forest)) == "there is no document 'nobody' in the index"


def test_show_lists_the_trees(forest):
    assert "trees              none" in leafspan("show", "--kb", forest).stdout
    built()
    with Index.open(forest, create=False) as index:
        stats = index.stats()
    line = f"trees              2, with {summaries_of(stats)}"
    assert line in leafspan("show", "--kb", forest).stdout
    assert summaries_of(replace(stats, summaries=1, layers=1)) == "1 summary in 1 layer"
    assert summaries_of(replace(stats, summaries=1200, layers=2)) == "1,200 summaries in 2 layers"


def test_a_summary_that_is_found_says_what_it_is_of(forest):
    built("--across-documents")
    query = ("query", "Which valleys lie in the north?", "--kb", forest, "--strategy", "tree-traversal")
    result = leafspan(*query).stdout
    assert re.search(r"^1\. summary in layer 2, of 2 documents  score -?\d\.\d{3}$", result, re.MULTILINE)
    own = rf"^2\. texts/valleys\.txt  summary in layer 1, of characters 0 to {len(VALLEYS)}  score \d\.\d{{3}}$"
    assert re.search(own, result, re.MULTILINE)
    top, below, *_ = json.loads(leafspan(*query, "--json").stdout)
    assert (top["document_id"], top["summary"]["layer"], below["summary"]["layer"]) == ("", 2, 1)
    assert below["id"] in top["summary"]["children"]
    [run] = below["summary"]["covers"]
    assert (run["document_id"], run["first"], run["last"], run["start"], run["end"]) == (
        "texts/valleys.txt",
        0,
        7,
        0,
        len(VALLEYS),
    )


# query


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_prints_document_place_score_and_text(kb, strategy):
    result = leafspan("query", "Who makes honey?", "--kb", kb, "--strategy", strategy, "-k", 1)
    assert result.exit_code == 0
    head, *lines = result.stdout.splitlines()
    assert re.fullmatch(r"1\. texts/bees\.md:1-3  Bees  score \d\.\d{3}", head)
    assert "Bees make honey in a hive." in "\n".join(lines)


def test_a_passage_on_one_line_and_without_headings_is_printed_as_a_place_in_the_file(kb):
    head, *_ = leafspan("query", "Rust on rocks", "--kb", kb, "-k", 1).stdout.splitlines()
    assert re.fullmatch(r"1\. texts/rocks\.txt:1  score \d\.\d{3}", head)


def test_markup_in_a_text_is_printed_as_it_is(kb):
    assert "[red]Rust[/red] is [/not] markup." in leafspan("query", "Rust on rocks", "--kb", kb).stdout


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_json_holds_what_the_index_returns(kb, strategy):
    result = leafspan("query", "volcano", "--kb", kb, "--strategy", strategy, "-k", 2, "--min-score", -9, "--json")
    with Index.open(kb, create=False) as index:
        passages = index.retrieve("volcano", STRATEGIES[strategy].strategy, k=2)
    assert json.loads(result.stdout) == [
        {
            "id": passage.id,
            "document_id": passage.document_id,
            "start": passage.start,
            "end": passage.end,
            "lines": list(passage.lines),
            "place": passage.place,
            "title": passage.title,
            "headings": list(passage.headings),
            "score": passage.score,
            "text": passage.text,
            "metadata": passage.metadata,
        }
        for passage in passages
    ]


@pytest.mark.parametrize(
    ("strategy", "reasons"),
    [
        ("vector", [r"vector found leaf 0 \(rank 1, score 0\.\d+\)"]),
        ("bm25", [r"bm25 found leaf 0 \(rank 1, score \d\.\d+\)"]),
        (
            "hybrid",
            [
                r"in short, leaf 0 has words of the question \(rank 1\), is near to the question in meaning \(rank 1\), "
                r"has words that mean about the same, and stands in a larger piece with words of the question",
                r"bm25 found leaf 0 \(rank 1, score \d\.\d+\)",
                r"vector found leaf 0 \(rank 1, score 0\.\d+\)",
                r"leaf 0: evidence gave \d+\.\d+ = \d\.\d+ from bm25 \(rank 1, weight \d\.\d+\) "
                r"\+ \d\.\d+ from bm25 of the parent \(.*\) \+ \d\.\d+ from bm25 of the section \(.*\) "
                r"\+ \d\.\d+ from bm25 of the document \(.*\) \+ \d\.\d+ from vector \(rank 1, weight \d\.\d+\) "
                r"\+ \d\.\d+ from soft matches \(rank 1, weight \d\.\d+\)",
                r"the score of leaf 0 stands for a probability of [01]\.\d+",
            ],
        ),
        ("browse", [r"filter found leaf 0 \(rank 1, score 1\.000\)"]),
    ],
)
def test_explain_says_why(kb, strategy, reasons):
    arguments = ("query", "Who makes honey?", "--kb", kb, "--strategy", strategy, "-k", 1, "--explain")
    *_, shown = leafspan(*arguments).stdout.partition("\n  - ")
    [first] = json.loads(leafspan(*arguments, "--json").stdout)
    assert shown.rstrip("\n").split("\n  - ") == first["trace"]
    for reason, line in zip(reasons, first["trace"], strict=True):
        assert re.fullmatch(reason, line)


def test_filter_needs_no_question(kb):
    result = leafspan("query", "--kb", kb, "--strategy", "browse", "--where", '{"source": "texts/rocks.txt"}', "--json")
    rows = json.loads(result.stdout)
    assert [(row["document_id"], row["score"]) for row in rows] == [("texts/rocks.txt", 1.0)]


def test_budget_candidates_and_where_reach_the_index(kb):
    def ids(*options):
        result = leafspan("query", "Who makes honey?", "--kb", kb, "--strategy", "vector", "--json", *options)
        return [row["document_id"] for row in json.loads(result.stdout)]

    assert ids() == ["texts/bees.md", "texts/rocks.txt"]
    assert ids("--budget", 1) == ["texts/bees.md"]
    assert ids("--candidates", 1) == ["texts/bees.md"]
    assert ids("--where", '{"source": "texts/rocks.txt"}') == ["texts/rocks.txt"]
    haystack = {"field": "meta.source", "operator": "!=", "value": "texts/rocks.txt"}
    assert ids("--where", json.dumps(haystack)) == ["texts/bees.md"]


def test_query_and_explain_take_a_moment(tmp_path):
    kb = tmp_path / "kb"
    with Index.open(kb) as index:
        index.add(Document("old", "The fare is 3 euros.", metadata={"valid_until": "2024-05-01"}))
        index.add(Document("new", "The fare is 4 euros.", metadata={"valid_from": "2024-05-01"}))
    for moment, fare in (("2024-04-30", "old"), ("2024-05-01", "new"), ("now", "new")):
        printed = leafspan("query", "fare", "--kb", kb, "--as-of", moment, "--json").stdout
        assert [each["document_id"] for each in json.loads(printed)] == [fare]
    said = leafspan("explain", "fare", "--kb", kb, "--as-of", "2024-05-01", "--document", "old").stdout
    assert "its valid_until is '2024-05-01', which does not match F('valid_until') > '2024-05-01'" in said
    assert "as_of must be a date" in fails(leafspan("query", "fare", "--kb", kb, "--as-of", "2024"))


def test_nothing_found_is_no_error(kb):
    arguments = ("query", "honey", "--kb", kb, "--where", '{"source": "none"}')
    result = leafspan(*arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (
        0,
        "",
        "nothing in the index answers this: no document matches the filter\n",
    )
    assert json.loads(leafspan(*arguments, "--json").stdout) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--strategy", "magic"], "strategy must be one of 'vector', .*, got 'magic'"),
        (["-k", "0"], "k must be a whole number >= 1, got 0"),
        (["--candidates", "0"], "candidates must be a whole number >= 1, got 0"),
        (["--where", "{year"], "where must be JSON, or like F.* got '{year'"),
        (["--where", "[2020]"], r"where must be a JSON object such as .*, got '\[2020\]'"),
        (["--where", '{"year": {"$near": 2020}}'], r"\$near"),
    ],
)
def test_bad_options_are_named_in_one_line(kb, options, message):
    assert re.search(message, fails(leafspan("query", "honey", "--kb", kb, *options)))


def test_a_blank_question_is_refused(kb):
    assert "not blank" in fails(leafspan("query", " ", "--kb", kb))
    assert "not blank" in fails(leafspan("query", "--kb", kb))


@pytest.mark.parametrize(
    "command", [("query", "honey"), ("repair",), ("check",), ("show",), ("tree", "show"), ("tree", "build")]
)
def test_a_missing_index_is_an_error_and_is_not_made(tmp_path, command):
    missing = tmp_path / "missing"
    assert fails(leafspan(*command, "--kb", missing)) == f"there is no index in {str(missing)!r}"
    assert not missing.exists()


# show, check and repair


def test_show_lists_the_documents(kb):
    result = leafspan("show", "--kb", kb)
    assert result.exit_code == 0
    assert "WordLlama" in result.stdout
    row = ["texts/bees.md", "Bees", "1", str(len(BEES.split())), str(len(BEES))]
    assert row in [re.findall(r"[^\s│]+", line) for line in result.stdout.splitlines()]
    assert "2 documents" in result.stdout


def test_it_finds_nothing_in_a_whole_index(kb):
    for command in ("check", "repair"):
        result = leafspan(command, "--kb", kb)
        assert (result.exit_code, result.stdout) == (0, "kb is whole\n")


def test_repair_restores_leaves_of_versions_that_do_not_count(kb):
    with Index.open(kb, create=False) as index:
        index.client.get_collection("kb.leaves", embedding_function=None).add(
            ids=["texts/bees.md#00000000#0"], documents=["stray"], embeddings=[[1.0] * 256]
        )
    looked = leafspan("check", "--kb", kb)
    assert looked.exit_code == 1
    assert re.match("not repaired texts/bees.md: 1 leaves of version", looked.stdout)
    repaired = leafspan("repair", "--kb", kb)
    assert repaired.exit_code == 0
    assert re.match("repaired +texts/bees.md: 1 leaves of version", repaired.stdout)
    assert leafspan("check", "--kb", kb).exit_code == 0
    assert leafspan("repair", "--kb", kb, "--quick").stdout == f"{kb} is whole\n"


def test_it_compares_the_copies_with_chroma_if_it_is_asked_to(kb):
    (path,) = next((kb / "leafspan.segments").glob("*/vectors")).iterdir()
    segment = read_segment(path)
    write_segment(path, Segment(segment.documents, {**segment.arrays, "codes": segment.arrays["codes"][::-1]}))
    assert leafspan("check", "--kb", kb).exit_code == 0
    looked = leafspan("check", "--kb", kb, "--verify")
    assert looked.exit_code == 1
    assert "its copied vectors differ from what is stored in leaf 0" in looked.stdout
    repaired = leafspan("repair", "--kb", kb, "--verify")
    assert repaired.exit_code == 0
    assert repaired.stdout.endswith(f"{kb} is whole now\n")
    assert leafspan("repair", "--kb", kb, "--verify").stdout == f"{kb} is whole\n"
    assert fails(leafspan("repair", "--kb", kb, "--verify", "--quick")).startswith("quick and verify must not both be")


def test_it_names_a_few_of_many_findings_that_are_alike(kb):
    ids = [f"texts/bees.md#0000000{version}#{leaf}" for version in range(5) for leaf in range(version + 1)]
    with Index.open(kb, create=False) as index:
        index.client.get_collection("kb.leaves", embedding_function=None).add(
            ids=ids, documents=["stray"] * len(ids), embeddings=[[1.0] * 256] * len(ids)
        )
    looked = leafspan("check", "--kb", kb)
    assert looked.exit_code == 1
    bees = "texts/bees.md"
    assert looked.stdout.splitlines() == [
        f"not repaired {bees}, {bees}, {bees} and 2 more: such as 1 leaves of version 00000000, which does not count",
        "--all lists all of them",
        "nothing was changed: leafspan repair repairs what can be repaired",
    ]
    assert len(json.loads(leafspan("check", "--kb", kb, "--json").stdout)["findings"]) == 5
    *listed, last = leafspan("repair", "--kb", kb, "--all").stdout.splitlines()
    assert [line.split(": ")[1] for line in listed] == [
        f"{number} leaves of version 0000000{number - 1}, which does not count" for number in range(1, 6)
    ]
    assert last == f"{kb} is whole now"


def test_after_an_interruption_it_says_what_happened_and_that_nothing_that_is_shown_is_lost(kb, monkeypatch):
    write = Collection._write

    def interrupted(collection, method, ids, columns):
        if method != "delete" and any("#" in id_ for id_ in ids):  # leaves, and no rows
            raise KeyboardInterrupt
        return write(collection, method, ids, columns)

    with Index.open(kb, create=False) as index:
        before = {each.id: index.get(each.id).text for each in index.documents()}
        letters = [Document(f"letter {number}", f"Letter {number}.") for number in range(20)]
        with monkeypatch.context() as patch:
            patch.setattr(Collection, "_write", interrupted)
            with pytest.raises(KeyboardInterrupt):
                index.add(letters)
    first, *_, last = leafspan("repair", "--kb", kb).stdout.splitlines()
    assert first == (
        "repaired     letter 0, letter 1, letter 2 and 17 more: was half written or half deleted by an interrupted writer: "
        "it is not shown, and can be added again"
    )
    assert last == f"{kb} is whole now"
    with Index.open(kb, create=False) as index:
        assert {each.id: index.get(each.id).text for each in index.documents()} == before


def test_it_names_what_it_cannot_repair_until_it_is_indexed_again(texts, kb):
    with Index.open(kb, create=False) as index:
        [leaf] = index.leaves("texts/bees.md")
        index.client.get_collection("kb.leaves", embedding_function=None).delete(ids=[leaf.id])
    result = leafspan("repair", "--kb", kb)
    assert result.exit_code == 1
    assert "not repaired texts/bees.md: 1 of 1 leaves are missing" in result.stdout
    assert "1 replaced, 1 unchanged" in leafspan("index", texts, "--kb", kb).stdout
    assert leafspan("repair", "--kb", kb).exit_code == 0


@pytest.mark.parametrize("strategy", ["vector", "bm25", "hybrid"])
def test_a_query_keeps_the_indentation_of_the_first_line(tmp_path: Path, strategy: str):
    methods = [f"    def {name}(self, flower):\n\treturn self.{name}er(flower)\n\n" for name in ("dance", "gather")]
    text = f"class Hive:\n    bees = 3\n\n{''.join(methods)}"
    with Index.open(tmp_path / "kb") as index:
        index.add(Document("hive.py", text, chunks=(Chunk(25), Chunk(25 + len(methods[0])), Chunk(len(text)))))
    said = leafspan(
        "query", "dance dancer", "--kb", tmp_path / "kb", "--strategy", strategy, "-k", 1, "--min-score", -9
    ).stdout
    assert said.partition("\n")[2].startswith("    def dance(self, flower):\n")
    assert not said.endswith("\n\n")


# demo


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """What the demo prints, and the index that it makes."""
    kb = tmp_path_factory.mktemp("demo") / "kb"
    result = leafspan("demo", "--kb", kb)
    with Index.open(kb, create=False) as index:
        yield result, index


def test_the_demo_shows_what_both_frameworks_find_on_a_few_screens(demo):
    result, index = demo
    assert result.exit_code == 0
    assert result.stderr == ""
    for question in EXAMPLE_QUESTIONS:
        assert question in result.stdout
    assert len(result.stdout.splitlines()) <= 100
    assert "Every time, LangChain and LlamaIndex returned the same 5 passages as the index" in " ".join(
        result.stdout.split()
    )
    questions = [(question, name) for question in EXAMPLE_QUESTIONS for name in COMPARED] + [(THEME, "tree")]
    for question, name in questions:
        found = index.retrieve(question, STRATEGIES[name].strategy)[0]
        assert f"{found.document_id} [{found.start}:{found.end}]  score {found.score:.3f}" in result.stdout
        assert " ".join(found.text.split()[:5]) in result.stdout


def test_the_demo_shows_a_tree_and_a_summary_about_a_theme(demo):
    result, index = demo
    output = result.stdout
    root, *_ = index.summaries(THEME_DOCUMENT)
    characters = len(index.get(THEME_DOCUMENT).text)
    best = index.retrieve(THEME, Tree(), k=2)
    (run,) = root.summary.covers
    assert f"\n  layer 2  {THEME_DOCUMENT}, {run.last + 1} leaves, {characters:,} characters  {root.text[:10]}" in output
    assert 1 in [each.layer for each in best]  # a summary comes soon


@pytest.mark.slow
def test_a_disagreement_of_the_frameworks_is_shown_and_ends_with_code_1(monkeypatch):
    monkeypatch.setitem(FRAMEWORKS, "LlamaIndex", lambda *arguments: [])
    result = leafspan("demo")
    assert result.exit_code == 1
    assert (
        result.stdout.count("LlamaIndex and the index do NOT agree on 5 passages")
        == len(EXAMPLE_QUESTIONS) * len(COMPARED) + 1
    )
    assert "LangChain and the index do NOT agree" not in result.stdout


@pytest.mark.slow
def test_the_demo_goes_on_without_a_framework_that_is_missing(monkeypatch):
    for module in [name for name in sys.modules if name.startswith("langchain_ext")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "langchain_core.retrievers", None)
    result = leafspan("demo")
    assert result.exit_code == 0
    assert 'pip install ".[langchain]" in the clone of leafspan' in result.stdout
    assert "Every time, LlamaIndex returned the same 5 passages" in " ".join(result.stdout.split())


def test_the_examples_answer_their_questions():
    documents = {document.id: document for document in example_documents()}
    assert len(documents) == 6
    assert documents["Steam_engine"].title == "Steam engine"
    assert all(d.metadata == {"source": "Wikipedia", "licence": "CC BY-SA 4.0"} for d in documents.values())
    assert sum(len(document.text.encode()) for document in documents.values()) < 150_000
    answers = ("killed by the activity of digestive enzymes", "Scheele, in Uppsala, in 1773 or earlier", "Thomas Newcomen")
    for answer, id_ in zip(answers, ("Immune_system", "Oxygen", "Steam_engine"), strict=True):
        assert answer in documents[id_].text


# the whole program


def test_python_m_leafspan_is_the_command_and_loads_no_framework_and_no_chroma():
    code = (
        "import sys, runpy; sys.argv = ['leafspan', '--version']\ntry: runpy.run_module('leafspan', run_name='__main__')\n"
    )
    code += "finally: print(sorted({'chromadb', 'langchain_core', 'llama_index', 'tokenizers'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"\d+\.\d+\S*\n\[\]\n", done.stdout)


def test_without_arguments_the_commands_are_listed():
    result = leafspan()
    assert [
        name for name in ("index", "query", "show", "tree", "check", "repair", "demo") if name not in result.output
    ] == []


def test_a_query_can_have_a_timeout(kb, monkeypatch):
    assert leafspan("query", "volcano", "--kb", kb, "--timeout", 20).exit_code == 0
    assert (
        fails(leafspan("query", "volcano", "--kb", kb, "--timeout", 0))
        == "timeout must be a number of seconds > 0, got 0.0"
    )
    searching, released = threading.Event(), threading.Event()

    def never():
        searching.set()
        released.wait(60)

    def search(*_):
        yield Call(never, what="a search")

    monkeypatch.setattr("leafspan.retrieval._index_answers.IndexAnswers._loaded_vector_search", search)
    for timeout in longer_and_longer(0.2):
        failed = fails(leafspan("query", "volcano", "--kb", kb, "--strategy", "vector", "--timeout", timeout))
        if searching.is_set():
            break
    released.set()
    assert failed.startswith(
        f"a retrieval must be done within its timeout of {timeout:g} seconds, and this one still waits for a search"
    )
