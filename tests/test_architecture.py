"""The layout of the code: rooms with interfaces, and few files at the root. ``make check`` checks the imports."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE = ROOT / "shared" / "leafspan"
ROOMS = sorted(folder for folder in CORE.iterdir() if (folder / "__init__.py").exists())
FOLDERS = (CORE, ROOT / "langchain_ext", ROOT / "llamaindex_ext")
# A package that imports its names when they are first used lists them in a stub.
SOURCES = sorted(
    stub if (stub := path.with_suffix(".pyi")).exists() else path for folder in FOLDERS for path in folder.rglob("*.py")
)


def module_of(path: Path) -> str:
    base = CORE.parent if path.is_relative_to(CORE) else ROOT
    return ".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".__init__")


@cache
def imported(path: Path) -> list[str]:
    """The dotted names that a module imports, also within functions."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            within = f"{module_of(path)}." if node.level else ""
            found += [f"{within}{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return found


def test_at_most_ten_modules_stand_at_the_root():
    assert len(list(CORE.glob("*.py"))) <= 10


def test_the_modules_of_a_room_are_marked_as_internal():
    assert [path for room in ROOMS for path in room.rglob("*.py") if not path.name.startswith("_")] == []


def test_numpy_is_imported_in_one_place():
    """``from leafspan.flows import np`` imports it at its first use."""
    importing = [path.name for path in CORE.rglob("*.py") if "numpy" in imported(path)]
    assert importing == ["_numpy.py"]


def test_what_is_imported_late_is_offered_by_its_own_name():
    """A stub's ``import ... as`` would be right for type checkers, and wrong when the program runs."""
    nodes = [node for stub in CORE.rglob("__init__.pyi") for node in ast.walk(ast.parse(stub.read_text()))]
    assert nodes
    names = [alias for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert [alias.name for alias in names if alias.asname] == []


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_a_room_lists_what_it_offers(room: Path):
    offered = importlib.import_module(f"leafspan.{room.name}")
    assert offered.__doc__
    assert len(offered.__all__) == len(set(offered.__all__))
    assert [name for name in offered.__all__ if not hasattr(offered, name)] == []


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_other_rooms_are_entered_by_their_interface(folder: Path):
    found = {module_of(path): [*inside_of_other_rooms(path)] for path in SOURCES if path.is_relative_to(folder)}
    assert {module: names for module, names in found.items() if names} == {}
    assert found


def inside_of_other_rooms(path: Path) -> Iterator[str]:
    """What a module imports of the inside of a room that is not its own."""
    room = module_of(path).split(".")[:2]
    for name in imported(path):
        inner = name.startswith("leafspan.") and any(part.startswith("_") for part in name.split(".")[2:-1])
        if inner and name.split(".")[:2] != room:
            yield name


def test_no_module_imports_itself_in_a_circle():
    """Not even for type annotations. A room's ``__init__`` stands for what it offers, so circles through it count too."""
    modules = {module_of(path): path for path in SOURCES}
    arrows = {
        name: {target for each in imported(path) if (target := owner(each, modules)) is not None and target != name}
        for name, path in modules.items()
    }
    assert circle(arrows) == []


def owner(name: str, modules: dict[str, Path]) -> str | None:
    """The module that a dotted name is, or is of."""
    parent = name.rpartition(".")[0]
    return name if name in modules else parent if parent in modules else None


def circle(arrows: dict[str, set[str]]) -> list[str]:
    """Modules that import each other, in their order; none where all arrows run one way."""
    done: set[str] = set()

    def walk(module: str, path: list[str]) -> list[str]:
        if module in path:
            return [*path[path.index(module) :], module]
        if module in done:
            return []
        for target in sorted(arrows[module]):
            if found := walk(target, [*path, module]):
                return found
        done.add(module)
        return []

    return next((found for module in sorted(arrows) if (found := walk(module, []))), [])


def test_a_circle_would_be_noticed():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []
