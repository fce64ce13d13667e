"""An adapter imports only leafspan's public modules, its hosting, and its own host."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import langchain_ext
import leafspan
import leafspan.hosting
import leafspan.hosting.sources
import llamaindex_ext
from tests import public

FILES = [
    pytest.param(package, path, id=f"{package.__name__}/{path.name}")
    for package in (langchain_ext, llamaindex_ext)
    for path in sorted(Path(package.__file__).parent.rglob("*.py"))
]
PUBLIC = {
    each.__name__: dir(each) for each in (*public.WHOLE, *public.IN_PARTS, leafspan.hosting, leafspan.hosting.sources)
}
HOSTS = {"langchain_ext": {"langchain_core", "pydantic"}, "llamaindex_ext": {"llama_index"}}
OF_EXTRAS = {
    "memory.py": {"langgraph"},
    "middleware.py": {"langchain", "langgraph"},
    "deep_agents.py": {"deepagents"},
}


def imported(tree: ast.AST) -> set[str]:
    """The modules that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            found.add(node.module)
    return found


@pytest.mark.parametrize(("package", "path"), FILES)
def test_of_leafspan_an_adapter_imports_only_public_modules_and_its_hosting(package, path):
    modules = imported(ast.parse(path.read_text(encoding="utf-8")))
    assert {each for each in modules if each.partition(".")[0] == "leafspan"} <= PUBLIC.keys()


@pytest.mark.parametrize(("package", "path"), FILES)
def test_of_other_packages_an_adapter_imports_only_its_host(package, path):
    own = {package.__name__, "leafspan", "lazy_loader", *HOSTS[package.__name__], *sys.stdlib_module_names}
    own |= OF_EXTRAS.get(path.name, set())
    assert {each.partition(".")[0] for each in imported(ast.parse(path.read_text(encoding="utf-8")))} <= own


@pytest.mark.parametrize(("package", "path"), FILES)
def test_what_an_adapter_imports_of_leafspan_is_listed_there(package, path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module in PUBLIC:
            assert {alias.name for alias in node.names} <= set(PUBLIC[node.module])


@pytest.mark.parametrize("module", [leafspan.hosting, leafspan.hosting.sources], ids=lambda each: each.__name__)
def test_everything_in_hosting_is_used_by_an_adapter(module):
    used = {
        alias.name
        for parameters in FILES
        for node in ast.walk(ast.parse(parameters.values[1].read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == module.__name__
        for alias in node.names
    }
    assert used == set(module.__all__)
