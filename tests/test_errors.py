"""leafspan raises only its own errors, except where Python requires others."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from pathlib import Path

import pytest

from leafspan import errors

ROOT = Path(__file__).parents[1]
PACKAGES = ("shared/leafspan", "langchain_ext", "llamaindex_ext")

ALLOWED = {
    # Python's own protocols: no pickling, no truth value, no such attribute, no such key
    ("shared/leafspan/store/_stored_rows.py", "KeyError"),
    ("shared/leafspan/view.py", "TypeError"),
    ("shared/leafspan/private/pseudonyms/_seal.py", "TypeError"),
    ("shared/leafspan/private/pseudonyms/_vault.py", "TypeError"),
    ("shared/leafspan/sources/sql/_database.py", "TypeError"),
    ("shared/leafspan/filters/_builder.py", "TypeError"),
    ("shared/leafspan/filters/_expression.py", "TypeError"),
    ("shared/leafspan/errors.py", "AttributeError"),
    # caught where the id of the document is known, which a DamagedIndex names
    ("shared/leafspan/documents/_leaves.py", "ValueError"),
    ("shared/leafspan/indexing/_examining.py", "ValueError"),
    ("shared/leafspan/store/_damage.py", "ValueError"),
    ("shared/leafspan/store/_manifest.py", "ValueError"),
    ("shared/leafspan/trees/_records.py", "ValueError"),
    # caught in the module, as what yaml raises for numbers and dates: that field is left out
    ("shared/leafspan/files/_text.py", "ValueError"),
    # caught as any other failure of the file system: the segment stays in memory, and texts are embedded without the cache
    ("shared/leafspan/segments/_segment_folder.py", "OSError"),
    ("shared/leafspan/embedding/_cache.py", "OSError"),
    # caught as what opening the file gives
    ("shared/leafspan/engines/local/_disk.py", "IsADirectoryError"),
    ("shared/leafspan/engines/local/_disk.py", "OSError"),
    # caught by the router, to which it is a failure of the selector
    ("llamaindex_ext/host_objects.py", "IndexError"),
    # caught as what starting a process gives: files are read without one
    ("shared/leafspan/files/_reader_process.py", "OSError"),
    # caught by the engine's caller, which knows what was asked and where
    ("shared/leafspan/engines/_tables.py", "TypeError"),
    ("shared/leafspan/engines/_tables.py", "ValueError"),
    # never reached: a coroutine over a blocking pool ends at its first step
    ("shared/leafspan/engines/postgres/_database.py", "AssertionError"),
}


def modules() -> Iterator[tuple[str, ast.Module]]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text())


def raised() -> Iterator[tuple[str, str, int]]:
    """Each class that a raise statement names, with its file and line."""
    for path, module in modules():
        for node in ast.walk(module):
            if isinstance(node, ast.Raise) and node.exc is not None:
                named = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                if isinstance(named, ast.Name | ast.Attribute):
                    yield path, named.id if isinstance(named, ast.Name) else named.attr, node.lineno


def is_builtin(name: str) -> bool:
    found = getattr(builtins, name, None)
    return isinstance(found, type) and issubclass(found, BaseException)


def test_no_error_of_pythons_own_is_raised():
    found = {(path, name) for path, name, _ in raised() if is_builtin(name)}
    assert found - ALLOWED == set()


def test_nothing_is_allowed_that_is_not_there():
    found = {(path, name) for path, name, _ in raised() if is_builtin(name)}
    assert ALLOWED - found == set()


def test_nobody_raises_the_root_of_all_errors():
    """It says nothing that could be caught, and so each has a class of its own, except mistakes in the program."""
    an_index_that_is_closed_or_asynchronous = {"shared/leafspan/store/_folder_store.py", "shared/leafspan/flows/_flow.py"}
    found = {path for path, name, _ in raised() if name == "LeafspanError"}
    assert found == an_index_that_is_closed_or_asynchronous


@pytest.mark.parametrize("name", sorted(vars(errors)))
def test_each_class_is_in_the_tree_of_the_docstring(name):
    found = getattr(errors, name)
    if isinstance(found, type) and issubclass(found, Exception):
        assert name in (errors.__doc__ or "")
        assert found.__doc__
