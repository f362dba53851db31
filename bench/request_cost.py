"""What a request costs in vLLM by its structured-output backend: with a schema that is new, and with one that is known.

    python bench/request_cost.py                     # build/engines/vllm, see `make test-vllm`
    python bench/request_cost.py --backends guidance

Each backend gets a process of its own, and in it the five schemas of examples/ in turn, greedy, one request at a time:
first under a title that was not there before, which makes each a new schema, then the same once more. Times are CPU
seconds of the process, engine and front end together; a request without a schema, of as many tokens, stands beside.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
BACKENDS = ("grammar-decode", "xgrammar", "guidance")
SETTINGS = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "OMP_NUM_THREADS": "1",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_LOGGING_LEVEL": "ERROR",
}


def measured(backend: str, rounds: int, tokens: int) -> dict[str, Any]:
    """Milliseconds of CPU time by kind of request, and the number of tokens in all; in this process."""
    os.environ.update(SETTINGS)
    from grammar_decode.integrations.vllm import register
    from grammar_decode.models.smollm2 import converted_smollm2

    register()
    from vllm import LLM, SamplingParams
    from vllm.exceptions import VLLMValidationError
    from vllm.sampling_params import StructuredOutputsParams

    llm = LLM(
        str(converted_smollm2()),
        dtype="float32",
        enforce_eager=True,
        max_model_len=1024,
        enable_prefix_caching=False,
        structured_outputs_config={"backend": backend},
    )
    schemas = {path.name: json.loads(path.read_text()) for path in sorted(EXAMPLES.glob("*.schema.json"))}

    def request(name: str, schema: Any, num_tokens: int) -> tuple[float, int]:
        wanted = None if schema is None else StructuredOutputsParams(json=json.dumps(schema))
        params = SamplingParams(
            temperature=0, max_tokens=num_tokens, ignore_eos=schema is None, structured_outputs=wanted
        )
        chat = [{"role": "user", "content": f"Write a JSON document for {name}."}]
        started = time.process_time()
        (output,) = llm.chat(chat, params, use_tqdm=False)
        return (time.process_time() - started) * 1000, len(output.outputs[0].token_ids)

    refused = []
    for name, schema in list(schemas.items()):  # warm: the model, the backend, its threads
        try:
            request(name, schema, tokens)
        except VLLMValidationError:  # HTTP 400 in the server
            refused.append(name)
            del schemas[name]
    times: dict[str, list[float]] = {"new": [], "known": [], "free": []}
    number = 0
    for at in range(rounds):
        for name, schema in schemas.items():
            fresh = {**schema, "title": f"{schema.get('title', name)} {at}"}
            spent, num_tokens = request(name, fresh, tokens)
            times["new"].append(spent)
            times["known"].append(request(name, fresh, tokens)[0])
            times["free"].append(request(name, None, num_tokens)[0])
            number += num_tokens
    return {"tokens": number, "times": times, "refused": refused}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backends", nargs="+", default=list(BACKENDS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=80, help="limit of each request")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        print(json.dumps(measured(arguments.inside, arguments.rounds, arguments.tokens)))
        return
    sizes = ["--rounds", str(arguments.rounds), "--tokens", str(arguments.tokens)]
    print("CPU milliseconds beyond a request without a schema, of as many tokens")
    for backend in arguments.backends:
        command = [sys.executable, __file__, "--inside", backend, *sizes]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        result = json.loads(done.stdout.splitlines()[-1])
        times = result["times"]
        added = {
            kind: statistics.median(
                with_schema - free for with_schema, free in zip(times[kind], times["free"], strict=True)
            )
            for kind in ("new", "known")
        }
        print(
            f"{backend:15} a new schema {added['new']:7.1f}, a known one {added['known']:7.1f}; "
            f"the request itself {statistics.median(times['free']):.0f} ({result['tokens']} tokens in all); "
            f"refused: {', '.join(result['refused']) or 'none'}",
            flush=True,
        )


if __name__ == "__main__":
    main()
