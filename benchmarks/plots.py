"""Draws the pictures of docs/benchmarks.md, in light and in dark, from the results of ``bench.py``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

KINDS = ("vectors", "words", "words and vectors", "parents", "windows", "merged leaves")


def write_plots(results: Mapping[str, Any], folder: Path) -> None:
    """Write all pictures into a folder, as SVG."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot

    for name, draw in {"alone": _alone, "growth": _growth}.items():
        for theme, colours in THEMES.items():
            with mpl.rc_context(_style(colours)):
                figure = draw(pyplot, results, colours)
                path = folder / f"benchmarks-{name}-{theme}.svg"
                figure.savefig(path, metadata={"Date": None, "Creator": None}, bbox_inches="tight", transparent=True)
                pyplot.close(figure)
            path.write_text(re.sub(r"[ \t]+$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE), encoding="utf-8")


THEMES = {
    "light": {
        "text": "#24292f",
        "faint": "#d0d7de",
        "ours": "#2e7d32",
        "peer": "#6e7f91",
        "plain": "#b26a00",
        "third": "#1565c0",
    },
    "dark": {
        "text": "#d7dde4",
        "faint": "#3a424c",
        "ours": "#66bb6a",
        "peer": "#8c9bad",
        "plain": "#ffb74d",
        "third": "#64b5f6",
    },
}

Colours = Mapping[str, str]


def _style(colours: Colours) -> dict[str, Any]:
    text = colours["text"]
    return {
        "font.family": "sans-serif",
        "font.size": 9,
        "svg.fonttype": "none",
        "svg.hashsalt": "leafspan",
        "text.color": text,
        "axes.labelcolor": text,
        "xtick.color": text,
        "ytick.color": text,
        "axes.facecolor": "none",
        "axes.edgecolor": colours["faint"],
        "grid.color": colours["faint"],
        "grid.linewidth": 0.6,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }


def _alone(pyplot: Any, results: Mapping[str, Any], colours: Colours) -> Any:
    """A point for each system, by kind, with the middle half as a bar."""
    figures = {each.name: each for each in results["figures"] if each.part == "alone"}
    rows: list[tuple[str, Any]] = []
    heads: list[int] = []
    for kind in KINDS:
        names = [
            each["name"] for each in results["systems"] if each["kind"] == kind and "retrieve_many" not in each["name"]
        ]
        heads.append(len(rows))
        rows.append((kind, None))
        rows += [(name, figures[name]) for name in sorted(names, key=lambda name: figures[name].value)]
    figure, axes = pyplot.subplots(figsize=(8.2, 0.22 * len(rows) + 0.5))
    for place, (name, each) in enumerate(rows):
        if each is None:
            continue
        colour = colours["ours" if name.startswith("leafspan") else "plain" if name == "plain Chroma" else "peer"]
        low, high = each.middle_half
        axes.plot([low, high], [place, place], color=colour, linewidth=5, alpha=0.35, solid_capstyle="butt")
        axes.plot(each.value, place, color=colour, marker="o", markersize=5)
        number = f"{each.value:.2f}" if each.value < 10 else f"{each.value:.0f}"
        axes.annotate(number, (high, place), (6, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks(range(len(rows)), [name for name, _ in rows])
    for place in heads:
        axes.get_yticklabels()[place].set_fontweight("bold")
    axes.tick_params(axis="y", length=0)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.axvline(1, color=colours["plain"], linewidth=0.9, linestyle="--", zorder=0)
    axes.grid(True, which="major", axis="x")
    axes.set_axisbelow(True)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(right=axes.get_xlim()[1] * 1.5)
    axes.set_xlabel("time of one question, in times of a plain Chroma query (bar: the middle half)")
    return figure


def _growth(pyplot: Any, results: Mapping[str, Any], colours: Colours) -> Any:
    """Two pictures by size: questions, and the first answer."""
    sizes = results["options"]["sizes"]
    values = {each.name: each for each in results["figures"] if each.part == "growth"}
    shades = {
        "Vector": colours["ours"],
        "Hybrid": colours["third"],
        "BM25": colours["peer"],
        "plain Chroma": colours["plain"],
    }
    figure, both = pyplot.subplots(1, 2, figsize=(8.2, 3.2))
    for axes, prefix in zip(both, ("", "first answer, "), strict=True):
        ends = []
        for name, colour in shades.items():
            row = [values.get(f"{prefix}{name}: {size:,} leaves, beside plain Chroma's smallest") for size in sizes]
            row = [each for each in row if each is not None]
            if not row:
                continue
            middle = [each.value for each in row]
            low, high = zip(*[each.middle_half for each in row], strict=True)
            axes.fill_between(sizes[: len(row)], low, high, color=colour, alpha=0.18, linewidth=0)
            dashes = "--" if name == "plain Chroma" else "-"
            axes.plot(sizes[: len(row)], middle, color=colour, marker="o", markersize=3.5, linewidth=1.6, linestyle=dashes)
            exponent = values[f"{prefix}{name}: exponent"].value
            ends.append((sizes[len(row) - 1], middle[-1], f"{name}, {exponent:.2f}", colour))
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.set_xticks([], minor=True)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:.0e}"[0] in "25" else "")
        axes.set_xlim(right=sizes[-1] * (sizes[-1] / sizes[0]) ** 0.6)
        axes.grid(True, which="major")
        axes.set_xlabel("leaves")
        axes.set_title("opening to the first answer" if prefix else "one question", fontsize=10, color=colours["text"])
        _label(axes, ends)
    both[0].set_ylabel("in times of plain Chroma\nat the smallest size")
    figure.tight_layout()
    return figure


def _label(axes: Any, ends: list[tuple[int, float, str, str]]) -> None:
    """Names beside the ends of lines, without overlaps."""
    import math

    low, high = (math.log(value) for value in axes.get_ylim())
    least = (high - low) * 0.075
    place = -math.inf
    for size, value, text, colour in sorted(ends, key=lambda end: end[1]):
        place = max(math.log(value), place + least)
        axes.annotate(
            text, (size, math.exp(place)), (7, 0), textcoords="offset points", va="center", color=colour, fontsize=8
        )
