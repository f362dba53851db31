"""The examples of the documentation hold."""

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.mark.parametrize("path", sorted(DOCS.glob("*.md")), ids=lambda path: path.name)
def test_examples_print_what_they_show(path: Path) -> None:
    failures, _ = doctest.testfile(str(path), module_relative=False, encoding="utf-8")
    assert failures == 0
