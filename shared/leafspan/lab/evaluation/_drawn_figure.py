"""A figure of matplotlib that a notebook draws, whether pyplot is loaded or not."""

from __future__ import annotations

from io import StringIO

from matplotlib import rc_context
from matplotlib.figure import Figure


class DrawnFigure(Figure):
    """A figure that a notebook draws at the end of a cell. Only figures of pyplot are drawn otherwise."""

    def _repr_svg_(self) -> str:
        """The figure as SVG, the same each time: no date, and no random ids."""
        written = StringIO()
        with rc_context({"svg.hashsalt": "leafspan"}):
            self.savefig(written, format="svg", metadata={"Date": None})
        text = written.getvalue()
        return text[text.index("<svg") :]
