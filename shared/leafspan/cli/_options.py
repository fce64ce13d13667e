"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

KnowledgeBase = Annotated[Path, typer.Option("--kb", help="The folder of the index.")]
"""The type of the option ``--kb``."""

DEFAULT_FOLDER = Path("kb")
"""The folder of the index if ``--kb`` is not given."""
