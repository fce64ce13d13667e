"""Plots an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

from leafspan.errors import InvalidArgument, MissingExtra

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8a8a8a")  # Okabe and Ito's, for all eyes
_MARKS = "osD^vPX"


def check_can_plot(path: Path | None = None) -> None:
    """Check that a plot can be drawn, and saved to a file of this name."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra.of("a plot needs matplotlib", "eval") from error
    if path is not None:
        formats = Figure().canvas.get_supported_filetypes()
        if path.suffix.removeprefix(".").lower() not in formats:
            raise InvalidArgument(
                f"a plot must be a file such as recall.svg, with one of the endings {', '.join(sorted(formats))}, got "
                f"{str(path)!r}"
            )


def plot_against_budget(measure: str, budgets: Sequence[int], lines: Mapping[str, Sequence[float]]) -> Any:
    """Draw a matplotlib figure with a line for each strategy. Notebooks show it."""
    check_can_plot()
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for number, (name, values) in enumerate(lines.items()):
        colour, mark = _COLOURS[number % len(_COLOURS)], _MARKS[number % len(_MARKS)]
        axes.plot(budgets, values, label=name.replace("$", r"\$"), color=colour, marker=mark)
    axes.set_xscale("log")
    axes.set_xticks(list(budgets), [f"{budget:,}" for budget in budgets])
    axes.minorticks_off()
    axes.set_xlabel("words retrieved")
    axes.set_ylabel(measure)
    axes.set_ylim(0, 1.02)
    axes.grid(alpha=0.3)
    axes.legend()
    figure._repr_svg_ = partial(_as_svg, figure)  # otherwise notebooks draw only pyplot's figures
    return figure


def _as_svg(figure: Any) -> str:
    """A figure as SVG without a date and random ids, so that it is the same each time."""
    from matplotlib import rc_context

    written = StringIO()
    with rc_context({"svg.hashsalt": "leafspan"}):
        figure.savefig(written, format="svg", metadata={"Date": None})
    text = written.getvalue()
    return text[text.index("<svg") :]
