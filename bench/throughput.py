"""Tokens a second of an engine with a grammar, beside those without: one process, in turns, the same number of tokens.

    python bench/throughput.py transformers     # .venv
    python bench/throughput.py vllm             # build/engines/vllm, see `make test-vllm`

All figures are medians; a ratio is that of two runs that follow each other. Two clocks: wall time, and the CPU time of
the process, which is the one to read where others use the machine. The share of the masks is measured inside, in CPU
time: what our code takes of the whole. vLLM's own part comes on top: on a CPU it turns the logits of bfloat16 into
float32 for the mask and back, which --dtype float32 spares.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import grammar_decode as gd

PROMPT = "Tell a long story about a ship that is lost in the ice."


def story(min_length: int) -> dict[str, Any]:
    """A schema of a text that does not end before so many characters."""
    properties = {"title": {"type": "string"}, "story": {"type": "string", "minLength": min_length}}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


class Clock:
    """CPU seconds that some functions take, added up, and how often they are called."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.seconds, self.calls = 0.0, 0

    def around(self, owner: Any, name: str) -> None:
        """Count the time of a method of a class from now on."""
        plain = getattr(owner, name)

        def timed(*arguments: Any, **options: Any) -> Any:
            started = time.thread_time()
            try:
                return plain(*arguments, **options)
            finally:
                self.seconds += time.thread_time() - started
                self.calls += 1

        setattr(owner, name, timed)


Run = Callable[[bool], int]


def with_transformers(rows: int, tokens: int, clock: Clock) -> Run:
    import torch

    from grammar_decode.integrations.transformers import GrammarLogitsProcessor
    from grammar_decode.models import load_model

    torch.set_num_threads(1)
    loaded: Any = load_model()
    grammar = gd.compile_json_schema(story(5000))
    ids = torch.tensor([loaded.encode(PROMPT)] * rows)
    processor = GrammarLogitsProcessor(grammar, loaded.vocabulary)
    clock.around(GrammarLogitsProcessor, "__call__")

    def run(is_constrained: bool) -> int:
        processor.reset()
        written = loaded.model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=tokens,
            min_new_tokens=tokens,  # in both
            do_sample=True,
            logits_processor=[processor] if is_constrained else [],
        )
        return int(written[:, ids.shape[1] :].numel())

    return run


def with_vllm(rows: int, tokens: int, clock: Clock, backend: str, dtype: str) -> Run:
    settings = {
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "OMP_NUM_THREADS": "1",
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    }
    os.environ.update(settings)
    from grammar_decode.integrations import vllm as ours
    from grammar_decode.models.smollm2 import converted_smollm2

    ours.register()
    from vllm import LLM, SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    llm = LLM(
        str(converted_smollm2()),
        dtype=dtype,
        enforce_eager=True,
        max_model_len=1024,
        max_num_seqs=rows,
        structured_outputs_config={"backend": backend},
    )
    for name in ("fill_bitmask", "accept_tokens"):
        clock.around(ours.RequestGrammar, name)

    def run(is_constrained: bool) -> int:
        wanted = StructuredOutputsParams(json=json.dumps(story(2 * tokens))) if is_constrained else None
        # `ignore_eos`: all end at the limit, within which the document has to fit.
        params = SamplingParams(temperature=1.0, max_tokens=tokens, ignore_eos=True, structured_outputs=wanted)
        outputs = llm.chat([[{"role": "user", "content": PROMPT}]] * rows, params, use_tqdm=False)
        return sum(len(output.outputs[0].token_ids) for output in outputs)

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=["transformers", "vllm"])
    parser.add_argument("--rows", type=int, default=8, help="sequences at once")
    parser.add_argument("--tokens", type=int, default=128, help="tokens of each")
    parser.add_argument("--backend", default="grammar-decode", help="vllm's: xgrammar, guidance")
    parser.add_argument("--dtype", default="bfloat16", help="vllm's")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    clock = Clock()
    size = (arguments.rows, arguments.tokens, clock)
    run = (
        with_vllm(*size, arguments.backend, arguments.dtype) if arguments.engine == "vllm" else with_transformers(*size)
    )
    for is_constrained in (False, True, True, True):  # warm: a schema that is known, as in a service
        run(is_constrained)
    wall: dict[bool, list[float]] = {False: [], True: []}
    cpu: dict[bool, list[float]] = {False: [], True: []}
    shares, each = [], []
    for number in range(arguments.rounds):
        for is_constrained in (number % 2 == 0, number % 2 != 0):  # each is first in turn
            clock.reset()
            started, started_cpu = time.perf_counter(), time.process_time()
            tokens = run(is_constrained)
            seconds = time.perf_counter() - started
            wall[is_constrained].append(tokens / seconds)
            cpu_seconds = time.process_time() - started_cpu
            cpu[is_constrained].append(tokens / cpu_seconds)
            if is_constrained:
                shares.append(clock.seconds / cpu_seconds)
                each.append(clock.seconds / max(clock.calls, 1) * 1e6)
    print(f"{arguments.engine}: {arguments.rows} rows of {arguments.tokens} tokens, {arguments.rounds} rounds in turns")
    for name, rates in (("wall", wall), ("CPU", cpu)):
        free, constrained = (statistics.median(rates[kind]) for kind in (False, True))
        ratio = statistics.median(there / without for there, without in zip(rates[True], rates[False], strict=True))
        print(f"tokens a second of {name} time: {constrained:.1f} constrained, {free:.1f} free; ratio {ratio:.3f}")
    print(f"masks: {statistics.median(shares):.2%} of the time, {statistics.median(each):.0f} µs a call")


if __name__ == "__main__":
    main()
