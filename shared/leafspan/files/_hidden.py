"""Hidden elements of a page: those that no reader of the page sees, so that no question finds what they say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_SIMPLE = re.compile(r"[.#]?[\w-]+")
_NAMES = re.compile(r"[.#][\w-]+")
_LENGTH = re.compile(r"(-?\d*\.?\d+)\s*([a-z%]*)")
_UNITS = {"pt": 4 / 3, "em": 16.0, "rem": 16.0, "%": 0.16}  # pixels of a unit of a font's size
_SMALLEST = 2.0  # pixels
_FAR_AWAY = -900.0  # pixels left of a page or above it
_FAR = ("left", "top", "right", "bottom", "text-indent", "margin-left", "margin-top")
_NOTHING_LEFT = re.compile(r"rect\([01p, x]*\)|inset\((?:50|100)%\)")  # of a clipped element
_ZERO = re.compile(r"0(?:\.0*)?(?:[a-z]+|%)?")
_HEX = re.compile(r"#([0-9a-f]{3,8})")
_RGB = re.compile(r"rgba?\(([^)]*)\)")
_WHITE = (255.0, 255.0, 255.0, 1.0)
_COLORS = {"white": _WHITE, "black": (0.0, 0.0, 0.0, 1.0), "transparent": (0.0, 0.0, 0.0, 0.0)}
_NEAR = 10  # of 255: colours that look the same


def remove_hidden(page: Any) -> None:
    """Remove what is hidden by attributes, by inline styles, and by rules of the page's own style sheets.

    Interactive parts, such as tabs, stay: their rules also show them. Text in the colour of its background is hidden unless
    a style sheet may give it another background.
    """
    sheets = "\n".join(style.get_text() for style in page("style"))
    hidden = _hidden_names(sheets)
    is_styled = "background" in sheets or page.find("link", rel="stylesheet") is not None
    fades_in = page.find("script") is not None  # scripts show elements that are transparent at first
    waiting: list[Any] = [page]
    removed: list[Any] = []
    while waiting:
        for element in [each for each in waiting.pop().contents if each.name]:
            is_removed = _is_hidden(element, hidden, fades_in=fades_in) or _is_invisible(element, is_styled=is_styled)
            (removed if is_removed else waiting).append(element)
    for element in removed:
        element.decompose()


def _is_hidden(element: Any, hidden: frozenset[str], *, fades_in: bool) -> bool:
    if not element.attrs and element.name != "dialog" and element.name not in hidden:
        return False
    if element.name in ("html", "body"):  # which scripts show as soon as they have run
        return False
    if element.get("hidden", "until-found") != "until-found" or (element.name == "dialog" and not element.has_attr("open")):
        return True
    if element.name == "input":
        return bool(element.get("type") == "hidden")
    style = _declarations(element.get("style") or "")
    if _hides(style) or (not fades_in and _ZERO.fullmatch(style.get("opacity", ""))):
        return True
    if not hidden or "display" in style:
        return False
    names = [element.name, *(f".{each}" for each in element.get("class") or ()), f"#{element.get('id')}"]
    return not hidden.isdisjoint(names)


def _declarations(style: str) -> dict[str, str]:
    if not style:
        return {}
    declarations = (each.partition(":") for each in _COMMENT.sub("", style.lower()).split(";"))
    return {key.strip(): value.replace("!important", "").strip() for key, _, value in declarations}


def _hides(style: dict[str, str]) -> bool:
    if (
        style.get("display") == "none"
        or style.get("visibility") in ("hidden", "collapse")
        or style.get("mso-hide") == "all"
    ):
        return True
    if _pixels(style.get("font-size", ""), 16.0) < _SMALLEST:
        return True
    clip = style.get("clip") or style.get("clip-path") or ""
    if style.get("position") in ("absolute", "fixed") and _NOTHING_LEFT.match(clip):
        return True
    if style.get("overflow") == "hidden" and any(
        _ZERO.fullmatch(style.get(each, "")) for each in ("height", "max-height", "width", "max-width")
    ):
        return True
    return any(_pixels(style.get(each, ""), 0.0) < _FAR_AWAY for each in _FAR)


def _pixels(length: str, default: float) -> float:
    match = _LENGTH.fullmatch(length)
    return float(match[1]) * _UNITS.get(match[2], 1.0) if match else default


def _hidden_names(sheets: str) -> frozenset[str]:
    """Return the elements, classes and ids that simple rules hide, unless another rule shows elements with them."""
    hidden: set[str] = set()
    shown: set[str] = set()
    for selectors, style in _rules(sheets):
        declared = _declarations(style)
        hides = _hides(declared)
        for selector in selectors.split(","):
            if hides and _SIMPLE.fullmatch(selector.strip()):
                hidden.add(selector.strip())
            elif not hides and declared.keys() & {"display", "visibility", "opacity"}:
                shown.update(_NAMES.findall(selector))
    return frozenset(hidden - shown)


def _rules(sheets: str) -> Iterator[tuple[str, str]]:
    """Yield the selectors and declarations of rules that hold on every screen: those outside of @media and the like."""
    sheets = _COMMENT.sub("", sheets)
    depth = start = 0
    for match in re.finditer(r"@[^{};@]*(?:;|(\{))|[{}]", sheets):
        if match[0] == "}" and depth:
            depth -= 1
            start = match.end()
        elif match[1] or (match[0] == "{" and depth):
            if depth == 0:
                yield from _divided(sheets[start : match.start()])
            depth += 1
    yield from _divided(sheets[start:]) if depth == 0 else ()


def _divided(sheet: str) -> Iterator[tuple[str, str]]:
    for rule in sheet.split("}"):
        selectors, _, style = rule.rpartition("{")
        yield selectors, style


def _is_invisible(element: Any, *, is_styled: bool) -> bool:
    """Whether a text has the colour of its background. A style sheet may colour the background of a class."""
    color = _color(_declarations(element.get("style") or "").get("color", ""))
    if color is None or not color[3]:
        return color is not None
    for each in [element, *element.parents]:
        style = _declarations(each.get("style") or "")
        if background := style.get("background-color") or style.get("background") or each.get("bgcolor"):
            behind = _color(background.lower())
            return behind is not None and _is_near(color, behind)
        if is_styled and (each.get("class") or each.get("id")):
            return False
    return _is_near(color, _WHITE)


def _color(text: str) -> tuple[float, float, float, float] | None:
    """Return a colour as red, green, blue (of 255) and opacity (of 1), or None if it is not known."""
    text = text.strip()
    if match := _HEX.fullmatch(text):
        digits = match[1] if len(match[1]) > 4 else "".join(2 * each for each in match[1])
        numbers = [int(digits[each : each + 2], 16) for each in range(0, len(digits) - 1, 2)]
        return (numbers[0], numbers[1], numbers[2], numbers[3] / 255 if len(numbers) > 3 else 1) if numbers[2:] else None
    if match := _RGB.fullmatch(text):
        channels = [float(each[0]) for each in _LENGTH.findall(match[1])]
        return (channels[0], channels[1], channels[2], channels[3] if channels[3:] else 1) if channels[2:] else None
    return _COLORS.get(text)


def _is_near(color: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return all(abs(one - two) <= _NEAR for one, two in zip(color, other, strict=True))
