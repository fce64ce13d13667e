"""Language models of any library behind one interface, and prompts for them."""

from leafspan.language_model._models import (
    GenerateOptions,
    find_language_model,
    from_langchain,
    from_llamaindex,
    identity_of,
    model_name,
)
from leafspan.language_model._prompts import (
    CHOOSING_PROMPT,
    DEFAULT_PROMPT,
    PROMPTS,
    Transformation,
    check_choosing_prompt,
    check_prompt,
    check_template,
    fill_choosing_prompt,
    read_names,
    read_phrasings,
    read_whole,
    without_reasoning,
)

__all__ = [
    "CHOOSING_PROMPT",
    "DEFAULT_PROMPT",
    "PROMPTS",
    "GenerateOptions",
    "Transformation",
    "check_choosing_prompt",
    "check_prompt",
    "check_template",
    "fill_choosing_prompt",
    "find_language_model",
    "from_langchain",
    "from_llamaindex",
    "identity_of",
    "model_name",
    "read_names",
    "read_phrasings",
    "read_whole",
    "without_reasoning",
]
