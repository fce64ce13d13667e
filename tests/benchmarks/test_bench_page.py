"""docs/benchmarks.md has all measured figures, including those where others are better."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest

pytestmark = pytest.mark.usefixtures("scripts")


def results(**values: dict[str, float]) -> dict[str, Any]:
    """What a run has written, with these figures by part and name."""
    from results import Figure

    systems = {
        "plain Chroma": "vectors",
        "leafspan Vector": "vectors",
        "zvec": "vectors",
        "leafspan BM25": "words",
        "bm25s": "words",
    }
    return {
        "leaves": 1000,
        "documents": 30,
        "processors": 2,
        "packages": {"zvec": "0.8.0"},
        "missing": ["LanceDB (needs lancedb)"],
        "versions": {"platform": "Linux x86_64", "python": "3.11.7"},
        "options": {"full": False, "sizes": [1000, 3000]},
        "systems": [{"name": name, "kind": kind, "note": ""} for name, kind in systems.items()],
        "figures": [
            Figure(name, value, part=part.replace("_", " "), middle_half=(value / 2, value * 2))
            for part, figures in values.items()
            for name, value in figures.items()
        ],
    }


ALONE = {"plain Chroma": 1.0, "leafspan Vector": 0.5, "zvec": 0.25, "leafspan BM25": 0.2, "bm25s": 0.4}


def test_the_page_is_made_of_the_results_that_are_kept():
    """If not: python benchmarks/page.py."""
    import page

    assert page.PAGE.read_text(encoding="utf-8") == page.page(page.read_results(page.RESULTS))


def test_each_picture_shows_each_system():
    import page

    kept = page.read_results(page.RESULTS)
    for theme in ("light", "dark"):
        drawn = ElementTree.parse(page.PAGE.parent / "pictures" / f"benchmarks-alone-{theme}.svg")
        texts = {(each.text or "").strip() for each in drawn.iter("{http://www.w3.org/2000/svg}text")}
        assert texts >= {each["name"] for each in kept["systems"] if "retrieve_many" not in each["name"]}


def test_a_figure_has_its_middle_half_beside_it():
    import page

    assert "| **leafspan Vector** | 0.50 (0.25-1.00) |" in page.page(results(alone=ALONE))


def test_what_is_better_than_leafspan_is_said_with_its_factor():
    import page

    lines = list(page.losses(page.Measured(results(alone=ALONE, disk={"leafspan": 2.0, "plain Chroma": 1.0, "zvec": 3.0}))))
    assert lines == [
        f"- one question (leafspan Vector): zvec {0.25 / 0.5:.2f}",
        f"- disk space (leafspan): plain Chroma {1 / 2:.2f}",
    ]


def test_more_throughput_is_better():
    import page

    lines = list(page.losses(page.Measured(results(adding={"leafspan": 0.8, "plain Chroma": 1.0, "zvec": 0.5}))))
    assert lines == [f"- adding (leafspan): plain Chroma {0.8 / 1.0:.2f}"]


def test_what_is_missing_is_named():
    import page

    assert re.search(r"\*\*Missing in this run\*\*: LanceDB \(needs lancedb\)\.", page.page(results(alone=ALONE)))


def test_what_is_written_is_read_again(tmp_path):
    from argparse import Namespace

    from results import Figure, read_results, write_results

    figures = [Figure("a", 0.5, "<=", 1.0, "alone", (0.25, 1.0)), Figure("b", 2.0)]
    write_results("bench", Namespace(json=tmp_path / "r.json", full=True), figures, {"leaves": 3})
    read = read_results(tmp_path / "r.json")
    assert (read["figures"], read["leaves"], read["options"]) == (figures, 3, {"full": True})


def test_growth_in_proportion_has_the_exponent_1_and_none_0():
    from growth import exponent

    assert exponent([10, 100, 1000], [2.0, 20.0, 200.0]) == pytest.approx(1.0)
    assert exponent([10, 100, 1000], [5.0, 5.0, 5.0]) == pytest.approx(0.0)
