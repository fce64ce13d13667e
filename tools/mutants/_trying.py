"""Runs tests on changed code, in a process of its own for each change."""

from __future__ import annotations

import compileall
import contextlib
import importlib
import io
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

# Loaded once, before processes are forked. None of them may start a thread, and nothing of leafspan may be among them.
_LOADED_ONCE = (
    "pytest",
    "hypothesis",
    "hypothesis.strategies",
    "numpy",
    "chromadb",
    "chromadb.api.client",
    "wordllama",
    "langchain_core.retrievers",
    "langchain_core.documents",
    "langchain_core.runnables",
    "llama_index.core",
    "sybil",
)
_MOST_MEMORY = 12 * 2**30
_LEAST_SECONDS = 20
_POLL_SECONDS = 0.1
_NO_LIMIT = (3600.0, 3600.0)


@dataclass(frozen=True)
class Tests:
    """Tests to run on a change.

    Attributes:
        name: What the run is called.
        files: The files.
        first: Number of files to run before the others are even imported.
        options: Further options of pytest.
        thorough: Whether property tests try as many examples as in ``make test-all``.
    """

    name: str
    files: tuple[str, ...]
    first: int = 0
    options: tuple[str, ...] = ("-m", "not slow")
    thorough: bool = False

    @property
    def kind(self) -> object:
        """What is the same for runs of the same tests in any order."""
        return frozenset(self.files), self.options, self.thorough


@dataclass(frozen=True)
class Outcome:
    """What came of it.

    Attributes:
        failed: The test that noticed the change. None if none did, "timeout" if the tests did not end in time.
        seconds: Seconds that the tests took.
        processor_seconds: Seconds of processor time of them.
    """

    failed: str | None
    seconds: float
    processor_seconds: float


def load_once() -> None:
    """Import what takes long to import and is never changed."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    for name in _LOADED_ONCE:
        importlib.import_module(name)
    import pytest

    with tempfile.TemporaryDirectory() as empty, contextlib.redirect_stdout(io.StringIO()):
        pytest.main(["-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", empty, empty])  # loads its plugins
    from hypothesis.internal.conjecture.engine import ConjectureRunner

    # That a test fails is all that is asked, not on what smallest example.
    ConjectureRunner.shrink_interesting_examples = lambda self: None  # type: ignore[method-assign]
    assert not any(name.partition(".")[0] == "leafspan" for name in sys.modules)


class Place:
    """A copy of the package to change, and a process that runs tests on it.

    Args:
        root: Root of the repository.
        folder: Folder to make the copy in.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._folder = folder
        self._source = folder / "shared"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(root / "shared", self._source, ignore=shutil.ignore_patterns("__pycache__"))
        compileall.compile_dir(self._source, quiet=2)
        self._running: tuple[int, float, float, float] | None = None

    def start(
        self, module: str | None, code: str, tests: Tests, seconds: tuple[float, float], skipped: Sequence[str]
    ) -> None:
        """Start tests on a changed module.

        Args:
            module: Path of the module below the package; None to change nothing.
            code: Its text.
            tests: The tests.
            seconds: Most seconds, and most seconds of processor time.
            skipped: Tests to leave out, since they fail without a change.
        """
        if module is not None:
            self._write(module, code)
        shutil.rmtree(self._folder / "tmp", ignore_errors=True)
        (self._folder / "failed").unlink(missing_ok=True)
        pid = os.fork()
        if pid == 0:
            try:
                self._run(tests, seconds[1], skipped)
            except BaseException:
                traceback.print_exc()
            os._exit(70)
        self._running = (pid, time.monotonic(), seconds[0], 0.0)
        self._module = module

    def poll(self) -> Outcome | None:
        """What came of the tests, None while they run."""
        assert self._running is not None
        pid, began, most, _ = self._running
        done, status, usage = os.wait4(pid, os.WNOHANG)
        late = time.monotonic() - began > most
        if not done and not late:
            return None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)  # its whole session: tests start processes
        if not done:
            _, status, usage = os.wait4(pid, 0)
        self._running = None
        if self._module is not None:
            self._write(self._module, (self._root / "shared" / "leafspan" / self._module).read_text(encoding="utf-8"))
        code = os.waitstatus_to_exitcode(status)
        failed: str | None = None
        if late or code == -signal.SIGXCPU:
            failed = "timeout"
        elif code != 0:
            noted = self._folder / "failed"
            failed = noted.read_text(encoding="utf-8").strip() if noted.exists() else f"exit code {code}"
        return Outcome(failed, time.monotonic() - began, usage.ru_utime + usage.ru_stime)

    def _write(self, module: str, code: str) -> None:
        path = self._source / "leafspan" / module
        path.write_text(code, encoding="utf-8")
        # Python takes a cached file of the same second and size for current.
        for cached in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            cached.unlink()

    def _run(self, tests: Tests, processor_seconds: float, skipped: Sequence[str]) -> None:
        """In the new process: run the tests, and exit."""
        os.setsid()
        most = int(processor_seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5))
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
        log = os.open(self._folder / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.chdir(self._root)
        os.environ.update(
            PYTHONPATH=os.pathsep.join([str(self._source), str(self._root)]),
            LEAFSPAN_TESTS="thorough" if tests.thorough else "",
            CI="1",
        )
        sys.path[:0] = [str(self._source), str(self._root)]
        import pytest

        options = [
            *("-q", "--tb=line", "--no-header", "-p", "no:cacheprovider", f"--basetemp={self._folder / 'tmp'}"),
            *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # of plugins that are loaded already
            *tests.options,
            *(f"--deselect={test}" for test in skipped),
        ]
        for files in filter(None, (tests.files[: tests.first], tests.files[tests.first :])):
            code = pytest.main([*options, *files], plugins=[_Noting(self._folder / "failed")])
            if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
                break
            code = 0
        import leafspan

        assert leafspan.__file__.startswith(str(self._source))
        sys.stdout.flush()
        os._exit(code)


class _Noting:
    """A plugin of pytest that notes tests that fail."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self._note(report.nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self._note(f"{report.nodeid} (at import)")

    def _note(self, line: str) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


class Runner:
    """Runs tests on changes, several at the same time.

    Args:
        root: Root of the repository.
        folder: Folder for copies of the package.
        processes: Number of changes that are tried at the same time.
    """

    def __init__(self, root: Path, folder: Path, processes: int) -> None:
        self._free = [Place(root, folder / str(number)) for number in range(processes)]
        self._limits: dict[object, tuple[float, float]] = {}
        self._skipped: list[str] = []  # tests that fail without a change

    def unchanged(self, selections: Sequence[Tests]) -> Iterator[tuple[Tests, Outcome]]:
        """Run each selection on unchanged code once, which says how long it may take, and which tests to leave out."""
        work = [
            (tests, (None, "", replace(tests, options=(*tests.options, "--maxfail=20")), _NO_LIMIT)) for tests in selections
        ]
        for tests, outcome in self._all(iter(work)):
            self._skipped += (outcome.failed or "").splitlines()
            self._limits[tests.kind] = (
                _LEAST_SECONDS * 3 + 6 * outcome.seconds,
                _LEAST_SECONDS + 3 * outcome.processor_seconds,
            )
            yield tests, outcome

    def changed(self, work: Iterator[tuple[Any, str, str, Tests]]) -> Iterator[tuple[Any, Outcome]]:
        """Run tests on changes.

        Args:
            work: For each change a mark, its module, the module's code, and the tests.

        Yields:
            The mark of each change with what came of it, in the order in which they are done.
        """
        return self._all(
            (mark, (module, code, replace(tests, options=(*tests.options, "-x")), self._limits[tests.kind]))
            for mark, module, code, tests in work
        )

    def _all(self, work: Iterator[tuple[Any, tuple[Any, ...]]]) -> Iterator[tuple[Any, Outcome]]:
        running: list[tuple[Place, Any]] = []
        more = True
        while running or more:
            while self._free and more:
                try:
                    mark, options = next(work)
                except StopIteration:
                    more = False
                else:
                    place = self._free.pop()
                    place.start(*options, self._skipped)
                    running.append((place, mark))
            time.sleep(_POLL_SECONDS)
            for each in list(running):
                if (outcome := each[0].poll()) is not None:
                    running.remove(each)
                    self._free.append(each[0])
                    yield each[1], outcome
