"""Removes a model's thoughts from its answer."""

from __future__ import annotations

import re

# Reasoning models, such as DeepSeek-R1 and Qwen3, think aloud within these tags. If the chat template ends with the first
# tag, an answer has only the second one; if the answer was cut off, only the first.
_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_BEGINNING = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_MOST_READ = 100_000  # characters


def without_reasoning(answer: str) -> str:
    """An answer of a language model without the thoughts before it; "" if it has only thoughts.

    All answers pass through this function. It keeps the first 100,000 characters after the thoughts: an endless answer
    would otherwise keep its readers busy for minutes.
    """
    ends = [end.end() for end in _END.finditer(answer)]
    if ends:
        return answer[ends[-1] : ends[-1] + _MOST_READ].strip()
    return "" if _BEGINNING.match(answer) else answer[:_MOST_READ]
