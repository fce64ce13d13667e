"""From the options of a host's retriever to a strategy."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields
from inspect import getattr_static
from typing import TypeVar

from leafspan.checks import did_you_mean, shown
from leafspan.errors import InvalidArgument
from leafspan.strategies import Strategy
from leafspan.view import View

S = TypeVar("S", bound=Strategy)

CALL_OPTIONS = ("k", "candidates", "budget", "where")
"""The options of a call of ``View.retrieve``. A strategy's option of one of these names is not one of its retriever."""


def make_strategy(kind: type[S], retriever: object, converted: Mapping[str, object]) -> S:
    """The strategy that a retriever stands for.

    Args:
        kind: Class of the strategy, a dataclass.
        retriever: What has the options as attributes of the same names. An option that it has no attribute for keeps its
            default.
        converted: Options that take the place of the retriever's, such as a base made into a strategy. One that is None
            keeps its default.

    Raises:
        InvalidArgument: if an option is out of its range.
    """
    names = [each.name for each in fields(kind) if each.name not in CALL_OPTIONS]  # type: ignore[arg-type]
    options = {name: getattr(retriever, name) for name in names if name not in converted and hasattr(retriever, name)}
    return kind(**options, **{name: value for name, value in converted.items() if value is not None})


def check_option_names(
    owner: str, given: Collection[str], known: Collection[str], host_words: Mapping[str, str] | None = None
) -> None:
    """Check that a retriever has the options that it was given.

    Args:
        owner: Name of the retriever's class.
        given: Names of the options that were given.
        known: Names of the options that it has.
        host_words: From a name that users of the core may try to the one that this host has for it.

    Raises:
        InvalidArgument: if it has not; the message suggests the name that was meant.
    """
    for name in given:
        if name not in known:
            word = (host_words or {}).get(name)
            hint = f"; here it is {word!r}" if word in known else did_you_mean(name, known)
            raise InvalidArgument(f"{owner} has no option {name!r}{hint}")


def check_index(index: object) -> None:
    """Check that an option is an index or a view of one.

    Raises:
        InvalidArgument: if it is not.
    """
    if not isinstance(index, View):
        raise InvalidArgument(f"index must be an Index or a view of one, got {shown(index)}")


def check_base_retriever(name: str, thing: object, host: str) -> Strategy:
    """A strategy that was given as a base, which is no retriever of the host.

    Raises:
        InvalidArgument: if it is no strategy.
    """
    if not isinstance(thing, Strategy):
        raise InvalidArgument(f"{name} must be a strategy or a {host} retriever, got {shown(thing)}")
    return thing


def is_plain(retriever: object, base: type, methods: Collection[str]) -> bool:
    """Whether a retriever has these methods from ``base``, so that it does nothing but what its strategy does."""
    return all(getattr_static(retriever, name) is getattr_static(base, name) for name in methods)
