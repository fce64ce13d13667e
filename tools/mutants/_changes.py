"""Makes mutmut's changes to a module, one at a time."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import libcst as cst
from libcst.metadata import MetadataWrapper, ParentNodeProvider
from mutmut.mutation.file_mutation import NEVER_MUTATE_FUNCTION_NAMES, Mutation, MutationVisitor
from mutmut.mutation.mutators import mutation_operators
from mutmut.mutation.pragma_handling import IgnoredCode

_NOT_RUN = (cst.Raise, cst.Assert, cst.Annotation)


@dataclass(frozen=True)
class Change:
    """A single change to a module.

    Attributes:
        module: Path of the module below ``shared/leafspan``.
        line: Number of the first line that differs, from 1.
        before: The lines that differ, without indentation, as one text.
        after: The same lines with the change.
        code: The whole module with the change.
        name: The kind of the change, if it is known.
    """

    module: str
    line: int
    before: str
    after: str
    code: str
    name: str = ""

    @property
    def key(self) -> str:
        """A key that identifies the change, also after lines above it have changed."""
        return f"{self.module}: {self.before} -> {self.after}"


class _Visitor(MutationVisitor):
    """mutmut's visitor, which here also enters functions with decorators."""

    METADATA_DEPENDENCIES = (*MutationVisitor.METADATA_DEPENDENCIES, ParentNodeProvider)

    def _skip_node_and_children(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.FunctionDef):
            return node.name.value in NEVER_MUTATE_FUNCTION_NAMES
        return super()._skip_node_and_children(node)

    def _create_mutations(self, node: cst.CSTNode) -> None:
        if not (isinstance(node, cst.BaseString) and self._is_text_of_an_error(node)):
            super()._create_mutations(node)

    def _is_text_of_an_error(self, node: cst.CSTNode) -> bool:
        """Whether a text is part of a raise statement. The wording of errors is free."""
        above: Any = node
        while above is not None:
            if isinstance(above, _NOT_RUN):
                return True
            above = self.get_metadata(ParentNodeProvider, above, None)
        return False


class Module:
    """A module and its possible changes, by number.

    Args:
        root: Folder of the package.
        path: Path of the module below it.
    """

    def __init__(self, root: Path, path: str) -> None:
        self.path = path
        self.code = (root / path).read_text(encoding="utf-8")
        visitor = _Visitor(mutation_operators, IgnoredCode(set(), set(), set()))
        self._tree = MetadataWrapper(cst.parse_module(self.code)).visit(visitor)
        # Outside of functions and classes, there are only constants and lists of names.
        self._mutations = [each for each in visitor.mutations if each.contained_by_top_level_function is not None]
        self._statement_of = {id(node): each for each in self._tree.body for node in _below(each)}

    def __len__(self) -> int:
        return len(self._mutations)

    def change(self, number: int) -> Change | None:
        """The change with this number, or None if the result is not valid Python or cannot be put into effect."""
        mutation: Mutation = self._mutations[number]
        # Only the function or class is written again, which is much faster than writing the whole module.
        statement = self._statement_of[id(mutation.original_node)]
        before = self._tree.code_for_node(statement)
        after = self._tree.code_for_node(statement.deep_replace(mutation.original_node, mutation.mutated_node))
        assert self.code.count(before) == 1
        code = self.code.replace(before, after)
        try:
            compile(code, self.path, "exec")
        except SyntaxError:
            return None
        change = _change(self.path, self.code, code)
        # A class makes its methods from these only once.
        return None if change is not None and "field(default_factory=" in change.before else change

    def changes(self) -> Iterator[Change]:
        """All changes."""
        for number in range(len(self)):
            if (change := self.change(number)) is not None:
                yield change


def _below(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The node and all nodes inside it."""
    yield node
    for child in node.children:
        yield from _below(child)


def by_hand(root: Path, path: Path) -> Iterator[Change]:
    """The changes in a list that was made by hand.

    Args:
        root: Folder of the package.
        path: A TOML file with a table ``[[change]]`` for each: ``name``, ``module``, and ``before`` and ``after``, parts of
            the module's text.

    Raises:
        ValueError: if the module does not contain ``before`` exactly once.
    """
    for each in tomllib.loads(path.read_text(encoding="utf-8"))["change"]:
        code = (root / each["module"]).read_text(encoding="utf-8")
        if code.count(each["before"]) != 1:
            raise ValueError(f"{each['module']} must have this once: {each['before']!r} ({each['name']})")
        changed = _change(each["module"], code, code.replace(each["before"], each["after"]), each["name"])
        assert changed is not None
        yield changed


def _change(path: str, code: str, changed: str, name: str = "") -> Change | None:
    """A change of a module's text, or None if the text stays the same."""
    before, after = code.splitlines(), changed.splitlines()
    differ = [each for each in difflib.SequenceMatcher(None, before, after, False).get_opcodes() if each[0] != "equal"]
    if not differ:
        return None
    first, last = differ[0], differ[-1]
    return Change(
        path,
        first[1] + 1,
        " ".join(line.strip() for line in before[first[1] : last[2]]),
        " ".join(line.strip() for line in after[first[3] : last[4]]),
        changed,
        name,
    )
