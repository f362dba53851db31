"""The whole loop over a model: mask, sample, accept, step, until the document is complete.

    result = generate(model, tokenizer, schema, "Describe a person called Bob.")

Framework-neutral: a model is anything with the five names of :class:`~grammar_decode.models.base.LanguageModel`. A
token is only ever drawn from masked logits; the matcher refusing one would be a bug, and is raised as such.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, Protocol

from grammar_decode.bitmask import allocate_token_bitmask, apply_token_bitmask_inplace
from grammar_decode.errors import GenerationError, ModelError
from grammar_decode.judge import judge_of
from grammar_decode.models.base import LanguageModel
from grammar_decode.sampling import Sampler

if TYPE_CHECKING:
    from grammar_decode import JsonOptions, Limits
    from grammar_decode.vocabulary import Vocabulary

StopReason = Literal["completed", "length"]


class Matcher(Protocol):
    """What the loop uses of a GrammarMatcher."""

    def fill_next_token_bitmask(self, bitmask: Any, index: int = 0) -> Any: ...
    def accept_token(self, token_id: int) -> bool: ...
    def is_accepting(self) -> bool: ...
    def is_terminated(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Timings:
    """Where the time went, in seconds. All but the first two are sums over the steps that made a token."""

    #: Compiling the schema and building the matcher; 0 for a matcher that was passed in.
    compile: float
    #: The model reading the prompt.
    prefill: float
    #: The model, one token at a time.
    model: float
    #: Filling the bitmask, applying it to the logits, and accepting the token.
    mask: float
    #: Drawing the token.
    sample: float

    @property
    def steps(self) -> float:
        """All steps together, without compiling and prefill."""
        return self.model + self.mask + self.sample


@dataclass(frozen=True, slots=True)
class GenerationResult:
    """What came out, and how. Immutable."""

    #: The text, without the stop token.
    text: str
    #: The parsed document, or None where the text is not (yet) one. `is_complete` tells None from the value null.
    value: Any
    #: Whether the text is a whole document of the grammar; without a grammar, whether it is JSON.
    is_complete: bool
    #: "completed": a stop token was drawn. "length": `max_tokens` or the model's context was used up.
    stop_reason: StopReason
    #: The ids of all drawn tokens, the stop token included.
    tokens: tuple[int, ...]
    num_prompt_tokens: int
    #: What `jsonschema` says of the text; None where it is not installed, or there is no schema to ask it about.
    valid: bool | None
    #: The seed that repeats this run, also where none was given.
    seed: int
    timings: Timings

    @property
    def tokens_per_second(self) -> float:
        """Drawn tokens for each second of the steps, prompt and compiling excluded."""
        return len(self.tokens) / self.timings.steps if self.timings.steps else 0.0

    @property
    def mask_share(self) -> float:
        """The part of the steps' time that the constraint cost, 0 to 1."""
        return self.timings.mask / self.timings.steps if self.timings.steps else 0.0


class GenerationStream(Iterator[str]):
    """Pieces of the text as they are drawn; `result` once they are exhausted. Not thread-safe."""

    def __init__(self, pieces: Generator[str, None, GenerationResult]) -> None:
        self._pieces = pieces
        self._result: GenerationResult | None = None

    def __next__(self) -> str:
        try:
            return next(self._pieces)
        except StopIteration as stop:
            if stop.value is not None:  # None when asked again after the end
                self._result = stop.value
            raise

    @property
    def result(self) -> GenerationResult:
        """The result of the finished run. Raises RuntimeError while there are pieces left."""
        if self._result is None:
            raise RuntimeError("the stream is not finished: iterate over it to its end first")
        return self._result


def generate(
    model: Any,
    tokenizer: Any,
    grammar: Any,
    prompt: str | Sequence[int],
    *,
    on_text: Callable[[str], None] | None = None,
    max_tokens: int = 256,
    temperature: float = 0.0,
    top_p: float = 1.0,
    seed: int | None = None,
    options: JsonOptions | None = None,
    resources: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    unconstrained: bool = False,
) -> GenerationResult:
    """Generate one document with `model`, and return it when it is complete or the token limit is reached.

    The arguments are those of :func:`generate_stream`; `on_text` is called with each piece of text as it is drawn.
    """
    stream = generate_stream(
        model,
        tokenizer,
        grammar,
        prompt,
        max_tokens=max_tokens,
        temperature=temperature,
        top_p=top_p,
        seed=seed,
        options=options,
        resources=resources,
        limits=limits,
        unconstrained=unconstrained,
    )
    for piece in stream:
        if on_text is not None:
            on_text(piece)
    return stream.result


def generate_stream(
    model: Any,
    tokenizer: Any,
    grammar: Any,
    prompt: str | Sequence[int],
    *,
    max_tokens: int = 256,
    temperature: float = 0.0,
    top_p: float = 1.0,
    seed: int | None = None,
    options: JsonOptions | None = None,
    resources: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    unconstrained: bool = False,
) -> GenerationStream:
    """Return an iterator over the pieces of one generated document; its `result` holds the rest.

    model: a LanguageModel, or a transformers model.
    tokenizer: the transformers tokenizer, a Vocabulary, or None where the model is a LanguageModel with its own.
    grammar: a schema (dict, bool or JSON text), a Grammar, or a matcher, which is then used from where it stands.
    prompt: text, put into the model's chat template if it has one; or token ids, taken as they are.
    max_tokens: the most tokens to draw, the stop token included.
    temperature, top_p, seed: as usual; temperature 0 is greedy, and the same seed gives the same document.
    options, resources, limits: those of `compile_json_schema`, for a schema.
    unconstrained: don't mask anything, to see what the model does on its own; `valid` is still judged.

    The schema is compiled and the prompt read at the first piece. Raises the errors of `compile_json_schema` and
    `ModelError`, such as for a prompt that does not fit into the model's context.
    """
    if max_tokens < 1:
        raise ValueError(f"max_tokens must be at least 1, not {max_tokens!r}")
    sampler = Sampler(temperature=temperature, top_p=top_p, seed=seed)
    language_model, vocabulary = _model_and_vocabulary(model, tokenizer)

    def run() -> Generator[str, None, GenerationResult]:
        started = perf_counter()
        matcher: Matcher | None = None
        if not unconstrained:
            matcher = _matcher(grammar, vocabulary, options, resources, limits)
        compiled = perf_counter() - started
        judge = judge_of(grammar, resources) if isinstance(grammar, (dict, bool, str)) else None
        ids = language_model.encode(prompt) if isinstance(prompt, str) else list(prompt)
        loop = _Loop(language_model, vocabulary, matcher, sampler)
        yield from loop.run(ids, _room(max_tokens, len(ids), language_model.context_size))
        text, value, is_json = loop.text, None, True
        try:
            value = json.loads(text)
        except ValueError:
            is_json = False
        return GenerationResult(
            text=text,
            value=value,
            is_complete=is_json if matcher is None else matcher.is_terminated() or matcher.is_accepting(),
            stop_reason="completed" if loop.stopped else "length",
            tokens=tuple(loop.tokens),
            num_prompt_tokens=len(ids),
            valid=judge(text) if judge is not None else None,
            seed=sampler.seed,
            timings=Timings(compiled, loop.prefill_seconds, loop.model_seconds, loop.mask_seconds, loop.sample_seconds),
        )

    return GenerationStream(run())


class _Loop:
    """One run of a model: what it drew, and the clocks."""

    def __init__(self, model: LanguageModel, vocabulary: Vocabulary, matcher: Matcher | None, sampler: Sampler) -> None:
        self._model = model
        self._vocabulary = vocabulary
        self._matcher = matcher
        self._sampler = sampler
        self._bitmask = allocate_token_bitmask(1, vocabulary.size)
        self.tokens: list[int] = []
        self.text = ""
        self.stopped = False
        self.prefill_seconds = self.model_seconds = self.mask_seconds = self.sample_seconds = 0.0

    def run(self, prompt_ids: list[int], max_tokens: int) -> Iterator[str]:
        """Yield text as it is drawn, until a stop token or `max_tokens`. A character split over tokens waits."""
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        started = perf_counter()
        logits = self._model.prefill(prompt_ids)
        self.prefill_seconds = perf_counter() - started
        while True:
            token_id = self._draw(logits)
            self.tokens.append(token_id)
            if self.stopped:
                break
            piece = decoder.decode(self._bytes_of(token_id))
            if piece:
                self.text += piece
                yield piece
            if len(self.tokens) >= max_tokens:
                break
            started = perf_counter()
            logits = self._model.step(token_id)
            self.model_seconds += perf_counter() - started
        if rest := decoder.decode(b"", final=True):  # only where the limit cut a character in two
            self.text += rest
            yield rest

    def _draw(self, logits: Any) -> int:
        """Draw the next token from masked logits and accept it."""
        started = perf_counter()
        if self._matcher is not None:
            self._matcher.fill_next_token_bitmask(self._bitmask, 0)
            if not self._bitmask.any():
                raise GenerationError(f"no token is allowed after {self.text[-80:]!r}{self._told()}")
            apply_token_bitmask_inplace(logits, self._bitmask[0])
        masked = perf_counter()
        token_id = self._sampler.sample(logits)
        sampled = perf_counter()
        if self._matcher is None:
            self.stopped = token_id in self._vocabulary.stop_token_ids
        else:
            if not self._matcher.accept_token(token_id):
                told = self._told(token_id)
                raise GenerationError(f"token {token_id} was allowed and then refused after {self.text[-80:]!r}{told}")
            self.stopped = self._matcher.is_terminated()
        self.sample_seconds += sampled - masked
        self.mask_seconds += (masked - started) + (perf_counter() - sampled)
        return token_id

    def _told(self, token_id: int | None = None) -> str:
        """What the matcher says of the place, or of a token there, where it can tell."""
        matcher: Any = self._matcher
        if not hasattr(matcher, "explain"):  # the loop needs less of a matcher
            return ""
        return f": {matcher.where() if token_id is None else matcher.explain(token_id)}"

    def _bytes_of(self, token_id: int) -> bytes:
        """The token's text; without a mask, special tokens and padding rows can be drawn too, and have none."""
        token_bytes = self._vocabulary.token_bytes
        return (token_bytes[token_id] if token_id < len(token_bytes) else None) or b""


def _room(max_tokens: int, num_prompt_tokens: int, context_size: int | None) -> int:
    """How many tokens may be drawn: the caller's limit, or what the model's context has left."""
    if context_size is None:
        return max_tokens
    if num_prompt_tokens >= context_size:
        raise ModelError(f"the prompt has {num_prompt_tokens} tokens, and the model's context only {context_size}")
    return min(max_tokens, context_size - num_prompt_tokens)


def _model_and_vocabulary(model: Any, tokenizer: Any) -> tuple[LanguageModel, Vocabulary]:
    from grammar_decode.vocabulary import Vocabulary

    if not hasattr(model, "prefill"):
        if not hasattr(model, "forward") or not hasattr(tokenizer, "apply_chat_template"):
            raise TypeError(
                "generate() needs a model with prefill() and step() (see grammar_decode.models.LanguageModel), or a "
                f"transformers model and its tokenizer, not {type(model).__name__} and {type(tokenizer).__name__}"
            )
        from grammar_decode.models.transformers import TransformersModel

        adapted = TransformersModel(model, tokenizer)
        return adapted, adapted.vocabulary
    if isinstance(tokenizer, Vocabulary):
        return model, tokenizer
    return model, model.vocabulary if tokenizer is None else Vocabulary.from_tokenizer(tokenizer)


def _matcher(
    grammar: Any,
    vocabulary: Vocabulary,
    options: JsonOptions | None,
    resources: Mapping[str, Any] | None,
    limits: Limits | None,
) -> Matcher:
    if hasattr(grammar, "fill_next_token_bitmask"):
        matcher: Matcher = grammar
        return matcher
    from grammar_decode import Grammar, GrammarMatcher, compile_json_schema

    if not isinstance(grammar, Grammar):
        grammar = compile_json_schema(grammar, options, resources=resources, limits=limits)
    return GrammarMatcher(grammar, vocabulary)
