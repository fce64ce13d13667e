"""Numbered sources for a model, and the numbers that its answer cites."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from leafspan.text import escaped_in_json

_CITED = re.compile(r"[\[【]\s*(\d{1,6}(?:\s*[,;，、]\s*\d{1,6})*)\s*[\]】]")


def numbered_sources(sources: Sequence[Mapping[str, Any]]) -> str:
    """The sources as JSON, one a line, numbered from 1; no source text can end its JSON value."""
    return "\n".join(
        escaped_in_json(json.dumps({"number": number} | {**source, "number": number}, ensure_ascii=False, default=str))
        for number, source in enumerate(sources, 1)
    )


def cited_numbers(answer: str, count: int) -> list[int]:
    """The numbers in [1, count] that the answer cites as [1] or [2, 3], each once, in the order of the answer."""
    numbers = (int(number) for cited in _CITED.findall(answer) for number in re.findall(r"\d+", cited))
    return list(dict.fromkeys(number for number in numbers if 1 <= number <= count))
