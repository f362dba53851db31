"""vLLM itself with our backend, on SmolLM2: `make test-vllm`. In process, then over HTTP with speculative decoding."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import example_runs

pytestmark = [pytest.mark.model, pytest.mark.filterwarnings("default")]
pytest.importorskip("vllm")

ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "OMP_NUM_THREADS": "1",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # in this process, so that the engine can be looked into
}
ROOT = Path(__file__).parents[2]
PERSON = json.loads((ROOT / "examples" / "person.schema.json").read_text(encoding="utf-8"))
BOB = [{"role": "user", "content": "Give a JSON object describing a person called Bob aged 42 with tags a and b."}]
ANSWER = '{"name": "Bob", "age": 42, "tags": ["a", "b"]}'
#: That of a real service where the processor has arithmetic for it; without, a step takes half a second.
SERVED_TYPE = "bfloat16" if "bf16" in Path("/proc/cpuinfo").read_text(encoding="utf-8") else "float32"
OPTIONS = {"grammar_decode": {"key_order": "schema", "whitespace": "spaced"}}
NOT_ENFORCED = {"properties": {"t": {"type": "array", "items": {"type": "array"}, "not": {"uniqueItems": True}}}}


@pytest.fixture(scope="module")
def model_path() -> str:
    from grammar_decode.models.smollm2 import converted_smollm2

    return str(converted_smollm2())


@pytest.fixture(scope="module")
def llm(model_path: str) -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        from grammar_decode.integrations.vllm import register

        register()
        from vllm import LLM

        yield LLM(
            model_path,
            dtype="float32",  # for the text of the other engines
            enforce_eager=True,
            max_model_len=1024,
            max_num_seqs=16,
            structured_outputs_config={"backend": "grammar-decode"},
            additional_config=OPTIONS,
        )


def chat(llm: Any, wanted: list[dict[str, Any] | None], max_tokens: int = 64, **options: Any) -> list[tuple[str, str]]:
    """The texts of a batch and why each ended; one request for each of ``wanted``."""
    from vllm import SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    params = [
        SamplingParams(
            temperature=0,
            max_tokens=max_tokens,
            structured_outputs=None if each is None else StructuredOutputsParams(**each),
            **options,
        )
        for each in wanted
    ]
    outputs = llm.chat([BOB] * len(wanted), params, use_tqdm=False)
    return [(output.outputs[0].text, output.outputs[0].finish_reason) for output in outputs]


def test_every_kind_in_one_batch_with_a_free_row(llm: Any) -> None:
    number = {"type": "integer", "minimum": 40, "maximum": 49}
    wanted: list[dict[str, Any] | None] = [
        {"json": PERSON},
        {"json": number},
        {"regex": "[A-Z][a-z]{2} is [0-9]{2}"},
        {"choice": ["a person", "a thing"]},
        None,
    ]
    (person, age, sentence, choice, free) = chat(llm, wanted, max_tokens=48)
    assert person == (ANSWER, "stop")
    assert age == ("42", "stop")
    assert sentence[0][3:7] == " is "
    assert sentence[1] == "stop"
    assert choice[0] in ("a person", "a thing")
    assert free[1] == "length"
    # the free row is what it is alone
    assert chat(llm, [None], max_tokens=48)[0][0][:60] == free[0][:60]


@pytest.mark.slow
@pytest.mark.parametrize("example", example_runs.examples(), ids=lambda example: example.name)
def test_the_greedy_text_and_the_samples_of_an_example(llm: Any, example: example_runs.Example) -> None:
    from vllm import SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    def texts(num_samples: int, temperature: float) -> list[str]:
        params = SamplingParams(
            n=num_samples,
            temperature=temperature,
            seed=1,
            max_tokens=example_runs.MAX_TOKENS,
            structured_outputs=StructuredOutputsParams(json=example.schema),
        )
        (output,) = llm.generate({"prompt_token_ids": example.prompt_ids}, params, use_tqdm=False)
        return [answer.text for answer in output.outputs]

    assert texts(1, 0) == [example.greedy]
    example.judge(texts(example_runs.SAMPLES, 1.0))


def test_grammars_are_shared_between_requests(llm: Any) -> None:
    backend = llm.llm_engine.engine_core.engine_core.structured_output_manager.backend
    assert type(backend).__module__ == "grammar_decode.integrations.vllm"
    before = len(backend.cache)
    assert chat(llm, [{"json": PERSON}] * 3) == [(ANSWER, "stop")] * 3
    assert len(backend.cache) <= before + 1


def test_masks_are_applied_by_our_kernel(llm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from vllm.v1.structured_output import utils

    rows = []
    plain = utils.xgr.apply_token_bitmask_inplace
    monkeypatch.setattr(utils.xgr, "_plain", None)  # it would fail
    monkeypatch.setattr(
        utils.xgr, "apply_token_bitmask_inplace", lambda *a, **o: rows.append(len(a[0])) or plain(*a, **o)
    )
    assert chat(llm, [{"json": PERSON}, None, {"json": PERSON}])[::2] == [(ANSWER, "stop")] * 2
    assert max(rows) == 3


def test_a_document_without_bounds_is_complete_within_max_tokens(llm: Any) -> None:
    from vllm.exceptions import VLLMValidationError

    story = {"type": "object", "properties": {"story": {"type": "string"}}, "required": ["story"]}
    for max_tokens in (20, 33):
        ((text, reason),) = chat(llm, [{"json": story}], max_tokens=max_tokens)
        assert isinstance(json.loads(text)["story"], str)
        assert reason == "stop"
    with pytest.raises(VLLMValidationError, match="max_tokens is 2"):
        chat(llm, [{"json": story}], max_tokens=2)


def test_what_cant_be_enforced_is_refused_before_the_engine(llm: Any) -> None:
    from vllm.exceptions import VLLMValidationError

    with pytest.raises(VLLMValidationError, match=r"#/properties/t/not"):
        chat(llm, [{"json": NOT_ENFORCED}])
    assert chat(llm, [{"json": PERSON}]) == [(ANSWER, "stop")]


def test_the_constraint_that_backend_auto_loses(llm: Any) -> None:
    """With vLLM's own backends this is answered with a number once a plainer schema came before (issue 50966)."""
    schema = {
        "type": "object",
        "properties": {"n": {"allOf": [{"type": "string"}, {"enum": ["yes", "no"]}]}},
        "required": ["n"],
        "additionalProperties": False,
    }
    ((text, reason),) = chat(llm, [{"json": schema}])
    assert reason == "stop"
    jsonschema.validate(json.loads(text), schema)


WITH_A_LOGITS_PROCESSOR = """
import json, sys
from vllm import LLM, SamplingParams
from grammar_decode.integrations.vllm_logits_processor import GrammarLogitsProcessor

path, dtype, schema, chat = sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4])
llm = LLM(path, dtype=dtype, enforce_eager=True, max_model_len=512, max_num_seqs=4,
          logits_processors=[GrammarLogitsProcessor])
params = [SamplingParams(temperature=0, max_tokens=48, extra_args={"grammar_decode": schema}),
          SamplingParams(temperature=0, max_tokens=8)]
print("RESULT", json.dumps([o.outputs[0].text for o in llm.chat([chat, chat], params, use_tqdm=False)]))
try:
    llm.chat(chat, SamplingParams(extra_args={"grammar_decode": '{"type": "foo"}'}), use_tqdm=False)
except Exception as error:
    print("RESULT", json.dumps([type(error).__name__, str(error)]))
"""


def test_the_documented_interface_as_a_fallback(model_path: str) -> None:
    arguments = [sys.executable, "-c", WITH_A_LOGITS_PROCESSOR]
    arguments += [model_path, SERVED_TYPE, json.dumps(PERSON), json.dumps(BOB)]
    done = subprocess.run(arguments, env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True, check=False)
    results = [json.loads(line[7:]) for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert len(results) == 2, done.stderr[-3000:]
    (constrained, free), (name, message) = results
    jsonschema.validate(json.loads(constrained), PERSON)
    assert not free.startswith("{")
    assert name == "VLLMValidationError"
    assert "#/type" in message


def test_the_page_runs(tmp_path: Path) -> None:
    page = ROOT / "docs" / "integrations" / "vllm.md"
    (source,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    script = tmp_path / "page.py"
    script.write_text(source)
    environment = {**os.environ, **ENVIRONMENT}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == '{"name": "Bob", "age": 42}', done.stderr[-3000:]


# ---- over HTTP ------------------------------------------------------------------------------------------------------


class Server:
    """vLLM's OpenAI server in a process of its own, as a user starts it; the plug-in comes by its entry point."""

    def __init__(self, model_path: str, log: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        options = {
            "--model": model_path,
            "--served-model-name": "smollm2",
            "--dtype": SERVED_TYPE,
            "--max-model-len": "1024",
            "--max-num-seqs": "16",
            "--host": "127.0.0.1",
            "--port": str(port),
            "--structured-outputs-config": '{"backend": "grammar-decode"}',
            "--additional-config": json.dumps(OPTIONS),
            "--speculative-config": '{"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 3}',
        }
        arguments = [part for option in options.items() for part in option]
        environment = {**os.environ, **ENVIRONMENT, "VLLM_ENABLE_V1_MULTIPROCESSING": "1"}
        command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--enforce-eager", *arguments]
        self.log = log
        with log.open("wb") as output:
            self.process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)

    def wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert self.process.poll() is None, self.log.read_text(errors="replace")[-3000:]
            try:
                urllib.request.urlopen(self.url + "/health", timeout=5).close()
                return
            except OSError:
                time.sleep(1)
        raise AssertionError(f"the server is not up after {seconds} s: {self.log.read_text(errors='replace')[-3000:]}")

    def ask(self, max_tokens: int = 64, temperature: float = 0, **fields: Any) -> tuple[int, Any]:
        """The status and the body of one chat completion."""
        body = {"model": "smollm2", "messages": BOB, "max_tokens": max_tokens, "temperature": temperature, **fields}
        request = urllib.request.Request(
            self.url + "/v1/chat/completions",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=300) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def text(self, **fields: Any) -> str:
        status, body = self.ask(**fields)
        assert status == 200, body
        return str(body["choices"][0]["message"]["content"])


def as_format(schema: Any) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "it", "schema": schema}}}


@pytest.fixture(scope="module")
def server(model_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(model_path, tmp_path_factory.mktemp("vllm") / "server.log")
    try:
        running.wait(300)
        yield running
    finally:
        running.process.terminate()
        running.process.wait(60)


def test_http_greedy_text_is_that_of_the_other_engines(server: Server) -> None:
    assert server.text(**as_format(PERSON)) == ANSWER
    assert server.text(structured_outputs={"json": PERSON}) == ANSWER
    assert server.text(structured_outputs={"choice": ["yes", "no"]}) in ("yes", "no")


def test_http_json_object(server: Server) -> None:
    status, body = server.ask(response_format={"type": "json_object"}, max_tokens=100)
    assert status == 200, body
    assert body["choices"][0]["message"]["content"].startswith("{")


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        (as_format(NOT_ENFORCED), "#/properties/t/not"),
        (as_format({"type": "foo"}), "#/type"),
        ({"structured_outputs": {"regex": r"(a)\1"}}, "backreferences"),
        ({"structured_outputs": {"grammar": 'root ::= "a"'}}, "not supported"),
    ],
    ids=["unsupported", "no schema", "regex", "EBNF"],
)
def test_http_what_cant_be_enforced_is_400_and_says_where(server: Server, fields: Any, says: str) -> None:
    status, body = server.ask(**fields)
    assert status == 400
    assert says in body


def test_http_clients_with_different_schemas_a_bad_one_and_one_that_leaves(server: Server) -> None:
    def schema(number: int) -> Any:
        names = [f"key{number}", "n"]
        properties = {names[0]: {"enum": ["x", "y"]}, names[1]: {"type": "integer", "minimum": number, "maximum": 999}}
        return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}

    def leave() -> None:
        with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2]))) as connection:
            fields = {"model": "smollm2", "messages": BOB, "max_tokens": 200, "stream": True, **as_format({})}
            body = json.dumps(fields)
            head = ["POST /v1/chat/completions HTTP/1.1", "Host: x", "Content-Type: application/json"]
            connection.sendall("\r\n".join([*head, f"Content-Length: {len(body)}", "", body]).encode())
            connection.recv(64)

    with ThreadPoolExecutor(12) as pool:
        bad = pool.submit(server.ask, **as_format(NOT_ENFORCED))
        left = pool.submit(leave)
        texts = list(pool.map(lambda n: server.text(temperature=1.0, **as_format(schema(n % 8))), range(16)))
        left.result()
        assert bad.result()[0] == 400
    for number, text in enumerate(texts):
        jsonschema.validate(json.loads(text), schema(number % 8))
    assert server.text(**as_format(PERSON)) == ANSWER  # still there


@pytest.mark.slow
def test_http_load_of_500_requests(server: Server) -> None:
    """64 at a time over 16 schemas: none invalid, none stuck, and the memory does not grow.

    The figures are left in build/vllm-load.json.
    """

    def schema(number: int) -> Any:
        properties = {
            f"k{number}": {"enum": ["on", "off"]},
            "tags": {"type": "array", "items": {"enum": ["a", "b", "c"]}, "maxItems": 1 + number % 3},
            "note": {"type": "string"},  # ends by the limit, if the model does not end it
        }
        return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}

    def ask(number: int) -> float:
        started = time.monotonic()
        text = server.text(temperature=1.0, max_tokens=40, **as_format(schema(number % 16)))
        jsonschema.validate(json.loads(text), schema(number % 16))
        return time.monotonic() - started

    def resident_mb() -> float:
        """Of the server and its engine."""
        pids = [str(server.process.pid)]
        pids += subprocess.run(["pgrep", "-P", pids[0]], capture_output=True, text=True, check=False).stdout.split()
        listing = subprocess.run(["ps", "-o", "rss=", "-p", ",".join(pids)], capture_output=True, text=True, check=True)
        return sum(map(int, listing.stdout.split())) / 1000

    memory, latencies, started = [], [], time.monotonic()
    with ThreadPoolExecutor(64) as pool:
        for hundred in range(5):
            latencies += pool.map(ask, range(100 * hundred, 100 * hundred + 100))
            memory.append(resident_mb())
    figures = {
        "requests": len(latencies),
        "seconds": time.monotonic() - started,
        "longest_request_seconds": max(latencies),
        "resident_mb_after_each_hundred": memory,
    }
    (ROOT / "build" / "vllm-load.json").write_text(json.dumps(figures) + "\n", encoding="utf-8")
    assert memory[-1] < memory[0] + 100


def test_http_no_request_ended_in_an_error_of_the_server(server: Server) -> None:
    log = server.log.read_text(errors="replace")
    assert "500 Internal Server Error" not in log
    assert "Unexpected: grammar" not in log
    assert "Failed to compile" not in log
