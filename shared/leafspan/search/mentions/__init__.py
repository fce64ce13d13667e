"""Finds out which documents a text names: titles, links and paths in texts, and a table of the documents' names."""

from leafspan.search.mentions._links import Link, find_links
from leafspan.search.mentions._name_table import MOST_NAMESAKES, NamedDocument, Names, NameTable
from leafspan.search.mentions._places import Place, leads_to, places_of, places_to_try
from leafspan.search.mentions._titles import capitalised_words, is_name, names_in, stands_in, title_key, title_words

__all__ = [
    "MOST_NAMESAKES",
    "Link",
    "NameTable",
    "NamedDocument",
    "Names",
    "Place",
    "capitalised_words",
    "find_links",
    "is_name",
    "leads_to",
    "names_in",
    "places_of",
    "places_to_try",
    "stands_in",
    "title_key",
    "title_words",
]
