"""The command line, each command as a user types it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from leafspan import Index
from leafspan.cli import app
from leafspan.cli.demo import COMPARED
from leafspan.cli.frameworks import FRAMEWORKS
from leafspan.cli.strategies import STRATEGIES
from leafspan.examples import EXAMPLE_QUESTIONS, example_documents

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


@pytest.fixture
def texts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "bees.md").write_text(BEES)
    (folder / "rocks.txt").write_text(ROCKS)
    (folder / "photo.jpg").write_bytes(b"\xff\xd8")
    return Path("texts")


@pytest.fixture
def kb(texts):
    assert leafspan("index", texts, "--into", "kb").exit_code == 0
    return Path("kb")


# index


def test_indexing_a_folder_takes_its_text_and_markdown_files(texts):
    result = leafspan("index", texts, "--into", "kb")
    assert result.exit_code == 0
    assert "kb: 2 added, 0 replaced, 0 unchanged" in result.stdout
    with Index.open("kb", create=False) as index:
        assert [document.id for document in index.documents()] == ["texts/bees.md", "texts/rocks.txt"]
        assert index.get("texts/bees.md").text == BEES


def test_indexing_twice_leaves_the_unchanged_alone_and_replaces_the_changed(texts, kb):
    assert "0 added, 0 replaced, 2 unchanged" in leafspan("index", texts, "--into", kb).stdout
    (texts / "rocks.txt").write_text("Slate splits.\n")
    assert "0 added, 1 replaced, 1 unchanged" in leafspan("index", texts, "--into", kb).stdout


def test_a_file_named_twice_is_indexed_once(texts):
    assert "kb: 2 added" in leafspan("index", texts, texts / "bees.md", "--into", "kb").stdout


def test_leaf_words_and_context_sentences_are_kept_in_the_index(texts):
    leafspan("index", texts, "--into", "kb", "--leaf-words", 5, "--context-sentences", 1)
    with Index.open("kb", create=False) as index:
        assert "leaf_words=5," in index.stats().splitter
        assert index.stats().context_sentences == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "there is no file 'nowhere'"),
        (["texts/photo.jpg"], r"files must be text or Markdown .*photo\.jpg"),
        (["empty"], r"there are no text or Markdown files \(.*\) in empty"),
        (["texts", "--leaf-words", "0"], "--leaf-words must be from 1 to 149, as parents have 150, got 0"),
        (["texts", "--leaf-words", "200"], "--leaf-words must be from 1 to 149, as parents have 150, got 200"),
        (["texts", "--context-sentences", "-1"], "context_sentences must be a whole number >= 0, got -1"),
    ],
)
def test_what_cannot_be_indexed_is_said_and_leaves_no_index_behind(texts, arguments, message):
    Path("empty").mkdir()
    assert re.search(message, fails(leafspan("index", *arguments, "--into", "kb")))
    assert not Path("kb").exists()


def test_another_leaf_size_than_the_indexs_is_refused(texts, kb):
    assert "was made with splitter=" in fails(leafspan("index", texts, "--into", kb, "--leaf-words", 5))


# query


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_prints_document_place_score_and_text(kb, strategy):
    result = leafspan("query", "Who makes honey?", "--kb", kb, "--strategy", strategy, "-k", 1)
    assert result.exit_code == 0
    head, *lines = result.stdout.splitlines()
    assert re.fullmatch(r"1\. texts/bees\.md  characters \d+ to \d+  score \d\.\d{3}", head)
    assert "Bees make honey in a hive." in "\n".join(lines)


def test_markup_in_a_text_is_printed_as_it_is(kb):
    assert "[red]Rust[/red] is [/not] markup." in leafspan("query", "Rust on rocks", "--kb", kb).stdout


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_json_holds_what_the_index_returns(kb, strategy):
    result = leafspan("query", "volcano", "--kb", kb, "--strategy", strategy, "-k", 2, "--json")
    with Index.open(kb, create=False) as index:
        passages = index.retrieve("volcano", STRATEGIES[strategy].strategy, k=2)
    assert json.loads(result.stdout) == [
        {
            "id": passage.id,
            "document_id": passage.document_id,
            "start": passage.start,
            "end": passage.end,
            "score": passage.score,
            "text": passage.text,
            "metadata": passage.metadata,
        }
        for passage in passages
    ]


@pytest.mark.parametrize(
    ("strategy", "reasons"),
    [
        ("vector", [r"vector found leaf 0 \(score 0\.\d+\)"]),
        ("bm25", [r"bm25 found leaf 0 \(rank 1, score \d\.\d+\)"]),
        (
            "hybrid",
            [
                r"bm25 found leaf 0 \(rank 1, score \d\.\d+\)",
                r"vector found leaf 0 \(rank 1, score 0\.\d+\)",
                r"leaf 0: relative score gave 1\.000 = 0\.700 from bm25 \(rank 1\) \+ 0\.300 from vector \(rank 1\)",
                r"the score of leaf 0 stands for a probability of 0\.\d+",
            ],
        ),
        ("filter", [r"filter found leaf 0 \(score 1\.000\)"]),
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
    result = leafspan("query", "--kb", kb, "--strategy", "filter", "--where", '{"source": "texts/rocks.txt"}', "--json")
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


def test_nothing_found_is_no_error(kb):
    arguments = ("query", "honey", "--kb", kb, "--where", '{"source": "none"}')
    result = leafspan(*arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "nothing found\n")
    assert json.loads(leafspan(*arguments, "--json").stdout) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--strategy", "magic"], "strategy must be one of vector, .*, got 'magic'"),
        (["-k", "0"], "k must be a whole number >= 1, got 0"),
        (["--candidates", "0"], "candidates must be a whole number >= 1, got 0"),
        (["--where", "{year"], "where must be JSON, got '{year'"),
        (["--where", "[2020]"], r"where must be a JSON object such as .*, got '\[2020\]'"),
        (["--where", '{"year": {"$near": 2020}}'], r"\$near"),
    ],
)
def test_bad_options_are_named_in_one_line(kb, options, message):
    assert re.search(message, fails(leafspan("query", "honey", "--kb", kb, *options)))


def test_a_blank_question_is_refused(kb):
    assert "not blank" in fails(leafspan("query", " ", "--kb", kb))
    assert "not blank" in fails(leafspan("query", "--kb", kb))


@pytest.mark.parametrize("command", [("query", "honey"), ("doctor",), ("doctor", "--dry-run"), ("show",)])
def test_a_missing_index_is_an_error_and_is_not_made(tmp_path, command):
    missing = tmp_path / "missing"
    assert fails(leafspan(*command, "--kb", missing)) == f"there is no index in {str(missing)!r}"
    assert not missing.exists()


# show and doctor


def test_show_lists_the_documents(kb):
    result = leafspan("show", "--kb", kb)
    assert result.exit_code == 0
    assert "WordLlama" in result.stdout
    row = ["texts/bees.md", "Bees", "1", str(len(BEES.split())), str(len(BEES))]
    assert row in [re.findall(r"[^\s│]+", line) for line in result.stdout.splitlines()]
    assert "2 documents" in result.stdout


def test_the_doctor_finds_nothing_in_a_whole_index(kb):
    for options in ((), ("--dry-run",)):
        result = leafspan("doctor", "--kb", kb, *options)
        assert (result.exit_code, result.stdout) == (0, "kb is whole\n")


def test_the_doctor_mends_leaves_that_belong_to_no_document(kb):
    with Index.open(kb, create=False) as index:
        index.client.get_collection("kb.leaves", embedding_function=None).add(
            ids=["stray#00000000#0"], documents=["stray"], embeddings=[[1.0] * 256]
        )
    looked = leafspan("doctor", "--kb", kb, "--dry-run")
    assert looked.exit_code == 1
    assert re.match("not mended stray: 1 leaves", looked.stdout)
    mended = leafspan("doctor", "--kb", kb)
    assert mended.exit_code == 0
    assert re.match("mended +stray: 1 leaves", mended.stdout)
    assert leafspan("doctor", "--kb", kb, "--dry-run").exit_code == 0


def test_the_doctor_says_what_it_cannot_mend_until_it_is_indexed_again(texts, kb):
    with Index.open(kb, create=False) as index:
        [leaf] = index.leaves("texts/bees.md")
        index.client.get_collection("kb.leaves", embedding_function=None).delete(ids=[leaf.id])
    result = leafspan("doctor", "--kb", kb)
    assert result.exit_code == 1
    assert "not mended texts/bees.md: 1 of 1 leaves are missing" in result.stdout
    assert "1 replaced, 1 unchanged" in leafspan("index", texts, "--into", kb).stdout
    assert leafspan("doctor", "--kb", kb).exit_code == 0


# demo


def test_the_demo_shows_the_same_passages_through_both_frameworks(tmp_path):
    result = leafspan("demo", "--into", tmp_path / "kb")
    assert result.exit_code == 0
    assert result.stderr == ""
    for question in EXAMPLE_QUESTIONS:
        assert question in result.stdout
    asked = len(EXAMPLE_QUESTIONS) * len(COMPARED)
    assert result.stdout.count("LangChain, LlamaIndex and the index agree on") == asked
    _, *blocks = re.split(r"^  (?=LangChain$)", result.stdout, flags=re.MULTILINE)
    assert len(blocks) == asked
    with Index.open(tmp_path / "kb", create=False) as index:
        for number, block in enumerate(blocks):
            question = EXAMPLE_QUESTIONS[number // len(COMPARED)]
            strategy = STRATEGIES[COMPARED[number % len(COMPARED)]].strategy
            first, second = index.retrieve(question, strategy)[:2]
            words = " ".join(first.text.split()[:5])
            langchain, llamaindex = block.split("  why passage 1")[0].split("  LlamaIndex\n")
            assert langchain.removeprefix("LangChain\n") == llamaindex
            assert f"1. {first.document_id} [{first.start}:{first.end}]  score {first.score:.3f}" in llamaindex
            assert f"2. {second.document_id} [{second.start}:{second.end}]  score {second.score:.3f}" in llamaindex
            assert words in " ".join(llamaindex.split())


def test_a_disagreement_of_the_frameworks_is_shown_and_ends_with_code_1(monkeypatch):
    monkeypatch.setitem(FRAMEWORKS, "LlamaIndex", lambda *arguments: [])
    result = leafspan("demo")
    assert result.exit_code == 1
    assert "LangChain, LlamaIndex and the index do NOT agree on 5 passages" in result.stdout


def test_the_demo_goes_on_without_a_framework_that_is_missing(monkeypatch):
    for module in [name for name in sys.modules if name.startswith("langchain_ext")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "langchain_core.retrievers", None)
    result = leafspan("demo")
    assert result.exit_code == 0
    assert 'pip install "leafspan[langchain]"' in result.stdout
    assert "LlamaIndex and the index agree on" in result.stdout
    assert "  LangChain\n" not in result.stdout


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
    code += "finally: print(sorted({'chromadb', 'langchain_core', 'llama_index', 'wordllama'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"\d+\.\d+\S*\n\[\]\n", done.stdout)


def test_without_arguments_the_commands_are_listed():
    result = leafspan()
    assert [name for name in ("index", "query", "show", "doctor", "demo") if name not in result.output] == []
