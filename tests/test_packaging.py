"""The package's metadata for registries, type checkers and installers."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from llama_index.core.schema import BaseComponent

import llamaindex_ext

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = SETTINGS["project"]


def test_the_registry_of_llamaindex_finds_every_retriever():
    hub = SETTINGS["tool"]["llamahub"]
    assert hub["import_path"] == "llama_index.retrievers.leafspan"
    components = [getattr(llamaindex_ext, name) for name in llamaindex_ext.__all__]
    parts = {
        each.__name__
        for each in components
        if isinstance(each, type) and (each.__name__.endswith("Retriever") or issubclass(each, BaseComponent))
    }
    assert set(hub["class_authors"]) == parts - {"NodeWithTrace", "RetrievalTraceEvent"}


@pytest.mark.parametrize("package", SETTINGS["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])
def test_type_checkers_read_the_types_of_each_package(package):
    outermost = min((ROOT / package).rglob("__init__.py"), key=lambda path: len(path.parts))  # in a namespace, deeper
    assert (outermost.parent / "py.typed").exists()
    assert "Typing :: Typed" in PROJECT["classifiers"]


def test_classifiers_and_keywords_are_in_order_and_name_each_supported_python():
    classifiers = PROJECT["classifiers"]
    assert classifiers == sorted(classifiers, key=str.casefold)
    minors = [name for name in classifiers if name.startswith("Programming Language :: Python :: 3.")]
    lowest, highest = (int(name.rpartition(".")[2]) for name in (minors[0], minors[-1]))
    assert PROJECT["requires-python"] == f">=3.{lowest},<3.{highest + 1}"
    assert {"langchain", "llama-index", "retriever", "vector-store"} <= set(PROJECT["keywords"])


def test_the_command_begins_in_a_package_that_loads_nothing_of_leafspan():
    code = "import sys, leafspan_command; print('leafspan' in sys.modules, callable(leafspan_command.main))"
    assert PROJECT["scripts"] == {"leafspan": "leafspan_command:main"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False True\n"


def test_no_file_tells_to_install_a_package_of_a_name_that_is_not_registered():
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    texts = {
        each: (ROOT / each).read_text(encoding="utf-8") for each in files if each.endswith((".py", ".md", ".ipynb", ".yml"))
    }
    told = {each: re.findall(r"pip install[^`\n]*?[ \"'](?<!clone of )leafspan\b", text) for each, text in texts.items()}
    assert {
        each: found for each, found in told.items() if found and each not in ("CHANGELOG.md", "tests/test_packaging.py")
    } == {}
    extras = {extra for text in texts.values() for extra in re.findall(r'MissingExtra\.of\(\s*"[^"]*",\s*"([^"]*)"', text)}
    assert len(extras) >= 10
    assert extras <= set(PROJECT["optional-dependencies"])


def test_every_extra_is_part_of_what_developers_install():
    (own,) = (each for each in PROJECT["optional-dependencies"]["dev"] if each.startswith("leafspan["))
    extras = set(own.removeprefix("leafspan[").removesuffix("]").split(",")) | {"langchain", "llamaindex"}
    assert extras == set(PROJECT["optional-dependencies"]) - {"dev", "docs", "mutants", "bench"}


def test_addresses_of_pages_lead_to_pages():
    pages = [url.partition("/main/")[2] for url in PROJECT["urls"].values() if "/main/" in url]
    assert pages
    assert [page for page in pages if not (ROOT / page).exists()] == []
