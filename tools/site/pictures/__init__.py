"""The pictures of the strategies' pages, each drawn from a retrieval over the bundled example texts.

python -m tools.site.pictures            draws them into docs/strategies/
python -m tools.site.pictures --check    names those that are out of date, and exits with 1 if there are any
"""

from tools.site.pictures._scenes import SCENES, drawn

__all__ = ["SCENES", "drawn"]
