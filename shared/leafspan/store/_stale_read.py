"""The sign that reading must start again without a damaged document."""

from leafspan.engines import StaleRead


class MetDamage(StaleRead):
    """A damaged document was met, and reading goes on without it, from the start."""
