"""OpenTelemetry spans of retrievals, where the application has set up a tracer provider; nothing otherwise."""

from leafspan.telemetry._recording import Recording, recorded

__all__ = ["Recording", "recorded"]
