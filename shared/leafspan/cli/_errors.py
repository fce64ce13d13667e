"""What goes wrong, as one line on standard error."""

from __future__ import annotations

from typing import Any

import typer
from rich.text import Text
from typer.core import TyperGroup

from leafspan.cli._console import console, plain
from leafspan.errors import LeafspanError


class CleanGroup(TyperGroup):
    """Commands whose expected errors end in one red line and exit code 2; unexpected ones keep their traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except (LeafspanError, OSError) as error:
            if isinstance(error, BrokenPipeError):  # who reads the output has left: `leafspan show | head`
                raise
            line = " ".join(str(plain(str(error))).split())
            console(stderr=True).print(Text(f"error: {line}", style="red"))
            raise typer.Exit(2) from None
