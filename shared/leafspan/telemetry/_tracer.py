"""The application's tracer, if it has one."""

from __future__ import annotations

import sys
from typing import Any

_SUPPRESSED = "suppress_instrumentation"  # what OpenTelemetry and OpenInference set where nothing is to be recorded


def opentelemetry() -> Any:
    """The module ``opentelemetry.trace``; None if nobody records spans here.

    It is not imported: an application that has set up a tracer provider has imported it.
    """
    trace: Any = sys.modules.get("opentelemetry.trace")
    if trace is None or isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return None
    context: Any = sys.modules["opentelemetry.context"]
    return None if context.get_value(_SUPPRESSED) else trace
