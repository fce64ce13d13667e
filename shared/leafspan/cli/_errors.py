"""Printing errors as one line."""

from __future__ import annotations

from typing import Any

import typer
from rich.text import Text
from typer.core import TyperGroup

from leafspan.cli._console import console, plain
from leafspan.errors import LeafspanError
from leafspan.store import chroma_failure


class CleanGroup(TyperGroup):
    """A group of commands. An expected error prints one red line, and exits with code 2; others keep their traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and print an expected error."""
        try:
            return super().invoke(ctx)
        except (LeafspanError, OSError) as error:
            if isinstance(error, BrokenPipeError):  # nobody reads the output any more: `leafspan show | head`
                raise
            line = " ".join(str(plain(str(error))).split())
            console(stderr=True).print(Text(f"error: {line}", style="red"))
            raise typer.Exit(2) from None
        except BaseException as error:
            if (failure := chroma_failure(error)) is None:
                raise
            remedy = "if it fails again, run `leafspan doctor`, or index the files into a new folder"
            console(stderr=True).print(Text(f"error: {plain(failure)}; {remedy}", style="red"))
            raise typer.Exit(2) from None
