"""All threads of a process on one core, for as long as something lasts."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Set
from contextlib import ExitStack, contextmanager

import pytest

from leafspan.store import _one_core
from leafspan.store._one_core import on_one_core

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="needs two cores of a Linux"
)


@contextmanager
def a_thread() -> Iterator[int]:
    """The number of a thread that does nothing."""
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    assert thread.native_id is not None
    yield thread.native_id
    ended.set()
    thread.join()


def cores_of(*threads: int) -> list[Set[int]]:
    """The cores that threads may run on; 0 is this one."""
    return [os.sched_getaffinity(each) for each in threads]


def test_all_threads_are_kept_on_the_core_of_this_one_and_let_go_again() -> None:
    before = os.sched_getaffinity(0)
    with a_thread() as other, ExitStack() as later:
        with on_one_core():
            begun_meanwhile = later.enter_context(a_thread())
            mine, *others = cores_of(0, other, begun_meanwhile)
            assert len(mine) == 1
            assert mine <= before
            assert others == [mine, mine]
        assert cores_of(0, other, begun_meanwhile) == [before] * 3


def test_threads_are_let_go_after_an_error() -> None:
    before = os.sched_getaffinity(0)
    with pytest.raises(ZeroDivisionError), on_one_core():
        raise ZeroDivisionError
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize("missing", ["state", "affinity"])
def test_where_the_system_does_not_say_which_core_it_is_nothing_is_done(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = os.sched_getaffinity(0)
    if missing == "state":
        monkeypatch.setattr(_one_core, "_STATE", _one_core._STATE / "nothing")
    else:
        monkeypatch.delattr(os, "sched_getaffinity")
    with on_one_core():
        monkeypatch.undo()
        assert os.sched_getaffinity(0) == before
