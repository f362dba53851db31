"""Rules about the repository itself: who imports whom, which names are public, and that tables equal the code."""

import ast
import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import grammar_decode

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "grammar_decode"

#: Layer (a module or package of grammar_decode) → the layers that it may import, as in ARCHITECTURE.md.
#: `""` stands for the public names.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "limits": {"errors"},
    "ir": {"errors"},
    "regex": {"errors", "limits", "ir"},
    "json_schema": {"errors", "limits", "ir", "regex"},
    "reference": {"errors", "ir"},
    "vocabulary": {"errors", "locks", "_core"},
    "bitmask": {"errors", "_core"},
    "scan": set(),
    "places": {"errors", "json_schema", "scan"},
    "expected": {"places", "scan"},
    "typed": {"errors"},
    "locks": set(),
    "cache": {"locks"},
    "everyday": {"errors", "limits", "ir", "json_schema", "_core"},
    "grammar": {"errors", "limits", "ir", "json_schema", "everyday", "typed", "cache", "_core"},
    "answers": {"errors", "ir", "expected", "places", "scan", "grammar", "vocabulary", "_core"},
    "texts": {"errors", "limits", "ir", "regex", "json_schema", "grammar"},
    "chat": {"errors", "limits", "ir", "regex", "json_schema", "cache", "grammar", "vocabulary"},
    "forced": {"vocabulary", "_core"},
    "matcher": {"answers", "errors", "forced", "grammar", "vocabulary", "_core"},
    "judge": set(),
    "sampling": {"errors"},
    "models": {"errors", "vocabulary"},
    "generate": {"", "errors", "bitmask", "judge", "models", "sampling", "vocabulary"},
    "integrations": {"", "models"},
    "compat": {"", "integrations", "vocabulary"},
    "cli": {"", "errors", "generate", "judge", "models"},
}


def imports_of(path: Path) -> set[str]:
    """The layers that a file imports, wherever in it."""
    layers = set()
    public = set(grammar_decode.__all__)
    for statement in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(statement, ast.ImportFrom):
            assert statement.level == 0, f"{path}: relative import"
            head, *parts = (statement.module or "").split(".")
            if head == "grammar_decode":
                layers |= {parts[0]} if parts else {"" if a.name in public else a.name for a in statement.names}
        elif isinstance(statement, ast.Import):
            layers |= {
                alias.name.split(".")[1] for alias in statement.names if alias.name.startswith("grammar_decode.")
            }
    return layers


@pytest.mark.parametrize("layer", MAY_IMPORT)
def test_imports_go_one_way(layer: str) -> None:
    package = PACKAGE / layer
    for path in package.rglob("*.py") if package.is_dir() else [package.with_suffix(".py")]:
        assert imports_of(path) - {layer} <= MAY_IMPORT[layer], path


def test_every_module_has_a_layer() -> None:
    found = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert found - {"__init__"} == set(MAY_IMPORT)


def test_layers_have_no_cycle() -> None:
    rank: dict[str, int] = {"_core": 0}
    layers = {layer: below - {""} for layer, below in MAY_IMPORT.items()}
    while layers:
        ready = [layer for layer, below in layers.items() if below <= rank.keys()]
        assert ready, f"a cycle among {sorted(layers)}"
        for layer in ready:
            rank[layer] = len(rank)
            del layers[layer]


def test_the_architecture_shows_the_same_layers() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    shown = {
        layer: {"" if name == "public names" else name.strip("`") for name in may.split(", ") if name != "–"}
        for layer, may in re.findall(r"^\| `(\w+)` \| .* \| ([^|]*) \|$", text, re.MULTILINE)
    }
    assert shown == MAY_IMPORT


def test_the_kernel_knows_no_python() -> None:
    for path in (ROOT / "cpp" / "core").iterdir():
        assert not re.search(
            r"nanobind|Python\.h|<iostream>|printf|abort\(|exit\(", path.read_text(encoding="utf-8")
        ), path


def test_public_names_are_the_documented_ones() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    section = text.partition("## Public names")[2].partition("\n## ")[0]
    assert set(re.findall(r"`(\w+)`", section)) == set(grammar_decode.__all__)
    assert grammar_decode.__all__ == sorted(grammar_decode.__all__)
    for name in grammar_decode.__all__:
        assert inspect.getdoc(getattr(grammar_decode, name)), f"{name} has no docstring"


def test_importing_the_package_imports_no_framework() -> None:
    frameworks = [
        "torch",
        "transformers",
        "tokenizers",
        "tiktoken",
        "gguf",
        "safetensors",
        "typer",
        "rich",
        "jsonschema",
        "pydantic",
    ]
    code = f"import sys, grammar_decode; print([name for name in {frameworks} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def tables() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tables", ROOT / "docs" / "tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("document", tables().DOCUMENTS)
def test_documented_tables_equal_the_code(document: str) -> None:
    written = (ROOT / document).read_text(encoding="utf-8")
    assert written == tables().rewritten(document), "run: .venv/bin/python docs/tables.py"


def test_readme_is_part_of_the_package() -> None:
    assert 'readme = "README.md"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
