"""Constrained decoding: a JSON Schema becomes an automaton, its state a mask over the vocabulary.

import grammar_decode as gd

vocab = gd.Vocabulary.from_tokenizer(tokenizer)
grammar = gd.compile_json_schema({"type": "object", "properties": {"age": {"type": "integer"}}})
matcher = gd.GrammarMatcher(grammar, vocab)
bitmask = gd.allocate_token_bitmask(1, vocab.size)
matcher.fill_next_token_bitmask(bitmask)
gd.apply_token_bitmask_inplace(logits, bitmask)
"""

from grammar_decode.answers import Explanation, Position
from grammar_decode.bitmask import allocate_token_bitmask, apply_token_bitmask_inplace
from grammar_decode.chat import MarkerTokens, Reasoning, ToolFormat, compile_chat_request
from grammar_decode.errors import (
    BitmaskError,
    GenerationError,
    GrammarDecodeError,
    MatcherError,
    ModelError,
    PatternError,
    SchemaError,
    SchemaTooComplex,
    SerializationError,
    UnsatisfiableSchema,
    UnsupportedSchema,
    VocabularyError,
)
from grammar_decode.generate import GenerationResult, GenerationStream, generate, generate_stream
from grammar_decode.grammar import Grammar, GrammarCache, compile_json_schema, grammar_cache
from grammar_decode.json_schema.options import JsonOptions
from grammar_decode.limits import Limits
from grammar_decode.matcher import GrammarMatcher, fill_draft_bitmasks, fill_next_token_bitmasks
from grammar_decode.texts import compile_choice, compile_regex
from grammar_decode.vocabulary import Vocabulary

__version__ = "0.1.0"

__all__ = [
    "BitmaskError",
    "Explanation",
    "GenerationError",
    "GenerationResult",
    "GenerationStream",
    "Grammar",
    "GrammarCache",
    "GrammarDecodeError",
    "GrammarMatcher",
    "JsonOptions",
    "Limits",
    "MarkerTokens",
    "MatcherError",
    "ModelError",
    "PatternError",
    "Position",
    "Reasoning",
    "SchemaError",
    "SchemaTooComplex",
    "SerializationError",
    "ToolFormat",
    "UnsatisfiableSchema",
    "UnsupportedSchema",
    "Vocabulary",
    "VocabularyError",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "compile_chat_request",
    "compile_choice",
    "compile_json_schema",
    "compile_regex",
    "fill_draft_bitmasks",
    "fill_next_token_bitmasks",
    "generate",
    "generate_stream",
    "grammar_cache",
]
