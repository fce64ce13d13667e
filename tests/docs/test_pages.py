"""The pages: their links lead somewhere, the site lists each of them, and the reference has every public name."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
import yaml

import langchain_ext
import leafspan
import leafspan.strategies
import llamaindex_ext
from leafspan import errors
from tests import public
from tests.public import STRATEGIES
from tools.site import for_models
from tools.site.outside import loaded_from_outside
from tools.site.pages import AT_THE_ROOT, ROOT, anchors_of, in_site, links_of, slug, with_links_of_the_site

DOCS = ROOT / "docs"
PAGES = [*AT_THE_ROOT, *sorted(str(path.relative_to(ROOT)) for path in DOCS.rglob("*.md"))]
ON_NO_PAGE = {"Strategy", "HostRetriever"}  # the protocols behind all of them


def named_in(folder: str) -> set[str]:
    """The classes and functions whose docstrings the pages of a folder show."""
    return {name for path in (DOCS / folder).glob("*.md") for name in re.findall(r"^::: ([\w.]+)$", path.read_text(), re.M)}


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_somewhere(page: str):
    for link in links_of(page, (ROOT / page).read_text()):
        target = ROOT / link.target
        assert target.exists(), link.written
        if link.anchor:
            assert link.anchor in anchors_of(target.read_text()), link.written


def test_a_link_that_leads_nowhere_would_be_noticed():
    [link, here] = links_of("docs/a/b.md", "[x](../c.md#heading) `[y](no.md)` [z](https://example.com) [here](#top)")
    assert (link.target, link.anchor) == ("docs/c.md", "heading")
    assert (here.target, here.anchor) == ("docs/a/b.md", "top")
    assert "heading" not in anchors_of("# Other")


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("Where is ...?", "where-is-"),
        ("`Index.open`, and more", "indexopen-and-more"),
        ("What was embedded is not embedded again", "what-was-embedded-is-not-embedded-again"),
        ("Café", "café"),
    ],
)
def test_an_anchor_matches_github(heading: str, anchor: str):
    assert slug(heading) == anchor
    assert anchors_of(f"# Title\n\n```bash\n# no heading\n```\n\n## {heading}\n") == {"title", anchor}


@pytest.mark.parametrize(
    ("page", "link", "in_the_site"),
    [
        ("index.md", "docs/scores.md#fusion", "scores.md#fusion"),
        ("index.md", "CHANGELOG.md", "changelog.md"),
        ("scores.md", "../README.md#strategies", "index.md#strategies"),
        ("strategies/tree.md", "../trees.md", "../trees.md"),
        ("strategies/tree.md", "tree.svg", "tree.svg"),
        ("strategies/tree.md", "../../LICENSE", "https://github.com/leafspan/leafspan/blob/main/LICENSE"),
        ("index.md", "examples", "https://github.com/leafspan/leafspan/tree/main/examples"),
        ("index.md", "#licence", "index.md#licence"),
        ("index.md", "https://example.com/docs/scores.md", "https://example.com/docs/scores.md"),
        ("index.md", "docs/none.md", "none.md"),  # which the strict build then reports
    ],
)
def test_a_link_of_the_repository_becomes_one_of_the_site(page: str, link: str, in_the_site: str):
    assert with_links_of_the_site(page, f"[text]({link})") == f"[text]({in_the_site})"


@pytest.mark.parametrize(
    ("page", "html", "in_the_site"),
    [
        ("index.md", '<img src="docs/strategies/tree.svg">', '<img src="strategies/tree.svg">'),
        ("trees.md", '<img src="strategies/tree.svg">', '<img src="../strategies/tree.svg">'),
        ("strategies/tree.md", '<img src="tree.svg">', '<img src="../tree.svg">'),
        ("strategies/index.md", '<img src="tree.svg">', '<img src="tree.svg">'),
        ("index.md", '<a href="https://example.com">', '<a href="https://example.com">'),
    ],
)
def test_html_in_a_page_leads_on_from_the_pages_address(page: str, html: str, in_the_site: str):
    assert with_links_of_the_site(page, html) == in_the_site


def test_a_picture_that_is_not_there_would_be_noticed():
    [link] = links_of("docs/trees.md", 'Code: `<img src="no.png">`. A picture: <img alt="A tree" src="trees/no.png">')
    assert link.target == "docs/trees/no.png"


def test_the_site_lists_each_page_once():
    def files(entries: list[object]) -> list[str]:
        found: list[str] = []
        for entry in entries:
            value = next(iter(entry.values())) if isinstance(entry, dict) else entry
            found += files(value) if isinstance(value, list) else [value]
        return found

    navigation = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    listed, pages = files(navigation), {in_site(page) for page in PAGES}
    assert pages - set(listed) == set(), "these need a line in the navigation of mkdocs.yml"
    assert set(listed) - pages == set()
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize("package", [*public.WHOLE, langchain_ext, llamaindex_ext], ids=lambda each: each.__name__)
def test_every_public_name_is_in_the_reference(package: object):
    shown = named_in("reference") | named_in("strategies")
    names = {f"{package.__name__}.{name}" for name in package.__all__}
    if package is leafspan.strategies:  # what another module has, too, is shown there
        names -= {f"leafspan.strategies.{each.rpartition('.')[2]}" for each in shown if "strategies" not in each}
    assert names - shown == set(), "these need a line such as `::: leafspan.Vector` on a page of docs/reference"


def test_the_reference_shows_public_names_only():
    whole = {f"{each.__name__}.{name}" for each in (*public.WHOLE, langchain_ext, llamaindex_ext) for name in each.__all__}
    whole |= {f"langchain_ext.{name}" for name in dir(langchain_ext)}  # also those that need an extra
    parts = {f"{each.__name__}.{name}" for each in public.IN_PARTS for name in vars(each) | dict.fromkeys(dir(each))}
    assert named_in("reference") | named_in("strategies") <= whole | parts


@pytest.mark.parametrize(
    "error", [name for name, thing in vars(errors).items() if inspect.isclass(thing) and issubclass(thing, Exception)]
)
def test_every_error_is_in_the_reference(error: str):
    assert {f"leafspan.{error}", f"leafspan.errors.{error}"} & named_in("reference")


@pytest.mark.parametrize("name", sorted(STRATEGIES.keys() - ON_NO_PAGE))
def test_each_strategy_has_a_page_with_all_parts(name: str):
    [page] = [
        path for path in (DOCS / "strategies").glob("*.md") if re.search(rf"^::: [\w.]+\.{name}$", path.read_text(), re.M)
    ]
    text = page.read_text()
    assert text.startswith(f"# {name}\n")
    assert f"]({page.stem}.svg)" in text
    assert re.findall(r"^## (.*)", text, re.M)[-4:] == ["When to use it", "Cost", "Source", "Options"]
    assert "```python" in text or "The example is in" in text
    assert f"(docs/strategies/{page.name})" in (ROOT / "README.md").read_text()


def test_pages_are_where_their_python_is_run():
    assert {len(Path(page).parts) for page in PAGES} == {1, 2, 3}  # as in the patterns of conftest.py


@pytest.mark.parametrize(
    "html",
    [
        '<script src="https://cdn.example/x.js"></script>',
        '<link rel="stylesheet" href="//fonts.example/css">',
        '<img src="http://example.com/badge.svg">',
        '<pre class="mermaid">flowchart</pre>',
        '<a data-md-component="source" href="https://github.com/x/y">x</a>',
    ],
)
def test_what_a_page_would_load_from_elsewhere_is_noticed(html: str):
    assert len(loaded_from_outside(html)) == 1


def test_links_to_elsewhere_load_nothing():
    assert (
        loaded_from_outside(
            '<a href="https://example.com">x</a><img src="../tree.svg"><link rel="canonical" href="https://e.x">'
        )
        == []
    )


def test_pages_are_written_for_language_models(tmp_path: Path):
    nav = [
        "index.md",
        {"Guides": [{"Tea": "tea.md"}, {"All names": "reference/all.md"}, {"Again": "reference/langchain.md"}]},
    ]
    pages = {
        "index.md": "# Start\n\nHere [it](tea.md) begins: now. And goes on.",
        "tea.md": "# Tea\n\n```py\ncode\n```\n\nGreen tea.",
        "reference/all.md": "# Names\n\n::: leafspan.F\n\n::: leafspan.Index",
        "reference/langchain.md": "# Again\n\n::: langchain_ext.BM25Retriever",
    }
    for_models.write(tmp_path, "leafspan", "What it is", nav, pages)
    assert (tmp_path / "tea.md").read_text() == pages["tea.md"]
    listed = (tmp_path / "llms.txt").read_text().splitlines()
    assert listed[:3] == ["# leafspan", "", "> What it is"]
    assert "- [Tea](tea.md): Green tea." in listed
    assert "Here it begins: now." in "\n".join(listed)
    whole = (tmp_path / "llms-full.txt").read_text()
    assert pages["index.md"] in whole
    assert "### Index.open" in whole
    assert "# Again" not in whole
    reference = (tmp_path / "reference" / "all.md").read_text()
    assert "### Index.open\n\n```python\nopen(path: 'str | Path | None' = None" in reference
    assert ":::" not in reference
