"""Joins the filters of a retriever and of a call."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from leafspan.checks import shown
from leafspan.errors import InvalidArgument
from leafspan.filters._expression import Where

FilterPolicy: TypeAlias = Literal["replace", "merge"]
"""What happens if a retriever and a call both have a filter: see ``apply_policy``."""


def apply_policy(own: Where | None, runtime: Where | None, policy: FilterPolicy = "replace") -> Where | None:
    """The filter of a call to a retriever with its own filter, or None without both.

    Raises:
        InvalidArgument: if the policy is unknown.

    With ``"merge"`` a call can only narrow the retriever's own filter: a retriever for tenant A never finds tenant B's
    documents. So ``"merge"`` can protect a tenant's documents, and ``"replace"`` cannot. Haystack's ``merge`` differs: a
    runtime filter on the same field replaces the own one, and a runtime OR drops it.
    """
    if policy not in get_args(FilterPolicy):
        raise InvalidArgument(f"policy must be 'replace' or 'merge', got {shown(policy)}")
    if own is None or runtime is None:
        return own if runtime is None else runtime
    return own & runtime if policy == "merge" else runtime
