"""Measures new processes: the time to the first answer, and the memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from peers.programs import Program, first_answer, memory_of
from results import Figure
from side_by_side import Times, ratio, take_turns

PLAIN = "plain Chroma"
Programs = Mapping[str, tuple[Program, Path]]
"""Programs and the folders that they open, by name."""


def cold_times(programs: Programs, questions: Sequence[str]) -> Times:
    """The seconds of new processes from their start to their answer, in turns. The first, from the disk, is dropped."""
    work = {
        name: (lambda question, program=program, folder=folder: first_answer(program, folder, question))
        for name, (program, folder) in programs.items()
    }
    return take_turns(work, questions, warm=0).after(1)


def cold(programs: Programs, questions: Sequence[str]) -> Iterator[Figure]:
    """The first answer of a new process, including imports, beside plain Chroma's."""
    times = cold_times(programs, questions)
    for name in programs:
        middle, low, high = times.ratio(name, PLAIN)
        yield Figure(name, middle, part="cold", middle_half=(low, high))


def memory(programs: Programs, questions: Sequence[str], rounds: int) -> Iterator[Figure]:
    """Memory of a process that has answered questions, beside plain Chroma's: all resident memory, and its own part.

    The rest are pages of files, which the system takes back when it needs them. Only Linux reports this.
    """
    if sys.platform != "linux":
        return
    found = [
        {name: memory_of(program, folder, questions) for name, (program, folder) in programs.items()} for _ in range(rounds)
    ]
    for part in ("resident", "own"):
        for name in programs:
            middle, low, high = ratio([each[name][part] for each in found], [each[PLAIN][part] for each in found])
            yield Figure(name, middle, part=f"memory, {part}", middle_half=(low, high))
