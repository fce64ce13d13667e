"""Order comparisons: the operators, and the values that can be a bound."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from leafspan.checks import shown
from leafspan.errors import InvalidArgument
from leafspan.filters._values import Scalar, checked_scalar

COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def order_bound(value: object) -> Scalar:
    """A number or a text, for the right side of an order comparison. Other scalars are converted as in metadata.

    Raises:
        InvalidArgument: if the value has no order.
    """
    bound = None if isinstance(value, list | tuple) else checked_scalar(value)
    if bound is None or isinstance(bound, bool):
        raise InvalidArgument(f"an order comparison needs a number or a str, got {shown(value)}")
    return bound
