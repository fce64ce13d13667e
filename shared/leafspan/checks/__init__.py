"""Checks of users' options, and of calls of their functions."""

from leafspan.checks._changed_options import changed_options, short_repr
from leafspan.checks._option_names import check_option_names, with_option_names
from leafspan.checks._options import (
    check_choice,
    check_flag,
    check_functions,
    check_model,
    check_number,
    check_optional_functions,
    check_path,
    check_text,
    check_whole,
    checked_id,
    did_you_mean,
    is_number,
    is_unicode,
    keep_whole,
    shown,
    what_makes_one,
    whole_number,
)
from leafspan.checks._reasons import reason_of
from leafspan.checks._reserved import (
    GENERATOR,
    RESERVED_ID_PREFIX,
    RESERVED_KEYS,
    STRUCTURE_KEY,
    is_reserved,
)
from leafspan.checks._stored_values import NotStorable, is_missing, plain_value, storable_fields, stored_value
from leafspan.checks._user_functions import beginning, calling, function_failed, name_of, refuse_coroutine, unusable
from leafspan.checks._written_files import check_can_be_written, write_file

__all__ = [
    "GENERATOR",
    "RESERVED_ID_PREFIX",
    "RESERVED_KEYS",
    "STRUCTURE_KEY",
    "is_reserved",
    "NotStorable",
    "beginning",
    "calling",
    "changed_options",
    "check_can_be_written",
    "check_choice",
    "check_flag",
    "check_functions",
    "check_model",
    "check_number",
    "check_option_names",
    "check_optional_functions",
    "check_path",
    "check_text",
    "check_whole",
    "checked_id",
    "did_you_mean",
    "function_failed",
    "is_missing",
    "is_number",
    "is_unicode",
    "keep_whole",
    "name_of",
    "plain_value",
    "reason_of",
    "refuse_coroutine",
    "short_repr",
    "shown",
    "storable_fields",
    "stored_value",
    "unusable",
    "what_makes_one",
    "whole_number",
    "with_option_names",
    "write_file",
]
