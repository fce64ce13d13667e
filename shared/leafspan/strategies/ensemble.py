"""Ensembles: several strategies asked at once, and what they find made into one list."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from leafspan.errors import InvalidArgument
from leafspan.fusion import reciprocal_rank_fusion
from leafspan.requests import Asking, Leg, LegResults, Legs
from leafspan.strategies.fusing import FUSIONS, Fusion, Ranked, fuse
from leafspan.strategies.narrowed import Narrowed
from leafspan.strategies.outside import Outside
from leafspan.strategies.strategy import Reach, Strategy, check_choice, check_strategy, is_number, whole
from leafspan.values import Found, Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Ensemble:
    """What two or more ``legs`` find, run together and fused.

    A leg is any strategy. Where all find single leaves, so does the ensemble; else runs that overlap become one passage,
    with the best score among them. At most ``candidates`` results come back.

    ``fusion`` decides what the score means; each leg's share of it is in the trace:

    - ``"reciprocal rank"``: the weighted mean of 1 / (``constant`` + rank), in (0, 1 / (``constant`` + 1)]. For scores that
      cannot be compared.
    - ``"relative score"``: the weighted mean of the legs' scores, each leg's brought to [0, 1], so that the last of a leg
      gets nothing from it.
    - ``"distribution based"``: the same, but a leg's mean becomes 0.5, three standard deviations 0 and 1. About [0, 1].
    - ``"maximum"``: the best of the legs' own scores, which must mean the same; each times its leg's weight, if any.

    ``weights``: one number > 0 a leg, None for equal ones; apart from ``"maximum"``, only their ratios count.
    ``min_candidates``: each leg is asked for at least so many; by default as many as are asked for. ``names``: what the
    legs are called in the trace and in errors, by default after their classes.

    ``timeout``: the seconds that each leg may take, one number for all or one a leg, None for any. A late leg has failed,
    and goes on in the background unheard. ``on_failure``: ``"raise"`` raises the error of the first leg that failed, with
    a note that names the leg; ``"leave out"`` fuses the others, with their weights in the same ratio, and says so in the
    trace of each passage (where they find nothing, nothing says so). An InvalidArgument, which is a mistake of the caller,
    and the failure of all legs are always raised.

    Raises:
        InvalidArgument: if there are fewer than two legs, one is no strategy, there is not one weight > 0 for each leg,
            ``constant`` is negative, a timeout not positive, ``min_candidates`` not positive, ``names`` are not one text a
            leg, each another, ``fusion`` or ``on_failure`` is unknown.
    """

    legs: Sequence[Strategy]
    weights: Sequence[float] | None = None
    fusion: Fusion = "reciprocal rank"
    constant: float = 60
    timeout: float | Sequence[float | None] | None = None
    on_failure: Literal["raise", "leave out"] = "raise"
    min_candidates: int | None = None
    names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.legs, Sequence) or isinstance(self.legs, str) or len(self.legs) < 2:
            raise InvalidArgument(f"legs must be two or more strategies, got {self.legs!r}")
        for number, leg in enumerate(self.legs, start=1):
            check_strategy(f"leg {number}", leg)
        object.__setattr__(self, "legs", tuple(self.legs))
        for name in ("weights", "timeout", "names"):
            object.__setattr__(self, name, _one_a_leg(name, getattr(self, name), len(self.legs)))
        reciprocal_rank_fusion([()] * len(self.legs), weights=self.weights, constant=self.constant)
        for timeout in self._timeouts:
            if timeout is not None and not (is_number(timeout) and timeout > 0):
                raise InvalidArgument(f"timeout must be a number of seconds > 0, got {timeout!r}")
        if self.min_candidates is not None:
            whole("min_candidates", self.min_candidates, 1)
        if self.names is not None:
            if not all(isinstance(name, str) and name.strip() for name in self.names):
                raise InvalidArgument(f"names must be texts that are not blank, got {self.names!r}")
            if len(set(self.names)) < len(self.names):
                raise InvalidArgument(f"names must differ from each other, got {self.names!r}")
        check_choice("fusion", self.fusion, FUSIONS)
        if self.on_failure not in ("raise", "leave out"):
            raise InvalidArgument(f"on_failure must be 'raise' or 'leave out', got {self.on_failure!r}")

    @property
    def finds_spans(self) -> bool:
        """Whether a leg finds longer runs than leaves."""
        return any(getattr(leg, "finds_spans", False) for leg in self.legs)

    def retrieve(self, queries: Sequence[Query], reach: Reach) -> Asking[list[list[Found]]]:
        """See Strategy: all legs at once."""
        deep = replace(reach.below, candidates=max(reach.candidates, self.min_candidates or 0))
        answers: list[LegResults] = yield Legs(
            tuple(Leg(leg, queries, deep, timeout) for leg, timeout in zip(self.legs, self._timeouts, strict=True))
        )
        names = self.names or _readable_names(self.legs)
        weights = self.weights or [1.0] * len(self.legs)
        present: list[tuple[str, float, list[list[Found]]]] = []
        failed: dict[str, Exception] = {}
        for number, (name, weight, answer) in enumerate(zip(names, weights, answers, strict=True), start=1):
            if isinstance(answer, Exception):
                failed[f"leg {number} ({name})"] = answer
            else:
                present.append((name, weight, answer))
        mistaken = any(isinstance(error, InvalidArgument) for error in failed.values())
        if failed and (self.on_failure == "raise" or mistaken or not present):
            raise _noted(failed)
        notes = [f"{leg} was left out: {_in_words(error)}" for leg, error in failed.items()]
        results = []
        for each in range(len(queries)):
            lists = [Ranked(name, rows[each], weight) for name, weight, rows in present]
            fused = fuse(lists, fusion=self.fusion, constant=self.constant, notes=notes)
            results.append(fused[: reach.candidates])
        return results

    @property
    def _timeouts(self) -> Sequence[float | None]:
        if isinstance(self.timeout, Sequence):
            return self.timeout
        return [self.timeout] * len(self.legs)


_WANTED = {
    "weights": "a list of numbers",
    "timeout": "a number of seconds, or a list of such",
    "names": "a list of texts",
}


def _one_a_leg(name: str, value: Any, legs: int) -> Any:
    """A list of options as a tuple, of which there must be one a leg."""
    if value is None or (name == "timeout" and not isinstance(value, Sequence)):
        return value
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != legs:
        raise InvalidArgument(f"{name} must be {_WANTED[name]}, one for each of the {legs} legs, got {value!r}")
    return tuple(value)


def _readable_names(legs: Sequence[Strategy]) -> list[str]:
    """``sentence window``, ``BM25``, a host's retriever by its class; numbered where two are the same."""
    bare = [leg.base if isinstance(leg, Narrowed) else leg for leg in legs]
    names = [leg.name if isinstance(leg, Outside) else _readable(type(leg).__name__) for leg in bare]
    return [
        f"{name} {names[:place].count(name) + 1}" if names.count(name) > 1 else name for place, name in enumerate(names)
    ]


def _readable(name: str) -> str:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).split()
    return " ".join(word if word.isupper() else word.lower() for word in words)


def _noted(failed: Mapping[str, Exception]) -> Exception:
    """The first failure, a mistake of the caller before others, with a note for each leg that failed."""
    raised = min(failed.values(), key=lambda error: not isinstance(error, InvalidArgument))
    for leg, error in failed.items():
        raised.add_note(f"{leg} of the ensemble failed" + ("" if error is raised else f" too: {_in_words(error)}"))
    return raised


def _in_words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
