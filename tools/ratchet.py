"""Fails if a number that matters is worse than tools/ratchet.toml allows, and says which limits may be tightened.

    python tools/ratchet.py [size] [walks] [cost] [quality] [tests] [history] [--tighten]

It measures all groups, or those that are named. ``--tighten`` writes the better values into the file. The group ``history``
reads the commits: a commit that loosens a limit must change nothing else, and say why.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
LIMITS = ROOT / "tools" / "ratchet.toml"
FIGURES = ROOT / ".test-figures.json"  # written by ``make test``

Values = Sequence[float]
Limits = Mapping[str, Mapping[str, Values]]


class Group(NamedTuple):
    """A group of figures that one command measures."""

    measure: Callable[[], Iterable[tuple[str, Values]]]
    share: float = 0.0  # that a value may be above its limit, since machines differ
    least: float | None = None  # that a value may be below its limit, if more is better
    decimals: int = 0
    tries: int = 1  # the best values of several measurements count, since other work on the machine only adds time

    def is_worse(self, value: float, limit: float) -> bool:
        """Whether a value exceeds its limit, or falls short of it, by more than the margin."""
        return value > limit * (1 + self.share) if self.least is None else value < limit - self.least

    def is_better(self, value: float, limit: float) -> bool:
        """Whether the limit may be tightened to this value."""
        value = round(value, self.decimals)
        return value * (1 + self.share) < limit if self.least is None else value > limit


def of_sizes() -> Iterator[tuple[str, Values]]:
    """See ``python tools/size.py``."""
    from size import sizes

    return ((name, [value]) for name, value in sizes())


def of_walks() -> Iterator[tuple[str, Values]]:
    """See ``python tools/hops.py``: files, functions, calls."""
    from hops import walks

    return walks() if sys.version_info[:2] == (3, 11) else ()


def of_costs() -> Iterator[tuple[str, Values]]:
    """See ``python tools/cost.py``."""
    from cost import costs

    return ((name, [ratio]) for name, ratio in costs())


def of_qualities() -> Iterator[tuple[str, Values]]:
    """See ``python tools/quality.py``."""
    from quality import qualities

    return qualities()


def of_tests() -> Iterator[tuple[str, Values]]:
    """The processor time of the last ``make test``, and of its slowest test."""
    if FIGURES.exists():
        figures = json.loads(FIGURES.read_text(encoding="utf-8"))
        yield "processor seconds of make test", [figures["processor_seconds"]]
        yield "processor seconds of its slowest test", [figures["slowest_seconds"]]


GROUPS = {
    "size": Group(of_sizes),
    "walks": Group(of_walks),
    "cost": Group(of_costs, share=0.2, decimals=2, tries=3),
    "quality": Group(of_qualities, least=0.02, decimals=3),  # one question of sixty
    "tests": Group(of_tests, share=0.2, decimals=1),
}
NEEDED = {"walks": "they need Python 3.11", "tests": "run make test first"}


def measured_values(group: Group, limits: Mapping[str, Values]) -> Mapping[str, Values]:
    """The values of a group, measured again while one is worse than its limit."""
    best = dict(group.measure())
    for _ in range(group.tries - 1):
        if all(verdict != "worse" for _, verdict, _ in judge(group, best, limits)):
            break
        for name, values in group.measure():
            best[name] = [min(pair) for pair in zip(values, best[name], strict=True)]
    return best


def judge(group: Group, values: Mapping[str, Values], limits: Mapping[str, Values]) -> Iterator[tuple[str, str, str]]:
    """For each figure: its name, "worse", "better" or "", and a line to print."""
    for name, measured in values.items():
        if name not in limits:
            yield name, "worse", f"{name}: has no limit in {LIMITS.name}"
            continue
        pairs = list(zip(measured, limits[name], strict=True))
        shown = ", ".join(f"{value:,.{group.decimals}f} (limit {limit:,.{group.decimals}f})" for value, limit in pairs)
        verdict = "worse" if any(group.is_worse(*pair) for pair in pairs) else ""
        verdict = verdict or ("better" if any(group.is_better(*pair) for pair in pairs) else "")
        yield name, verdict, f"{name}: {shown}"
    for name in limits.keys() - values.keys():
        yield name, "worse", f"{name}: was not measured"


def read_limits(text: str) -> Limits:
    """The limits of each group. A figure with one value may be written without brackets."""
    tables = tomllib.loads(text)
    return {
        group: {name: value if isinstance(value, list) else [value] for name, value in table.items()}
        for group, table in tables.items()
    }


def loosened(before: Limits, after: Limits) -> list[str]:
    """The names of the limits that are looser after a commit, or gone."""
    names = []
    for group, limits in before.items():
        for name, old in limits.items():
            new = after.get(group, {}).get(name)
            upward = GROUPS[group].least is None
            if new is None or any((n > o) if upward else (n < o) for n, o in zip(new, old, strict=True)):
                names.append(name)
    return names


def mixed_commits() -> Iterator[str]:
    """The commits that loosen a limit and change other files, too."""

    def git(*command: str) -> str:
        return subprocess.run(["git", "-C", str(ROOT), *command], capture_output=True, text=True, check=True).stdout

    path = str(LIMITS.relative_to(ROOT))
    commits = git("log", "--no-merges", "--format=%H", "--diff-filter=M", "--", path).split()
    for commit in commits:
        before, after = (read_limits(git("show", f"{each}:{path}")) for each in (f"{commit}^", commit))
        names = loosened(before, after)
        if names and git("show", "--name-only", "--format=", commit).split() != [path]:
            yield f"{commit[:10]} loosens limits ({', '.join(names)}) and changes other files: split it in two"


def tightened(text: str, group: str, name: str, values: Values) -> str:
    """The text of the limits' file with better values for one figure."""
    head, table, rest = text.partition(f"[{group}]\n")
    decimals = GROUPS[group].decimals
    numbers = [f"{round(value, decimals):_.{decimals}f}" for value in values]
    line = f'"{name}" = ' + (numbers[0] if len(numbers) == 1 else f"[{', '.join(numbers)}]")
    return head + table + re.sub(rf'^"{re.escape(name)}" = .*$', line, rest, count=1, flags=re.MULTILINE)


def main() -> int:
    """Measure, compare and print. Return 1 if a number is worse."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"{', '.join(GROUPS)} or history; all by default")
    parser.add_argument("--tighten", action="store_true", help="write better values into the limits' file")
    options = parser.parse_args()
    if unknown := set(options.groups) - {*GROUPS, "history"}:
        parser.error(f"no such group: {', '.join(sorted(unknown))}")
    text = LIMITS.read_text(encoding="utf-8")
    worse = []
    for key in options.groups or [*GROUPS, "history"]:
        if key == "history":
            mixed = list(mixed_commits())
            worse += mixed
            print("\n".join([f"[{key}]", *mixed]))
            continue
        group, limits = GROUPS[key], read_limits(text).get(key, {})
        values = measured_values(group, limits)
        print(f"[{key}]" + ("" if values else f" not measured: {NEEDED[key]}"))
        for name, verdict, line in judge(group, values, limits) if values else ():
            note = {"worse": "WORSE: ", "better": "may be tightened: "}.get(verdict, "")
            print(f"  {note}{line}", flush=True)
            worse += [line] if verdict == "worse" else []
            if verdict == "better" and options.tighten:
                best = max if group.least is not None else min
                text = tightened(text, key, name, [best(pair) for pair in zip(values[name], limits[name], strict=True)])
    if options.tighten:
        LIMITS.write_text(text, encoding="utf-8")
    if worse:
        print("\n".join(["worse than allowed:", *(f"  {line}" for line in worse)]))
    return int(bool(worse))


if __name__ == "__main__":
    sys.exit(main())
