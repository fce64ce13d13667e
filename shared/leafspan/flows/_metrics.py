"""Metrics of OpenTelemetry. Callers look first whether the application has imported ``METRICS``."""

from __future__ import annotations

from functools import cache
from typing import Any

METRICS = "opentelemetry.metrics"

_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_INSTRUMENTS = {
    "leafspan.retrieve.duration": ("s", "Time of a call that retrieves"),
    "leafspan.retrieve.passages": ("{passage}", "Passages of a result"),
    "leafspan.add.duration": ("s", "Time of a call that adds or syncs"),
    "leafspan.add.documents": ("{document}", "Documents that were added, replaced or unchanged"),
    "leafspan.embed.texts": ("{text}", "Texts of documents that were embedded, or that a cache had the vectors of"),
    "leafspan.lock.wait": ("s", "Time that a writer waited for another one"),
}


@cache
def instrument(name: str) -> Any:
    """A function that records a value with attributes. It follows a provider that the application sets up later."""
    from opentelemetry import metrics

    unit, about = _INSTRUMENTS[name]
    meter = metrics.get_meter("leafspan")
    if unit in ("{document}", "{text}"):
        return meter.create_counter(name, unit, about).add
    try:
        bounds: dict[str, Any] = {"explicit_bucket_boundaries_advisory": _BOUNDS} if unit == "s" else {}
        return meter.create_histogram(name, unit, about, **bounds).record
    except TypeError:  # the API is older than 1.30
        return meter.create_histogram(name, unit, about).record
