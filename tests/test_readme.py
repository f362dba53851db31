"""The README's Python example runs as printed, and its commands print what it shows."""

import contextlib
import io
import json
import re
from pathlib import Path

import jsonschema
import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_python_example_prints_what_the_readme_says() -> None:
    example, expected = re.findall(r"```python\n(.*?)```\n\nIt prints\n\n```text\n(.*?)```", README, re.DOTALL)[0]
    assert len([line for line in example.splitlines() if line.strip()]) <= 15
    names: dict[str, object] = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(example, "README.md", "exec"), names)  # the documentation is what is under test
    assert printed.getvalue() == expected
    schema = names["schema"]
    assert isinstance(schema, dict)
    jsonschema.validate(json.loads(expected), schema)


def shell_examples() -> list[tuple[str, str]]:
    """`echo TEXT | grammar-decode …` commands with what they print."""
    blocks = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    examples = [example for block in blocks for example in block.split("$ ")[1:]]
    commands = [tuple(example.split("\n", 1)) for example in examples if example.startswith("echo ")]
    return [(command, output) for command, output in commands]


@pytest.mark.parametrize(("command", "expected"), shell_examples(), ids=lambda text: text[-40:].strip())
def test_command_prints_what_the_readme_says(command: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("typer", reason="the command line needs typer")
    from typer.testing import CliRunner

    from grammar_decode.cli.app import app

    monkeypatch.chdir(ROOT)
    text, arguments = re.fullmatch(r"echo '(.*)' \| grammar-decode (.*)", command).groups()  # type: ignore[union-attr]
    done = CliRunner().invoke(app, arguments.split(), input=text + "\n")

    def plain(output: str) -> list[str]:
        return [re.sub(r"[\d.]+ ms", "ms", line.rstrip()) for line in output.strip().splitlines()]

    assert plain(done.stdout + done.stderr) == plain(expected)


def test_links_lead_somewhere() -> None:
    documents = (ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"))
    for document in documents:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"
