"""A matplotlib figure that a notebook draws, with or without pyplot."""

from __future__ import annotations

from io import StringIO

from matplotlib import rc_context
from matplotlib.figure import Figure


class DrawnFigure(Figure):
    """A figure that a notebook draws at the end of a cell. Otherwise notebooks draw only pyplot's figures."""

    def _repr_svg_(self) -> str:
        """Return the figure as SVG without a date and random ids, so that it is the same each time."""
        written = StringIO()
        with rc_context({"svg.hashsalt": "leafspan"}):
            self.savefig(written, format="svg", metadata={"Date": None})
        text = written.getvalue()
        return text[text.index("<svg") :]
