"""Language models of any library behind one interface, and prompts for them."""

from leafspan.language_model._choosing import CHOOSING_PROMPT, check_choosing_prompt, fill_choosing_prompt, read_names
from leafspan.language_model._identity import identity_of
from leafspan.language_model._models import (
    GenerateOptions,
    LanguageModel,
    find_language_model,
    from_langchain,
    from_llamaindex,
    model_name,
)
from leafspan.language_model._phrasing import DEFAULT_PROMPT, check_prompt, fill_prompt, read_phrasings
from leafspan.language_model._prompts import check_template
from leafspan.language_model._reasoning import without_reasoning
from leafspan.language_model._transforming import PROMPTS, Transformation, read_texts

__all__ = [
    "CHOOSING_PROMPT",
    "DEFAULT_PROMPT",
    "PROMPTS",
    "GenerateOptions",
    "LanguageModel",
    "check_choosing_prompt",
    "Transformation",
    "check_prompt",
    "check_template",
    "fill_choosing_prompt",
    "fill_prompt",
    "find_language_model",
    "from_langchain",
    "from_llamaindex",
    "identity_of",
    "model_name",
    "read_names",
    "read_phrasings",
    "read_texts",
    "without_reasoning",
]
