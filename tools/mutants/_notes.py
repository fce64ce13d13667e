"""Keeps the results of earlier runs, and knows which changes are equivalent."""

from __future__ import annotations

import json
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from tools.mutants._changes import Change
from tools.mutants._trying import Outcome


class Notes:
    """Results by change and run, kept in a file, so that a stopped run continues.

    Args:
        path: The file, with a line for each result.
        again: Whether to forget which changes no test noticed, since there may be new tests.
    """

    def __init__(self, path: Path, *, again: bool) -> None:
        self._path = path
        self._failed: dict[str, dict[str, str | None]] = defaultdict(dict)
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        for key, run, failed in map(json.loads, lines):
            if failed is not None or not again:
                self._failed[key][run] = failed

    def add(self, change: Change, run: str, outcome: Outcome) -> None:
        """Keep a result."""
        self._failed[_noted_as(change)][run] = outcome.failed
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([_noted_as(change), run, outcome.failed]) + "\n")

    def noticed_by(self, change: Change) -> str | None:
        """The test that noticed a change, or None if no test has noticed it so far."""
        return next((failed for failed in self._failed[_noted_as(change)].values() if failed is not None), None)

    def is_open(self, change: Change, run: str) -> bool:
        """Whether the change still needs this run."""
        return self.noticed_by(change) is None and run not in self._failed[_noted_as(change)]


def _noted_as(change: Change) -> str:
    """The key of a change's results. Changes made by hand can be equal in several places, but have different names."""
    return f"{change.key} ({change.name})" if change.name else change.key


class Equivalents:
    """The changes that no test can notice, each with the reason.

    Args:
        path: A TOML file with a table ``[[change]]`` for each, or for several of one line: ``module``, ``before`` and
            ``after`` (a text or a list of texts) as ``make mutants`` prints them, and ``reason``.
    """

    def __init__(self, path: Path) -> None:
        tables = tomllib.loads(path.read_text(encoding="utf-8")).get("change", [])
        self._reasons: dict[str, str] = {}
        for table in tables:
            after = table["after"]
            for each in [after] if isinstance(after, str) else after:
                self._reasons[f"{table['module']}: {table['before']} -> {each}"] = table["reason"]

    def reason(self, change: Change) -> str | None:
        """The reason why no test can notice this change, or None if a test should notice it."""
        return self._reasons.get(change.key)


def table(changes: Iterable[Change], notes: Notes, equivalents: Equivalents) -> str:
    """The results as a Markdown table, with a row for each room."""
    counts: dict[str, dict[str, int]] = {}
    for change in changes:
        row = counts.setdefault(change.module.partition("/")[0].removesuffix(".py"), dict.fromkeys(_COLUMNS, 0))
        row["made"] += 1
        if equivalents.reason(change) is not None:
            row["equivalent"] += 1
        elif notes.noticed_by(change) is not None:
            row["killed"] += 1
        else:
            row["survived"] += 1
    counts["all"] = {column: sum(row[column] for row in counts.values()) for column in _COLUMNS}
    lines = [f"| module | {' | '.join(_COLUMNS)} | killed of those that are not equivalent |", "|---|" + "---:|" * 5]
    lines += [
        f"| {name} | {' | '.join(str(row[each]) for each in _COLUMNS)} | {_share(row)} |" for name, row in counts.items()
    ]
    return "\n".join(lines)


_COLUMNS = ("made", "killed", "survived", "equivalent")


def _share(row: Mapping[str, int]) -> str:
    judged = row["killed"] + row["survived"]
    return f"{row['killed'] / judged:.1%}" if judged else "-"
