"""The whole loop over a model: mask, sample, accept, step, until the document is complete.

    result = generate(model, tokenizer, schema, "Describe a person called Bob.")

Framework-neutral: a model is anything with the five names of :class:`~grammar_decode.models.base.LanguageModel`. A
token is drawn from masked logits, or it is forced text that the model is not asked about; the matcher refusing one
would be a bug, and is raised as such.
"""

from __future__ import annotations

import codecs
import json
import operator
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from grammar_decode.bitmask import allocate_token_bitmask, apply_token_bitmask_inplace
from grammar_decode.errors import GenerationError, MatcherError, ModelError
from grammar_decode.judge import judge_of
from grammar_decode.models.base import LanguageModel, extend
from grammar_decode.sampling import Sampler

if TYPE_CHECKING:
    from grammar_decode import JsonOptions, Limits
    from grammar_decode.vocabulary import Vocabulary

#: How a run ended. "completed": the document is complete, and a stop token was written. "length": the limit came first,
#: which happens only where nothing keeps it: without a mask, and with a matcher that was made without `max_tokens`.
#: "stop": without a mask, the model stopped by itself. "mask_violation" is in no result: it would be a GenerationError,
#: whose `stop_reason` it is.
StopReason = Literal["completed", "length", "stop", "mask_violation"]

#: How many characters of its text a printed result shows.
_MOST_SHOWN = 200

#: How many bits are set in each 16-bit number.
_NUM_BITS = np.array([number.bit_count() for number in range(1 << 16)], dtype=np.uint8)


class Matcher(Protocol):
    """What the loop uses of a GrammarMatcher."""

    def fill_next_token_bitmask(self, bitmask: Any, index: int = 0) -> Any: ...
    def accept_token(self, token_id: int) -> bool: ...
    def is_accepting(self) -> bool: ...
    def is_terminated(self) -> bool: ...


@runtime_checkable
class Forcing(Matcher, Protocol):
    """What it uses beside that where text can be forced."""

    @property
    def stop_token_ids(self) -> tuple[int, ...]: ...
    def forced_tokens(self, encode: Callable[[str], Sequence[int]] | None = None) -> list[int]: ...
    def is_closed(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Step:
    """One token, and what the mask did to the model's choice of it. Times are in seconds."""

    token_id: int
    #: Written because nothing else could come; the model was not asked.
    is_forced: bool
    #: How many tokens the mask allowed; all of them without a mask, None for a forced token.
    num_legal: int | None
    #: The part of the model's own probability (at temperature 1) on tokens that the mask forbade, 0 to 1. None for a
    #: forced token, without a mask, and with `removed_mass=False`.
    removed_mass: float | None
    #: The model, up to the logits that the token was drawn from: 0 for the first token (that is the prefill) and forced
    #: ones.
    model_seconds: float
    #: The mask, applying it and accepting the token; for a forced token its share of finding the forced text.
    mask_seconds: float
    sample_seconds: float


@dataclass(frozen=True, slots=True)
class Timings:
    """Where the time went, in seconds. All but the first two are sums over the steps.

    Left out is what the record itself costs, most of all `removed_mass`: about 0.3 ms a token with 128,256 of them.
    """

    #: Compiling the schema and building the matcher; 0 for a matcher that was passed in.
    compile: float
    #: The model reading the prompt.
    prefill: float
    #: The model, behind the prompt.
    model: float
    #: Filling the bitmask, applying it to the logits, accepting the token, and finding forced text.
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
    stop_reason: StopReason
    #: The ids of all tokens behind the prompt, the stop token included.
    tokens: tuple[int, ...]
    #: One for each of the tokens.
    steps: tuple[Step, ...]
    #: How often the model ran, the prompt included. Without forced text it is once for each token.
    num_model_calls: int
    num_prompt_tokens: int
    #: What `jsonschema` says of the text; None where it is not installed, or there is no schema to ask it about.
    valid: bool | None
    #: The seed that repeats this run, also where none was given.
    seed: int
    timings: Timings

    def __repr__(self) -> str:
        """The beginning of the text, how the run ended and how many tokens it took; the fields have the rest."""
        text = self.text if len(self.text) <= _MOST_SHOWN else self.text[: _MOST_SHOWN - 1] + "…"
        judged = {True: ", valid", False: ", not valid", None: ""}[self.valid]
        return f"<GenerationResult {text!r}: {self.stop_reason}{judged}, {len(self.tokens)} tokens>"

    @property
    def num_forced(self) -> int:
        """How many of the tokens were forced, so that the model was not asked."""
        return sum(step.is_forced for step in self.steps)

    @property
    def forced_share(self) -> float:
        """The part of the tokens that was forced, 0 to 1."""
        return self.num_forced / len(self.tokens) if self.tokens else 0.0

    @property
    def tokens_per_second(self) -> float:
        """Tokens for each second of the steps, prompt and compiling excluded."""
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
    closing_budget: int = 0,
    forced_text: bool = True,
    removed_mass: bool = True,
    options: JsonOptions | None = None,
    resources: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    unconstrained: bool = False,
) -> GenerationResult:
    """Generate one document with `model`, complete and valid within `max_tokens`.

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
        closing_budget=closing_budget,
        forced_text=forced_text,
        removed_mass=removed_mass,
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
    closing_budget: int = 0,
    forced_text: bool = True,
    removed_mass: bool = True,
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
    max_tokens: the most tokens, the stop token included; fewer where the model's context has room for fewer. For a
        schema or a Grammar this is a guarantee: the document is complete by then (docs/token-limits.md). A matcher
        keeps its own limit, and without one it is cut off here.
    closing_budget: with so many tokens left, only those that lead no farther from the end.
    temperature, top_p, seed: as usual; temperature 0 is greedy, and the same seed gives the same document.
    forced_text: text that every document goes on with is appended without asking the model, several tokens in one call
        where the model can take them, and the document ends where only whitespace could follow it.
    removed_mass: whether each step records the probability that the mask took away.
    options, resources, limits: those of `compile_json_schema`, for a schema.
    unconstrained: don't mask anything, to see what the model does on its own; `valid` is still judged.

    The schema is compiled and the prompt read at the first piece. Raises the errors of `compile_json_schema`;
    `MatcherError` where the shortest document does not fit into the limit, which says how many tokens it needs;
    `SchemaTooComplex` where it takes too long to find a shortest document; and `ModelError`, such as for a prompt past
    the model's context.
    """
    if max_tokens < 1:
        raise ValueError(f"max_tokens must be at least 1, not {max_tokens!r}")
    sampler = Sampler(temperature=temperature, top_p=top_p, seed=seed)
    language_model, vocabulary = _model_and_vocabulary(model, tokenizer)

    def run() -> Generator[str, None, GenerationResult]:
        started = perf_counter()
        ready = None if unconstrained else _compiled(grammar, options, resources, limits)
        compiled = perf_counter() - started
        openapi = options is not None and options.openapi
        judge = judge_of(grammar, resources, openapi=openapi) if isinstance(grammar, (dict, bool, str)) else None
        ids = language_model.encode(prompt) if isinstance(prompt, str) else _token_ids(prompt)
        room = _room(max_tokens, len(ids), language_model.context_size)
        started = perf_counter()
        matcher = None if ready is None else _matcher(ready, vocabulary, max_tokens, room, closing_budget)
        compiled += perf_counter() - started
        loop = _Loop(language_model, vocabulary, matcher, sampler, forced_text=forced_text, removed_mass=removed_mass)
        yield from loop.run(ids, room)
        text, value, is_json = loop.text, None, True
        try:
            value = json.loads(text)
        except ValueError:
            is_json = False
        return GenerationResult(
            text=text,
            value=value,
            is_complete=is_json if matcher is None else matcher.is_terminated() or matcher.is_accepting(),
            stop_reason="length" if not loop.stopped else "stop" if matcher is None else "completed",
            tokens=tuple(step.token_id for step in loop.steps),
            steps=tuple(loop.steps),
            num_model_calls=loop.num_model_calls,
            num_prompt_tokens=len(ids),
            valid=judge(text) if judge is not None else None,
            seed=sampler.seed,
            timings=loop.timings(compiled),
        )

    return GenerationStream(run())


def _token_ids(prompt: Any) -> list[int]:
    try:
        return [operator.index(token_id) for token_id in prompt]
    except TypeError:
        raise TypeError(
            f"the prompt must be text or token ids, not {type(prompt).__name__}. "
            "Turn messages into token ids with the tokenizer's apply_chat_template."
        ) from None


class _Loop:
    """One run of a model: what it wrote, and the clocks."""

    def __init__(
        self,
        model: LanguageModel,
        vocabulary: Vocabulary,
        matcher: Matcher | None,
        sampler: Sampler,
        *,
        forced_text: bool,
        removed_mass: bool,
    ) -> None:
        self._model = model
        self._vocabulary = vocabulary
        self._matcher = matcher
        self._sampler = sampler
        self._removed_mass = removed_mass
        self._bitmask = allocate_token_bitmask(1, vocabulary.size)
        # A matcher of another kind may know nothing of forced text.
        self._forcing = matcher if forced_text and isinstance(matcher, Forcing) else None
        self._encode = getattr(model, "tokenize", None)
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.text = ""
        self.steps: list[Step] = []
        self.stopped = False
        self.num_model_calls = 0
        self.prefill_seconds = 0.0

    def run(self, prompt_ids: list[int], max_tokens: int) -> Iterator[str]:
        """Yield text as it is written, until a stop token or `max_tokens`. A character split over tokens waits."""
        unread = [*prompt_ids, *self._force(max_tokens)]
        yield from self._text_of(unread[len(prompt_ids) :])
        seconds = 0.0
        while not self.stopped and len(self.steps) < max_tokens:
            started = perf_counter()
            self.num_model_calls += 1
            if self.num_model_calls == 1:
                logits = self._model.prefill(unread)
                self.prefill_seconds = perf_counter() - started
            else:
                logits = extend(self._model, unread)
                seconds = perf_counter() - started
            self._draw(logits, seconds)
            unread = [self.steps[-1].token_id, *self._force(max_tokens)]
            yield from self._text_of(unread)
        if rest := self._decoder.decode(b"", final=True):  # only where the limit cut a character in two
            self.text += rest
            yield rest

    def timings(self, compiled: float) -> Timings:
        model, mask, sample = (
            sum(getattr(step, f"{name}_seconds") for step in self.steps) for name in ("model", "mask", "sample")
        )
        return Timings(compiled, self.prefill_seconds, model, mask, sample)

    def _draw(self, logits: npt.NDArray[np.float32], model_seconds: float) -> None:
        """Draw the next token from masked logits and accept it."""
        if self._matcher is not None and len(logits) < self._vocabulary.needed_width:
            raise ModelError(
                f"the model gives {len(logits)} logits, and its vocabulary needs {self._vocabulary.needed_width}. "
                "Pass the tokenizer that belongs to the model, or a vocabulary of the tokens that it can write."
            )
        num_legal, before, removed, viewed = self._vocabulary.size, None, None, 0.0
        started = perf_counter()
        if self._matcher is not None:
            self._matcher.fill_next_token_bitmask(self._bitmask, 0)
            begun = perf_counter()
            num_legal = int(_NUM_BITS[self._bitmask[0].view(np.uint16)].sum())
            if not num_legal:
                raise GenerationError(f"no token is allowed after {self.text[-80:]!r}{self._told()}")
            before = logits.copy() if self._removed_mass else None
            viewed = perf_counter() - begun
            apply_token_bitmask_inplace(logits[None], self._bitmask)
        masked = perf_counter()
        token_id = self._sampler.sample(logits)
        sampled = perf_counter()
        self._accept(token_id)
        mask_seconds = (masked - started) - viewed + (perf_counter() - sampled)
        if before is not None:
            removed = _removed_mass(before, logits)
        self.steps.append(Step(token_id, False, num_legal, removed, model_seconds, mask_seconds, sampled - masked))

    def _force(self, max_tokens: int) -> list[int]:
        """Accept the forced text, as far as the limit goes, and a stop token behind the document; return the tokens."""
        if self._forcing is None or self.stopped:
            return []
        started = perf_counter()
        room = max_tokens - len(self.steps)
        token_ids = self._forcing.forced_tokens(self._encode)[:room]
        for token_id in token_ids:
            self._accept(token_id)
        if len(token_ids) < room and self._forcing.is_closed():
            token_ids.append(self._forcing.stop_token_ids[0])
            self._accept(token_ids[-1])
        seconds = (perf_counter() - started) / max(len(token_ids), 1)
        self.steps += [Step(token_id, True, None, None, 0.0, seconds, 0.0) for token_id in token_ids]
        return token_ids

    def _accept(self, token_id: int) -> None:
        if self._matcher is None:
            self.stopped = token_id in self._vocabulary.stop_token_ids
            return
        if not self._matcher.accept_token(token_id):
            told = self._told(token_id)
            raise GenerationError(f"token {token_id} was allowed and then refused after {self.text[-80:]!r}{told}")
        self.stopped = self._matcher.is_terminated()

    def _told(self, token_id: int | None = None) -> str:
        """What the matcher says of the place, or of a token there, where it can tell."""
        matcher: Any = self._matcher
        if not hasattr(matcher, "explain"):  # the loop needs less of a matcher
            return ""
        return f": {matcher.where() if token_id is None else matcher.explain(token_id)}"

    def _text_of(self, token_ids: list[int]) -> Iterator[str]:
        """The new tokens' text in one piece; special tokens and padding, drawn only without a mask, have none."""
        token_bytes = self._vocabulary.token_bytes
        if self.stopped:
            token_ids = token_ids[:-1]
        known = (token_bytes[token_id] for token_id in token_ids if token_id < len(token_bytes))
        if piece := self._decoder.decode(b"".join(text or b"" for text in known)):
            self.text += piece
            yield piece


def _removed_mass(before: npt.NDArray[np.float32], after: npt.NDArray[np.float32]) -> float:
    """The part of the softmax of `before` that is -inf in `after`."""
    largest = before.max()
    if largest == np.inf:  # forbidden, or the sampler would have complained
        return 1.0
    weights = before - largest
    np.exp(weights, out=weights)
    kept = np.exp(after[after > -np.inf] - largest).sum(dtype=np.float64)
    return max(0.0, 1.0 - float(kept / weights.sum(dtype=np.float64)))


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


def _compiled(
    grammar: Any, options: JsonOptions | None, resources: Mapping[str, Any] | None, limits: Limits | None
) -> Any:
    """A Grammar, or the caller's matcher."""
    from grammar_decode import Grammar, compile_json_schema

    if isinstance(grammar, Grammar) or hasattr(grammar, "fill_next_token_bitmask"):
        return grammar
    return compile_json_schema(grammar, options, resources=resources, limits=limits)


def _matcher(grammar: Any, vocabulary: Vocabulary, max_tokens: int, room: int, closing_budget: int) -> Matcher:
    from grammar_decode import Grammar, GrammarMatcher

    if not isinstance(grammar, Grammar):
        own: Matcher = grammar
        return own
    try:
        return GrammarMatcher(grammar, vocabulary, max_tokens=room, closing_budget=closing_budget)
    except MatcherError as error:
        if room == max_tokens:
            raise
        raise MatcherError(f"behind the prompt, the model's context has room for {room} tokens: {error}") from error
