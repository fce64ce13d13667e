"""Other processes prepare documents: the index is the same as without them, even if a process ends."""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from typer.testing import CliRunner

from leafspan import BM25, Document, Files, Hybrid, Index, InvalidArgument, Vector
from leafspan.cli import app
from leafspan.errors import FunctionFailed, InvalidDocument
from leafspan.indexing import _ingest, _workers
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER
from tests.indexing.test_copying import check_equal
from tests.indexing.worker_embedders import Ends, embed, fail, leave, slowly

TEXTS = {
    "a.md": "# Tea\n\nTea leaves are dried.\n\n## Green\n\nGreen tea is heated.",
    "b.txt": "Bees dance. " * 200,
    "c.csv": "name,price\nsalt,3\ntea,5\n",
    "d.jsonl": '{"id": "one", "text": "The old pier burned down."}\nno json\n{"id": "two", "text": "It was built again."}\n',
    "e.md": "",
    "f.json": "{broken",
    "unchanged.md": "It stays as it is.",
}


def lists(index: Index) -> list[Any]:
    return [
        [(p.id, pytest.approx(p.score, abs=1e-9)) for p in index.retrieve(q, s, k=8)]
        for q in QUESTIONS
        for s in (BM25(), Vector(), Hybrid())
    ]


@pytest.fixture
def processes() -> Iterator[list[Any]]:
    """The processes of this machine that were started, as pools."""
    begun: list[Any] = []
    start = _workers.Processes.__init__

    def noting(self: Any, *given: Any) -> None:
        start(self, *given)
        begun.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_workers.Processes, "__init__", noting)
        yield begun


@pytest.mark.slow
def test_the_index_matches_a_single_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: list[Any]):
    """Also after changes, in the order of the documents, and with what cannot be read."""
    monkeypatch.setattr("leafspan.indexing._workers._CHARACTERS", 50)
    source = tmp_path / "files"
    source.mkdir()
    for name, text in TEXTS.items():
        (source / name).write_text(text)
    results = {}
    with Index.open(tmp_path / "one", splitter=SPLITTER) as one, Index.open(tmp_path / "two", splitter=SPLITTER) as two:
        for index, workers in ((one, None), (two, 2)):
            results[workers] = [index.add(DOCUMENTS, workers=workers), index.sync(source, workers=workers)]
        check_equal(two, one)
        (source / "b.txt").write_text("Bees hum.")
        (source / "c.csv").unlink()
        (source / "g.html").write_text("<h1>New</h1><p>It is new.</p>")
        for index, workers in ((one, None), (two, 2)):
            results[workers] += [index.add(DOCUMENTS, workers=workers), index.sync(source, workers=workers)]
        check_equal(two, one)
        assert lists(two) == lists(one)
        assert two.check(verify=True) == []
        assert results[2] == results[None]
        assert results[2][1].skipped
        assert results[2][3].deleted == ("files/c.csv",)
        assert not two.sync(source, workers=2, dry_run=True).added
    assert len(processes) == 4


async def test_asynchronous_methods_and_views_take_workers(tmp_path: Path):
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as index:
        view = index.scoped({"tenant": "anna"})
        assert len((await view.aadd([Document("a", "An A."), Document("b", "A B.")], workers=1)).added) == 2
        assert view.count() == 2
        (tmp_path / "c.md").write_text("A C.")
        assert (await index.a_sync(tmp_path / "c.md", workers=1)).added == ("c.md",)
        assert index.add([], workers=1).added == ()


@pytest.mark.slow
def test_the_work_of_a_process_that_was_killed_is_done_by_others(tmp_path: Path, processes: list[Any]):
    marks = tmp_path / "marks"
    marks.mkdir()
    documents = [Document(f"d{n}", f"Text {n} {'is deadly' if n == 5 else 'is not'}. " * 400) for n in range(12)]
    with (
        Index.open(tmp_path / "one", embedder=Ends(marks, 0), splitter=SPLITTER, embedding_cache=False) as one,
        Index.open(tmp_path / "two", embedder=Ends(marks, 2), splitter=SPLITTER, embedding_cache=False) as two,
    ):
        one.add(documents)
        assert len(two.add(documents, workers=2).added) == 12
        check_equal(two, one)
        assert len(processes) == 3
        for mark in marks.iterdir():
            mark.unlink()
        two._sources.embedder._embedder.documents._times = 100
        with pytest.raises(FunctionFailed, match=r"worker processes end again and again.*take fewer workers") as raised:
            two.add([Document("more", "More."), Document("bad", "It is deadly.")], workers=1)
        assert "stored 0 of 2 documents; add the same again to go on" in raised.value.__notes__


@pytest.mark.slow
def test_what_another_writer_has_written_meanwhile_is_not_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What a worker has made of all documents of a group then does not fit those that are left."""
    documents = [Document(f"d{n}", f"Text {n} about tea and bees. " * 9) for n in range(6)]
    write = _ingest.write_group
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as index, Index.open(tmp_path / "one", splitter=SPLITTER) as one:
        index.add(Document("first", "It begins."))

        def writing(store: Any, some: Any, *given: Any, **options: Any) -> Any:
            monkeypatch.setattr(_ingest, "write_group", write)
            with Index.open(tmp_path / "kb", splitter=SPLITTER) as other:
                other.add(documents[1:3])
            return (yield from write(store, some, *given, **options))

        monkeypatch.setattr(_ingest, "write_group", writing)
        index.add(documents, workers=1)
        one.add([Document("first", "It begins."), *documents])
        check_equal(index, one)
        assert lists(index) == lists(one)
        assert index.check(verify=True) == []


def test_what_fails_in_another_process_fails_here(tmp_path: Path):
    with Index.open(tmp_path / "kb", embedder=fail, splitter=SPLITTER, embedding_cache=False) as index:
        index.add(Document("a", "An A."))
        with pytest.raises(FunctionFailed, match="no luck"):
            index.add(Document("b", "It is unlucky."), workers=1)
        with pytest.raises(InvalidDocument):
            index.add([Document("c", "C."), Document("c", "Another C.")], workers=1)
        assert index.count() == 1


def test_a_function_that_ends_its_worker_is_an_error_here(tmp_path: Path):
    with Index.open(tmp_path / "kb", embedder=leave, splitter=SPLITTER, embedding_cache=False) as index:
        with pytest.raises(FunctionFailed, match=r"must return or raise an error, and raised SystemExit\(0\) in a worker"):
            index.add([Document("a", "An A."), Document("b", "Farewell, farewell.")], workers=1)
        assert index.add(Document("a", "An A."), workers=1).added == ("a",)


@pytest.mark.parametrize(
    "error", [SystemExit(), SystemExit("x"), KeyboardInterrupt(), GeneratorExit(), asyncio.CancelledError()]
)
def test_an_error_of_any_kind_in_a_worker_is_an_exception(error: BaseException, monkeypatch: pytest.MonkeyPatch):
    def raise_it(_: object) -> None:
        raise error

    monkeypatch.setattr(_workers, "_kept", {})
    for shared, function in ((pickle.dumps(None), raise_it), (pickle.dumps(Unloadable(error)), print)):
        with pytest.raises(FunctionFailed, match=f"raised {type(error).__name__}") as raised:
            _workers._with_shared(shared, function)
        assert pickle.loads(pickle.dumps(raised.value)).args == raised.value.args


class Unloadable:
    """A value whose module ends the program when it is loaded."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __reduce__(self) -> Any:
        return _raised, (self._error,)


def _raised(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize("workers", [-1, 1.5, "two", True])
def test_the_number_of_workers_is_a_whole_number(index: Index, workers: Any):
    with pytest.raises(InvalidArgument, match="workers must be a whole number >= 0"):
        index.add(Document("a", "An A."), workers=workers)
    assert "a" not in [each.id for each in index.documents()]


def test_what_cannot_be_sent_to_another_process_is_said(tmp_path: Path):
    with (
        Index.open(tmp_path / "kb", embedder=lambda texts: embed([*texts]), embedding_cache=False) as index,
        pytest.raises(InvalidArgument, match="workers need an embedder, a splitter and an analyzer that can be sent"),
    ):
        index.add(Document("a", "An A."), workers=1)


def test_what_a_worker_cannot_load_is_said(tmp_path: Path):
    """As a function of a notebook, which only this process has."""
    module = types.ModuleType("only_here")
    exec("def embed(texts): return [[1.0, len(text)] for text in texts]", module.__dict__)
    sys.modules["only_here"] = module
    try:
        with (
            Index.open(tmp_path / "kb", embedder=module.embed, embedding_cache=False) as index,
            pytest.raises(InvalidArgument, match=r"a worker cannot load the embedder.*No module named 'only_here'"),
        ):
            index.add(Document("a", "An A."), workers=1)
    finally:
        del sys.modules["only_here"]


def test_files_with_a_reader_that_cannot_be_sent_are_read_here(tmp_path: Path):
    (tmp_path / "a.xyz").write_text("An A.")
    files = Files([tmp_path], readers={".xyz": lambda path: path.read_text()})
    with Index.open(tmp_path / "kb") as index:
        assert index.add(files, workers=1).added == ("a.xyz",)


@pytest.mark.slow
def test_a_driver_that_was_killed_is_gone_on_with(tmp_path: Path):
    """What it had written stays, and its workers end with it."""
    code = (
        "import sys\nfrom leafspan import Document, Index\nfrom tests.corpus import SPLITTER\n"
        "from tests.indexing.worker_embedders import slowly\n"
        "if __name__ == '__main__':\n"
        f"    index = Index.open({str(tmp_path / 'kb')!r}, embedder=slowly, splitter=SPLITTER, embedding_cache=False)\n"
        "    index.add([Document(f'd{n}', f'Text {n}. ' * 1100) for n in range(24)], workers=2)\n"
    )
    script = tmp_path / "script.py"
    script.write_text(code)
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen([sys.executable, str(script)], env={**os.environ, "PYTHONPATH": path})
    with Index.open(tmp_path / "kb", embedder=slowly, splitter=SPLITTER, embedding_cache=False) as index:
        until = time.monotonic() + 60
        while index.count() < 2:
            assert time.monotonic() < until
            assert process.poll() is None
            time.sleep(0.05)
        workers = psutil.Process(process.pid).children(recursive=True)
        assert len(workers) >= 2
        process.kill()
        process.wait()
        _, left = psutil.wait_procs(workers, 20)
        assert [each for each in left if each.is_running() and each.status() != psutil.STATUS_ZOMBIE] == []
        there = index.count()
        assert 2 <= there < 24
        added = index.add([Document(f"d{n}", f"Text {n}. " * 1100) for n in range(24)], workers=2)
        assert added.unchanged >= there
        assert index.count() == 24
        assert index.check() == []


def test_the_command_takes_workers(tmp_path: Path):
    (tmp_path / "a.md").write_text("An A.")
    done = CliRunner().invoke(app, ["sync", str(tmp_path / "a.md"), "--kb", str(tmp_path / "kb"), "--workers", "1"])
    assert done.exit_code == 0, done.output
    assert "1 added" in done.output
