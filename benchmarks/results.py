"""The results of all benchmarks in one form: figures that are printed, judged by bounds, and written.

A benchmark's JSON file has its name, whether it passed, versions, options, and figures. It does not have the machine's name
or paths.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

Sign = Literal["<=", ">=", ">"]

_EXACT = 1e-9  # decimal fractions such as 0.69 are not exact in binary


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number, with its bound if it has one.

    Attributes:
        name: Name of the measurement.
        value: The number.
        sign: How the number must compare with the bound: ``"<="``, ``">="`` or ``">"``. None without a bound.
        bound: The bound, or None.
        part: Its part of the benchmark, such as a question set. Empty if there are no parts.
        middle_half: For a median, the range of the middle half of the measured values. None for other numbers.
        interval: For a difference, its 95 % confidence interval. None for other numbers.
    """

    name: str
    value: float
    sign: Sign | None = None
    bound: float | None = None
    part: str = ""
    middle_half: tuple[float, float] | None = None
    interval: tuple[float, float] | None = None

    @property
    def gap(self) -> float | None:
        """The distance to the bound, below 0 if it is missed; None without a bound."""
        if self.bound is None:
            return None
        return self.bound - self.value if self.sign == "<=" else self.value - self.bound

    @property
    def passed(self) -> bool | None:
        """Whether the bound is kept; None without a bound."""
        if self.gap is None:
            return None
        return self.gap > 0 if self.sign == ">" else self.gap >= -_EXACT

    def record(self) -> dict[str, Any]:
        """The figure as it is written: with six significant digits, without unset values."""
        record: dict[str, Any] = {"part": self.part, "name": self.name, "value": _rounded(self.value)}
        for name, ends in (("middle_half", self.middle_half), ("interval", self.interval)):
            if ends is not None:
                record[name] = [_rounded(value) for value in ends]
        if self.bound is not None:
            record |= {"sign": self.sign, "bound": _rounded(self.bound), "passed": self.passed}
        return record if self.part else {key: value for key, value in record.items() if key != "part"}


def all_passed(figures: Iterable[Figure]) -> bool:
    """Whether no figure misses its bound."""
    return all(figure.passed is not False for figure in figures)


def print_figures(figures: Iterable[Figure], *, decimals: int = 2, unbounded: bool = False) -> list[Figure]:
    """Print a line for each figure with a bound as soon as it is measured, and return all figures.

    Args:
        figures: The figures.
        decimals: Decimal places of the values. Default: 2.
        unbounded: Whether to print figures without a bound, too. Default: False, since the benchmark prints them itself.
    """
    printed = []
    for figure in figures:
        printed.append(figure)
        if figure.bound is None:
            if unbounded:
                print(f"           {figure.value:.{decimals}f}  {figure.name}{f', {figure.part}' if figure.part else ''}")
            continue
        verdict = "PASS" if figure.passed else "FAIL"
        half = figure.middle_half
        shown = f" (middle half {half[0]:.{decimals}f} to {half[1]:.{decimals}f})" if half else ""
        print(
            f"  {verdict}  {figure.value:7.{decimals}f} {figure.sign} {figure.bound:<5g} {figure.name}{shown}", flush=True
        )
    return printed


def read_results(file: Path) -> dict[str, Any]:
    """Read what ``write_results`` has written, with its figures as ``Figure``s."""
    read: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    keys = ("name", "value", "sign", "bound", "part")
    read["figures"] = [
        Figure(
            **{key: each[key] for key in keys if key in each},
            **{key: tuple(each[key]) for key in ("middle_half", "interval") if key in each},
        )
        for each in read["figures"]
    ]
    return read


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--json FILE``."""
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file as JSON, too")


def write_results(
    benchmark: str, arguments: argparse.Namespace, figures: Sequence[Figure], more: Mapping[str, Any] | None = None
) -> None:
    """Write the figures to the file that ``--json`` names. Without that option, nothing is written.

    Args:
        benchmark: Name of the benchmark.
        arguments: Parsed command line. For an option with a path, only its presence is written.
        figures: The figures, in the order of the measurements.
        more: More contents of the file, by name. Default: none.
    """
    if arguments.json is None:
        return
    options = {name: _shown(value) for name, value in vars(arguments).items() if name != "json"}
    head = {
        "benchmark": benchmark,
        "passed": all_passed(figures),
        "versions": versions(),
        "options": options,
        **(more or {}),
    }
    # A line for each figure, so that a changed figure changes one line.
    lines = ",\n".join(f"  {json.dumps(figure.record(), ensure_ascii=False, allow_nan=False)}" for figure in figures)
    text = json.dumps(head, indent=1, ensure_ascii=False).removesuffix("\n}") + f',\n "figures": [\n{lines}\n ]\n}}\n'
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(text, encoding="utf-8")


def versions() -> dict[str, str]:
    """The versions of leafspan, Python and Chroma, and the platform: operating system and processor architecture."""
    return {
        "leafspan": version("leafspan"),
        "python": platform.python_version(),
        "chromadb": version("chromadb"),
        "platform": f"{platform.system()} {platform.machine()}",
    }


def _shown(value: Any) -> Any:
    return True if isinstance(value, Path) else value


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")
