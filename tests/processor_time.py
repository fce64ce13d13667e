"""What tests cost in processor time, which other work on the machine hardly changes, and a budget for each test.

The time of a test is the time of its process and of the children that it has waited for. What tests share (fixtures of a file or
of the whole run) is counted by itself. ``--budget 1`` fails tests that take clearly more than a second. ``LEAFSPAN_TEST_FIGURES``
names a JSON file for the sum, the slowest test and the others of ``--slowest``.
"""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

MARGIN = 3.0
"""A test fails at three times its budget: other work on the machine has made tests take up to 1.6 times as long, and the first
import of a large library counts for the test that needs it."""
REFERENCE_SECONDS = 0.0095
"""What ``fixed_work`` takes on the machine that the budget was chosen on."""
FIGURES = "LEAFSPAN_TEST_FIGURES"


_elsewhere = [0.0]


def add(seconds: float) -> None:
    """Count the processor seconds of a process that another one has waited for."""
    _elsewhere[0] += seconds


def spent() -> float:
    """Processor seconds of this process and of its children that have ended."""
    return _elsewhere[0] + sum(
        usage.ru_utime + usage.ru_stime
        for usage in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )


def slowness() -> float:
    """How many times as long as on the reference machine the same work takes now, at least 1.

    Programs that wait for a processor share its caches, too, and a short loop does not show that: so the load counts.
    """
    waiting = os.getloadavg()[0] / (os.cpu_count() or 1)
    return max(1.0, min(fixed_work() for _ in range(3)) / REFERENCE_SECONDS, waiting)


def fixed_work() -> float:
    """Processor seconds of a loop that has the usual mix: numbers, strings and dictionaries."""
    begun = time.process_time()
    counts: dict[str, int] = {}
    for number in range(40_000):
        word = f"word {number % 997}"
        counts[word] = counts.get(word, 0) + len(word.split())
    return time.process_time() - begun


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("processor time")
    group.addoption("--budget", type=float, help=f"fail tests that take {MARGIN:g} times these processor seconds")
    group.addoption("--slowest", type=int, default=0, help="number of the slowest tests to list, by processor time")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Budget(config.getoption("--budget")), "budget of processor time")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Figures(config), "figures of processor time")


class Budget:
    """Measures each test where it runs."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._slowness = slowness() if seconds else 1.0
        self._shared = 0.0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> Iterator[Any]:
        before, inner = spent(), self._shared
        result = yield
        if fixturedef.scope != "function":
            self._shared = inner + spent() - before
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        item.stash[BEGUN], self._shared = spent(), 0.0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
        own = spent()
        yield
        after = spent()
        total = (after if nextitem is not None and nextitem.path == item.path else own) - item.stash[BEGUN]
        seconds = total - self._shared
        item.user_properties += [("processor_seconds", seconds), ("shared_seconds", after - item.stash[BEGUN] - seconds)]
        if self._seconds and seconds > self._limit(seconds):
            pytest.fail(f"took {seconds:.1f} s of processor time, with a budget of {self._seconds:g} s", pytrace=False)

    def _limit(self, seconds: float) -> float:
        if self._seconds and seconds > self._seconds * MARGIN * self._slowness:
            self._slowness = max(self._slowness, slowness())  # something else may have begun since
        return (self._seconds or 0.0) * MARGIN * self._slowness

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        yield
        if (output := getattr(session.config, "workeroutput", None)) is not None:
            output["processor_seconds"] = spent()


BEGUN = pytest.StashKey[float]()


class Figures:
    """Sums up a run, with all its workers."""

    def __init__(self, config: pytest.Config) -> None:
        self._most = config.getoption("--slowest")
        self._of_workers = 0.0
        self._tests: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            self._tests[report.nodeid] = dict(report.user_properties).get("processor_seconds", 0.0)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        self._of_workers += getattr(node, "workeroutput", {}).get("processor_seconds", 0.0)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        slowest = sorted(self._tests.items(), key=lambda test: -test[1])
        own = resource.getrusage(resource.RUSAGE_SELF) if self._of_workers else None
        total = self._of_workers + own.ru_utime + own.ru_stime if own else spent()
        terminalreporter.write_line(f"{total:.0f} s of processor time, {len(slowest)} tests")
        for name, seconds in slowest[: self._most]:
            terminalreporter.write_line(f"{seconds:7.2f} s  {name}")
        if path := os.environ.get(FIGURES):
            name, seconds = slowest[0] if slowest else ("", 0.0)
            figures = {
                "processor_seconds": round(total, 1),
                "slowest_seconds": round(seconds, 3),
                "slowest_test": name,
                "tests": len(slowest),
                "slowness": round(slowness(), 2),
                "slowest": {name: round(seconds, 3) for name, seconds in slowest[: self._most]},
            }
            Path(path).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
