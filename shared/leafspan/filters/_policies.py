"""Two filters for one question: the one a retriever was made with, and the one that comes with the question."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from leafspan.errors import InvalidArgument
from leafspan.filters._expression import Where

FilterPolicy: TypeAlias = Literal["replace", "merge"]


def apply_policy(own: Where | None, runtime: Where | None, policy: FilterPolicy = "replace") -> Where | None:
    """The filter that counts: ``"replace"`` takes the runtime filter where there is one, ``"merge"`` wants both to hold.

    Merged, a runtime filter can never undo the own one, only narrow it: asking a retriever of tenant A for tenant B finds
    nothing. Haystack's policy of that name lets a runtime filter on the same field take the place of the own one, and
    drops the own one beside a runtime OR. So ``"merge"`` may guard a tenant's documents, and ``"replace"`` may not.

    Raises:
        InvalidArgument: if the policy is neither.
    """
    if policy not in get_args(FilterPolicy):
        raise InvalidArgument(f"policy must be 'replace' or 'merge', got {policy!r}")
    if own is None or runtime is None:
        return own if runtime is None else runtime
    return own & runtime if policy == "merge" else runtime
