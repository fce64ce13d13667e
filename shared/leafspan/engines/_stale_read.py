"""That something has changed while it was read."""


class StaleRead(Exception):
    """What is read has changed meanwhile: reading starts again. It never reaches users."""
