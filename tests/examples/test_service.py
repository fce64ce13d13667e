"""The service of examples/service, over HTTP: with a client in this process, and with workers of uvicorn."""

from __future__ import annotations

import json
import os
import runpy
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leafspan import Document, Index
from leafspan.errors import ServerTimeout, WriterBusy

FOLDER = Path(__file__).parents[2] / "examples" / "service"
QUESTION = {"question": "When did the pier burn down?", "k": 2}


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A folder with an index of two tenants, and documents to sync."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "new.md").write_text("# New\n\nThe lighthouse was built in 1850.")
    with Index.open(tmp_path / "kb") as index:
        index.add(Document("pier", "The old pier burned down in 1912.\n", metadata={"tenant": "anna"}))
        index.add(Document("bees", "Bees dance.", metadata={"tenant": "bert"}))
    return tmp_path


@pytest.fixture
def client(filled: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    pytest.importorskip("fastapi")
    from starlette.testclient import TestClient

    monkeypatch.setenv("LEAFSPAN_INDEX", str(filled / "kb"))
    monkeypatch.setenv("LEAFSPAN_DOCS", str(filled / "docs"))
    with TestClient(runpy.run_path(str(FOLDER / "app.py"))["app"], raise_server_exceptions=False) as opened:
        yield opened


def test_an_answer_has_its_sources(client: Any):
    found = client.post("/ask", json=QUESTION).json()
    assert found["answer"] == "The old pier burned down in 1912. [1]"
    assert found["sources"][0]["document"] == "pier"
    assert found["sources"][0]["where"] == "lines 1 to 1"
    assert client.get("/health").json() == {"documents": 2}


def test_a_tenant_sees_its_own_documents(client: Any):
    found = client.post("/ask", json=QUESTION, headers={"X-Tenant": "bert"}).json()
    assert {each["document"] for each in found["sources"]} <= {"bees"}


def test_an_answer_streams_after_its_sources(client: Any):
    lines = client.post("/stream", json=QUESTION).text.split("\n\n")
    events = [dict(line.split(": ", 1) for line in event.split("\n")) for event in lines if event]
    assert [each["event"] for each in events] == ["sources", *["word"] * 8, "end"]
    assert json.loads(events[0]["data"])[0]["document"] == "pier"
    assert "".join(json.loads(each["data"]) for each in events[1:-1]) == "The old pier burned down in 1912. [1]"


def test_a_sync_brings_the_folder_in(client: Any, filled: Path):
    (filled / "docs" / "bad.pdf").write_bytes(b"no PDF")
    synced = client.post("/sync").json()
    assert (synced["added"], synced["deleted"]) == (1, 0)
    assert synced["skipped"][0]["path"].endswith("bad.pdf")
    assert (
        client.post("/ask", json={"question": "When was the lighthouse built?", "k": 1}).json()["answer"].count("1850") == 1
    )


@pytest.mark.parametrize("asked", [{}, {"question": ""}, {"question": "x", "k": 0}, {"question": "x", "k": "many"}])
def test_a_bad_question_is_refused(client: Any, asked: dict[str, Any]):
    assert client.post("/ask", json=asked).status_code == 422


@pytest.mark.parametrize("route", ["/ask", "/stream"])
@pytest.mark.parametrize(
    "body",
    [
        rb'{"question": "\ud800 pier"}',  # half a character
        rb'{"\udfff": 1}',
        *(b'{"question": "x", "k": %s}' % number for number in (b"1e400", b"-1e400", b"NaN", b"Infinity", b"1" * 5000)),
        b'{"question": Infinity}',
        b'{"question": {"a": [1e400]}}',
        b"\xff",
        b"[" * 100_000,
        b"",
    ],
)
def test_a_request_that_is_no_question_is_refused_with_a_status(client: Any, route: str, body: bytes):
    found = client.post(route, content=body, headers={"Content-Type": "application/json"})
    assert found.status_code in (400, 422)
    assert found.json()["detail"]


def test_a_tenant_of_any_bytes_sees_nothing_of_others(client: Any):
    found = client.post("/ask", json=QUESTION, headers={b"X-Tenant": b"\xff\xfe"})
    assert (found.status_code, found.json()["sources"]) == (200, [])


@pytest.mark.parametrize("is_there", [True, False])
def test_an_empty_folder_deletes_nothing_and_says_so(client: Any, filled: Path, is_there: bool):
    client.post("/sync")
    (filled / "docs" / "new.md").unlink()
    if not is_there:
        (filled / "docs").rmdir()
    found = client.post("/sync")
    assert found.status_code == 422
    assert "allow_empty" in found.json()["detail"]
    assert client.get("/health").json() == {"documents": 3}


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are Unicode here")
def test_a_file_with_a_name_that_is_no_unicode_is_skipped_and_named(client: Any, filled: Path):
    Path(os.fsdecode(os.fsencode(filled / "docs") + b"/\xff\xfe.md")).write_text("A text.")
    synced = client.post("/sync")
    assert (synced.status_code, synced.json()["added"]) == (200, 1)
    [skipped] = synced.json()["skipped"]
    assert skipped["path"].endswith("\udcff\udcfe.md")


@pytest.mark.parametrize(("error", "status"), [(WriterBusy("busy"), 409), (ServerTimeout("late"), 503)])
def test_what_goes_wrong_is_a_status(client: Any, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int):
    async def failing(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(client.app.state.index, "a_sync", failing)
    found = client.post("/sync")
    assert (found.status_code, found.headers["Retry-After"]) == (status, "1")
    assert found.json()["detail"] == str(error)


def test_workers_of_uvicorn_answer_and_see_what_is_synced(filled: Path):
    pytest.importorskip("fastapi")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "app:app", "--app-dir", str(FOLDER), "--port", str(port), "--workers", "2"]
    where = {"LEAFSPAN_INDEX": str(filled / "kb"), "LEAFSPAN_DOCS": str(filled / "docs")}
    server = subprocess.Popen(command, env={**os.environ, **where}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def post(path: str, asked: dict[str, Any] | None = None) -> Any:
        data = json.dumps(asked or {}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answered:
            return json.load(answered)

    try:
        until = time.monotonic() + 60
        while True:
            try:
                assert post("/ask", QUESTION)["sources"][0]["document"] == "pier"
                break
            except urllib.error.URLError:
                assert time.monotonic() < until
                time.sleep(0.2)
        assert post("/sync")["added"] == 1
        for _ in range(6):  # any worker may answer
            assert "1850" in post("/ask", {"question": "When was the lighthouse built?", "k": 1})["answer"]
    finally:
        server.terminate()
        server.wait(30)


def test_the_image_takes_what_there_is():
    """No image is built here, so at least what its file copies is there."""
    lines = (FOLDER / "Dockerfile").read_text().splitlines()
    copied = [word for line in lines if line.startswith("COPY") for word in line.split()[1:-1]]
    assert all((FOLDER.parents[1] / each).exists() for each in copied)
    assert "examples/service/Dockerfile" in (FOLDER / "compose.yaml").read_text()
