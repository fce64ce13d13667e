"""The budget of a test's processor time, and the processes that tests start as forks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import processor_time, warm

MODULE = """
import subprocess, sys, time
import pytest

def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

@pytest.fixture(scope="module")
def shared():
    work(0.2)

def test_long():
    work(0.2)

def test_short(shared):
    pass

def test_of_a_child():
    code = "import time\\nwhile time.process_time() < 0.2: pass"
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True)
"""


def test_a_test_over_its_budget_fails_with_its_children_and_without_shared_fixtures(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    pytester.makepyfile(MODULE)
    monkeypatch.setenv(processor_time.FIGURES, str(tmp_path / "figures.json"))
    monkeypatch.setattr(processor_time, "slowness", lambda: 1.0)
    done = pytester.runpytest_inprocess(
        "-p", "tests.processor_time", "--budget", "0.05", "--slowest", "2", "-p", "no:asyncio", "-n", "0"
    )
    done.assert_outcomes(passed=3, errors=2)
    done.stdout.fnmatch_lines(["*took 0.2 s of processor time, with a budget of 0.05 s*"])
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["tests"] == 3
    assert 0.2 <= figures["slowest_seconds"] < figures["processor_seconds"]
    assert {name.rpartition(":")[2] for name in figures["slowest"]} == {"test_long", "test_of_a_child"}


def test_a_slower_or_busier_machine_has_a_larger_budget(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(os, "getloadavg", lambda: (2.0, 2.0, 2.0))
    monkeypatch.setattr(processor_time, "fixed_work", lambda: 3 * processor_time.REFERENCE_SECONDS)
    assert processor_time.slowness() == pytest.approx(3)
    monkeypatch.setattr(processor_time, "fixed_work", lambda: processor_time.REFERENCE_SECONDS / 3)
    assert processor_time.slowness() == 1
    monkeypatch.setattr(os, "getloadavg", lambda: (8.0, 2.0, 2.0))
    assert processor_time.slowness() == 4


def run(code: str, *words: str) -> subprocess.CompletedProcess[str]:
    return warm.run([sys.executable, *words, "-c", code, "word"], capture_output=True, text=True)


def test_a_fork_does_what_a_new_process_does():
    assert run("import sys; print(sys.argv, __name__)").stdout == "['-c', 'word'] __main__\n"
    assert run("import sys; sys.exit(3)").returncode == 3
    failed = run("1 / 0")
    assert failed.returncode == 1
    assert failed.stderr.splitlines()[-1] == "ZeroDivisionError: division by zero"
    assert run("import os; os.kill(os.getpid(), 9)").returncode == -9
    assert run("import warnings; warnings.warn('careful')", "-W", "error").returncode == 1
    assert run("import warnings; warnings.warn('careful')", "-W", "ignore").stderr == ""
    with pytest.raises(subprocess.CalledProcessError):
        warm.run([sys.executable, "-c", "raise SystemExit(1)"], check=True)


def test_a_fork_hears_and_is_killed():
    code = "import sys\nfor line in sys.stdin: print(line.strip().upper(), flush=True)"
    with warm.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("honey\n")
        process.stdin.flush()
        assert process.stdout.readline() == "HONEY\n"
        assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        assert process.wait(60) == -signal.SIGKILL


def test_a_fork_has_imported_leafspan_and_opened_nothing():
    code = "import os, sys; print('leafspan' in sys.modules, sorted(map(int, os.listdir('/proc/self/fd')))[:-1])"
    done = run(code)
    assert done.stdout == "True [0, 1, 2]\n", done
