"""vLLM (v1 engine, 0.32): a backend of structured outputs with the name ``grammar-decode``.

    python -m vllm.entrypoints.openai.api_server --structured-outputs-config '{"backend": "grammar-decode"}' ...

vLLM has no registry of such backends, so :func:`register`, which vLLM calls in every process as a general plugin, adds
the name where the built-in ones are listed. It changes nothing for who chooses another backend. Three places:

- the config: ``backend`` is a Literal, which is widened;
- the front end: requests are checked before they reach the engine, and what can't be enforced is HTTP 400;
- the engine: ``StructuredOutputManager.grammar_init`` makes the backend at the first structured request, and
  ``_create_grammar`` knows the ``max_tokens`` of a request, within which its document is complete.

Contract: ``vllm/v1/structured_output/backend_types.py`` of 0.32. A grammar there is one request's matcher. None of the
places is a promised interface: where one is missing, the name is not added, and a warning says so.
"""

from __future__ import annotations

import functools
import importlib
import json
import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from vllm.exceptions import VLLMValidationError
from vllm.v1.structured_output.backend_types import (
    StructuredOutputBackend,
    StructuredOutputGrammar,
    StructuredOutputOptions,
)
from vllm.v1.structured_output.request import get_structured_output_key

from grammar_decode import (
    Grammar,
    GrammarDecodeError,
    GrammarMatcher,
    JsonOptions,
    MatcherError,
    SchemaTooComplex,
    Vocabulary,
    apply_token_bitmask_inplace,
    compile_choice,
    compile_json_schema,
    compile_regex,
)
from grammar_decode.integrations.cache import cached, server_cache

NAME = "grammar-decode"
#: Text options that may be set in ``additional_config``: those that decide how a value is spelled, never whether a
#: schema is refused, because the front end checks requests without seeing that config.
TEXT_OPTIONS = ("key_order", "whitespace", "escapes", "numbers")

_log = logging.getLogger("vllm.grammar_decode")


class _Request(threading.local):
    """What `compile_grammar` is not told of the request that it is called for, in this thread."""

    max_tokens: int | None = None


_request = _Request()


def compile_request(kind: StructuredOutputOptions, spec: str, options: JsonOptions) -> Grammar:
    """The grammar that a request asks for. Raises GrammarDecodeError, with the place in the schema."""
    if kind == StructuredOutputOptions.JSON:
        return compile_json_schema(spec, options, cache=None)
    if kind == StructuredOutputOptions.JSON_OBJECT:
        return compile_json_schema({"type": "object"}, options, cache=None)
    if kind == StructuredOutputOptions.REGEX:
        return compile_regex(spec)
    if kind == StructuredOutputOptions.CHOICE:
        return compile_choice(json.loads(spec))
    raise GrammarDecodeError(
        f"structured outputs of kind {kind.name.lower()} are not supported by {NAME}; "
        "json, json_object, regex and choice are"
    )


def vocabulary_of(tokenizer: Any, vocab_size: int) -> Vocabulary:
    """The vocabulary of vLLM's tokenizer, as wide as the model's logits; tokens that the model lacks are left out."""
    inner = tokenizer.mistral if hasattr(tokenizer, "mistral") else tokenizer
    vocabulary = Vocabulary.from_tokenizer(inner)
    stops = [token_id for token_id in vocabulary.stop_token_ids if token_id < vocab_size]
    return Vocabulary(vocabulary.token_bytes[:vocab_size], stop_token_ids=stops, size=vocab_size)


@dataclass
class Backend(StructuredOutputBackend):  # type: ignore[misc] # vllm is not installed where types are checked
    """One for each engine. `compile_grammar` is called from several threads, and the GIL is released inside."""

    def __post_init__(self) -> None:
        self.vocabulary = vocabulary_of(self.tokenizer, self.vocab_size)
        self.options = options_of(self.vllm_config)
        self.cache = server_cache()
        mask_on_cpu()

    def compile_grammar(
        self, request_type: StructuredOutputOptions, grammar_spec: str, stop_token_ids: set[int] | None = None
    ) -> RequestGrammar:
        key = (request_type, grammar_spec)
        grammar = cached(self.cache, key, lambda: compile_request(request_type, grammar_spec, self.options))
        stops = [token_id for token_id in sorted(stop_token_ids or ()) if 0 <= token_id < self.vocab_size]
        return RequestGrammar(self._matcher(grammar, stops or None, _request.max_tokens))

    def _matcher(self, grammar: Grammar, stops: list[int] | None, max_tokens: int | None) -> GrammarMatcher:
        """The matcher of a request: the document is complete within ``max_tokens``."""
        if max_tokens is not None:
            try:
                return GrammarMatcher(grammar, self.vocabulary, stop_token_ids=stops, max_tokens=max_tokens)
            except (MatcherError, SchemaTooComplex) as error:  # the front end can't know of a context that is shorter
                _log.warning("The document of a request will be cut: %s", error)
        return GrammarMatcher(grammar, self.vocabulary, stop_token_ids=stops)

    def allocate_token_bitmask(self, max_num_seqs: int) -> torch.Tensor:
        return torch.full((max_num_seqs, -(-self.vocab_size // 32)), -1, dtype=torch.int32)

    def destroy(self) -> None:
        self.cache.clear()


class RequestGrammar(StructuredOutputGrammar):  # type: ignore[misc]
    """The place of one request in its grammar."""

    def __init__(self, matcher: GrammarMatcher) -> None:
        self.matcher = matcher

    def accept_tokens(self, request_id: str, tokens: Sequence[int]) -> bool:
        """Go on; what follows a stop token is ignored. False ends the request with an error."""
        for token_id in tokens:
            if self.matcher.is_terminated():
                break
            if not (0 <= token_id < self.matcher.vocabulary.size and self.matcher.accept_token(token_id)):
                _log.error(
                    "Token %d of request %s is not allowed: expected %s",
                    token_id,
                    request_id,
                    self.matcher.describe_expected(),
                )
                return False
        return True

    def validate_tokens(self, tokens: Sequence[int]) -> list[int]:
        """The longest beginning that would be accepted; the state is unchanged."""
        known = []
        for token_id in tokens:
            if not 0 <= token_id < self.matcher.vocabulary.size:
                break
            known.append(token_id)
        return known[: self.matcher.validate_tokens(known)]

    def rollback(self, num_tokens: int) -> None:
        self.matcher.rollback(num_tokens)

    def fill_bitmask(self, bitmask: torch.Tensor, batch_index: int) -> None:
        self.matcher.fill_next_token_bitmask(bitmask, batch_index)

    def is_terminated(self) -> bool:
        return self.matcher.is_terminated()

    def reset(self) -> None:
        self.matcher.reset()


class MasksOnCPU:
    """Stands for the module `xgrammar` where vLLM applies masks: with our kernel on a CPU, otherwise as before.

    XGrammar 0.2.8 takes 85 to 150 µs for a row of 49,152 float32 logits on a CPU, which shows in the tokens a second.
    """

    def __init__(self, plain: Any) -> None:
        self._plain = plain

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain, name)

    def apply_token_bitmask_inplace(self, logits: torch.Tensor, bitmask: torch.Tensor, **options: Any) -> None:
        apply = apply_token_bitmask_inplace if logits.is_cpu else self._plain.apply_token_bitmask_inplace
        apply(logits, bitmask, **options)


def mask_on_cpu() -> None:
    """Let vLLM's model runner in this process apply masks with our kernel, if its logits are on a CPU."""
    utils: Any = importlib.import_module("vllm.v1.structured_output.utils")
    plain = getattr(utils, "xgr", None)  # a version without it applies masks in some other way
    if plain is not None and not isinstance(plain, MasksOnCPU):
        utils.xgr = MasksOnCPU(plain)


def options_of(vllm_config: Any) -> JsonOptions:
    """The text options that ``--additional-config '{"grammar_decode": {...}}'`` sets. Raises ValueError."""
    extra = getattr(vllm_config, "additional_config", None)
    given = extra.get("grammar_decode", {}) if isinstance(extra, dict) else {}
    if unknown := sorted(set(given) - set(TEXT_OPTIONS)):
        raise ValueError(f"additional_config: grammar_decode has no option {unknown[0]!r}, only {list(TEXT_OPTIONS)}")
    return JsonOptions(**given)


class FrontEnd:
    """Checks requests in the API process, so that the engine only sees what it can enforce."""

    def __init__(self) -> None:
        # Remembered: the same schema comes with many requests.
        self._problem_of = functools.lru_cache(maxsize=1024)(_problem_of)
        self._distance_of = functools.lru_cache(maxsize=1024)(_distance_of)
        self._vocabularies: dict[int, tuple[Any, Vocabulary]] = {}

    def validate(self, params: Any, model_config: Any, tokenizer: Any) -> None:
        """Raise VLLMValidationError (HTTP 400) for a request that can't be enforced; ``params`` are SamplingParams."""
        wanted = params.structured_outputs
        if getattr(model_config, "is_diffusion", False):
            raise VLLMValidationError("structured outputs are not supported for diffusion language models")
        if tokenizer is None:
            raise VLLMValidationError("structured outputs need a tokenizer, so they exclude skip_tokenizer_init")
        if wanted._backend not in (None, NAME):
            raise VLLMValidationError(f"the server's backend is {NAME}; a request can't choose {wanted._backend}")
        wanted._backend = NAME
        if wanted.json_object is False:
            raise VLLMValidationError("structured_outputs.json_object must be true where it is given")
        try:
            kind, spec = get_structured_output_key(wanted)
        except (ValueError, TypeError) as error:
            raise VLLMValidationError(f"structured_outputs can't be read: {error}") from error
        vocabulary = self._vocabulary_of(tokenizer, model_config.get_vocab_size())
        problem = self._problem_of(kind, spec, vocabulary)
        if problem is not None:
            raise VLLMValidationError(f"{NAME}: {problem}", parameter=kind.name.lower())
        max_tokens = getattr(params, "max_tokens", None)
        if max_tokens is None:
            return
        distance = self._distance_of(kind, spec, vocabulary)
        if distance is not None and distance >= max_tokens:
            raise VLLMValidationError(
                f"{NAME}: max_tokens is {max_tokens}, and the shortest document has {distance + 1} tokens, the stop "
                "token included",
                parameter="max_tokens",
            )

    def _vocabulary_of(self, tokenizer: Any, vocab_size: int) -> Vocabulary:
        known = self._vocabularies.get(id(tokenizer))  # the tokenizer is kept beside, so that its id stays its own
        if known is None or known[1].size != vocab_size:
            known = self._vocabularies[id(tokenizer)] = (tokenizer, vocabulary_of(tokenizer, vocab_size))
        return known[1]


def _problem_of(kind: StructuredOutputOptions, spec: str, vocabulary: Vocabulary) -> str | None:
    """What keeps a request from being enforced, or None."""
    try:
        grammar = compile_request(kind, spec, JsonOptions())
        # A document may be impossible to write only where single bytes are missing from the vocabulary; where none is,
        # the front end does without an index of the tokens.
        if len({token for token in vocabulary.token_bytes if token is not None and len(token) == 1}) < 256:
            GrammarMatcher(grammar, vocabulary)
    except (GrammarDecodeError, TypeError, ValueError) as error:
        return str(error)
    return None


def _distance_of(kind: StructuredOutputOptions, spec: str, vocabulary: Vocabulary) -> int | None:
    """The tokens of the shortest document, as far as it is known."""
    return GrammarMatcher(compile_request(kind, spec, JsonOptions()), vocabulary).completion_distance()


def room_of(manager: Any, request: Any) -> int | None:
    """How many tokens the answer to a request may have; None where that is not known before reasoning has ended."""
    if getattr(manager, "reasoner_cls", None) is not None and not manager.enable_in_reasoning:
        return None
    left: int = manager.vllm_config.model_config.max_model_len - request.num_prompt_tokens
    return max(1, min(int(request.max_tokens), left))


def register() -> None:
    """Add the backend to vLLM's. Called by vLLM as a plugin in every process, and safe to call again.

    In a program of one's own, call it before ``LLM(...)``, which reads its config before it loads plugins.
    """
    try:
        _register()
    except (ImportError, AttributeError, KeyError) as error:
        _log.warning(
            "This vLLM is not known to grammar-decode (%r): the structured outputs backend %r is not available. "
            "grammar_decode.integrations.vllm_logits_processor works with other versions.",
            error,
            NAME,
        )


def _register() -> None:
    from pydantic.dataclasses import rebuild_dataclass
    from vllm.config import StructuredOutputsConfig, VllmConfig
    from vllm.sampling_params import SamplingParams
    from vllm.v1.structured_output import StructuredOutputManager

    field = StructuredOutputsConfig.__dataclass_fields__["backend"]
    names = get_args(StructuredOutputsConfig.__annotations__["backend"])
    if NAME in names:
        return
    if "auto" not in names:
        raise AttributeError(f"StructuredOutputsConfig.backend is one of {names}")
    plain_validate = SamplingParams._validate_structured_outputs
    plain_init = StructuredOutputManager.grammar_init
    plain_create = StructuredOutputManager._create_grammar
    front_end = FrontEnd()

    @functools.wraps(plain_validate)
    def validate(self: Any, model_config: Any, structured_outputs_config: Any, tokenizer: Any) -> None:
        if getattr(structured_outputs_config, "backend", None) != NAME:
            plain_validate(self, model_config, structured_outputs_config, tokenizer)
        elif self.structured_outputs is not None:
            front_end.validate(self, model_config, tokenizer)

    @functools.wraps(plain_init)
    def grammar_init(self: Any, request: Any) -> None:
        if (
            self.backend is None
            and request.structured_output_request is not None
            and request.sampling_params.structured_outputs._backend == NAME
        ):
            vocab_size = self.vllm_config.model_config.get_vocab_size()
            self.backend = Backend(self.vllm_config, tokenizer=self.tokenizer, vocab_size=vocab_size)
        plain_init(self, request)

    @functools.wraps(plain_create)
    def create_grammar(self: Any, request: Any) -> Any:
        _request.max_tokens = room_of(self, request) if isinstance(self.backend, Backend) else None
        try:
            return plain_create(self, request)
        finally:
            _request.max_tokens = None

    wider = Literal.__getitem__((*names, NAME))  # of the names that this vLLM has
    StructuredOutputsConfig.__annotations__["backend"] = wider
    field.type = wider
    rebuild_dataclass(StructuredOutputsConfig, force=True)
    rebuild_dataclass(VllmConfig, force=True)
    SamplingParams._validate_structured_outputs = validate
    StructuredOutputManager.grammar_init = grammar_init
    StructuredOutputManager._create_grammar = create_grammar
