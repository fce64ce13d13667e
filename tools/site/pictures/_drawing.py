"""An SVG that grows downwards, on a light card that is also readable on a dark page."""

from __future__ import annotations

from html import escape

WIDTH = 760
MARGIN = 16
INNER = WIDTH - 2 * MARGIN

TEXT, MUTED, EMPTY = "#24292f", "#57606a", "#dde3e7"
FOUND, ADDED, OUTLINE, SUMMARY = "#2e7d32", "#a5d6a7", "#1b3d1d", "#f9a825"


class Drawing:
    """Shapes, and the height that they need so far."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.shapes: list[str] = []
        self.y = MARGIN

    def rectangle(self, x: float, y: float, width: float, height: float, fill: str, *, line: str = "none") -> None:
        size = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
        self.shapes.append(f'<rect {size} rx="2" fill="{fill}" stroke="{line}"/>')

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str = MUTED, width: float = 1.0) -> None:
        self.shapes.append(
            f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{colour}" stroke-width="{width}" fill="none"/>'
        )

    def curve(self, x1: float, y1: float, x2: float, y2: float, colour: str = MUTED, width: float = 1.0) -> None:
        middle = (x1 + x2) / 2
        self.shapes.append(
            f'<path d="M{x1:.1f} {y1:.1f}C{middle:.1f} {y1:.1f} {middle:.1f} {y2:.1f} {x2:.1f} {y2:.1f}" '
            f'stroke="{colour}" stroke-width="{width}" fill="none"/>'
        )

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: int = 12,
        colour: str = TEXT,
        anchor: str = "start",
        bold: bool = False,
    ) -> None:
        weight = ' font-weight="600"' if bold else ""
        self.shapes.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}"{weight}>'
            f"{escape(text)}</text>"
        )

    def heading(self, text: str) -> None:
        """Add a line in bold."""
        self.text(MARGIN, self.y + 12, text, bold=True)
        self.y += 22

    def note(self, text: str) -> None:
        """Add a line in grey."""
        self.text(MARGIN, self.y + 11, text, size=11, colour=MUTED)
        self.y += 18

    def legend(self, entries: dict[str, str]) -> None:
        """Add a line of colours and their meanings."""
        x = float(MARGIN)
        for colour, meaning in entries.items():
            self.rectangle(x, self.y, 10, 10, colour)
            self.text(x + 15, self.y + 9, meaning, size=11, colour=MUTED)
            x += 15 + 6.2 * len(meaning) + 18
        self.y += 14

    def svg(self) -> str:
        height = self.y + MARGIN - 6
        card = f'width="{WIDTH - 1}" height="{height - 1:.0f}" rx="6" fill="#ffffff" stroke="#d0d7de"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
            f'font-family="system-ui, sans-serif">\n<title>{escape(self.title)}</title>\n'
            f'<rect x="0.5" y="0.5" {card}/>\n' + "\n".join(self.shapes) + "\n</svg>\n"
        )


def shortened(text: str, length: int) -> str:
    """The beginning of a text, on one line."""
    words = " ".join(text.split())
    return words if len(words) <= length else words[: length - 1].rstrip() + "…"
