"""Hooks of mkdocs: they add the root's pages to the site, adapt links, and forbid loading from other hosts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

from tools.site import for_models
from tools.site.outside import loaded_from_outside
from tools.site.pages import AT_THE_ROOT, ROOT, slug, with_links_of_docstrings, with_links_of_the_site

_pages: dict[str, str] = {}  # as Markdown, by their addresses in the site


def on_config(config: Any) -> Any:
    """Use GitHub's anchors for headings."""
    config.mdx_configs.setdefault("toc", {})["slugify"] = slug
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages at the root."""
    for path, name in AT_THE_ROOT.items():
        files.append(File.generated(config, name, content=(ROOT / path).read_text()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn a page's links into links of the site."""
    text = with_links_of_the_site(page.file.src_uri, markdown)
    _pages[page.file.src_uri] = for_models.with_front_matter(page.file.content_string, text)
    return text


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Turn the pages that docstrings name into links."""
    made_of_docstrings = page.file.src_uri.startswith(("reference/", "strategies/"))
    return with_links_of_docstrings(page.file.src_uri, html) if made_of_docstrings else html


def on_post_build(config: Any) -> None:
    """Fail if a page would load anything from another host; write the pages for language models."""
    for path in sorted(Path(config.site_dir).rglob("*.html")):
        if found := loaded_from_outside(path.read_text()):
            raise PluginError(f"{path.relative_to(config.site_dir)} loads from elsewhere: {', '.join(found)}")
    for_models.write(Path(config.site_dir), config.site_name, config.site_description, config.nav, _pages)
