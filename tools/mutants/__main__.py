"""Mutation testing: see ``tools/mutants/__init__.py``.

    python -m tools.mutants --sample 600 --seed 1          changes drawn from all modules
    python -m tools.mutants --module spans/_packing.py     all changes to a module, or to a room
    python -m tools.mutants --module spans --list          the changes, without trying them
    python -m tools.mutants --by-hand                      the changes of tests/mutation/by_hand.toml

A stopped run continues with the next change. With --again, it tries changes again that no test has noticed.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.mutants._changes import Change, Module, by_hand
from tools.mutants._notes import Equivalents, Notes, table
from tools.mutants._tests_of import MODULES, own_tests, wider_tests
from tools.mutants._trying import Outcome, Runner, Try

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "shared" / "leafspan"
MUTATION = ROOT / "tests" / "mutation"


def main() -> int:
    """Make changes, try them, and print a table."""
    parser = argparse.ArgumentParser(description="Mutation testing of the core.")
    parser.add_argument("--module", action="append", help="a module or room below shared/leafspan; default: many of them")
    parser.add_argument("--sample", type=int, help="number of changes to draw; default: all")
    parser.add_argument("--seed", type=int, default=1, help="of the draw; default: 1")
    parser.add_argument("--processes", type=int, default=2, help="changes to try at the same time; default: 2")
    parser.add_argument("--again", action="store_true", help="try again what no test has noticed")
    parser.add_argument("--list", action="store_true", help="print the changes, and try none")
    parser.add_argument("--by-hand", action="store_true", help="the changes of tests/mutation/by_hand.toml instead")
    parser.add_argument("--only-room", action="store_true", help="run the tests of the module's room only")
    options = parser.parse_args()

    if options.by_hand:
        changes = [each for each in by_hand(PACKAGE, MUTATION / "by_hand.toml") if _is_in(each, options.module)]
    else:
        changes = _draw(options.module or MODULES, options.sample, options.seed)
    equivalents = Equivalents(MUTATION / "equivalent.toml")
    if options.list:
        for change in changes:
            print(_shown(change, equivalents.reason(change)))
        return 0
    notes = Notes(ROOT / ".mutants" / "results.jsonl", again=options.again)
    judged = [change for change in changes if equivalents.reason(change) is None]
    for run in ("room",) if options.only_room else ("room", "wider"):
        _try_all(judged, notes, options.processes, run)
    print()
    for change in judged:
        if notes.noticed_by(change) is None:
            print(_shown(change, None))
    print(table(changes, notes, equivalents))
    return 0


def _is_in(change: Change, names: Sequence[str] | None) -> bool:
    """Whether a change is in one of these modules and rooms."""
    return names is None or any(change.module == name or change.module.startswith(f"{name}/") for name in names)


def _draw(names: Sequence[str], sample: int | None, seed: int) -> list[Change]:
    """Draw changes from these modules and rooms, each once, in the order of the modules."""
    paths = [path for name in names for path in (sorted((PACKAGE / name).glob("*.py")) or [PACKAGE / name])]
    modules = [Module(PACKAGE, path.relative_to(PACKAGE).as_posix()) for path in dict.fromkeys(paths)]
    places = [(module, number) for module in modules for number in range(len(module))]
    order = random.Random(seed).sample(range(len(places)), len(places))
    drawn: dict[str, tuple[int, Change]] = {}
    for at in order:
        if sample is not None and len(drawn) >= sample:
            break
        module, number = places[at]
        change = module.change(number)
        if change is not None:
            drawn.setdefault(change.key, (at, change))
    return [change for _, change in sorted(drawn.values(), key=lambda each: each[0])]


def _try_all(changes: Sequence[Change], notes: Notes, processes: int, run: str) -> None:
    """Run tests on all changes that no test has noticed yet."""
    todo = [change for change in changes if notes.is_open(change, run)]
    count = iter(range(1, len(todo) + 1))

    def trying(change: Change) -> Try:
        def done(outcome: Outcome) -> None:
            notes.add(change, run, outcome)
            said = outcome.failed or "NOT NOTICED"
            print(f"{run} {next(count)}/{len(todo)} {outcome.seconds:.0f} s {_shown(change, said)}", flush=True)

        own = own_tests(change.module, ROOT)
        files = own if run == "room" else [file for file in wider_tests(change.module, ROOT) if file not in own]
        return Try(done, change.module, change.code, tuple(files))

    if todo:
        list(Runner(ROOT, ROOT / ".mutants", processes, slow=run != "room").run([trying(change) for change in todo]))


def _shown(change: Change, note: str | None) -> str:
    return f"{change.module}:{change.line} {change.name}\n    - {change.before}\n    + {change.after}\n    {note or ''}"


if __name__ == "__main__":
    sys.exit(main())
