"""Configurations: options as plain values that can be stored in YAML or JSON, and turned into objects again."""

from leafspan.config._kinds import config_name, hints_of, kind_named, kinds_below, register, register_later
from leafspan.config._reading import Location, read_config, read_option
from leafspan.config._text import config_text, load_config
from leafspan.config._writing import schema_of, write_config

__all__ = [
    "Location",
    "config_name",
    "config_text",
    "hints_of",
    "load_config",
    "kind_named",
    "kinds_below",
    "read_config",
    "read_option",
    "register",
    "register_later",
    "schema_of",
    "write_config",
]
