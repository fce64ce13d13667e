"""Keeps the measured scores in a file, so that a stopped tuning can continue."""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from leafspan.checks import reason_of, shown
from leafspan.errors import InvalidArgument
from leafspan.flows import Call, Flow

_FORMAT = 1


class Measured:
    """Scores of the questions to fit on, by setting, in memory and in a file."""

    def __init__(self, path: Path | None, run: Mapping[str, str]) -> None:
        self._path = path
        self._run = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in run.items()}
        self._scores: dict[str, list[float]] = {}

    def __len__(self) -> int:
        return len(self._scores)

    def load(self, questions: int) -> Flow[None]:
        """Read the file, if it exists.

        Raises:
            InvalidArgument: if the file belongs to another tuning, or is not a tuning's file.
        """
        if self._path is not None:
            self._scores = yield Call(_read, (self._path, self._run, questions))

    def get(self, setting: str) -> list[float] | None:
        """The score of each question, or None if the setting was not measured."""
        return self._scores.get(setting)

    def keep(self, setting: str, scores: Sequence[float]) -> Flow[None]:
        """Keep the score of each question for a setting, and write the file."""
        self._scores[setting] = list(scores)
        if self._path is not None:
            plain = {"format": _FORMAT, "run": self._run, "scores": self._scores}
            yield Call(_write, (self._path, json.dumps(plain)), finish=True)


def _read(path: Path, run: Mapping[str, str], questions: int) -> dict[str, list[float]]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeError) as error:
        raise InvalidArgument(f"resume must be a file that can be read, got {str(path)!r}: {reason_of(error)}") from error
    try:
        plain = json.loads(text)
        there, scores = plain["run"], plain["scores"]
        whole = plain["format"] == _FORMAT and _are_scores(scores, questions)
        different = [name for name, value in run.items() if there.get(name) != value]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        whole, different, scores = False, [], {}
    if different:
        raise InvalidArgument(
            f"resume must be the file of the same tuning, got {str(path)!r}, which has another {' and '.join(different)}: "
            "name another file, or delete this one"
        )
    if not whole:
        raise InvalidArgument(f"resume must be a new file or one that tune has written, got {str(path)!r}, {shown(text)}")
    return scores  # type: ignore[no-any-return]


def _are_scores(scores: Any, questions: int) -> bool:
    return isinstance(scores, dict) and all(
        isinstance(row, list) and len(row) == questions and all(isinstance(each, float) and 0 <= each <= 1 for each in row)
        for row in scores.values()
    )


def _write(path: Path, text: str) -> None:
    """Write the file in one step. A process that is stopped in between leaves the old file."""
    unfinished = path.with_name(f"{path.name}.{uuid.uuid4().hex}.unfinished")
    try:
        unfinished.write_text(text, encoding="utf-8")
        os.replace(unfinished, path)
    except OSError as error:
        raise InvalidArgument(
            f"resume must be a file that can be written, got {str(path)!r}: {reason_of(error)}"
        ) from error
    finally:
        unfinished.unlink(missing_ok=True)
