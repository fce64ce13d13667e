"""The command ``leafspan`` before leafspan is loaded, which takes a second.

It is a package of its own, since Python loads all of ``leafspan`` before any module in it.
"""

import os
import signal

__all__ = ["main"]

_INTERRUPTED = 130  # what shells report of a command that Ctrl-C has ended: 128 and the number of SIGINT


def main() -> None:
    """Run the command. As long as it is being loaded, Ctrl-C ends it without a word, with exit code 130."""
    usual = signal.getsignal(signal.SIGINT)
    can_be_interrupted = usual is signal.default_int_handler  # in the background, shells have it ignored
    if can_be_interrupted:
        signal.signal(signal.SIGINT, lambda *_: os._exit(_INTERRUPTED))
    from leafspan.cli import app

    if can_be_interrupted:
        signal.signal(signal.SIGINT, usual)
    app(prog_name="leafspan")
