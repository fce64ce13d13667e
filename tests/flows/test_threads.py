"""Threads that are kept, and how many of them work at once."""

from __future__ import annotations

import os
import threading
import weakref

import pytest

from leafspan.flows import _threads, on_other_core
from leafspan.flows._threads import in_spare_thread, in_thread

PATIENCE = 60.0  # seconds


@pytest.mark.parametrize(
    ("start", "slots", "most"), [(on_other_core, "_other_cores", 1), (in_spare_thread, "_slots", 3)], ids=["core", "thread"]
)
def test_no_more_functions_run_than_there_is_room_for(start, slots, most, monkeypatch):
    monkeypatch.setattr(_threads, slots, [None] * most)
    done = threading.Event()
    running = [start(done.wait, PATIENCE) for _ in range(most)]
    assert start(done.wait) is None
    done.set()
    assert [each.result(PATIENCE) for each in running] == [True] * most
    assert start(str, 5).result(PATIENCE) == "5"


def test_a_thread_that_has_nothing_to_do_keeps_nothing_alive(monkeypatch):
    class Argument:
        pass

    monkeypatch.setattr(_threads, "_idle", [])  # so that a new thread is started
    argument = Argument()
    gone = threading.Event()
    weakref.finalize(argument, gone.set)
    in_thread(str, argument).result(PATIENCE)
    del argument
    assert gone.wait(PATIENCE)


def test_a_function_that_fails_gives_its_room_back(monkeypatch):
    monkeypatch.setattr(_threads, "_other_cores", [None])
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            on_other_core(divmod, 1, 0).result(PATIENCE)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_forked_process_has_all_the_room(monkeypatch):
    monkeypatch.setattr(_threads, "CORES", 2)
    monkeypatch.setattr(_threads, "_other_cores", [])  # all of it is taken
    child = os.fork()
    if child == 0:
        os._exit(0 if on_other_core(str, 5).result(PATIENCE) == "5" else 1)
    assert os.waitpid(child, 0)[1] == 0
