"""Places of documents, and targets of links."""

from __future__ import annotations

import pytest

from leafspan.search._naming import Location, leads_to, locations_of, locations_to_try


def tried(target: str, *own: str) -> tuple[list[str], str | None]:
    whole, ending = locations_to_try(target, [place for id_ in own for place in locations_of(id_, {})])
    return [each.path + each.extension for each in whole], ending and ending.path + ending.extension


@pytest.mark.parametrize(
    ("document_id", "metadata", "places"),
    [
        ("docs/Storage.md", {}, [Location("docs/storage", ".md")]),
        ("./docs/a%20b.md#2", {}, [Location("docs/a b", ".md")]),
        ("c:\\kb\\a.txt", {}, [Location("c:/kb/a", ".txt")]),
        ("7", {"source": "https://example.org/guide/?page=2"}, [Location("example.org/guide", "")]),
        ("a.md", {"source": "a.md", "file_path": "/kb/a.md", "url": 5}, [Location("a", ".md"), Location("kb/a", ".md")]),
        ("bees", {"source": "wikipedia"}, []),
        ("Dr. No", {}, []),
        ("x" * 1_001 + ".md", {}, []),
    ],
)
def test_an_id_or_a_source_with_an_extension_or_a_scheme_is_a_place(document_id, metadata, places):
    assert locations_of(document_id, metadata) == places


def test_a_path_is_relative_to_its_document_or_else_to_the_root_or_what_another_ends_with():
    assert tried("store.md", "docs/index.md") == (["docs/store.md", "store.md"], "store.md")
    assert tried("../store.md#x", "docs/guide/index.md") == (["docs/store.md", "../store.md"], "store.md")
    assert tried("/docs/store.md", "a/b.md") == (["docs/store.md"], "docs/store.md")
    assert tried("../install/", "https://example.org/guide/start/") == (["example.org/install", "../install"], "install")


def test_an_address_is_whole():
    assert tried("https://example.org/a.html?x=1#y", "docs/index.md") == (["example.org/a.html"], None)


@pytest.mark.parametrize("target", ["#below", "", "mailto:me@example.org", "javascript:void(0)", "..", "x" * 1_001])
def test_what_leads_nowhere(target):
    whole, ending = locations_to_try(target, [])
    assert ending is None
    assert all(not place.name.strip(".") for place in whole)


@pytest.mark.parametrize(
    ("target", "place", "leads"),
    [
        ("store.md", "docs/store.md", True),
        ("docs/store.md", "kb/docs/store.md", True),
        ("store", "docs/store.md", True),
        ("store.txt", "docs/store.md", False),
        ("ore.md", "docs/store.md", False),
        ("docs/store.md", "store.md", False),
    ],
)
def test_a_place_ends_with_a_target_folder_by_folder(target, place, leads):
    (_, ending), (at,) = locations_to_try(target, []), locations_of(place, {})
    assert ending is not None
    assert leads_to(ending, at) is leads
