"""The names of XGrammar 0.2, for code that was written for it.

    import grammar_decode.compat.xgrammar as xgr

JSON Schema and regular expressions are compiled by this package, by its own rules. What can't be mapped (EBNF, Lark,
structural tags, captures, jump-forward) raises NotImplementedError. Where the behaviour differs, ours holds:

- A schema means what JSON Schema says: ``strict_mode`` does not forbid properties that the schema allows.
- A keyword that is not enforced is an error; XGrammar drops some without a word.
- Columns of the logits past the bitmask, or past ``vocab_size``, are forbidden, not left alone.

As there, a refused token is False and changes nothing, an id outside of the vocabulary is False, and filling a bitmask
after termination raises RuntimeError. torch is imported where a tensor is made.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, NoReturn

import grammar_decode
from grammar_decode import Grammar as _Grammar
from grammar_decode import (
    GrammarCache,
    JsonOptions,
    SerializationError,
    Vocabulary,
    compile_json_schema,
    compile_regex,
    fill_next_token_bitmasks,
)
from grammar_decode import GrammarMatcher as _Matcher
from grammar_decode.integrations.cache import cached
from grammar_decode.vocabulary.byte_rules import END_NAMES, byte_level_bytes, metaspace_bytes

__all__ = [
    "BatchGrammarMatcher",
    "CompiledGrammar",
    "Grammar",
    "GrammarCompiler",
    "GrammarMatcher",
    "TokenizerInfo",
    "VocabType",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "get_bitmask_shape",
    "reset_token_bitmask",
]


def __getattr__(name: str) -> Any:
    if name == "bitmask_dtype":
        import torch

        return torch.int32
    raise AttributeError(f"XGrammar's {name!r} has no counterpart in grammar_decode.compat.xgrammar")


class VocabType(Enum):
    """How the pieces of a vocabulary stand for bytes."""

    RAW = 0
    BYTE_FALLBACK = 1
    BYTE_LEVEL = 2


class TokenizerInfo:
    """A vocabulary, with the model's padded size. Immutable."""

    def __init__(
        self,
        encoded_vocab: Sequence[bytes] | Sequence[str],
        vocab_type: VocabType = VocabType.RAW,
        *,
        vocab_size: int | None = None,
        stop_token_ids: Sequence[int] | int | None = None,
        add_prefix_space: bool = False,
    ) -> None:
        """Without ``stop_token_ids``, pieces with a well-known name (``</s>``, ``<|im_end|>``) end a text."""
        size = len(encoded_vocab) if vocab_size is None else vocab_size
        pieces: list[str | bytes] = [*encoded_vocab][:size]
        tokens = [_decoded(piece, vocab_type) for piece in pieces]
        if stop_token_ids is None:
            ends = {name.encode() for name in END_NAMES}
            stop_token_ids = [i for i, piece in enumerate(pieces) if _as_bytes(piece) in ends]
        stops = [stop_token_ids] if isinstance(stop_token_ids, int) else list(stop_token_ids)
        self._set(Vocabulary(tokens, stop_token_ids=stops, size=size), vocab_type, add_prefix_space)

    def _set(self, vocabulary: Vocabulary, vocab_type: VocabType, add_prefix_space: bool) -> None:
        self.vocabulary = vocabulary
        self.vocab_type = vocab_type
        self.add_prefix_space = add_prefix_space

    @classmethod
    def from_huggingface(
        cls, tokenizer: Any, *, vocab_size: int | None = None, stop_token_ids: Sequence[int] | int | None = None
    ) -> TokenizerInfo:
        """From a tokenizer of transformers, or any other that ``Vocabulary.from_tokenizer`` reads."""
        table = Vocabulary.from_tokenizer(tokenizer)
        size = table.size if vocab_size is None else vocab_size
        if stop_token_ids is None:
            stop_token_ids = [i for i in table.stop_token_ids if i < size]
        stops = [stop_token_ids] if isinstance(stop_token_ids, int) else list(stop_token_ids)
        info = object.__new__(cls)
        info._set(Vocabulary(table.token_bytes[:size], stop_token_ids=stops, size=size), VocabType.RAW, False)
        return info

    @property
    def vocab_size(self) -> int:
        return self.vocabulary.size

    @property
    def decoded_vocab(self) -> list[bytes]:
        """The bytes of each id; none for special tokens and padding."""
        tokens = [token or b"" for token in self.vocabulary.token_bytes]
        return tokens + [b""] * (self.vocab_size - len(tokens))

    @property
    def stop_token_ids(self) -> list[int]:
        return list(self.vocabulary.stop_token_ids)

    @property
    def special_token_ids(self) -> list[int]:
        """The ids that are no text, stop tokens left out."""
        stops = set(self.vocabulary.stop_token_ids)
        return [i for i, token in enumerate(self.decoded_vocab) if not token and i not in stops]


class Grammar:
    """A grammar that knows no tokenizer."""

    def __init__(self, grammar: _Grammar) -> None:
        self._grammar = grammar

    @classmethod
    def from_json_schema(cls, schema: Any, **options: Any) -> Grammar:
        """The options are those of :meth:`GrammarCompiler.compile_json_schema`."""
        return cls(compile_json_schema(schema, _json_options(**options)))

    @classmethod
    def from_regex(cls, regex_string: str, **_options: Any) -> Grammar:
        return cls(compile_regex(regex_string))

    @classmethod
    def builtin_json_grammar(cls) -> Grammar:
        """Any JSON."""
        return cls(compile_json_schema(True))

    @staticmethod
    def from_ebnf(*_arguments: Any, **_options: Any) -> NoReturn:
        _refuse("grammars in EBNF")

    @staticmethod
    def from_lark(*_arguments: Any, **_options: Any) -> NoReturn:
        _refuse("grammars in Lark")

    @staticmethod
    def from_structural_tag(*_arguments: Any, **_options: Any) -> NoReturn:
        _refuse("structural tags")

    @staticmethod
    def concat(*_grammars: Any) -> NoReturn:
        _refuse("Grammar.concat")

    @staticmethod
    def union(*_grammars: Any) -> NoReturn:
        _refuse("Grammar.union")

    def serialize_json(self) -> str:
        return json.dumps({"grammar_decode": base64.b64encode(self._grammar.to_bytes()).decode()})

    @classmethod
    def deserialize_json(cls, json_string: str) -> Grammar:
        """The inverse of :meth:`serialize_json`; XGrammar's own format can't be read. Raises SerializationError."""
        try:
            data = base64.b64decode(json.loads(json_string)["grammar_decode"])
        except (ValueError, KeyError, TypeError) as error:
            raise SerializationError(f"This was not written by grammar_decode.compat.xgrammar: {error!r}.") from error
        return cls(_Grammar.from_bytes(data))


class CompiledGrammar:
    """A grammar and the tokenizer that it will be used with."""

    def __init__(self, grammar: Grammar, tokenizer_info: TokenizerInfo) -> None:
        self.grammar = grammar
        self.tokenizer_info = tokenizer_info

    @property
    def memory_size_bytes(self) -> int:
        """Bytes of the states and masks that it has by now."""
        return self.grammar._grammar.memory_bytes()

    def serialize_json(self) -> str:
        return self.grammar.serialize_json()

    @staticmethod
    def deserialize_json(json_str: str, tokenizer_info: TokenizerInfo) -> CompiledGrammar:
        return CompiledGrammar(Grammar.deserialize_json(json_str), tokenizer_info)


class GrammarCompiler:
    """Compiles for one tokenizer, and remembers what it compiled. Thread-safe."""

    def __init__(
        self,
        tokenizer_info: TokenizerInfo,
        *,
        max_threads: int = 8,
        cache_enabled: bool = True,
        cache_limit_bytes: int = -1,
        enable_dynamic_compilation: bool = False,
    ) -> None:
        """``cache_limit_bytes``: -1 is our default, 512 MB. One compilation is one thread, whatever ``max_threads``."""
        del max_threads, enable_dynamic_compilation
        max_bytes = cache_limit_bytes if cache_limit_bytes >= 0 else 512 << 20
        self._cache = GrammarCache(max_grammars=1024 if cache_enabled else 0, max_bytes=max_bytes)
        self.tokenizer_info = tokenizer_info

    def compile_json_schema(
        self,
        schema: Any,
        *,
        any_whitespace: bool = True,
        indent: int | None = None,
        separators: tuple[str, str] | None = None,
        strict_mode: bool = True,
        max_whitespace_cnt: int | None = None,
        any_order: bool = False,
    ) -> CompiledGrammar:
        """``schema``: a dict, a text, or a pydantic model. Whitespace is up to 32 bytes, or the given separators."""
        options = _json_options(
            any_whitespace=any_whitespace,
            indent=indent,
            separators=separators,
            strict_mode=strict_mode,
            max_whitespace_cnt=max_whitespace_cnt,
            any_order=any_order,
        )
        key = json.dumps(schema, sort_keys=False) if isinstance(schema, (dict, bool)) else schema
        return self._compiled(("json", key, options), lambda: compile_json_schema(schema, options, cache=None))

    def compile_builtin_json_grammar(self) -> CompiledGrammar:
        """Any JSON."""
        return self._compiled(("json",), lambda: compile_json_schema(True, cache=None))

    def compile_regex(self, regex: str) -> CompiledGrammar:
        return self._compiled(("regex", regex), lambda: compile_regex(regex))

    def compile_grammar(self, grammar: Grammar | str, **_options: Any) -> CompiledGrammar:
        """For a :class:`Grammar`; a text would be EBNF, which raises."""
        if not isinstance(grammar, Grammar):
            _refuse("grammars in EBNF")
        return CompiledGrammar(grammar, self.tokenizer_info)

    def compile_lark(self, *_arguments: Any, **_options: Any) -> NoReturn:
        _refuse("grammars in Lark")

    def compile_structural_tag(self, *_arguments: Any, **_options: Any) -> NoReturn:
        _refuse("structural tags")

    def clear_cache(self) -> None:
        self._cache.clear()

    def get_cache_size_bytes(self) -> int:
        return self._cache.memory_bytes()

    def _compiled(self, key: tuple[Any, ...], compile_grammar: Callable[[], _Grammar]) -> CompiledGrammar:
        return CompiledGrammar(Grammar(cached(self._cache, key, compile_grammar)), self.tokenizer_info)


class GrammarMatcher:
    """The place of one sequence in its grammar."""

    max_rollback_tokens = -1  # no limit
    temperature = None

    def __init__(
        self,
        compiled_grammar: CompiledGrammar,
        *,
        override_stop_tokens: Sequence[int] | int | None = None,
        terminate_without_stop_token: bool = False,
        max_rollback_tokens: int = -1,
        default_temperature: float | None = None,
    ) -> None:
        """``terminate_without_stop_token``: a complete document is the end, even if it could go on."""
        del max_rollback_tokens
        if default_temperature is not None:
            _refuse("temperatures of a grammar")
        vocabulary = compiled_grammar.tokenizer_info.vocabulary
        stops = [override_stop_tokens] if isinstance(override_stop_tokens, int) else override_stop_tokens
        self.stop_token_ids = list(vocabulary.stop_token_ids if stops is None else stops)
        self._matcher = _Matcher(compiled_grammar.grammar._grammar, vocabulary, stop_token_ids=stops)
        self._ends_when_complete = terminate_without_stop_token

    def accept_token(self, token_id: int, *, debug_print: bool = False) -> bool:
        del debug_print
        if not 0 <= token_id < self._matcher.vocabulary.size or self.is_terminated():
            return False
        return self._matcher.accept_token(token_id)

    def accept_string(self, input_str: str | bytes, *, debug_print: bool = False) -> bool:
        """The whole text is one step for :meth:`rollback`."""
        del debug_print
        data = input_str.encode() if isinstance(input_str, str) else input_str
        return not self.is_terminated() and self._matcher.accept_bytes(data)

    def fill_next_token_bitmask(self, bitmask: Any, index: int = 0, *, debug_print: bool = False) -> bool:
        """Always True: some token is forbidden in every mask. Raises RuntimeError after termination."""
        del debug_print
        if self.is_terminated():
            raise RuntimeError("the matcher has terminated: there is no next token")
        self._matcher.fill_next_token_bitmask(bitmask, index)
        return True

    def traverse_draft_tree(
        self,
        retrieve_next_token: Any,
        retrieve_next_sibling: Any,
        draft_tokens: Any,
        token_bitmask: Any,
        time_threshold: float = -1.0,
        temperatures: Any = None,
    ) -> bool:
        """Fill row n for node n of a tree: its first child and next sibling (-1: none); node 0 was accepted before.

        Rows of refused nodes, of those behind them, and behind a stop token stay as they are. Returns True: all done.
        """
        del time_threshold
        if temperatures is not None:
            _refuse("temperatures of a grammar")
        child, sibling, tokens = (
            list(map(int, each)) for each in (retrieve_next_token, retrieve_next_sibling, draft_tokens)
        )
        open_nodes = [(0, self.fork())]
        while open_nodes:
            node, matcher = open_nodes.pop()
            if matcher.is_terminated():
                continue
            matcher.fill_next_token_bitmask(token_bitmask, node)
            at = child[node]
            while at != -1:
                behind = matcher.fork()
                if behind.accept_token(tokens[at]):
                    open_nodes.append((at, behind))
                at = sibling[at]
        return True

    def find_jump_forward_string(self) -> NoReturn:
        _refuse("jump-forward")

    def find_jump_forward_tokens(self) -> NoReturn:
        _refuse("jump-forward")

    def get_captures(self) -> NoReturn:
        _refuse("captures")

    def rollback(self, num_tokens: int = 1) -> None:
        """Take back the last steps, a stop token too. Raises MatcherError if there are fewer."""
        self._matcher.rollback(num_tokens)

    def fork(self) -> GrammarMatcher:
        twin = object.__new__(type(self))
        twin.stop_token_ids = self.stop_token_ids
        twin._matcher = self._matcher.fork()
        twin._ends_when_complete = self._ends_when_complete
        return twin

    def is_terminated(self) -> bool:
        return self._matcher.is_terminated() or (self._ends_when_complete and self._matcher.is_accepting())

    def is_completed(self) -> bool:
        """Whether the document is complete, so that a stop token is allowed, or was accepted."""
        return self._matcher.is_accepting()

    def reset(self) -> None:
        self._matcher.reset()


class BatchGrammarMatcher:
    """The same calls for many matchers."""

    def __init__(self, max_threads: int | str = "auto") -> None:
        self._max_threads = max_threads if isinstance(max_threads, int) else None

    def batch_fill_next_token_bitmask(
        self,
        matchers: Sequence[GrammarMatcher],
        bitmask: Any,
        indices: Sequence[int] | None = None,
        debug_print: bool = False,
    ) -> None:
        """Fill one row for each matcher, in parallel where that pays. Raises RuntimeError if one has terminated."""
        del debug_print
        if any(matcher.is_terminated() for matcher in matchers):
            raise RuntimeError("a matcher has terminated: there is no next token")
        inner = [matcher._matcher for matcher in matchers]
        fill_next_token_bitmasks(inner, bitmask, indices, max_threads=self._max_threads)

    @staticmethod
    def batch_accept_token(
        matchers: Sequence[GrammarMatcher], tokens: Sequence[int], debug_print: bool = False
    ) -> list[bool]:
        del debug_print
        return [matcher.accept_token(token) for matcher, token in zip(matchers, tokens, strict=True)]

    @staticmethod
    def batch_accept_string(
        matchers: Sequence[GrammarMatcher], strings: Sequence[str | bytes], debug_print: bool = False
    ) -> list[bool]:
        del debug_print
        return [matcher.accept_string(text) for matcher, text in zip(matchers, strings, strict=True)]

    @staticmethod
    def batch_rollback(matchers: Sequence[GrammarMatcher], num_tokens: Sequence[int] | int = 1) -> None:
        counts = [num_tokens] * len(matchers) if isinstance(num_tokens, int) else num_tokens
        for matcher, count in zip(matchers, counts, strict=True):
            matcher.rollback(count)


def get_bitmask_shape(batch_size: int, vocab_size: int) -> tuple[int, int]:
    return batch_size, -(-vocab_size // 32)


def allocate_token_bitmask(batch_size: int, vocab_size: int) -> Any:
    """A torch tensor, int32 on the CPU, that allows everything."""
    import torch

    return torch.full(get_bitmask_shape(batch_size, vocab_size), -1, dtype=torch.int32)


def reset_token_bitmask(bitmask: Any) -> None:
    """Allow everything."""
    bitmask.fill_(-1)


def apply_token_bitmask_inplace(
    logits: Any,
    bitmask: Any,
    *,
    vocab_size: int | None = None,
    indices: Sequence[int] | None = None,
    backend: str = "auto",
) -> None:
    """Set forbidden logits to -inf. ``backend`` is accepted and not needed."""
    del backend
    grammar_decode.apply_token_bitmask_inplace(logits, bitmask, vocab_size=vocab_size, indices=indices)


def _json_options(
    *,
    any_whitespace: bool = True,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    strict_mode: bool = True,
    max_whitespace_cnt: int | None = None,
    any_order: bool = False,
    **unknown: Any,
) -> JsonOptions:
    del strict_mode
    if unknown:
        _refuse(f"the option {next(iter(unknown))!r}")
    if indent is not None:
        _refuse("indentation")
    if max_whitespace_cnt is not None and max_whitespace_cnt < 32 and any_whitespace:
        _refuse("another limit of whitespace than 32 bytes")
    if any_whitespace:
        return JsonOptions(whitespace="flexible", key_order="any" if any_order else "schema")
    given = (", ", ": ") if separators is None else tuple(separators)
    if given == (", ", ": "):
        return JsonOptions(whitespace="spaced", key_order="any" if any_order else "schema")
    if given == (",", ":"):
        return JsonOptions(whitespace="compact", key_order="any" if any_order else "schema")
    return _refuse(f"the separators {given!r}")


def _decoded(piece: str | bytes, vocab_type: VocabType) -> bytes | None:
    if vocab_type == VocabType.RAW:
        return _as_bytes(piece) or None
    text = piece.decode() if isinstance(piece, bytes) else piece
    return (byte_level_bytes(text) if vocab_type == VocabType.BYTE_LEVEL else metaspace_bytes(text)) or None


def _as_bytes(piece: str | bytes) -> bytes:
    return piece.encode() if isinstance(piece, str) else piece


def _refuse(what: str) -> NoReturn:
    raise NotImplementedError(f"{what}: not supported by grammar_decode.compat.xgrammar")
