"""All names in ARCHITECTURE.md and CONTRIBUTING.md exist, and each room has its row and its layer."""

from __future__ import annotations

import ast
import importlib
import keyword
import pkgutil
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

import langchain_ext
import leafspan
import llamaindex_ext

ROOT = Path(__file__).parents[2]
CORE = ROOT / "shared" / "leafspan"
HOSTS = ("langchain_ext", "llamaindex_ext")
PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md")
HOSTS_TO_COME = "<host>_ext"
every_page = pytest.mark.parametrize("page", PAGES)


def prose(page: str) -> str:
    """The page without its blocks of code."""
    return re.sub(r"```.*?```", "", (ROOT / page).read_text(), flags=re.DOTALL)


def named(page: str) -> list[str]:
    """What the page has in backticks, each once."""
    return list(dict.fromkeys(re.findall(r"`([^`\n]+)`", prose(page))))


def rooms() -> set[str]:
    """The packages and modules of the core."""
    packages = {path.parent.name for path in CORE.glob("*/__init__.py")}
    return packages | {path.stem for path in CORE.glob("*.py") if not path.stem.startswith("__")}


def paths(name: str) -> list[Path]:
    """The files and folders of a name, in which ``<room>`` stands for any."""
    pattern = re.sub(r"<\w+>", "*", name.rstrip("/"))
    return [path for base in (CORE, ROOT) for path in base.glob(pattern)]


def is_path(name: str) -> bool:
    return bool(re.fullmatch(r"[\w.<>*/-]+", name)) and (
        "/" in name or Path(name).suffix in (".py", ".md", ".toml", ".yml", ".ipynb")
    )


def defines(path: Path, name: str) -> bool:
    """Whether a module has a function, a class, a member of a class or a constant of this name."""
    body: list[ast.stmt] = ast.parse(path.read_text()).body
    for part in name.split("."):
        found = next((node for node in body if part in names_of(node)), None)
        if found is None:
            return False
        body = getattr(found, "body", [])
    return True


def names_of(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


@cache
def sources() -> list[ast.Module]:
    folders = [CORE, *(ROOT / host for host in HOSTS)]
    return [ast.parse(path.read_text()) for folder in folders for path in sorted(folder.rglob("*.py"))]


@cache
def known_words() -> set[str]:
    """Names that occur in the code: what is defined, what is imported, and the words of the settings of the tools."""
    found = rooms() | set(HOSTS) | set(keyword.kwlist)
    for module in sources():
        for node in ast.walk(module):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.arg):
                found.add(node.arg)
            elif isinstance(node, ast.Name | ast.Attribute):
                found.add(node.id if isinstance(node, ast.Name) else node.attr)
            elif isinstance(node, ast.alias):
                found.update(node.name.split("."))
    for settings in ("pyproject.toml", "Makefile"):
        found.update(re.findall(r"[\w-]+", (ROOT / settings).read_text()))
    for path in ROOT.glob("tests/**/*.py"):
        found.update(re.findall(r"^def (\w+)", path.read_text(), re.MULTILINE))
    return found


@cache
def classes() -> dict[str, type]:
    """The classes of the core and of both hosts, by name."""
    found: dict[str, type] = {}
    for package in (leafspan, langchain_ext, llamaindex_ext):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not info.name.endswith("__main__"):
                module = importlib.import_module(info.name)
                found |= {name: thing for name, thing in vars(module).items() if isinstance(thing, type)}
    return found


def is_dotted_name(name: str) -> bool:
    """Whether it leads somewhere: from a package, from a class of ours, or from a table of pyproject.toml."""
    first, *rest = name.split(".")
    if first in (*HOSTS, "leafspan"):
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            module, _, last = name.rpartition(".")
            return hasattr(importlib.import_module(module), last)
        return True
    if first in classes():
        kind = classes()[first]
        return len(rest) == 1 and (hasattr(kind, rest[0]) or rest[0] in getattr(kind, "__annotations__", {}))
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for part in (first, *rest):
        if part not in table:
            return False
        table = table[part]
    return True


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def exists(name: str) -> bool:
    name = re.sub(r"\(.*\)$", "", name.strip("[]"))
    if name.startswith("make "):
        return name.split()[1] in make_targets()
    if name.startswith(HOSTS_TO_COME):
        name = name.replace(HOSTS_TO_COME, "langchain_ext")
    if "::" in name:
        path, _, inner = name.partition("::")
        return any(defines(each, inner) for each in paths(path))
    if is_path(name):
        return bool(paths(name))
    if re.fullmatch(r"\w+(\.\w+)+", name):
        return is_dotted_name(name)
    if re.fullmatch(r"[\w-]+", name):
        return name in known_words()
    return True  # an expression, a command, a sample of text


@pytest.fixture(scope="module", autouse=True)
def _words_are_read_once() -> None:
    known_words()
    classes()


@every_page
def test_what_a_page_names_exists(page: str):
    assert [name for name in named(page) if not exists(name)] == []


@pytest.mark.parametrize(
    "name",
    [
        "make tea",
        "store/_teapot.py",
        "tests/<room>/tea_*.py",
        "store/_reader.py::Reader.pour",
        "<host>_ext/teapot.py",
        "leafspan.teapot",
        "Index.pour",
        "tool.teapot",
        "teapots",
    ],
)
def test_what_does_not_exist_would_be_noticed(name: str):
    assert not exists(name)


@every_page
def test_what_a_page_links_to_is_there(page: str):
    for link, anchor in re.findall(r"\]\(([^)#]*)(#[^)]*)?\)", prose(page)):
        target = ROOT / (link or page)
        assert link.startswith("https://") or target.exists(), link
        if anchor:
            headings = re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)
            assert anchor[1:] in [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]


def in_the_table() -> list[str]:
    """The rooms in ARCHITECTURE's table, from the top down; rooms of one row have no order."""
    table = (ROOT / "ARCHITECTURE.md").read_text().partition("| room | ")[2].partition("\n\n")[0]
    return [
        name for row in table.splitlines() for name in re.findall(r"`([^`]+)`", row.split("|")[1] if "|" in row else "")
    ]


def test_every_room_has_its_row():
    assert sorted(in_the_table()) == sorted([*rooms(), *HOSTS])


def test_every_room_has_its_place_in_the_layers():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    placed = {room.strip().removeprefix("leafspan.").split(".")[0] for layer in layers for room in layer.split("|")}
    assert sorted(placed - {"__main__"}) == sorted([*rooms(), *HOSTS])
