"""Runs tests on changes: imports and collects everything once, and runs each change in a separate process."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tools.mutants._applying import apply

_MOST_MEMORY = 12 * 2**30
_POLL_SECONDS = 0.02
# A test's limits of processor time and of time: its own time with the unchanged code times this, but at least this.
_TIMES, _LEAST_PROCESSOR_SECONDS, _LEAST_SECONDS = 5, 5.0, 60.0
_UNKNOWN = (3600.0, 7200.0)


@dataclass(frozen=True)
class Try:
    """A change, and the tests to run on it until one fails.

    Attributes:
        mark: The caller's name for it.
        module: Path of the changed module below the package; None to run all tests without a change.
        code: Its text.
        files: The files of tests.
    """

    mark: Any
    module: str | None
    code: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """The result of a try.

    Attributes:
        failed: The test that noticed the change, or None.
        seconds: Its time in seconds.
    """

    failed: str | None
    seconds: float


class Runner:
    """Tries several changes at the same time.

    Args:
        root: Root of the repository.
        folder: Folder for kept results.
        processes: Number of changes to try at the same time.
        slow: Whether to run the slow tests, too.
    """

    def __init__(self, root: Path, folder: Path, processes: int, *, slow: bool) -> None:
        self._root = root
        self._folder = folder
        self._processes = processes
        self._slow = slow
        self._items: dict[str, list[pytest.Item]] = {}
        self._seconds: dict[str, tuple[float, float] | None] = {}  # of each test: processor time and time; None if it fails

    def run(self, tries: Sequence[Try]) -> Iterator[tuple[Try, Outcome]]:
        """Try changes. Yields each with its outcome, in the order in which they finish."""
        done: list[tuple[Try, Outcome]] = []
        plugin = _Loop(self, tries, done)
        files = sorted({file for each in tries for file in each.files})
        options = ["-q", "-s", "--no-header", "--no-summary", "-p", "no:cacheprovider", "-o", "timeout=0"]
        os.environ["LEAFSPAN_TESTS"] = ""
        with contextlib.chdir(self._root):
            code = pytest.main([*options, *([] if self._slow else ["-m", "not slow"]), *files], plugins=[plugin])
        if plugin.error is not None:
            raise plugin.error
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            raise RuntimeError(f"pytest must collect the tests without an error, got {code!r}")
        yield from done

    def loop(self, session: pytest.Session, tries: Sequence[Try], done: list[tuple[Try, Outcome]]) -> None:
        """Fork a process for each change, after everything is collected and before any test runs."""
        _without_shrinking()
        self._items = defaultdict(list)
        for item in session.items:
            self._items[str(item.path.relative_to(self._root))].append(item)
        files = sorted({file for each in tries for file in each.files})
        for _, outcome in self._all(Try(file, None, "", (file,)) for file in files if not self._is_known(file)):
            assert outcome.failed is None, outcome.failed
        failing = [name for name, seconds in self._seconds.items() if seconds is None]
        if len(failing) == len(session.items):
            raise RuntimeError("without a change, some test must pass, got failures only")
        print(f"{len(session.items)} tests; left out, since they fail without a change: {failing or 'none'}", flush=True)
        for each, outcome in self._all(iter(tries)):
            done.append((each, outcome))
            each.mark(outcome)

    def _is_known(self, file: str) -> bool:
        """Read the times of the tests of an unchanged file from an earlier run."""
        noted = self._noted(file)
        if not noted.exists() or noted.stat().st_mtime < (self._root / file).stat().st_mtime:
            return False
        self._seconds.update(json.loads(noted.read_text(encoding="utf-8")))
        return all(item.nodeid in self._seconds for item in self._items[file])

    def _took(self, file: str) -> float:
        """The seconds of the tests of an unchanged file. The quickest tests run first, and notice most changes."""
        return sum(known[1] for item in self._items[file] if (known := self._seconds.get(item.nodeid)) is not None)

    def _noted(self, file: str) -> Path:
        return self._folder / "unchanged" / f"{file.replace('/', '.')}.json"

    def _all(self, tries: Iterable[Try]) -> Iterator[tuple[Try, Outcome]]:
        waiting = iter(tries)
        running: dict[int, tuple[Try, float, Path]] = {}
        more = True
        while running or more:
            while more and len(running) < self._processes:
                if (each := next(waiting, None)) is None:
                    more = False
                else:
                    noted = self._folder / f"failed-{time.monotonic_ns()}"
                    running[self._start(each, noted)] = (each, time.monotonic(), noted)
            time.sleep(_POLL_SECONDS)
            for pid in list(running):
                done, status = os.waitpid(pid, os.WNOHANG)
                if done:
                    each, began, noted = running.pop(pid)
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(pid, signal.SIGKILL)  # and the processes that the tests have started
                    yield each, self._outcome(each, os.waitstatus_to_exitcode(status), time.monotonic() - began, noted)

    def _outcome(self, each: Try, code: int, seconds: float, noted: Path) -> Outcome:
        text = noted.read_text(encoding="utf-8") if noted.exists() else ""
        noted.unlink(missing_ok=True)
        if each.module is None and code == 0:
            self._seconds.update(json.loads(text))
            self._noted(each.files[0]).parent.mkdir(parents=True, exist_ok=True)
            self._noted(each.files[0]).write_text(text, encoding="utf-8")
        if code == 0:
            return Outcome(None, seconds)
        why = {-signal.SIGPROF: "timeout in ", -signal.SIGALRM: "timeout in ", 1: ""}.get(code, f"exit code {code} in ")
        return Outcome(why + text, seconds)

    def _start(self, each: Try, noted: Path) -> int:
        sys.stdout.flush()
        if (pid := os.fork()) == 0:
            try:
                os._exit(self._in_child(each, noted))
            except BaseException:
                traceback.print_exc()
                os._exit(70)
        return pid

    def _in_child(self, each: Try, noted: Path) -> int:
        """Run the tests on the change. Return 0 if all pass, 1 at the first failure."""
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        log = os.open(self._folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        if each.module is not None:
            noted.write_text("importing it", encoding="utf-8")
            try:
                apply(each.module, each.code)
            except Exception:
                return 1
        items = [item for file in sorted(each.files, key=self._took) for item in self._items[file]]
        if each.module is not None:
            items = [item for item in items if self._seconds[item.nodeid] is not None]
        measured: dict[str, tuple[float, float] | None] = {}
        for item, following in zip(items, [*items, None][1:], strict=True):
            known = self._seconds.get(item.nodeid)
            processor, wall = _UNKNOWN
            if each.module is not None and known is not None:
                processor = max(_LEAST_PROCESSOR_SECONDS, _TIMES * known[0])
                wall = max(_LEAST_SECONDS, _TIMES * known[1])
                noted.write_text(item.nodeid, encoding="utf-8")
            signal.setitimer(signal.ITIMER_PROF, processor)  # both signals end the process
            signal.setitimer(signal.ITIMER_REAL, wall)
            began = time.process_time(), time.monotonic()
            reports: list[Any] = []
            _run_one(item, following, reports)
            failed = any(report.failed for report in reports)
            if each.module is not None and failed:
                return 1
            took = time.process_time() - began[0], time.monotonic() - began[1]
            measured[item.nodeid] = None if failed else took
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        if each.module is None:
            noted.write_text(json.dumps(measured), encoding="utf-8")
        return 0


def _run_one(item: pytest.Item, following: pytest.Item | None, reports: list[Any]) -> None:
    from _pytest.runner import runtestprotocol

    reports += runtestprotocol(item, nextitem=following, log=False)


def _without_shrinking() -> None:
    """Do not search for the smallest failing example, since only the failure matters."""
    from hypothesis.internal.conjecture.engine import ConjectureRunner

    ConjectureRunner.shrink_interesting_examples = lambda self: None  # type: ignore[method-assign]


class _Loop:
    """A pytest plugin that tries changes instead of running all tests."""

    def __init__(self, runner: Runner, tries: Sequence[Try], done: list[tuple[Try, Outcome]]) -> None:
        self._runner = runner
        self._tries = tries
        self._done = done
        self.error: BaseException | None = None

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        try:
            self._runner.loop(session, self._tries, self._done)
        except BaseException as error:
            self.error = error
        return True
