"""The four commands, in process, on the real compiler and kernel; `generate` on a fake model."""

from __future__ import annotations

import base64
import dataclasses
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grammar_decode
from grammar_decode.json_schema import JsonOptions
from grammar_decode.vocabulary import Vocabulary

pytest.importorskip("typer")

from grammar_decode.cli import main

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 8},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}


class Run:
    """One finished command."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: str | Path, stdin: bytes = b"") -> Run:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as ending:
            main([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        assert "Traceback" not in captured.err
        return Run(int(ending.value.code or 0), captured.out, captured.err)

    return call


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(SCHEMA))
    return path


@pytest.fixture
def instance(tmp_path: Path) -> Any:
    def write(text: str | bytes) -> Path:
        path = tmp_path / "instance.json"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_check_lists_every_keyword_with_its_location(run: Any, schema: Path) -> None:
    done = run("check", schema)
    assert done.code == 0
    for keyword in ("properties", "maxLength", "minimum", "maximum", "required", "additionalProperties"):
        assert re.search(rf"^{keyword} .*#", done.out, re.MULTILINE), f"{keyword} is missing in\n{done.out}"
    assert "enforced" in done.out


def test_check_json_has_the_same_entries(run: Any, schema: Path) -> None:
    report = run("check", schema, "--json").json
    assert report["compiled"] is True
    assert {"#/properties/name"} <= {
        entry["location"] for entry in report["entries"] if entry["keyword"] == "maxLength"
    }
    assert all(set(entry) == {"location", "keyword", "outcome", "detail"} for entry in report["entries"])


def test_check_names_the_place_that_cannot_be_enforced(run: Any, schema: Path) -> None:
    schema.write_text('{"properties": {"a": {"pattern": "(a)\\\\1"}}}')
    done = run("check", schema)
    assert (done.code, done.out) == (1, "")
    assert "#/properties/a" in done.err
    as_json = run("check", schema, "--json")
    assert as_json.code == 1
    assert as_json.json["error"]["location"].startswith("#/properties/a")
    assert as_json.json["error"]["type"] == "UnsupportedSchema"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{not json", "JSON"),
        ('{"type": "strange"}', "#"),
        ('{"$ref": "#/$defs/missing"}', "missing"),
        ('{"type": "integer", "minimum": 3, "maximum": 2}', "unsatisfiable"),
    ],
)
def test_a_schema_that_cannot_be_used_is_one_message_and_exit_code_1(
    run: Any, schema: Path, text: str, says: str
) -> None:
    schema.write_text(text)
    done = run("check", schema)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: ")
    assert says.lower() in done.err.lower()


def test_a_missing_file_and_one_that_is_not_text_are_named(run: Any, schema: Path, tmp_path: Path) -> None:
    done = run("check", tmp_path / "nowhere.json")
    assert done.code == 1
    assert "nowhere.json: No such file" in done.err
    schema.write_bytes(b'{"title": "\xff"}')
    assert "not UTF-8 text (byte 11)" in run("check", schema).err


def test_a_schema_comes_from_standard_input_too(run: Any) -> None:
    assert run("check", "-", stdin=json.dumps(SCHEMA).encode()).code == 0


@pytest.mark.parametrize(
    "text", ['{"name":"Bob","age":42}', '{"name": "Bob", "age": 42}\n', '{\n  "name": "B",\n "age": 0}\r\n']
)
def test_validate_accepts_documents_and_leaves_out_a_last_line_end(
    run: Any, schema: Path, instance: Any, text: str
) -> None:
    done = run("validate", schema, instance(text))
    assert done.code == 0
    assert done.out.startswith("accepted")


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ('{"name":"Bob","age":151}', 22),
        ('{"name":"Bob","age":042}', 21),
        ('{"name":"Bob","nick":"b"}', 15),
        ('{"name":"Bob"}', 13),
        ('{"name":"Bob Bob Bob","age":1}', 17),
        ('{"name":"Bob","age":42}}', 23),
        ("[]", 0),
    ],
)
def test_validate_finds_the_byte_that_leaves_the_language(
    run: Any, schema: Path, instance: Any, text: str, offset: int
) -> None:
    done = run("validate", schema, instance(text), "--json")
    assert done.code == 1
    assert (done.json["accepted"], done.json["incomplete"], done.json["offset"]) == (False, False, offset)
    assert done.json["expected"]
    assert done.json["accepted_with"] is None


def test_validate_points_a_caret_at_the_byte(run: Any, schema: Path, instance: Any) -> None:
    done = run("validate", schema, instance('{\n  "name": "Bäb",\n  "age": "x"\n}'))
    assert done.code == 1
    assert "line 3, column 10" in done.err
    lines = done.err.splitlines()
    at = next(number for number, line in enumerate(lines) if line.strip() == "^")
    assert lines[at - 1][lines[at].index("^") :].startswith('"x"')
    assert "expected here: " in done.err


def test_validate_points_into_a_long_line_by_its_neighbourhood(run: Any, schema: Path, instance: Any) -> None:
    schema.write_text('{"type": "array", "items": {"type": "integer"}}')
    done = run("validate", schema, instance("[" + "1234567," * 1000 + 'x"' + ",1234567" * 1000 + "]"))
    lines = done.err.splitlines()
    at = next(number for number, line in enumerate(lines) if line.strip() == "^")
    assert len(lines[at - 1]) < 120
    assert lines[at - 1][lines[at].index("^")] == "x"


def test_validate_says_incomplete_of_a_document_that_stops_early(run: Any, schema: Path, instance: Any) -> None:
    text = '{"name":"Bob","age":'
    done = run("validate", schema, instance(text))
    assert done.code == 1
    assert f"incomplete: the document is not finished after {len(text)} bytes" in done.err
    assert run("validate", schema, instance(text), "--json").json["incomplete"] is True


def test_validate_tells_which_option_would_accept_the_text(run: Any, schema: Path, instance: Any) -> None:
    done = run("validate", schema, instance('{"age":42,"name":"Bob"}'), "--key-order", "schema")
    assert done.code == 1
    assert "--key-order any accepts it" in done.err
    assert run("validate", schema, instance('{"age":42,"name":"Bob"}')).code == 0
    spaced = run("validate", schema, instance('{"name": "Bob","age":42}'), "--whitespace", "compact", "--json")
    assert spaced.json["accepted_with"] == {"whitespace": "any"}


def test_validate_takes_bytes_that_are_not_text_for_what_they_are(run: Any, schema: Path, instance: Any) -> None:
    done = run("validate", schema, instance(b'{"name":"\xff","age":1}'), "--json")
    assert done.json["offset"] == 9


def test_validate_reads_a_long_document_in_chunks(run: Any, schema: Path, instance: Any) -> None:
    schema.write_text('{"type": "array", "items": {"type": "integer"}}')
    text = "[" + ",".join(map(str, range(30_000)))
    assert run("validate", schema, instance(text + "]")).code == 0
    assert run("validate", schema, instance(text + ",]"), "--json").json["offset"] == len(text) + 1


@pytest.fixture
def tiktoken_file(tmp_path: Path) -> Path:
    tokens = [*(bytes([byte]) for byte in range(256)), b'{"', b'":', b"name", b"\xff\xfe"]
    path = tmp_path / "small.tiktoken"
    path.write_bytes(b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens)))
    return path


def test_mask_counts_the_legal_tokens_after_a_prefix(run: Any, schema: Path, tiktoken_file: Path) -> None:
    order = ("--key-order", "schema")
    done = run("mask", schema, "--prefix", '{"', "--vocab", tiktoken_file, "--json", *order)
    assert done.code == 0
    assert {entry["text"] for entry in done.json["sample"]} == {"n", "name"}
    assert (done.json["num_legal"], done.json["vocabulary_size"], done.json["stop_token_ids"]) == (2, 261, [])
    shown = run("mask", schema, "--prefix", '{"', "--vocab", tiktoken_file, *order)
    assert "2 of 261 tokens are legal next" in shown.out
    assert "'name'" in shown.out


def test_mask_says_that_the_document_may_end(run: Any, schema: Path, tiktoken_file: Path) -> None:
    prefix = '{"name":"","age":1}'
    done = run("mask", schema, "--prefix", prefix, "--vocab", tiktoken_file, "--whitespace", "compact", "--json")
    assert (done.json["num_legal"], done.json["stop_token_ids"]) == (1, [260])
    assert "may end here" in run("mask", schema, "--prefix", prefix, "--vocab", tiktoken_file).out


def test_mask_shows_at_most_the_sample_asked_for(run: Any, schema: Path, tiktoken_file: Path) -> None:
    done = run("mask", schema, "--prefix", '{"name":"', "--vocab", tiktoken_file, "--sample", "5", "--json")
    assert len(done.json["sample"]) == 5 < done.json["num_legal"]


def test_mask_refuses_a_prefix_that_is_not_allowed_and_points_at_it(
    run: Any, schema: Path, tiktoken_file: Path
) -> None:
    done = run("mask", schema, "--prefix", '{"x', "--vocab", tiktoken_file)
    assert (done.code, done.out) == (1, "")
    assert "at byte 2" in done.err


@pytest.mark.skipif(sys.platform != "linux", reason="another variable names the cache folder")
def test_mask_keeps_the_vocabulary_of_a_tokenizer_json(
    run: Any, schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    words = {chr(byte): byte - 32 for byte in range(32, 127)}
    file = tmp_path / "tokenizer.json"
    file.write_text(json.dumps({"model": {"type": "BPE", "vocab": words}, "decoder": {"type": "ByteLevel"},
                                "added_tokens": [{"id": 95, "content": "</s>", "special": True}]}))  # fmt: skip
    first = run("mask", schema, "--vocab", file, "--json").json["num_legal"]
    (kept,) = (tmp_path / "cache" / "grammar-decode" / "vocabularies").iterdir()
    written = kept.stat().st_mtime_ns
    assert run("mask", schema, "--vocab", file, "--json").json["num_legal"] == first > 0
    assert kept.stat().st_mtime_ns == written


def test_mask_names_a_vocabulary_that_it_cannot_read(run: Any, schema: Path, tmp_path: Path) -> None:
    assert "no such file" in run("mask", schema, "--vocab", tmp_path / "x.gguf").err
    odd = tmp_path / "vocab.xyz"
    odd.write_text("")
    assert "tokenizer.json, .gguf or .tiktoken" in run("mask", schema, "--vocab", odd).err
    broken = tmp_path / "x.tiktoken"
    broken.write_text("IQ== 0\nnonsense\n")
    assert "line 2" in run("mask", schema, "--vocab", broken).err


class OneDocument:
    """A language model that writes one document, byte by byte, and then stops."""

    def __init__(self, document: str) -> None:
        self.vocabulary = Vocabulary([*(bytes([byte]) for byte in range(256)), None], stop_token_ids=[256])
        self.context_size = None
        self.wanted = [*document.encode(), 256]

    def encode(self, prompt: str) -> list[int]:
        self.prompt = list(prompt.encode())
        return self.prompt

    def prefill(self, ids: list[int]) -> np.ndarray:
        self.at = len(ids) - len(self.prompt)  # forced text is read with the prompt
        return self.logits()

    def step(self, _token_id: int) -> np.ndarray:
        self.at += 1
        return self.logits()

    def logits(self) -> np.ndarray:
        logits = np.zeros(257, np.float32)
        logits[self.wanted[min(self.at, len(self.wanted) - 1)]] = 10
        return logits


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Any:
    def use(document: str) -> None:
        monkeypatch.setattr("grammar_decode.models.load_model", lambda *_args, **_more: OneDocument(document))

    return use


def test_generate_streams_the_document_to_stdout_and_statistics_to_stderr(run: Any, schema: Path, model: Any) -> None:
    model('{"name": "Bob", "age": 42}')
    done = run("generate", schema, "--prompt", "Bob, please")
    assert (done.code, done.out) == (0, '{"name": "Bob", "age": 42}\n')
    for fact in ("completed", "27 after a prompt of 11", "tokens/s", "% of the step time", "valid"):
        assert fact in done.err
    assert "not valid" not in done.err


def test_generate_json_is_one_object(run: Any, schema: Path, model: Any) -> None:
    model('{"name":"Bob","age":42}')
    done = run("generate", schema, "--json", "--seed", "5", "--whitespace", "compact")
    assert done.code == 0
    assert done.json["value"] == {"name": "Bob", "age": 42}
    assert (done.json["stop_reason"], done.json["valid"], done.json["seed"]) == ("completed", True, 5)
    assert done.json["num_tokens"] == len(done.json["tokens"]) == 24
    assert set(done.json["seconds"]) == {"compile", "prefill", "model", "mask", "sample"}


def test_generate_is_complete_within_the_limit(run: Any, schema: Path, model: Any) -> None:
    model('{"name":"Bobby is a name that is too long for the limit","age":42}')
    done = run("generate", schema, "--max-tokens", "26", "--whitespace", "compact")
    assert (done.code, done.out) == (0, '{"name":"Bobby ","age":0}\n')
    assert "completed" in done.err


def test_generate_says_how_many_tokens_the_shortest_document_needs(run: Any, schema: Path, model: Any) -> None:
    model('{"name":"Bob","age":42}')
    done = run("generate", schema, "--max-tokens", "9")
    assert (done.code, done.out) == (1, "")
    assert "needs 20 tokens" in done.err


def test_generate_prints_what_was_forced(run: Any, schema: Path, model: Any) -> None:
    model('{"name":"Bob","age":42}')
    options = ("--whitespace", "compact")
    assert "18 of them (75%), 18 model calls saved" in run("generate", schema, *options).err
    data = run("generate", schema, "--json", *options).json
    assert (data["num_forced"], data["num_model_calls"]) == (18, 6)
    assert [step["forced"] for step in data["steps"]][:10] == [True] * 9 + [False]
    assert all((step["legal"] is None) == step["forced"] for step in data["steps"])


def test_generate_takes_a_closing_budget(run: Any, tmp_path: Path, model: Any) -> None:
    nested = tmp_path / "nested.json"
    nested.write_text('{"type": "array", "items": {"$ref": "#"}}')
    model("[" * 50)
    limit = ("--whitespace", "compact", "--max-tokens", "31")
    assert run("generate", nested, *limit).out == "[" * 15 + "]" * 15 + "\n"
    assert run("generate", nested, *limit, "--closing-budget", "20").out == "[" * 11 + "]" * 11 + "\n"


def test_generate_unconstrained_shows_and_judges_what_the_model_wants(run: Any, schema: Path, model: Any) -> None:
    model('{"name": "Bob"}')
    done = run("generate", schema, "--unconstrained")
    assert (done.code, done.out) == (1, '{"name": "Bob"}\n')
    assert "not valid" in done.err


def test_generate_refuses_a_schema_before_a_model_is_loaded(
    run: Any, schema: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grammar_decode.models.load_model", lambda *_args, **_more: pytest.fail("loaded"))
    schema.write_text('{"type": "strange"}')
    assert run("generate", schema).code == 1


def test_a_missing_framework_is_said_with_the_command_that_installs_it(
    run: Any, schema: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    done = run("generate", schema, "--model", tmp_path)
    assert done.code == 1
    assert "pip install 'grammar-decode[transformers]'" in done.err


def test_without_typer_the_command_says_what_to_install() -> None:
    code = "import sys; sys.modules['typer'] = None; from grammar_decode.cli import main; main([])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "grammar-decode: the command line needs typer and rich: pip install 'grammar-decode[cli]'\n"


@pytest.mark.parametrize("command", ["generate", "check", "validate", "mask"])
def test_every_command_has_a_help_text(run: Any, command: str) -> None:
    done = run(command, "--help")
    assert done.code == 0
    assert "SCHEMA" in done.out
    assert "--key-order" in done.out


def test_the_version_is_printed_without_a_command(run: Any) -> None:
    done = run("--version")
    assert (done.code, done.out) == (0, f"grammar-decode {grammar_decode.__version__}\n")
    assert "Constrained decoding" in run("--help").out


def test_wrong_usage_is_exit_code_2(run: Any, schema: Path) -> None:
    assert run("check").code == 2
    assert run("check", schema, "--key-order", "sideways").code == 2
    assert run("generate", schema, "--top-p", "0").code == 2


@pytest.mark.parametrize("command", ["generate", "check", "validate", "mask"])
def test_every_text_option_is_an_option_of_every_command(command: str, run: Any) -> None:
    help_text = re.sub(r"\x1b\[[0-9;]*m", "", run(command, "--help").out)
    for field in dataclasses.fields(JsonOptions):
        assert f"--{field.name.replace('_', '-')}" in help_text


def test_formats_and_openapi_reach_the_compiler(run: Any) -> None:
    dates = json.dumps({"format": "date", "nullable": True, "type": "string"}).encode()
    entries = {e["keyword"]: e for e in run("check", "-", "--json", "--formats", "ignore", stdin=dates).json["entries"]}
    assert entries["format"]["outcome"] == "annotation"
    assert entries["nullable"]["outcome"] == "annotation"
    entries = {e["keyword"]: e for e in run("check", "-", "--json", "--openapi", stdin=dates).json["entries"]}
    assert entries["format"]["outcome"] == "enforced"
    assert entries["nullable"]["outcome"] == "enforced"
    assert run("check", "-", "--formats", "strict", stdin=b'{"format": "phone"}').code == 1


def test_validate_takes_formats_and_openapi(run: Any, tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text('{"type": "string", "format": "date", "nullable": true}')
    assert run("validate", schema, "-", stdin=b'"soon"').code == 1
    assert run("validate", schema, "-", "--formats", "ignore", stdin=b'"soon"').code == 0
    assert run("validate", schema, "-", stdin=b"null").code == 1
    assert run("validate", schema, "-", "--openapi", stdin=b"null").code == 0
