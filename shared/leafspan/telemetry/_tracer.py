"""The application's tracer, if it has one."""

from __future__ import annotations

import sys
from typing import Any

_SUPPRESSED = "suppress_instrumentation"  # what OpenTelemetry and OpenInference set where nothing is to be recorded


def opentelemetry() -> Any:
    """The module ``opentelemetry.trace``; None if nobody records spans here.

    It is not imported for that: an application that has set up a tracer provider has imported it.
    """
    if "opentelemetry.trace" not in sys.modules:
        return None
    try:
        from opentelemetry import context, trace  # waits where another thread is importing them right now
    except ImportError:  # so nobody can have set up a provider
        return None
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return None
    return None if context.get_value(_SUPPRESSED) else trace
