"""Finds what a page of the site would load from other hosts."""

from __future__ import annotations

from html.parser import HTMLParser


class _Loads(HTMLParser):
    """Collects addresses of other hosts that a browser loads automatically. Links that a reader clicks do not count."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        named = dict(attributes)
        loads = ["src", "srcset", "poster", "data"] + ["href"] * (tag == "link" and named.get("rel") != "canonical")
        self.found += [value for name in loads if (value := named.get(name) or "").startswith(("http:", "https:", "//"))]
        # Material's script asks GitHub about the repository if it finds this component, and loads Mermaid for its class.
        if named.get("data-md-component") == "source" or "mermaid" in (named.get("class") or "").split():
            self.found.append(f"<{tag} {' '.join(f'{name}={value!r}' for name, value in attributes)}>")


def loaded_from_outside(html: str) -> list[str]:
    """The addresses on other hosts that a page loads, or the elements for which Material's script loads something."""
    loads = _Loads()
    loads.feed(html)
    return loads.found
