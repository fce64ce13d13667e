"""What the package says of itself to registries, type checkers and installers."""

from __future__ import annotations

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
    assert hub["import_path"] == "llamaindex_ext"
    components = [getattr(llamaindex_ext, name) for name in llamaindex_ext.__all__]
    parts = {
        each.__name__
        for each in components
        if isinstance(each, type) and (each.__name__.endswith("Retriever") or issubclass(each, BaseComponent))
    }
    assert set(hub["class_authors"]) == parts - {"NodeWithTrace", "RetrievalTraceEvent"}


@pytest.mark.parametrize("package", SETTINGS["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])
def test_type_checkers_read_the_types_of_each_package(package):
    assert (ROOT / package / "py.typed").exists()
    assert "Typing :: Typed" in PROJECT["classifiers"]


def test_classifiers_and_keywords_are_in_order_and_name_each_supported_python():
    classifiers = PROJECT["classifiers"]
    assert classifiers == sorted(classifiers, key=str.casefold)
    minors = [name for name in classifiers if name.startswith("Programming Language :: Python :: 3.")]
    assert PROJECT["requires-python"] == ">=" + minors[0].rpartition(" ")[2]
    assert {"langchain", "llama-index", "retriever", "vector-store"} <= set(PROJECT["keywords"])


def test_the_command_begins_in_a_package_that_loads_nothing_of_leafspan():
    code = "import sys, leafspan_command; print('leafspan' in sys.modules, callable(leafspan_command.main))"
    assert PROJECT["scripts"] == {"leafspan": "leafspan_command:main"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False True\n"


def test_every_extra_is_part_of_what_developers_install():
    (own,) = (each for each in PROJECT["optional-dependencies"]["dev"] if each.startswith("leafspan["))
    extras = set(own.removeprefix("leafspan[").removesuffix("]").split(",")) | {"langchain", "llamaindex"}
    assert extras == set(PROJECT["optional-dependencies"]) - {"dev", "docs", "mutants", "bench"}


def test_addresses_of_pages_lead_to_pages():
    pages = [url.partition("/main/")[2] for url in PROJECT["urls"].values() if "/main/" in url]
    assert pages
    assert [page for page in pages if not (ROOT / page).exists()] == []
