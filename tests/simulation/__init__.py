"""A simulator: many writers and readers over a Chroma in memory, interleaved by a seed, with kills and failures.

CONTRIBUTING.md says how to run it, how to read what it finds, and how to add a mutant.

- ``scenario.py``: what is done, by whom, and which events can come in between; all of it follows from one number.
- ``world.py``: the scheduler, the clock, processes and their threads. Nothing here is real time, and one thread runs all.
- ``locks.py``, ``replaced.py``: what of the outside world is replaced meanwhile: locks, the clock, Chroma.
- ``records.py``, ``server.py``, ``embedded.py``: a Chroma in memory, behind a server or in a folder.
- ``documents.py``: small documents, and what must be stored of each.
- ``history.py``: which version of each document was current when, and so what a reader may see.
- ``operations.py``: what processes do, and what must hold of each result.
- ``recovery.py``: what must hold at the end, after all that was interrupted has been done again.
- ``running.py``: a whole run, from a scenario to what was found. ``shrinking.py`` makes the scenario of a finding small.
- ``mutants.py``: faults that are planted to see whether they are found. ``soak.py``: all of it for a long time.
"""
