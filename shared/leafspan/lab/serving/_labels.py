"""Labels passages in their document's text."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase

from leafspan.lab.serving._answers import Answer


def labels_of(answers: Sequence[Answer]) -> dict[str, dict[str, str]]:
    """The passages' labels in their document's text, by strategy and id: A1, or 1 if there is only one strategy."""
    labels: dict[str, dict[str, str]] = {}
    for answer, letter in zip(answers, ascii_uppercase, strict=False):
        counts: dict[str, int] = {}
        labels[answer.strategy] = {}
        for passage in answer.passages:
            counts[passage.document_id] = number = counts.get(passage.document_id, 0) + 1
            labels[answer.strategy][passage.id] = f"{letter if len(answers) > 1 else ''}{number}"
    return labels
