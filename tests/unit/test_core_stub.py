"""The typed face of the extension has the names and the parameters of the extension itself."""

import ast
from pathlib import Path

import pytest

import grammar_decode
from grammar_decode import _core

stubgen = pytest.importorskip("nanobind.stubgen", reason="nanobind is not installed")


def signatures(source: str) -> dict[str, list[str]]:
    """Functions and methods by qualified name, with their parameters; `=` behind those that have a default."""
    found: dict[str, list[str]] = {}

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for statement in body:
            if isinstance(statement, ast.ClassDef):
                found[prefix + statement.name] = []
                visit(statement.body, f"{prefix}{statement.name}.")
            elif isinstance(statement, ast.FunctionDef):
                parameters = statement.args.posonlyargs + statement.args.args
                required = len(parameters) - len(statement.args.defaults)
                found[prefix + statement.name] = [
                    parameter.arg + "=" * (index >= required) for index, parameter in enumerate(parameters)
                ]

    visit(ast.parse(source).body, "")
    return found


def test_stub_has_the_names_and_parameters_of_the_extension() -> None:
    generator = stubgen.StubGen(_core, include_private=True, quiet=True)
    generator.put(_core)
    extension = signatures(generator.get())
    stub = signatures(Path(grammar_decode.__file__).with_name("_core.pyi").read_text())
    assert stub == extension
