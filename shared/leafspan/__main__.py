"""``python -m leafspan`` is the command ``leafspan``."""

from leafspan.cli import app

if __name__ == "__main__":
    app(prog_name="leafspan")
