"""ECMA-262 patterns to regular expressions over bytes. Knows nothing of JSON Schema."""

from grammar_decode.regex.charset import Charset
from grammar_decode.regex.lower import full_match_language, search_language

__all__ = ["Charset", "full_match_language", "search_language"]
