"""The pictures on the strategies' pages. Each picture shows a retrieval over the bundled example texts.

python -m tools.site.pictures            draws the pictures into docs/strategies/
python -m tools.site.pictures --check    names outdated pictures, and exits with 1 if there are any
"""

from tools.site.pictures._scenes import SCENES, drawn

__all__ = ["SCENES", "drawn"]
