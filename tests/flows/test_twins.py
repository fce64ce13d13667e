"""A function that returns a flow becomes a blocking function and its asynchronous twin."""

from __future__ import annotations

import inspect

import pytest

from leafspan import Index, View
from leafspan.flows import Call, Flow, awaiting, blocking


@blocking
def doubled(number: int, *, times: int = 1) -> Flow[int]:
    """The number, doubled."""
    for _ in range(times):
        number = yield Call(lambda value: 2 * value, (number,))
    return number


adoubled = awaiting(doubled)


async def test_both_return_the_result_of_the_flow():
    assert doubled(3, times=2) == 3 * 2 * 2
    assert await adoubled(3, times=2) == 3 * 2 * 2
    with pytest.raises(TypeError, match="time"):
        doubled(3, time=2)


def test_both_have_the_signature_of_a_function_that_returns_the_result():
    assert str(inspect.signature(doubled)) == "(number: 'int', *, times: 'int' = 1) -> 'int'"
    assert inspect.signature(adoubled) == inspect.signature(doubled)
    assert (doubled.__name__, adoubled.__name__) == ("doubled", "adoubled")
    assert (doubled.__doc__, adoubled.__doc__) == ("The number, doubled.", "Like ``doubled``.")
    assert inspect.iscoroutinefunction(adoubled)


@pytest.mark.parametrize("kind", [Index, View])
def test_each_method_of_an_index_has_a_twin_with_the_same_options(kind: type[View]):
    methods = [name for name, each in vars(kind).items() if hasattr(each, "__wrapped__") and f"a{name}" in vars(kind)]
    assert methods
    for name in methods:
        ours, twin = getattr(kind, name), getattr(kind, f"a{name}")
        assert [*inspect.signature(ours).parameters] == [*inspect.signature(twin).parameters], name
        assert twin.__name__ == f"a{name}"
