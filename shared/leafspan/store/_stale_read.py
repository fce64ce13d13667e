"""The sign that reading must start again."""


class StaleRead(Exception):
    """Something that was just read has been replaced, so reading must start again. Users never see this exception."""


class MetDamage(StaleRead):
    """A damaged document was met, and reading goes on without it, from the start."""
