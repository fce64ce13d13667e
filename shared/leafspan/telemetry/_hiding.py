"""What is left out of spans, as the environment variables of OpenInference say."""

from __future__ import annotations

import os
from dataclasses import dataclass

REDACTED = "__REDACTED__"
"""What stands in the place of a question that is left out, as in OpenInference's own instrumentations."""


@dataclass(frozen=True, slots=True)
class Hiding:
    """What is left out.

    Attributes:
        inputs: Whether questions are, and whatever can quote one.
        outputs: Whether the texts and metadata of passages are.
    """

    inputs: bool
    outputs: bool

    @classmethod
    def of_environment(cls) -> Hiding:
        """What ``OPENINFERENCE_HIDE_INPUTS`` and ``OPENINFERENCE_HIDE_OUTPUTS`` say: ``true``, in any case, hides."""
        return cls(_is_true("OPENINFERENCE_HIDE_INPUTS"), _is_true("OPENINFERENCE_HIDE_OUTPUTS"))


def _is_true(name: str) -> bool:
    return os.environ.get(name, "").strip().casefold() == "true"
