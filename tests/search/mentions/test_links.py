"""Links and paths in a text."""

from __future__ import annotations

from time import process_time

import pytest

from leafspan.search._naming import Link, find_links


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("See [the guide](guide/install.md#linux) first.", ["guide/install.md#linux"]),
        ('A [link](other.md "its title") and [more](<b c.md>).', ["other.md"]),
        ("[one](a.md), [two](b.md), [one](a.md)", ["a.md", "b.md"]),
        ("[wiki](https://en.wikipedia.org/wiki/Mercury_(planet))", ["https://en.wikipedia.org/wiki/Mercury_(planet)"]),
        ("[1]: docs/storage.md\nas [said][1]", ["docs/storage.md"]),
        ('<a class="x" href="../about.html">About</a>', ["../about.html"]),
        ("<a href='a b.html'>", ["a b.html"]),
        ("Look at https://example.org/page.", ["https://example.org/page"]),
        ("The writer is in store/_writer.py::Writer, or ./run.sh.", ["store/_writer.py", "./run.sh"]),
        ("No links, e.g. none at 3.5 or in a sentence.Though", ["sentence.Though"]),
        ("nothing", []),
    ],
)
def test_targets(text, targets):
    links = find_links(text)
    assert [link.target for link in links if link.target in targets] == targets
    assert not any(link.is_wiki for link in links)


@pytest.mark.parametrize("text", ["[[Karl von Frisch]]", "[[Karl von Frisch|he]]", "[[ Karl von Frisch#Life|his life ]]"])
def test_wiki_links(text):
    assert find_links(text) == [Link("Karl von Frisch", is_wiki=True)]


def test_a_picture_is_no_link():
    assert Link("pie.svg") not in [link for link in find_links("![a chart](charts/pie.svg)") if link.target == "pie.svg"]
    assert find_links("![a chart](chart)") == []


@pytest.mark.parametrize(
    "piece", ["[", "[a](", '[a](b "', "[a](b '", "[a](b (", "[a](<b", "[[a|", 'href="', "a.b/", "[a]:\n"]
)
def test_the_time_grows_with_the_length_of_a_text(piece):
    """A time that grew with its square would be minutes."""
    began = process_time()
    find_links("[a](b" + piece * 50_000)
    assert process_time() - began < 20
