"""Vocabularies: token id -> bytes, from every kind of tokenizer."""

from grammar_decode.vocabulary.vocabulary import Vocabulary

__all__ = ["Vocabulary"]
