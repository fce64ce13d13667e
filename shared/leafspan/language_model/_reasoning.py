"""What a model thinks before it answers, and the answer without it."""

from __future__ import annotations

import re

# Models that reason, such as DeepSeek-R1 and Qwen3, think aloud within these tags. Where the template of the chat ends with
# the first tag, an answer has only the second one; where the answer was cut off, only the first.
_REASONING = re.compile(r".*</think(?:ing)?>|\s*<think(?:ing)?>.*", re.DOTALL | re.IGNORECASE)


def without_reasoning(answer: str) -> str:
    """An answer of a language model without the thoughts before it; "" if it has nothing but thoughts.

    Args:
        answer: The answer, in which thoughts stand between ``<think>`` and ``</think>``, or ``<thinking>`` and
            ``</thinking>``, as many servers of models give them.
    """
    thoughts = _REASONING.match(answer)
    return answer[thoughts.end() :].strip() if thoughts else answer
