"""Pictures in a browser: readable colours in every theme, and elements at their places."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from leafspan import Index
from leafspan.lab.pictures import Answered, embedded, report, results_picture, tree_picture
from leafspan.trace import Merge, Trace, TracedHit
from leafspan.values import Covered, Section, Summary
from tests.chromium import measured, shown
from tests.lab.pictures.values import fused, outline, passage
from tests.profiles import quick

THEMES = {
    "light": ("light", ""),
    "dark": ("dark", ""),
    "a light notebook on a dark system": ("dark", 'data-jp-theme-light="true"'),
    "a dark notebook on a light system": ("light", 'data-jp-theme-light="false"'),
    "VS Code dark on a light system": ("light", 'class="vscode-dark" style="--vscode-editor-background:#1f1f1f;--vscode-editor-foreground:#cccccc"'),
    "VS Code light on a dark system": ("dark", 'class="vscode-light" style="--vscode-editor-background:#fff;--vscode-editor-foreground:#3b3b3b"'),
}  # fmt: skip
in_every_theme = pytest.mark.parametrize(("scheme", "body"), quick(2, THEMES.values()), ids=THEMES)
READ = [
    ".ls-title",
    ".ls-count",
    ".ls-text",
    ".ls-hit",
    ".ls-word",
    ".ls-score",
    ".ls-badge",
    ".ls-why",
    ".ls-merge",
    ".ls-foot",
]
"""What must be read, as selectors. The background of each is its own or its parent's."""

BACKGROUND = """
function background(element) {
  for (let each = element; each; each = each.parentElement) {
    const colour = getComputedStyle(each).backgroundColor;
    if (colour !== 'rgba(0, 0, 0, 0)') return colour;
  }
  return 'rgb(255, 255, 255)';
}"""


def result() -> str:
    trace = Trace(
        hits=(TracedHit(3, 0.75, "vector", 1),),
        fused=(fused(3, ("vector", 1, 0.75, 0.3), ("bm25", 2, 4.0, 0.1)),),
        merges=(Merge(1, 2, 4, 2, 3, 0.5),),
    )
    return embedded(
        results_picture(
            [passage(trace=trace), passage(trace=trace, id="doc#00000000#7-9", outline=outline(runs=((7, 9),)))],
            "one or two?",
            lambda text: [(0, 3)],
        )
    )


def luminance(colour: str) -> float:
    """The relative luminance of WCAG 2.2."""
    channels = [int(each) / 255 for each in re.findall(r"\d+", colour)[:3]]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@in_every_theme
def test_all_can_be_read_in_every_theme(chromium: str, scheme: str, body: str):
    colours: Sequence[tuple[str, str]] = measured(
        result(),
        f"""(() => {{ {BACKGROUND}
          return {READ}.map(selector => document.querySelector('.ls ' + selector))
            .map(each => [getComputedStyle(each).color, background(each)]); }})()""",
        scheme=scheme,
        body=body,
    )
    assert len(colours) == len(READ)
    # 4.5 is what WCAG asks for of small text.
    assert [name for name, pair in zip(READ, colours, strict=True) if contrast(*pair) < 4.5] == []


@in_every_theme
def test_the_paper_matches_the_theme(chromium: str, scheme: str, body: str):
    paper = measured(result(), "getComputedStyle(document.querySelector('.ls')).backgroundColor", scheme=scheme, body=body)
    is_dark = ("dark" in body or 'light="false"' in body) if body else scheme == "dark"
    assert (luminance(paper) < 0.2) == is_dark


def test_a_strip_has_passages_where_they_lie(chromium: str):
    place = """[...document.querySelectorAll('.ls-block')].map(block => {
      const track = document.querySelector('.ls-track').getBoundingClientRect(), box = block.getBoundingClientRect();
      return [(box.left - track.left) / track.width, box.width / track.width]; })"""
    (first, first_width), (second, second_width) = measured(result(), place)
    assert first == pytest.approx(2 / 10, abs=0.01)  # from leaf 2 to 4 of 10 leaves
    assert first_width == pytest.approx(3 / 10, abs=0.01)
    assert second == pytest.approx(7 / 10, abs=0.01)
    assert second_width == pytest.approx(3 / 10, abs=0.01)


@pytest.mark.slow
def test_headings_stand_over_their_sections_and_are_cut_at_the_end(chromium: str):
    sections = (Section(0, 1, 1, "First"), Section(2, 9, 1, "A heading " * 40), Section(4, 5, 2, "Below"))
    drawn = outline(sections=sections)
    html = embedded(results_picture([passage(outline=drawn)]))
    place = """[...document.querySelectorAll('svg.ls-strip > svg')].map(each => {
      const track = document.querySelector('.ls-track').getBoundingClientRect();
      const box = each.querySelector('.ls-section').getBoundingClientRect();
      return [Math.round(10 * (box.left - track.left) / track.width), box.top < track.top]; })"""
    assert measured(html, place) == [[2, True], [0, True], [4, True]]
    assert measured(html, "document.documentElement.scrollWidth <= window.innerWidth") is True


@pytest.mark.parametrize("width", quick(1, [500, 1000, 1600]))
def test_nothing_is_wider_than_the_window(chromium: str, width: int):
    wide = passage("x" * 5000, id="y" * 5000, title="z" * 500, headings=("h" * 300,), outline=None)
    html = embedded(results_picture([wide, passage()], "q" * 500))
    assert measured(html, "document.documentElement.scrollWidth <= window.innerWidth", width=width) is True


@pytest.mark.slow
def test_strategies_stand_beside_each_other_where_there_is_room(chromium: str):
    page = report("kb", [Answered("q", {"a": [passage()], "b": [passage()]})], {})
    inner = page.partition("<style>")[2].partition("</style>")
    fragment = f"<style>{inner[0]}</style>{inner[2].partition('<body')[2].partition('>')[2].partition('</body>')[0]}"
    tops = "[...document.querySelectorAll('.ls-columns > *')].map(each => Math.round(each.getBoundingClientRect().top))"
    wide = measured(f'<div class="ls">{fragment}</div>', tops, width=1200)
    narrow = measured(f'<div class="ls">{fragment}</div>', tops, width=500)
    assert wide[0] == wide[1]
    assert narrow[0] < narrow[1]


def test_a_tree_is_open_at_the_top_and_opens_layer_by_layer(chromium: str):
    covers = (Covered("doc", "00000000", 2, 4, 10, 25),)
    leaves = [passage(f"leaf {number}", id=f"doc#00000000#{number}") for number in range(3)]
    low = passage("low", id="doc#t0000000#0", summary=Summary(1, tuple(leaf.id for leaf in leaves), covers), kind="summary")
    top = passage("top", id="doc#t0000000#1", summary=Summary(2, (low.id,), covers), kind="summary")
    html = embedded(tree_picture([top, low, *leaves]))
    seen = "[...document.querySelectorAll('.ls-tree li')].map(each => each.checkVisibility())"
    assert measured(html, seen) == [True, True, False, False, False]
    opened = f"(document.querySelectorAll('details')[1].open = true, {seen})"
    assert measured(html, opened) == [True] * 5


@pytest.mark.slow
def test_a_picture_can_be_read_without_its_style(chromium: str):
    html = result().replace(re.findall(r"<style>.*?</style>", result(), re.DOTALL)[0], "")
    text = measured(html, "document.body.innerText")
    assert text.index("one or two?") < text.index("A title") < text.index("one, two, three")
    assert "2 of 3 children were found" in text
    assert measured(html, "document.querySelector('svg').getAttribute('aria-label')").startswith(
        "document of 10 leaves; passage 1"
    )


@pytest.mark.slow
def test_styles_of_a_notebook_do_not_change_a_picture(chromium: str, shared_index: Index):
    theirs = """<style>.jp td, .jp th, .jp tr { text-align: right; padding: 0.5em } .jp tbody tr:nth-child(odd) { background: red }
      .jp p { margin: 0 0 1em 0 } .jp svg { height: auto; max-width: 100% } .jp ul { margin: 3em }</style>"""
    html = result() + shared_index._repr_html_()
    look = "[...document.querySelectorAll('.ls .ls-count, .ls svg.ls-strip, .ls td, .ls tr')].map(each => {"
    look += " const s = getComputedStyle(each); return [s.height, s.margin, s.textAlign, s.backgroundColor, s.padding]; })"
    assert measured(f'{theirs}<div class="jp">{html}</div>', look) == measured(f"<div>{html}</div>", look)


@pytest.mark.slow
def test_nothing_outside_of_a_picture_changes_its_style(chromium: str):
    outside = "<p id=other>other <mark>text</mark></p><table id=t><tr><td>cell</td></tr></table>"
    look = "['other', 't'].map(id => JSON.stringify([...Object.values(getComputedStyle(document.getElementById(id)))]))"
    assert measured(outside, look) == measured(outside + result(), look)


def test_a_report_is_one_page_that_a_browser_reads_as_html5(chromium: str):
    page = report("kb", [Answered("What?", {"hybrid": [passage()]})], {})
    assert measured("", "document.compatMode") == "CSS1Compat"
    again = shown(page)
    assert "<title>What?</title>" in again
    assert again.count("<style>") == 1
